// psctl table {list,describe,stats}
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "fmt/format.h"

#include "common/config/values.h"
#include "worker/psctl/lookup.h"
#include "worker/psctl/nouns.h"

namespace syncline::psctl {
namespace {

// Enum values as proto/table.proto spells them, in lower case.
std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::string KindOf(const v1::TableSpec& spec) { return Lower(v1::TableKind_Name(spec.kind())); }

std::string ConsistencyOf(const v1::TableSpec& spec) {
  const v1::ConsistencyPolicy& policy = spec.consistency();
  const std::string mode = Lower(v1::ConsistencyPolicy::Mode_Name(policy.mode()));
  const bool bounded =
      policy.mode() == v1::ConsistencyPolicy::SSP || policy.mode() == v1::ConsistencyPolicy::ESSP;
  return bounded ? fmt::format("{}({})", mode, policy.staleness()) : mode;
}

// "adagrad(eps=1e-08, lr=0.05)", arguments by name.
std::string OptimizerOf(const v1::TableSpec& spec) {
  const std::map<std::string, double> arguments(spec.optimizer().arguments().begin(),
                                                spec.optimizer().arguments().end());
  std::string text;
  for (const auto& [name, value] : arguments) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, FormatValue(value));
  }
  return text.empty() ? spec.optimizer().name()
                      : fmt::format("{}({})", spec.optimizer().name(), text);
}

std::string InitializerOf(const v1::TableSpec& spec) {
  const v1::Initializer& i = spec.initializer();
  return fmt::format("{}(a={}, b={}, seed={})", Lower(v1::Initializer::Kind_Name(i.kind())),
                     FormatValue(i.a()), FormatValue(i.b()), i.seed());
}

// Elements mean something only for dense tables.
Value ElementsOf(const v1::TableSpec& spec) {
  return spec.kind() == v1::DENSE ? Value(uint64_t{spec.elements()}) : Value();
}

absl::StatusOr<Report> List(Context& context) {
  ASSIGN_OR_RETURN(const std::vector<NamedTable> tables, ListTables(context));
  Report report{.kind = "TableList",
                .columns = {{"id", "id"},
                            {"job", "job"},
                            {"name", "name"},
                            {"kind", "kind"},
                            {"dim", "dim"},
                            {"elements", "elements"},
                            {"optimizer", "optimizer"},
                            {"consistency", "consistency"},
                            {"durability", "durability"}},
                .rows = {}};
  for (const auto& [job, info] : tables) {
    const v1::TableSpec& spec = info.spec();
    report.rows.push_back({uint64_t{info.id()}, job, spec.name(), KindOf(spec),
                           uint64_t{spec.dim()}, ElementsOf(spec), spec.optimizer().name(),
                           ConsistencyOf(spec), Lower(v1::Durability_Name(spec.durability()))});
  }
  return report;
}

absl::StatusOr<Report> Describe(Context& context, const std::string& name) {
  ASSIGN_OR_RETURN(const NamedTable table, FindTable(context, name));
  const v1::TableSpec& spec = table.info.spec();
  const v1::ConsistencyPolicy& policy = spec.consistency();
  return SingleReport(
      "Table", {
                   {{"id", "Id"}, uint64_t{table.info.id()}},
                   {{"job", "Job"}, table.job},
                   {{"name", "Name"}, spec.name()},
                   {{"kind", "Kind"}, KindOf(spec)},
                   {{"dim", "Dim"}, uint64_t{spec.dim()}},
                   {{"elements", "Elements"}, ElementsOf(spec)},
                   {{"dtype", "Type"}, Lower(v1::DType_Name(spec.dtype()))},
                   {{"optimizer", "Optimizer"}, OptimizerOf(spec)},
                   {{"initializer", "Initializer"}, InitializerOf(spec)},
                   {{"consistency", "Consistency"}, ConsistencyOf(spec)},
                   {{"apply", "Apply"}, Lower(v1::ConsistencyPolicy::Apply_Name(policy.apply()))},
                   {{"reduce", "Reduce"}, Lower(v1::Reduce_Name(spec.reduce()))},
                   {{"durability", "Durability"}, Lower(v1::Durability_Name(spec.durability()))},
                   {{"id_policy", "Id policy"}, Lower(v1::IdPolicy::Kind_Name(spec.ids().kind()))},
                   {{"vocabulary", "Vocabulary"}, uint64_t{spec.ids().vocabulary()}},
                   {{"allow_non_finite", "Allow non-finite"}, spec.allow_non_finite()},
               });
}

