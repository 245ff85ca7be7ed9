// psctl slot list
#include <algorithm>
#include <cstdint>

#include "worker/psctl/nouns.h"

namespace syncline::psctl {
namespace {

absl::StatusOr<Report> List(Context& context) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const v1::ClusterMap map, api->GetMap());
  Report report{.kind = "SlotList",
                .columns = {{"slot", "slot"},
                            {"server", "server"},
                            {"incarnation", "incarnation"},
                            {"executor", "executor"},
                            {"rows", "rows"},
                            {"parked_reads", "parked reads"}},
                .rows = {}};
  for (const v1::ServerAddress& server : map.servers()) {
    ASSIGN_OR_RETURN(const v1::ListSlotsReply reply, api->ListSlots(server.endpoint()));
    for (const v1::SlotStatus& slot : reply.slots()) {
      report.rows.push_back({uint64_t{slot.slot()}, uint64_t{server.id()},
                             uint64_t{slot.incarnation()}, uint64_t{slot.executor()},
                             uint64_t{slot.rows()}, uint64_t{slot.parked_reads()}});
    }
  }
  std::sort(report.rows.begin(), report.rows.end());
  return report;
}

}  // namespace

void AddSlot(CLI::App& app, Command& chosen) {
  CLI::App* noun = AddNoun(app, "slot", "the units of placement");
  AddVerb(noun, "list", "every slot, where it lives and what it holds", chosen, List);
}

}  // namespace syncline::psctl
