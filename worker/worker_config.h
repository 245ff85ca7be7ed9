// The configuration of a ps-worker.
#ifndef SYNCLINE_WORKER_WORKER_CONFIG_H_
#define SYNCLINE_WORKER_WORKER_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "common/codec/codec.h"
#include "common/config/loader.h"
#include "common/limits.h"
#include "common/metrics/log.h"
#include "common/table_spec.h"
#include "worker/kernels/dense_ops.h"

namespace syncline {

// Who trains which part of the data (PROTOCOL.md D1).
enum class PieceMode { kStatic, kLeased };

struct WorkerConfig {
  // Where and who.
  std::string coordinator = "127.0.0.1:7070";
  bool allow_plaintext = false;
  std::string job = "dlrm";
  int32_t rank = -1;  // -1: the coordinator picks
  uint32_t ranks = 1;
  bool take_over = false;
  bool reproducible = false;
  bool single = false;  // train alone, without servers
  PieceMode pieces = PieceMode::kStatic;
  bool whole_rounds = false;  // single: a batch is `ranks` batches together

  // What.
  std::string data;
  uint64_t seed = 1;
  uint64_t max_rows = 0;  // 0: all
  uint64_t passes = 0;    // 0: what suits the data
  uint32_t batch = 0;     // samples per rank and clock; 0: what suits the data
  std::string optimizer = "adagrad";
  double learning_rate = 0;           // 0: what suits the data
  double initial_accumulator = 1e-4;  // of adagrad; larger ones hold back rare rows
  uint32_t dim = 16;
  Activation activation = Activation::kRelu;

  // How.
  ConsistencyMode consistency = ConsistencyMode::kSsp;
  int64_t staleness = 1;
  CodecId pull_codec = CodecId::kFp32;
  CodecId push_codec = CodecId::kFp32;
  std::chrono::milliseconds call_deadline = std::chrono::minutes(5);
  std::chrono::milliseconds start_timeout = std::chrono::minutes(2);
  std::chrono::milliseconds lease = kDefaultLease;
  double slow_factor = 1;

  LogLevel log_level = LogLevel::kInfo;
};

// Binds every flag and rule. REQUIRES: `config` outlives the loader.
void AddWorkerFlags(WorkerConfig& config, Loader& loader);

ConsistencyPolicy PolicyOf(const WorkerConfig& config);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_WORKER_CONFIG_H_
