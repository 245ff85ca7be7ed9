// Distributed training against a float64 single process: one case of the grid.
#ifndef SYNCLINE_TESTS_INTEGRATION_EQUALITY_CASE_H_
#define SYNCLINE_TESTS_INTEGRATION_EQUALITY_CASE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "worker/data/dataset.h"
#include "worker/dlrm/config.h"

namespace syncline {

struct EqualityCase {
  bool adagrad = false;
  uint64_t seed = 1;
  uint32_t workers = 1;
  uint32_t servers = 2;
  uint64_t steps = 200;
  uint32_t global_batch = 32;
};

// Every parameter of a model by name and key (dense tensors: key 0, row-major).
using Parameters = std::map<std::pair<std::string, uint64_t>, std::vector<float>>;

// A smooth model (tanh) over planted clicks with dense features and multi-hot fields.
DlrmConfig EqualityModel(uint64_t seed);
Dataset EqualityData(uint64_t seed);

// Parameters before and after training.
struct Trained {
  Parameters initial;
  Parameters final;
};

// Trains under reproducible BSP on an in-process cluster, one client per worker thread, static
// pieces. Errors: the first of any worker.
absl::StatusOr<Trained> TrainDistributed(const EqualityCase& test);

// Trains the float64 reference on the same batches from the same initial parameters, and returns
// the largest |w - reference| / max(1, |reference|) over every row and block.
double LargestDifference(const EqualityCase& test, const Trained& trained);

}  // namespace syncline

#endif  // SYNCLINE_TESTS_INTEGRATION_EQUALITY_CASE_H_
