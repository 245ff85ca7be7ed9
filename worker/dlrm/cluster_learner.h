// A learner whose parameters live in the cluster's tables.
#ifndef SYNCLINE_WORKER_DLRM_CLUSTER_LEARNER_H_
#define SYNCLINE_WORKER_DLRM_CLUSTER_LEARNER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/time_source.h"
#include "worker/client/ps_client.h"
#include "worker/dlrm/learner.h"
#include "worker/dlrm/model.h"
#include "worker/dlrm/parameter_tables.h"
#include "worker/dlrm/piece_source.h"
#include "worker/kernels/cpu_kernels.h"

namespace syncline {

struct ClusterLearnerOptions {
  DlrmConfig model;
  ParameterTableOptions tables;
  // Emulates a slow machine: each step's computation is followed by a sleep of (factor - 1) times
  // its duration. 1 or less: none.
  double slow_factor = 1;
};

// One step: pull what the batch needs in the present clock, compute, push, tick. Pushes and ticks
// are pipelined: the next step's pull goes out at once, and sees them (PROTOCOL.md S6).
class ClusterLearner final : public Learner, public PieceSource {
 public:
  // The client's session must be clocked. Creates the tables when they are absent, and the dense
  // table `barrier` (staleness 0) that Barrier reads.
  // Errors: of PsClient::CreateTable; INVALID_ARGUMENT for a model config that cannot be.
  static absl::StatusOr<std::unique_ptr<ClusterLearner>> Create(std::unique_ptr<PsClient> client,
                                                                ClusterLearnerOptions options,
                                                                const TimeSource& time);

  absl::StatusOr<StepResult> Step(const Batch& batch, std::string_view reader_position) override;
  absl::StatusOr<std::vector<float>> Predict(const Batch& batch) override;
  // Ends a clock without samples, then reads a table of staleness 0: the read waits until every
  // rank has ended that clock.
  absl::Status Barrier() override;
  absl::Status Finish() override;
  LearnerStats Stats() const override;

  absl::Status OpenPass(uint64_t pass, uint64_t pieces) override;
  absl::StatusOr<Lease> LeasePiece(uint64_t pass) override;
  absl::StatusOr<bool> ReportPiece(uint64_t pass, uint64_t piece) override;
  absl::Status Idle() override;

  PsClient& client() { return *client_; }
  const ParameterTables& tables() const { return *tables_; }

 private:
  ClusterLearner(std::unique_ptr<PsClient> client, ClusterLearnerOptions options,
                 const TimeSource& time);
  absl::StatusOr<StepResult> Train(const Batch& batch);

  std::unique_ptr<PsClient> client_;
  const ClusterLearnerOptions options_;
  const TimeSource& time_;
  CpuStream stream_;
  CpuEmbeddingOps embedding_ops_;
  CpuDenseOps dense_ops_;
  std::unique_ptr<Dlrm> model_;
  std::unique_ptr<ParameterTables> tables_;
  TableInfo barrier_;
  ModelBuffers parameters_;
  ModelBuffers gradients_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_CLUSTER_LEARNER_H_
