// The one door to RocksDB: a small ordered key-value store in a directory of its own.
#ifndef SYNCLINE_SERVER_KV_KV_STORE_H_
#define SYNCLINE_SERVER_KV_KV_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace syncline {

// Version of what this program writes into the store's directory. A directory with a higher one
// was written by a newer program and is refused.
inline constexpr uint32_t kKvFormatVersion = 1;

// Changes that become visible and durable together or not at all. A value; not thread-safe.
class KvWriteBatch {
 public:
  void Put(std::string_view key, std::string_view value) {
    changes_.emplace_back(std::string(key), std::string(value));
  }
  void Delete(std::string_view key) { changes_.emplace_back(std::string(key), std::nullopt); }
  bool empty() const { return changes_.empty(); }

 private:
  friend class KvStore;
  std::vector<std::pair<std::string, std::optional<std::string>>> changes_;  // in order
};

// Thread-safe. A directory is open in one process at a time (RocksDB's lock file).
//
// Keys are any bytes, ordered as unsigned bytes; those that start with a zero byte are the store's
// own. Every write is on disk (fsync) when it returns OK. Every error names the directory and what
// to do. Of every method:
//   DATA_LOSS           RocksDB found damage: restore the directory from a copy
//   UNAVAILABLE         the disk failed or is full; the store may refuse writes until reopened
//   INVALID_ARGUMENT    a key that starts with a zero byte
class KvStore {
 public:
  // Opens the store in `directory`, and makes it when the directory is missing or empty.
  //
  // Errors, nothing changed on disk:
  //   FAILED_PRECONDITION  the directory holds something else, or the format of a newer program
  //   UNAVAILABLE          another process has it open, or the disk refuses
  //   DATA_LOSS            the files are damaged (a torn tail of the newest log is not: it is cut)
  static absl::StatusOr<std::unique_ptr<KvStore>> Open(const std::string& directory);

  ~KvStore();
  KvStore(const KvStore&) = delete;
  KvStore& operator=(const KvStore&) = delete;

  // nullopt: no such key.
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) const;
  absl::Status Put(std::string_view key, std::string_view value);
  absl::Status Delete(std::string_view key);
  absl::Status Write(const KvWriteBatch& batch);
  // Every key that starts with `prefix`, ascending, with its value. Reads all into memory.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Scan(
      std::string_view prefix) const;

  // The cluster that the data belongs to; empty until adopted.
  absl::StatusOr<std::string> ClusterId() const;
  // Marks the data as the cluster's, or checks that it is.
  // Errors: FAILED_PRECONDITION when it belongs to another cluster.
  absl::Status AdoptClusterId(std::string_view cluster);

  const std::string& directory() const { return directory_; }

 private:
  struct Database;
  KvStore(std::string directory, std::unique_ptr<Database> database);

  std::string directory_;
  std::unique_ptr<Database> database_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_KV_KV_STORE_H_