void Add(const v1::TableStats& from, v1::TableStats& to) {
  to.set_rows(to.rows() + from.rows());
  to.set_memory_bytes(to.memory_bytes() + from.memory_bytes());
  to.set_rows_created(to.rows_created() + from.rows_created());
  to.set_ids_zeroed(to.ids_zeroed() + from.ids_zeroed());
  to.set_ids_rejected(to.ids_rejected() + from.ids_rejected());
  to.set_keys_pulled(to.keys_pulled() + from.keys_pulled());
  to.set_keys_pushed(to.keys_pushed() + from.keys_pushed());
}

// Sums over all servers of the map, by table. A server that does not answer is an error: a sum
// without it would be wrong and look right.
absl::StatusOr<std::map<uint32_t, v1::TableStats>> SumStats(Context& context, TableId table) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const v1::ClusterMap map, api->GetMap());
  std::map<uint32_t, v1::TableStats> sums;
  for (const v1::ServerAddress& server : map.servers()) {
    ASSIGN_OR_RETURN(const v1::TableStatsReply reply, api->GetTableStats(server.endpoint(), table));
    for (const v1::TableStats& stats : reply.tables()) Add(stats, sums[stats.table()]);
  }
  return sums;
}

absl::StatusOr<Report> Stats(Context& context, const std::string& name) {
  std::vector<NamedTable> tables;
  TableId only{0};
  if (name.empty()) {
    ASSIGN_OR_RETURN(tables, ListTables(context));
  } else {
    ASSIGN_OR_RETURN(const NamedTable table, FindTable(context, name));
    only = TableId(table.info.id());
    tables.push_back(table);
  }
  ASSIGN_OR_RETURN(auto sums, SumStats(context, only));
  Report report{.kind = "TableStatsList",
                .columns = {{"job", "job"},
                            {"name", "name"},
                            {"rows", "rows"},
                            {"memory_bytes", "memory", Unit::kBytes},
                            {"rows_created", "created"},
                            {"keys_pulled", "pulled"},
                            {"keys_pushed", "pushed"},
                            {"ids_zeroed", "zeroed"},
                            {"ids_rejected", "rejected"}},
                .rows = {}};
  for (const auto& [job, info] : tables) {
    const v1::TableStats& s = sums[info.id()];
    report.rows.push_back({job, info.spec().name(), uint64_t{s.rows()}, uint64_t{s.memory_bytes()},
                           uint64_t{s.rows_created()}, uint64_t{s.keys_pulled()},
                           uint64_t{s.keys_pushed()}, uint64_t{s.ids_zeroed()},
                           uint64_t{s.ids_rejected()}});
  }
  return report;
}

}  // namespace

void AddTable(CLI::App& app, Command& chosen) {
  CLI::App* noun = AddNoun(app, "table", "the tables");
  AddVerb(noun, "list", "every table and its kind", chosen, List);
  const auto name = std::make_shared<std::string>();
  AddVerb(noun, "describe", "the whole spec of a table", chosen,
          [name](Context& context) { return Describe(context, *name); })
      ->add_option("TABLE", *name, "name of the table")
      ->required();
  AddVerb(noun, "stats", "rows, bytes and traffic, summed over all servers", chosen,
          [name](Context& context) { return Stats(context, *name); })
      ->add_option("TABLE", *name, "name of the table; all without it");
}

}  // namespace syncline::psctl
