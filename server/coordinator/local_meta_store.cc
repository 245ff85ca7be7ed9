#include "server/coordinator/local_meta_store.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include "fmt/format.h"

#include "common/status/status.h"

namespace syncline {
namespace {

constexpr std::string_view kPrefix = "meta/";
constexpr std::string_view kRevisionKey = "meta_revision";

std::string Encode(const std::string& value, MetaVersion version) {
  return fmt::format("{} {}", version.value(), value);
}

absl::StatusOr<uint64_t> ParseNumber(std::string_view text, std::string_view what) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                     "metadata: {} is damaged; restore the meta directory from a copy", what);
  }
  return number;
}

}  // namespace

class LocalMetaStore::WatchQueue {
 public:
  explicit WatchQueue(std::string prefix) : prefix_(std::move(prefix)) {}

  void Add(const MetaEvent& event) {
    if (event.key.compare(0, prefix_.size(), prefix_) != 0) return;
    MutexLock lock(mutex_);
    overrun_ = overrun_ || events_.size() >= kMaxMetaWatchBacklog;
    if (!overrun_) events_.push_back(event);
  }

  absl::StatusOr<std::optional<MetaEvent>> TryNext() {
    MutexLock lock(mutex_);
    if (overrun_) {
      return MakeError(absl::StatusCode::kOutOfRange, Detail::kNone,
                       "watch of {}: more than {} changes were not read; watch again, then list",
                       prefix_, kMaxMetaWatchBacklog);
    }
    if (events_.empty()) return std::optional<MetaEvent>();
    std::optional<MetaEvent> event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  const std::string prefix_;
  Mutex mutex_;
  std::deque<MetaEvent> events_ GUARDED_BY(mutex_);
  bool overrun_ GUARDED_BY(mutex_) = false;
};

class LocalMetaStore::LocalWatch final : public MetaWatch {
 public:
  LocalWatch(LocalMetaStore& store, std::shared_ptr<WatchQueue> queue)
      : store_(store), queue_(std::move(queue)) {}
  absl::StatusOr<std::optional<MetaEvent>> TryNext() override {
    store_.Poll();
    return queue_->TryNext();
  }

