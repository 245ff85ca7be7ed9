// Metadata in this machine's own key-value store, for clusters without etcd.
#ifndef SYNCLINE_SERVER_COORDINATOR_LOCAL_META_STORE_H_
#define SYNCLINE_SERVER_COORDINATOR_LOCAL_META_STORE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/thread/mutex.h"
#include "common/time_source.h"
#include "server/coordinator/meta_store.h"
#include "server/kv/kv_store.h"

namespace syncline {

// The directory belongs to one process (RocksDB's lock), so other candidates can only be threads of
// it. Leases, and keys written under them, live in memory: they end with the process that held
// them. Everything else is durable when CompareAndSwap returns.
//
// Leases expire when somebody looks: every method call, or Poll, expires what is due.
class LocalMetaStore final : public MetaStore {
 public:
  // REQUIRES: both outlive this object; nobody else writes keys that start with "meta/" or
  // "meta_revision" to `kv`.
  static absl::StatusOr<std::unique_ptr<LocalMetaStore>> Open(KvStore& kv, const TimeSource& time);

  absl::StatusOr<std::optional<MetaRecord>> Get(std::string_view key) override;
  absl::StatusOr<std::vector<MetaRecord>> List(std::string_view prefix) override;
  absl::StatusOr<MetaVersion> CompareAndSwap(const std::vector<MetaChange>& changes) override;
  absl::StatusOr<std::unique_ptr<MetaWatch>> Watch(std::string_view prefix) override;
  absl::StatusOr<MetaLease> GrantLease(std::chrono::milliseconds ttl) override;
  absl::Status KeepAlive(MetaLease lease) override;
  absl::Status Revoke(MetaLease lease) override;

  // Expires leases that are due.
  void Poll();

 private:
  class WatchQueue;
  class LocalWatch;
  struct Entry {
    std::string value;
    MetaVersion version;
    MetaLease lease;
  };
  struct Lease {
    std::chrono::milliseconds ttl;
    MonotonicTime expires;
  };

  LocalMetaStore(KvStore& kv, const TimeSource& time) : kv_(kv), time_(time) {}
  absl::Status Load();
  absl::Status CheckLocked(const std::vector<MetaChange>& changes) const REQUIRES(mutex_);
  absl::Status StoreLocked(const std::vector<MetaChange>& changes, MetaVersion revision)
      REQUIRES(mutex_);
  void ApplyLocked(const MetaChange& change, MetaVersion revision) REQUIRES(mutex_);
  void EndLeaseLocked(MetaLease lease) REQUIRES(mutex_);
  void ExpireLocked() REQUIRES(mutex_);

  KvStore& kv_;
  const TimeSource& time_;
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ GUARDED_BY(mutex_);
  std::map<MetaLease, Lease> leases_ GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<WatchQueue>> watches_ GUARDED_BY(mutex_);
  MetaVersion revision_ GUARDED_BY(mutex_);
  MetaLease last_lease_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_COORDINATOR_LOCAL_META_STORE_H_
