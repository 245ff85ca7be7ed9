// The seam for the cluster's metadata: a small versioned map that outlives the coordinator.
#ifndef SYNCLINE_SERVER_COORDINATOR_META_STORE_H_
#define SYNCLINE_SERVER_COORDINATOR_META_STORE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/types.h"

namespace syncline {

// The store's revision when a key was last written; 0: the key does not exist. Revisions only grow
// and are never given to two changes, so a key that was deleted and made again has another one.
using MetaVersion = StrongNumber<struct MetaVersionTag, uint64_t>;
inline constexpr MetaVersion kAbsent{0};

// Keys written under a lease vanish when it expires. 0: no lease.
using MetaLease = StrongNumber<struct MetaLeaseTag, uint64_t>;
inline constexpr MetaLease kNoLease{0};

struct MetaRecord {
  std::string key;
  std::string value;
  MetaVersion version;
  bool operator==(const MetaRecord&) const = default;
};

struct MetaChange {
  std::string key;
  MetaVersion expected;              // the version that the writer saw; kAbsent: must not exist
  std::optional<std::string> value;  // nullopt: delete
  MetaLease lease = kNoLease;
};

struct MetaEvent {
  std::string key;
  std::optional<std::string> value;  // nullopt: deleted, or its lease expired
  MetaVersion version;               // of the change
  bool operator==(const MetaEvent&) const = default;
};

// The changes under a prefix since the watch was made, in order, none missing. Ends when destroyed.
// Thread-safe.
class MetaWatch {
 public:
  virtual ~MetaWatch() = default;
  // nullopt: nothing new. Never waits.
  // Errors: OUT_OF_RANGE when the reader fell so far behind that changes were dropped: make a new
  // watch, then List.
  virtual absl::StatusOr<std::optional<MetaEvent>> TryNext() = 0;
};

// Changes a watch keeps for a slow reader.
inline constexpr size_t kMaxMetaWatchBacklog = 4'096;

// Thread-safe. Every method may block on a disk or a network. Every method may answer UNAVAILABLE
// (the store cannot be reached: whether a change was made is then unknown) and DATA_LOSS.
class MetaStore {
 public:
  virtual ~MetaStore() = default;

  // nullopt: no such key.
  virtual absl::StatusOr<std::optional<MetaRecord>> Get(std::string_view key) = 0;
  // All keys with the prefix, ascending, at one revision.
  virtual absl::StatusOr<std::vector<MetaRecord>> List(std::string_view prefix) = 0;

  // Makes all changes, durably and at one new revision, if every key has its expected version.
  // Returns that revision: the new version of every key written.
  // Errors, nothing changed:
  //   ABORTED           a key has another version: somebody else wrote
  //   NOT_FOUND         a lease is unknown or expired
  //   INVALID_ARGUMENT  a key is empty, starts with a zero byte, or is named twice
  virtual absl::StatusOr<MetaVersion> CompareAndSwap(const std::vector<MetaChange>& changes) = 0;

  // Sees every change made after this call returns.
  virtual absl::StatusOr<std::unique_ptr<MetaWatch>> Watch(std::string_view prefix) = 0;

  // A lease lives for `ttl` after it was granted or last kept alive, at least.
  virtual absl::StatusOr<MetaLease> GrantLease(std::chrono::milliseconds ttl) = 0;
  // Errors: NOT_FOUND when it has expired; its keys are gone.
  virtual absl::Status KeepAlive(MetaLease lease) = 0;
  // Ends a lease at once, with its keys. Idempotent.
  virtual absl::Status Revoke(MetaLease lease) = 0;
};

// Stands for election under a lease. OK: this candidate leads while the lease lives; asking again
// is OK too. Changes that only a leader may make name the election's key with the version returned.
// Errors: FAILED_PRECONDITION names the leader; watch "election/<name>" and ask again.
absl::StatusOr<MetaVersion> Elect(MetaStore& store, std::string_view name,
                                  std::string_view candidate, MetaLease lease);

// What implementations share: the INVALID_ARGUMENT cases of CompareAndSwap.
absl::Status ValidateChanges(const std::vector<MetaChange>& changes);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_COORDINATOR_META_STORE_H_
