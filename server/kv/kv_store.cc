#include "server/kv/kv_store.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "fmt/format.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/write_batch.h"

#include "common/status/status.h"

namespace syncline {

struct KvStore::Database {
  std::unique_ptr<rocksdb::DB> db;
};

namespace {

constexpr std::string_view kFormatKey("\0syncline/format", 16);
constexpr std::string_view kClusterKey("\0syncline/cluster", 17);

rocksdb::Slice ToSlice(std::string_view s) { return {s.data(), s.size()}; }

rocksdb::Options MakeOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  // A torn tail is what a crash leaves; damage before it must be seen (the default mode loses what
  // follows without a word).
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.paranoid_checks = true;
  options.compression = rocksdb::kNoCompression;
  options.keep_log_file_num = 4;
  options.max_open_files = 128;
  options.write_buffer_size = size_t{4} << 20;
  return options;
}

rocksdb::WriteOptions Durable() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

absl::Status FromRocks(const rocksdb::Status& status, std::string_view directory,
                       std::string_view what) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsCorruption()) {
    return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                     "{} in {}: {}; the files are damaged: restore the directory from a copy, or "
                     "move it away to start an empty cluster",
                     what, directory, status.ToString());
  }
  return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                   "{} in {}: {}; check free space and permissions, and that no other process uses "
                   "the directory",
                   what, directory, status.ToString());
}

absl::Status Foreign(const std::string& directory, std::string_view why) {
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                   "{} {}; name an empty directory or one that ps-server made", directory, why);
}

absl::Status CheckKey(std::string_view key) {
  if (!key.empty() && key.front() == '\0') {
    return InvalidArgument("key starts with a zero byte, which is kept for the store itself");
  }
  return absl::OkStatus();
}

// Missing, empty, or holding a RocksDB database; anything else is refused.
absl::StatusOr<bool> HoldsDatabase(const std::string& directory) {
  std::error_code error;
  const auto kind = std::filesystem::status(directory, error);
  if (kind.type() == std::filesystem::file_type::not_found) return false;
  if (kind.type() != std::filesystem::file_type::directory) {
    return Foreign(directory, "is no directory that can be read");
  }
  const bool empty = std::filesystem::is_empty(directory, error);
  if (error) return Foreign(directory, fmt::format("cannot be read ({})", error.message()));
  if (empty) return false;
  if (std::filesystem::exists(std::filesystem::path(directory) / "CURRENT", error)) return true;
  return Foreign(directory, "holds files that are not Syncline's");
}

bool IsEmpty(rocksdb::DB& db) {
  std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(rocksdb::ReadOptions()));
  it->SeekToFirst();
  return !it->Valid() && it->status().ok();
}

// An empty database is one whose maker died before it wrote the format.
absl::Status CheckFormat(rocksdb::DB& db, const std::string& directory) {
  std::string text;
  const rocksdb::Status got = db.Get(rocksdb::ReadOptions(), ToSlice(kFormatKey), &text);
  if (got.IsNotFound()) {
    return IsEmpty(db) ? absl::OkStatus() : Foreign(directory, "is another program's database");
  }
  RETURN_IF_ERROR(FromRocks(got, directory, "reading the format version"));
  uint32_t version = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), version);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                     "{}: format version '{}' is no number", directory, text);
  }
  if (version > kKvFormatVersion) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "{} has format version {}, this program knows up to {}; run the newer program",
                     directory, version, kKvFormatVersion);
  }
  return absl::OkStatus();
}

// Looks before it writes: a read-only open leaves a foreign database as it was.
absl::Status CheckBeforeOpening(const std::string& directory) {
  rocksdb::DB* raw = nullptr;
  rocksdb::Options options = MakeOptions();
  options.create_if_missing = false;
  const rocksdb::Status opened = rocksdb::DB::OpenForReadOnly(options, directory, &raw);
  RETURN_IF_ERROR(FromRocks(opened, directory, "opening the store"));
  std::unique_ptr<rocksdb::DB> db(raw);
  return CheckFormat(*db, directory);
}

}  // namespace

