#include "common/wire/spec_proto.h"

#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "common/status/status.h"

namespace syncline {
namespace {

// The C++ enums have the numbers of the proto's, without its 0 ("unset").
template <typename Proto, typename T>
Proto ToProtoEnum(T value) {
  return static_cast<Proto>(static_cast<int>(value));
}

// Reads enums; collects the values that this version does not know.
class EnumReader {
 public:
  template <typename T>
  T Read(std::string_view field, int number, int last, T unset) {
    if (number == 0) return unset;
    if (number > 0 && number <= last) return static_cast<T>(number);
    if (!unknown_.empty()) unknown_ += ", ";
    unknown_ += fmt::format("{} {}", field, number);
    return unset;
  }
  absl::Status Verdict(std::string_view table) const {
    if (unknown_.empty()) return absl::OkStatus();
    return InvalidArgument("table {}: unknown value: {}; the client may be newer than the server",
                           table, unknown_);
  }

 private:
  std::string unknown_;
};

v1::Initializer ToProto(const InitializerSpec& spec) {
  v1::Initializer out;
  out.set_kind(ToProtoEnum<v1::Initializer::Kind>(spec.kind));
  out.set_a(spec.a);
  out.set_b(spec.b);
  out.set_seed(spec.seed);
  return out;
}

v1::ConsistencyPolicy ToProto(const ConsistencyPolicy& policy) {
  v1::ConsistencyPolicy out;
  out.set_mode(ToProtoEnum<v1::ConsistencyPolicy::Mode>(policy.mode));
  out.set_staleness(policy.staleness.value());
  out.set_apply(ToProtoEnum<v1::ConsistencyPolicy::Apply>(policy.apply));
  return out;
}

v1::IdPolicy ToProto(const IdPolicy& ids) {
  v1::IdPolicy out;
  out.set_kind(ToProtoEnum<v1::IdPolicy::Kind>(ids.kind));
  out.set_vocabulary(ids.vocabulary);
  return out;
}

InitializerSpec Read(const v1::Initializer& in, EnumReader& enums) {
  InitializerSpec out;
  out.kind = enums.Read("initializer.kind", in.kind(), v1::Initializer::Kind_MAX, out.kind);
  out.a = in.a();
  out.b = in.b();
  out.seed = in.seed();
  return out;
}

ConsistencyPolicy Read(const v1::ConsistencyPolicy& in, EnumReader& enums) {
  ConsistencyPolicy out;
  out.mode = enums.Read("consistency.mode", in.mode(), v1::ConsistencyPolicy::Mode_MAX, out.mode);
  const bool unset = in.mode() == v1::ConsistencyPolicy::MODE_UNSPECIFIED && in.staleness() == 0;
  if (!unset) out.staleness = Staleness(in.staleness());
  const ApplyMode by_mode =
      out.mode == ConsistencyMode::kBsp ? ApplyMode::kRound : ApplyMode::kImmediate;
  out.apply =
      enums.Read("consistency.apply", in.apply(), v1::ConsistencyPolicy::Apply_MAX, by_mode);
  return out;
}

IdPolicy Read(const v1::IdPolicy& in, EnumReader& enums) {
  IdPolicy out;
  out.kind = enums.Read("ids.kind", in.kind(), v1::IdPolicy::Kind_MAX, out.kind);
  out.vocabulary = in.vocabulary();
  return out;
}

}  // namespace

v1::Optimizer ToProto(const OptimizerSpec& spec) {
  v1::Optimizer out;
  out.set_name(spec.name);
  for (const auto& [name, value] : spec.arguments) (*out.mutable_arguments())[name] = value;
  return out;
}

OptimizerSpec FromProto(const v1::Optimizer& optimizer) {
  OptimizerSpec out;
  out.name = optimizer.name();
  for (const auto& [name, value] : optimizer.arguments()) out.arguments.emplace(name, value);
  return out;
}

v1::TableSpec ToProto(const TableSpec& spec) {
  v1::TableSpec out;
  out.set_name(spec.name);
  out.set_kind(ToProtoEnum<v1::TableKind>(spec.kind));
  out.set_dim(spec.dim);
  out.set_elements(spec.elements);
  out.set_dtype(ToProtoEnum<v1::DType>(spec.dtype));
  *out.mutable_optimizer() = ToProto(spec.optimizer);
  *out.mutable_initializer() = ToProto(spec.initializer);
  *out.mutable_consistency() = ToProto(spec.consistency);
  out.set_reduce(ToProtoEnum<v1::Reduce>(spec.reduce));
  out.set_durability(ToProtoEnum<v1::Durability>(spec.durability));
  *out.mutable_ids() = ToProto(spec.ids);
  out.set_allow_non_finite(spec.allow_non_finite);
  return out;
}

absl::StatusOr<TableSpec> FromProto(const v1::TableSpec& spec) {
  EnumReader enums;
  TableSpec out;
  out.name = spec.name();
  out.kind = enums.Read("kind", spec.kind(), v1::TableKind_MAX, out.kind);
  out.dim = spec.dim();
  out.elements = spec.elements();
  out.dtype = enums.Read("dtype", spec.dtype(), v1::DType_MAX, out.dtype);
  out.optimizer = FromProto(spec.optimizer());
  out.initializer = Read(spec.initializer(), enums);
  out.consistency = Read(spec.consistency(), enums);
  out.reduce = enums.Read("reduce", spec.reduce(), v1::Reduce_MAX, out.reduce);
  out.durability = enums.Read("durability", spec.durability(), v1::Durability_MAX, out.durability);
  out.ids = Read(spec.ids(), enums);
  out.allow_non_finite = spec.allow_non_finite();
  RETURN_IF_ERROR(enums.Verdict(spec.name()));
  return out;
}

v1::TableInfo ToProto(const TableInfo& table) {
  v1::TableInfo out;
  out.set_id(table.id.value());
  out.set_job(table.job.value());
  *out.mutable_spec() = ToProto(table.spec);
  return out;
}

absl::StatusOr<TableInfo> FromProto(const v1::TableInfo& table) {
  TableInfo out;
  out.id = TableId(table.id());
  out.job = JobId(table.job());
  ASSIGN_OR_RETURN(out.spec, FromProto(table.spec()));
  return out;
}

v1::ClusterMap ToProto(const SlotMap& map) {
  v1::ClusterMap out;
  out.set_cluster(map.cluster());
  out.set_epoch(map.epoch().value());
  out.set_slot_count(map.slot_count());
  out.set_servers_expected(static_cast<uint32_t>(map.servers().size()));
  for (const ServerEntry& server : map.servers()) {
    v1::ServerAddress& address = *out.add_servers();
    address.set_id(server.id.value());
    address.set_name(server.name);
    address.set_endpoint(server.endpoint);
    address.set_boot(server.boot);
  }
  for (const SlotEntry& slot : map.slots()) {
    // An index into `servers`, which ascend by id.
    const auto index = map.FindServer(slot.server) - map.servers().data();
    v1::SlotOwner& owner = *out.add_slots();
    owner.set_server(static_cast<uint32_t>(index));
    owner.set_incarnation(slot.incarnation.value());
  }
  return out;
}

absl::StatusOr<SlotMap> FromProto(const v1::ClusterMap& map) {
  if (map.epoch() == 0) {
    return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                     "cluster {}: the map is not complete, {} of {} servers have joined; wait",
                     map.cluster(), map.servers_size(), map.servers_expected());
  }
  if (static_cast<uint32_t>(map.slots_size()) != map.slot_count()) {
    return InvalidArgument("cluster map: {} slots listed, slot_count is {}", map.slots_size(),
                           map.slot_count());
  }
  std::vector<ServerEntry> servers;
  for (const v1::ServerAddress& a : map.servers()) {
    servers.push_back({ServerId(a.id()), a.name(), a.endpoint(), a.boot()});
  }
  std::vector<SlotEntry> slots;
  for (const v1::SlotOwner& owner : map.slots()) {
    if (owner.server() >= servers.size()) {
      return InvalidArgument("cluster map: slot {} names server index {} of {}", slots.size(),
                             owner.server(), servers.size());
    }
    slots.push_back({servers[owner.server()].id, Incarnation(owner.incarnation())});
  }
  return SlotMap::Make(map.cluster(), Epoch(map.epoch()), std::move(servers), std::move(slots));
}

}  // namespace syncline