 private:
  LocalMetaStore& store_;
  std::shared_ptr<WatchQueue> queue_;
};

absl::StatusOr<std::unique_ptr<LocalMetaStore>> LocalMetaStore::Open(KvStore& kv,
                                                                     const TimeSource& time) {
  std::unique_ptr<LocalMetaStore> store(new LocalMetaStore(kv, time));
  RETURN_IF_ERROR(store->Load());
  return store;
}

absl::Status LocalMetaStore::Load() {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const auto revision, kv_.Get(kRevisionKey));
  if (revision) {
    ASSIGN_OR_RETURN(const uint64_t number, ParseNumber(*revision, kRevisionKey));
    revision_ = MetaVersion(number);
  }
  ASSIGN_OR_RETURN(const auto stored, kv_.Scan(kPrefix));
  for (const auto& [key, text] : stored) {
    const size_t space = std::min(text.find(' '), text.size());
    ASSIGN_OR_RETURN(const uint64_t version, ParseNumber(text.substr(0, space), key));
    if (space == text.size()) return ParseNumber("", key).status();
    entries_[key.substr(kPrefix.size())] = {text.substr(space + 1), MetaVersion(version), kNoLease};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<MetaRecord>> LocalMetaStore::Get(std::string_view key) {
  MutexLock lock(mutex_);
  ExpireLocked();
  const auto it = entries_.find(key);
  if (it == entries_.end()) return std::optional<MetaRecord>();
  return std::optional<MetaRecord>({it->first, it->second.value, it->second.version});
}

absl::StatusOr<std::vector<MetaRecord>> LocalMetaStore::List(std::string_view prefix) {
  MutexLock lock(mutex_);
  ExpireLocked();
  std::vector<MetaRecord> found;
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
    found.push_back({it->first, it->second.value, it->second.version});
  }
  return found;
}

absl::Status LocalMetaStore::CheckLocked(const std::vector<MetaChange>& changes) const {
  for (const MetaChange& change : changes) {
    const auto it = entries_.find(change.key);
    const MetaVersion present = it == entries_.end() ? kAbsent : it->second.version;
    if (present != change.expected) {
      return MakeError(absl::StatusCode::kAborted, Detail::kNone,
                       "metadata key {} has version {}, not {}: somebody else wrote it; read again",
                       change.key, present.value(), change.expected.value());
    }
    if (change.lease != kNoLease && !leases_.contains(change.lease)) {
      return MakeError(absl::StatusCode::kNotFound, Detail::kNone,
                       "metadata lease {} has expired; take a new one", change.lease.value());
    }
  }
  return absl::OkStatus();
}

absl::Status LocalMetaStore::StoreLocked(const std::vector<MetaChange>& changes,
                                         MetaVersion revision) {
  KvWriteBatch batch;
  batch.Put(kRevisionKey, fmt::format("{}", revision.value()));
  for (const MetaChange& change : changes) {
    const std::string key = fmt::format("{}{}", kPrefix, change.key);
    if (change.value && change.lease == kNoLease) {
      batch.Put(key, Encode(*change.value, revision));
    } else {
      batch.Delete(key);
    }
  }
  return kv_.Write(batch);
}

void LocalMetaStore::ApplyLocked(const MetaChange& change, MetaVersion revision) {
  if (change.value) {
    entries_[change.key] = {*change.value, revision, change.lease};
  } else {
    entries_.erase(change.key);
  }
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  for (const auto& watch : watches_) {
    if (auto queue = watch.lock()) queue->Add({change.key, change.value, revision});
  }
}

absl::StatusOr<MetaVersion> LocalMetaStore::CompareAndSwap(const std::vector<MetaChange>& changes) {
  RETURN_IF_ERROR(ValidateChanges(changes));
  MutexLock lock(mutex_);
  ExpireLocked();
  RETURN_IF_ERROR(CheckLocked(changes));
  const MetaVersion revision = revision_.Next();
  RETURN_IF_ERROR(StoreLocked(changes, revision));
  revision_ = revision;
  for (const MetaChange& change : changes) ApplyLocked(change, revision);
  return revision;
}

absl::StatusOr<std::unique_ptr<MetaWatch>> LocalMetaStore::Watch(std::string_view prefix) {
  MutexLock lock(mutex_);
  ExpireLocked();
  auto queue = std::make_shared<WatchQueue>(std::string(prefix));
  watches_.push_back(queue);
  return std::unique_ptr<MetaWatch>(new LocalWatch(*this, std::move(queue)));
}

absl::StatusOr<MetaLease> LocalMetaStore::GrantLease(std::chrono::milliseconds ttl) {
  MutexLock lock(mutex_);
  ExpireLocked();
  ++last_lease_;
  leases_[last_lease_] = {ttl, time_.Now() + ttl};
  return last_lease_;
}

absl::Status LocalMetaStore::KeepAlive(MetaLease lease) {
  MutexLock lock(mutex_);
  ExpireLocked();
  const auto it = leases_.find(lease);
  if (it == leases_.end()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kNone,
                     "metadata lease {} has expired; take a new one", lease.value());
  }
  it->second.expires = time_.Now() + it->second.ttl;
  return absl::OkStatus();
}

absl::Status LocalMetaStore::Revoke(MetaLease lease) {
  MutexLock lock(mutex_);
  ExpireLocked();
  EndLeaseLocked(lease);
  return absl::OkStatus();
}

void LocalMetaStore::Poll() {
  MutexLock lock(mutex_);
  ExpireLocked();
}

void LocalMetaStore::EndLeaseLocked(MetaLease lease) {
  if (leases_.erase(lease) == 0) return;
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) {
    if (entry.lease == lease) keys.push_back(key);
  }
  if (keys.empty()) return;
  ++revision_;  // durable with the next write: only leased keys, which end with us, carry it
  for (const std::string& key : keys) ApplyLocked({key, kAbsent, std::nullopt}, revision_);
}

void LocalMetaStore::ExpireLocked() {
  const MonotonicTime now = time_.Now();
  std::vector<MetaLease> due;
  for (const auto& [lease, state] : leases_) {
    if (state.expires <= now) due.push_back(lease);
  }
  for (MetaLease lease : due) EndLeaseLocked(lease);
}

}  // namespace syncline
