// A MetaStore in memory that can be told to fail. Passes the same suite as the real ones.
#ifndef SYNCLINE_TESTS_SUPPORT_FAKE_META_STORE_H_
#define SYNCLINE_TESTS_SUPPORT_FAKE_META_STORE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status/status.h"
#include "common/time_source.h"
#include "server/coordinator/meta_store.h"

namespace syncline {

// Not thread-safe. Keeps the whole history; a watch is an index into it.
class FakeMetaStore final : public MetaStore {
 public:
  explicit FakeMetaStore(const TimeSource& time) : time_(time) {}

  // Every call answers this until it is OK again.
  void FailWith(absl::Status status) { failure_ = std::move(status); }
  size_t writes() const { return writes_; }

  absl::StatusOr<std::optional<MetaRecord>> Get(std::string_view key) override {
    RETURN_IF_ERROR(Begin());
    const auto it = data_.find(std::string(key));
    if (it == data_.end()) return std::optional<MetaRecord>();
    return std::optional<MetaRecord>(it->second.record);
  }

  absl::StatusOr<std::vector<MetaRecord>> List(std::string_view prefix) override {
    RETURN_IF_ERROR(Begin());
    std::vector<MetaRecord> found;
    for (const auto& [key, stored] : data_) {
      if (key.rfind(prefix, 0) == 0) found.push_back(stored.record);
    }
    return found;
  }

  absl::StatusOr<MetaVersion> CompareAndSwap(const std::vector<MetaChange>& changes) override {
    RETURN_IF_ERROR(Begin());
    RETURN_IF_ERROR(ValidateChanges(changes));
    for (const MetaChange& change : changes) {
      const auto it = data_.find(change.key);
      if ((it == data_.end() ? kAbsent : it->second.record.version) != change.expected) {
        return MakeError(absl::StatusCode::kAborted, Detail::kNone, "{} changed", change.key);
      }
      if (change.lease != kNoLease && expiry_.count(change.lease) == 0) {
        return MakeError(absl::StatusCode::kNotFound, Detail::kNone, "lease expired");
      }
    }
    ++writes_;
    ++revision_;
    for (const MetaChange& change : changes) Apply(change);
    return revision_;
  }

  absl::StatusOr<std::unique_ptr<MetaWatch>> Watch(std::string_view prefix) override {
    RETURN_IF_ERROR(Begin());
    return std::unique_ptr<MetaWatch>(new HistoryWatch(*this, std::string(prefix)));
  }

  absl::StatusOr<MetaLease> GrantLease(std::chrono::milliseconds ttl) override {
    RETURN_IF_ERROR(Begin());
    ++last_lease_;
    expiry_[last_lease_] = {ttl, time_.Now() + ttl};
    return last_lease_;
  }

  absl::Status KeepAlive(MetaLease lease) override {
    RETURN_IF_ERROR(Begin());
    const auto it = expiry_.find(lease);
    if (it == expiry_.end()) {
      return MakeError(absl::StatusCode::kNotFound, Detail::kNone, "lease expired");
    }
    it->second.second = time_.Now() + it->second.first;
    return absl::OkStatus();
  }

  absl::Status Revoke(MetaLease lease) override {
    RETURN_IF_ERROR(Begin());
    End(lease);
    return absl::OkStatus();
  }

 private:
  struct Stored {
    MetaRecord record;
    MetaLease lease;
  };

  class HistoryWatch final : public MetaWatch {
   public:
    HistoryWatch(FakeMetaStore& store, std::string prefix)
        : store_(store), prefix_(std::move(prefix)), next_(store.history_.size()) {}
    absl::StatusOr<std::optional<MetaEvent>> TryNext() override {
      RETURN_IF_ERROR(store_.Begin());
      if (store_.history_.size() - next_ > kMaxMetaWatchBacklog) {
        return MakeError(absl::StatusCode::kOutOfRange, Detail::kNone, "fell behind");
      }
      while (next_ < store_.history_.size()) {
        const MetaEvent& event = store_.history_[next_++];
        if (event.key.rfind(prefix_, 0) == 0) return std::optional<MetaEvent>(event);
      }
      return std::optional<MetaEvent>();
    }

   private:
    FakeMetaStore& store_;
    const std::string prefix_;
    size_t next_;
  };

  absl::Status Begin() {
    std::vector<MetaLease> due;
    for (const auto& [lease, times] : expiry_) {
      if (times.second <= time_.Now()) due.push_back(lease);
    }
    for (MetaLease lease : due) End(lease);
    return failure_;
  }

  void End(MetaLease lease) {
    if (expiry_.erase(lease) == 0) return;
    ++revision_;
    std::vector<std::string> keys;
    for (const auto& [key, stored] : data_) {
      if (stored.lease == lease) keys.push_back(key);
    }
    for (const std::string& key : keys) Apply({key, kAbsent, std::nullopt});
  }

  void Apply(const MetaChange& change) {
    if (change.value) {
      data_[change.key] = {{change.key, *change.value, revision_}, change.lease};
    } else {
      data_.erase(change.key);
    }
    history_.push_back({change.key, change.value, revision_});
  }

  const TimeSource& time_;
  absl::Status failure_;
  std::map<std::string, Stored> data_;
  std::vector<MetaEvent> history_;
  std::map<MetaLease, std::pair<std::chrono::milliseconds, MonotonicTime>> expiry_;
  MetaVersion revision_;
  MetaLease last_lease_;
  size_t writes_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_FAKE_META_STORE_H_