KvStore::KvStore(std::string directory, std::unique_ptr<Database> database)
    : directory_(std::move(directory)), database_(std::move(database)) {}

KvStore::~KvStore() = default;

absl::StatusOr<std::unique_ptr<KvStore>> KvStore::Open(const std::string& directory) {
  ASSIGN_OR_RETURN(const bool exists, HoldsDatabase(directory));
  if (exists) RETURN_IF_ERROR(CheckBeforeOpening(directory));
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Foreign(directory, fmt::format("cannot be made ({})", error.message()));
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(MakeOptions(), directory, &raw);
  RETURN_IF_ERROR(FromRocks(opened, directory, "opening the store"));
  auto database = std::make_unique<Database>();
  database->db.reset(raw);
  const rocksdb::Status written =
      raw->Put(Durable(), ToSlice(kFormatKey), fmt::format("{}", kKvFormatVersion));
  RETURN_IF_ERROR(FromRocks(written, directory, "writing the format version"));
  return std::unique_ptr<KvStore>(new KvStore(directory, std::move(database)));
}

absl::StatusOr<std::optional<std::string>> KvStore::Get(std::string_view key) const {
  RETURN_IF_ERROR(CheckKey(key));
  std::string value;
  const rocksdb::Status got = database_->db->Get(rocksdb::ReadOptions(), ToSlice(key), &value);
  if (got.IsNotFound()) return std::optional<std::string>();
  RETURN_IF_ERROR(FromRocks(got, directory_, "reading"));
  return std::optional<std::string>(std::move(value));
}

absl::Status KvStore::Put(std::string_view key, std::string_view value) {
  KvWriteBatch batch;
  batch.Put(key, value);
  return Write(batch);
}

absl::Status KvStore::Delete(std::string_view key) {
  KvWriteBatch batch;
  batch.Delete(key);
  return Write(batch);
}

absl::Status KvStore::Write(const KvWriteBatch& batch) {
  rocksdb::WriteBatch changes;
  for (const auto& [key, value] : batch.changes_) {
    RETURN_IF_ERROR(CheckKey(key));
    const rocksdb::Status added =
        value ? changes.Put(ToSlice(key), ToSlice(*value)) : changes.Delete(ToSlice(key));
    RETURN_IF_ERROR(FromRocks(added, directory_, "writing"));
  }
  return FromRocks(database_->db->Write(Durable(), &changes), directory_, "writing");
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> KvStore::Scan(
    std::string_view prefix) const {
  RETURN_IF_ERROR(CheckKey(prefix));
  std::vector<std::pair<std::string, std::string>> found;
  std::unique_ptr<rocksdb::Iterator> it(database_->db->NewIterator(rocksdb::ReadOptions()));
  // An empty prefix starts past the store's own keys.
  it->Seek(prefix.empty() ? rocksdb::Slice("\x01", 1) : ToSlice(prefix));
  for (; it->Valid() && it->key().starts_with(ToSlice(prefix)); it->Next()) {
    found.emplace_back(it->key().ToString(), it->value().ToString());
  }
  RETURN_IF_ERROR(FromRocks(it->status(), directory_, "reading"));
  return found;
}

absl::StatusOr<std::string> KvStore::ClusterId() const {
  std::string cluster;
  const rocksdb::Status got =
      database_->db->Get(rocksdb::ReadOptions(), ToSlice(kClusterKey), &cluster);
  if (got.IsNotFound()) return std::string();
  RETURN_IF_ERROR(FromRocks(got, directory_, "reading the cluster id"));
  return cluster;
}

absl::Status KvStore::AdoptClusterId(std::string_view cluster) {
  ASSIGN_OR_RETURN(const std::string present, ClusterId());
  if (present == cluster) return absl::OkStatus();
  if (!present.empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "{} belongs to cluster {}, not to {}; use another directory, or the cluster "
                     "that made it",
                     directory_, present, cluster);
  }
  return FromRocks(database_->db->Put(Durable(), ToSlice(kClusterKey), ToSlice(cluster)),
                   directory_, "writing the cluster id");
}

}  // namespace syncline
