// Models and random batches for the tests of this folder.
#ifndef SYNCLINE_TESTS_WORKER_DLRM_TEST_BATCH_H_
#define SYNCLINE_TESTS_WORKER_DLRM_TEST_BATCH_H_

#include <cstddef>
#include <cstdint>

#include "common/random.h"
#include "worker/data/batch.h"
#include "worker/dlrm/config.h"

namespace syncline {

// Four fields over three tables, all poolings; `dense_count` 0 leaves out the bottom MLP.
inline DlrmConfig SmallConfig(size_t dense_count, Activation activation) {
  const InitializerSpec initializer{InitializerSpec::Kind::kUniform, -0.5, 0.5, 3};
  DlrmConfig config;
  config.dense_count = dense_count;
  config.dim = 4;
  config.bottom_hidden = {6};
  config.top_hidden = {7, 5};
  config.activation = activation;
  config.fields = {{"user", Pooling::kSum, initializer},
                   {"item", Pooling::kMean, initializer},
                   {"item", Pooling::kSum, initializer},
                   {"tags", Pooling::kSqrtN, initializer}};
  config.seed = 5;
  return config;
}

// Bags of 0 to 3 ids out of ten, among them 0 and 2^64 - 1; random labels.
inline Batch RandomBatch(const DlrmConfig& config, size_t size, SplitMix64& random) {
  Batch batch;
  batch.size = size;
  batch.dense_count = config.dense_count;
  for (size_t i = 0; i < size * config.dense_count; ++i) {
    batch.dense.push_back(static_cast<float>(2 * random.Uniform() - 1));
  }
  for (size_t f = 0; f < config.fields.size(); ++f) {
    Batch::Field field;
    field.offsets.push_back(0);
    for (size_t s = 0; s < size; ++s) {
      for (uint64_t n = random.Below(4); n > 0; --n) field.ids.push_back(random.Below(10) - 1);
      field.offsets.push_back(static_cast<uint32_t>(field.ids.size()));
    }
    batch.fields.push_back(field);
  }
  for (size_t s = 0; s < size; ++s) batch.labels.push_back(random.Below(2) == 0 ? 0.0F : 1.0F);
  return batch;
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_WORKER_DLRM_TEST_BATCH_H_
