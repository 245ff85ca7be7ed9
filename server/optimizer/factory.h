// Makes optimizers from their specs.
//
//   name             arguments (default; range)
//   sgd
//   momentum         mu (0.9; [0, 1))  nesterov (0; 0 or 1)
//   adagrad          initial_accumulator (0.1; at least 0)  eps (1e-8; above 0)
//   rowwise_adagrad  initial_accumulator (0.1; at least 0)  eps (1e-8; above 0)
//   adam             beta1 (0.9; [0, 1))  beta2 (0.999; [0, 1))  eps (1e-8; above 0)
//   all of them      lr (required; above 0)
//                    weight_decay (0, which is off; at least 0)
//                    clip_norm (0, which is off; at least 0)
//
// Values are judged as the floats they become: an eps of 1e-60 is 0 and refused.
#ifndef SYNCLINE_SERVER_OPTIMIZER_FACTORY_H_
#define SYNCLINE_SERVER_OPTIMIZER_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "server/optimizer/optimizer.h"

namespace syncline {

// Errors: INVALID_ARGUMENT for an unknown name, or for arguments that are unknown, missing or out
// of range; all problems are in one message, with what is accepted.
absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec);

// The learning rate that the spec asks for: the base of the table's schedule.
// REQUIRES: MakeOptimizer accepts the spec.
float BaseLearningRate(const OptimizerSpec& spec);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_FACTORY_H_
