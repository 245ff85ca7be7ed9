// psctl key get
#include <memory>

#include "common/hash.h"
#include "worker/psctl/lookup.h"
#include "worker/psctl/nouns.h"

namespace syncline::psctl {
namespace {

struct GetOptions {
  std::string table;
  std::string key;
};

struct Place {
  uint32_t slot = 0;
  v1::ServerAddress server;
};

absl::StatusOr<Place> PlaceOf(const v1::ClusterMap& map, TableId table, Key key) {
  const auto slots = static_cast<uint32_t>(map.slots_size());
  if (map.epoch() == 0 || slots == 0 || (slots & (slots - 1)) != 0) {
    return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                     "the map is not complete: see psctl cluster health");
  }
  const uint32_t slot = SlotOf(table, key, slots).value();
  const uint32_t server = map.slots(static_cast<int>(slot)).server();
  if (server >= static_cast<uint32_t>(map.servers_size())) {
    return MakeError(absl::StatusCode::kInternal, Detail::kNone,
                     "the map gives slot {} to server {}, and has {} servers", slot, server,
                     map.servers_size());
  }
  return Place{slot, map.servers(static_cast<int>(server))};
}

std::vector<float> Floats(const google::protobuf::RepeatedField<float>& values) {
  return {values.begin(), values.end()};
}

absl::StatusOr<Report> Get(Context& context, const GetOptions& options) {
  ASSIGN_OR_RETURN(const Key key, ParseKey(options.key));
  ASSIGN_OR_RETURN(const NamedTable table, FindTable(context, options.table));
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const v1::ClusterMap map, api->GetMap());
  const TableId id(table.info.id());
  ASSIGN_OR_RETURN(const Place place, PlaceOf(map, id, key));
  ASSIGN_OR_RETURN(const v1::Row row, api->GetRow(place.server.endpoint(), id, key));
  return SingleReport("Row", {
                                 {{"job", "Job"}, table.job},
                                 {{"table", "Table"}, options.table},
                                 {{"key", "Key"}, std::to_string(key)},
                                 {{"slot", "Slot"}, uint64_t{place.slot}},
                                 {{"server", "Server"}, uint64_t{place.server.id()}},
                                 {{"endpoint", "Endpoint"}, place.server.endpoint()},
                                 {{"stored", "Stored"}, row.stored()},
                                 {{"weights", "Weights"}, Floats(row.weights())},
                                 {{"optimizer_state", "State"}, Floats(row.optimizer_state())},
                             });
}

}  // namespace

void AddKey(CLI::App& app, Command& chosen) {
  CLI::App* noun = AddNoun(app, "key", "single rows");
  const auto options = std::make_shared<GetOptions>();
  CLI::App* get = AddVerb(noun, "get", "where a row lives, its weights and optimizer state", chosen,
                          [options](Context& context) { return Get(context, *options); });
  get->add_option("TABLE", options->table, "name of the table")->required();
  get->add_option("KEY", options->key, "decimal, or 0x and hexadecimal digits")->required();
}

}  // namespace syncline::psctl
