// Table specs and the cluster map as C++ values and as messages of proto/.
#ifndef SYNCLINE_COMMON_WIRE_SPEC_PROTO_H_
#define SYNCLINE_COMMON_WIRE_SPEC_PROTO_H_

#include "absl/status/statusor.h"

#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "proto/coordinator.pb.h"
#include "proto/table.pb.h"

namespace syncline {

v1::TableSpec ToProto(const TableSpec& spec);
// Unset fields take the defaults that table.proto names. Does not validate: ValidateTableSpec does.
// Errors: INVALID_ARGUMENT when an enum has a value that this version does not know (all of them in
// one message).
absl::StatusOr<TableSpec> FromProto(const v1::TableSpec& spec);

v1::TableInfo ToProto(const TableInfo& table);
// Errors: as for the spec.
absl::StatusOr<TableInfo> FromProto(const v1::TableInfo& table);

v1::Optimizer ToProto(const OptimizerSpec& spec);
OptimizerSpec FromProto(const v1::Optimizer& optimizer);

// A complete map: servers_expected is the number of its servers.
v1::ClusterMap ToProto(const SlotMap& map);
// Errors: UNAVAILABLE when the map is not complete yet (epoch 0; says how many servers are
// missing); INVALID_ARGUMENT when slots and slot_count differ, or as SlotMap::Make.
absl::StatusOr<SlotMap> FromProto(const v1::ClusterMap& map);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_SPEC_PROTO_H_
