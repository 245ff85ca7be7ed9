// What a table is: the one description that clients send, the coordinator keeps and servers obey.
#ifndef SYNCLINE_COMMON_TABLE_SPEC_H_
#define SYNCLINE_COMMON_TABLE_SPEC_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "common/types.h"

namespace syncline {

enum class TableKind { kEmbedding = 1, kDense = 2 };
enum class DType { kFloat32 = 1 };
enum class Durability { kNone = 1, kAsync = 2, kReplay = 3, kSync = 4, kReplicated = 5 };

// Who may name which ids, and what a key that is refused does.
//   accept  every key is legal
//   zero    a key at or above `vocabulary` reads as zeros and its gradient is dropped, both counted
//   reject  a pull or push that names such a key is refused whole with INVALID_ARGUMENT
// vocabulary 0 means unbounded; `zero` and `reject` need a bound.
struct IdPolicy {
  enum class Kind { kAccept = 1, kZero = 2, kReject = 3 };
  Kind kind = Kind::kAccept;
  uint64_t vocabulary = 0;
  bool operator==(const IdPolicy&) const = default;
};

// How a row that was never trained reads: a pure function of (seed, table id, key, element).
// `a` and `b` by kind: constant: a = value. uniform: [a, b). normal: mean a, deviation b.
// truncated_normal: the same, redrawn outside two deviations. inverse_sqrt: uniform in
// +-1/sqrt(a), where a is the fan (the vocabulary for embeddings, fan-in for dense).
struct InitializerSpec {
  enum class Kind {
    kZeros = 1,
    kConstant = 2,
    kUniform = 3,
    kNormal = 4,
    kTruncatedNormal = 5,
    kInverseSqrt = 6
  };
  Kind kind = Kind::kZeros;
  double a = 0;
  double b = 0;
  uint64_t seed = 0;
  bool operator==(const InitializerSpec&) const = default;
};

// Optimizer by name ("sgd", "momentum", "adagrad", "rowwise_adagrad", "adam") with named arguments.
// An unknown name or argument is an error (server/optimizer/factory.h lists them). Empty name: the
// table has no optimizer yet, and pushes to it are refused with NO_OPTIMIZER.
struct OptimizerSpec {
  std::string name;
  std::map<std::string, double> arguments;
  bool operator==(const OptimizerSpec&) const = default;
};

enum class ConsistencyMode { kBsp = 1, kSsp = 2, kEssp = 3, kAsync = 4 };
enum class ApplyMode { kImmediate = 1, kRound = 2 };
enum class Reduce { kMean = 1, kSum = 2 };

// bsp is staleness 0 applied by rounds; ssp(s) bounds staleness by s; async bounds nothing.
struct ConsistencyPolicy {
  ConsistencyMode mode = ConsistencyMode::kSsp;
  Staleness staleness{1};
  ApplyMode apply = ApplyMode::kImmediate;
  bool operator==(const ConsistencyPolicy&) const = default;
};

// Shape of a dense table: a tensor of `elements` values cut into blocks of `dim` elements; block k
// is row k, and the last one is padded with zeros.
struct TableSpec {
  std::string name;  // unique within a job's namespace
  TableKind kind = TableKind::kEmbedding;
  uint32_t dim = 0;       // weights per row
  uint64_t elements = 0;  // dense only: total size of the tensor
  DType dtype = DType::kFloat32;
  OptimizerSpec optimizer;
  InitializerSpec initializer;
  ConsistencyPolicy consistency;
  Reduce reduce = Reduce::kMean;
  Durability durability = Durability::kNone;
  IdPolicy ids;
  bool allow_non_finite = false;
  bool operator==(const TableSpec&) const = default;

  // Rows of a dense table: ceil(elements / dim).
  uint64_t DenseRows() const { return dim == 0 ? 0 : (elements + dim - 1) / dim; }
};

// Checks all that can be judged without a server: names, sizes, ranges, combinations. All problems
// are in one message.
// Errors: INVALID_ARGUMENT; UNIMPLEMENTED with detail UNSUPPORTED for a known choice that this
// version does not have (durability other than none, essp, async with rounds).
absl::Status ValidateTableSpec(const TableSpec& spec);

// Human-readable list of the fields in which two specs differ ("dim: 16 here, 32 asked; ...");
// empty when they are equal.
std::string DescribeDifference(const TableSpec& here, const TableSpec& asked);

// A table that exists: its spec and the coordinator's number.
struct TableInfo {
  TableId id;
  JobId job;
  TableSpec spec;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_TABLE_SPEC_H_
