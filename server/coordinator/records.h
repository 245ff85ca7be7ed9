// How the coordinator's state is written into the MetaStore: one key per thing.
//
//   cluster          ClusterRecord     map             ClusterMap
//   job/<id>         JobRecord         table/<id>      TableRecord
//   server/<id>      ServerAddress     session/<hex>   SessionRecord
#ifndef SYNCLINE_SERVER_COORDINATOR_RECORDS_H_
#define SYNCLINE_SERVER_COORDINATOR_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "common/slot_map/slot_map.h"
#include "server/coordinator/catalog.h"
#include "server/coordinator/session_book.h"

namespace syncline::coordinator {

struct ClusterState {
  std::string cluster;
  uint32_t slot_count = 0;
  uint32_t servers_expected = 0;
  uint64_t term = 0;
  Catalog::NextIds next_ids;
  Token next_token{1};
};

// Everything that an earlier coordinator wrote.
struct StoredState {
  std::optional<ClusterState> cluster;  // nullopt: a new cluster
  std::optional<SlotMap> map;
  std::vector<ServerEntry> servers;
  std::vector<Job> jobs;
  std::vector<Table> tables;
  std::vector<Session> sessions;
};

std::string ClusterKey();
std::string MapKey();
std::string KeyOf(const Job& job);
std::string KeyOf(const Table& table);
std::string KeyOf(const ServerEntry& server);
std::string KeyOf(const Session& session);

std::string Encode(const ClusterState& cluster);
std::string Encode(const SlotMap& map);
std::string Encode(const Job& job);
std::string Encode(const Table& table);
std::string Encode(const ServerEntry& server);
std::string Encode(const Session& session);

// Keys that are none of the above are ignored.
// Errors: DATA_LOSS names the key.
absl::StatusOr<StoredState> DecodeRecords(
    const std::vector<std::pair<std::string, std::string>>& records);

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_RECORDS_H_
