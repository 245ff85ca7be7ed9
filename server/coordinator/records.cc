#include "server/coordinator/records.h"

#include "fmt/format.h"

#include "common/status/status.h"
#include "common/wire/spec_proto.h"
#include "proto/meta.pb.h"
#include "server/coordinator/coordinator_proto.h"

namespace syncline::coordinator {

// The converters of common/wire, which this namespace's overloads would hide.
using ::syncline::FromProto;
using ::syncline::ToProto;

namespace {

absl::Status Damaged(std::string_view key, std::string_view why) {
  return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                   "metadata record {} is damaged ({}); restore the meta directory from a copy, or "
                   "move it away to start an empty cluster",
                   key, why);
}

template <typename Message>
absl::StatusOr<Message> Parse(const std::string& key, const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) return Damaged(key, "it cannot be decoded");
  return message;
}

absl::Status DecodeCluster(const std::string& key, const std::string& bytes, StoredState& state) {
  ASSIGN_OR_RETURN(const v1::ClusterRecord record, Parse<v1::ClusterRecord>(key, bytes));
  ClusterState& cluster = state.cluster.emplace();
  cluster.cluster = record.cluster();
  cluster.slot_count = record.slot_count();
  cluster.servers_expected = record.servers_expected();
  cluster.term = record.term();
  cluster.next_ids = {JobId(record.next_job()), TableId(record.next_table())};
  cluster.next_token = Token(record.next_token());
  return absl::OkStatus();
}

absl::Status DecodeMap(const std::string& key, const std::string& bytes, StoredState& state) {
  ASSIGN_OR_RETURN(const v1::ClusterMap record, Parse<v1::ClusterMap>(key, bytes));
  const absl::StatusOr<SlotMap> map = FromProto(record);
  if (!map.ok()) return Damaged(key, MessageOf(map.status()));
  state.map = *map;
  return absl::OkStatus();
}

absl::Status DecodeJob(const std::string& key, const std::string& bytes, StoredState& state) {
  ASSIGN_OR_RETURN(const v1::JobRecord record, Parse<v1::JobRecord>(key, bytes));
  Job& job = state.jobs.emplace_back();
  job.info = FromProto(record.info());
  job.joined.insert(record.joined().begin(), record.joined().end());
  return absl::OkStatus();
}

absl::Status DecodeTable(const std::string& key, const std::string& bytes, StoredState& state) {
  ASSIGN_OR_RETURN(const v1::TableRecord record, Parse<v1::TableRecord>(key, bytes));
  const absl::StatusOr<TableInfo> info = FromProto(record.info());
  if (!info.ok()) return Damaged(key, MessageOf(info.status()));
  Table& table = state.tables.emplace_back();
  table.info = *info;
  for (const auto& rate : record.rates()) {
    table.rates.push_back({TableId(rate.table()), Clock(rate.from_clock()), rate.learning_rate()});
  }
  return absl::OkStatus();
}

absl::Status DecodeServer(const std::string& key, const std::string& bytes, StoredState& state) {
  ASSIGN_OR_RETURN(const v1::ServerAddress record, Parse<v1::ServerAddress>(key, bytes));
  state.servers.push_back({ServerId(record.id()), record.name(), record.endpoint(), record.boot()});
  return absl::OkStatus();
}

absl::Status DecodeSession(const std::string& key, const std::string& bytes, StoredState& state) {
  ASSIGN_OR_RETURN(const v1::SessionRecord record, Parse<v1::SessionRecord>(key, bytes));
  const v1::InstallSession& install = record.install();
  Session& session = state.sessions.emplace_back();
  session.id = {install.session_high(), install.session_low()};
  session.token = Token(install.token());
  session.job = JobId(install.job());
  session.rank = Rank(install.rank());
  session.clocked = install.clocked();
  session.principal = {install.principal()};
  session.start = Clock(install.clock());
  session.client = record.client();
  session.nonce = record.nonce();
  session.state =
      record.state() == v1::SessionRecord::LIVE ? SessionState::kLive : SessionState::kFencing;
  for (const auto& server : record.installed_on()) {
    session.installed_on[ServerId(server.id())] = server.boot();
  }
  return absl::OkStatus();
}

}  // namespace

std::string ClusterKey() { return "cluster"; }
std::string MapKey() { return "map"; }
std::string KeyOf(const Job& job) { return fmt::format("job/{:010}", job.info.id.value()); }
std::string KeyOf(const Table& table) { return fmt::format("table/{:010}", table.info.id.value()); }
std::string KeyOf(const ServerEntry& server) {
  return fmt::format("server/{:010}", server.id.value());
}
std::string KeyOf(const Session& session) {
  return fmt::format("session/{}", session.id.ToString());
}

std::string Encode(const ClusterState& cluster) {
  v1::ClusterRecord record;
  record.set_cluster(cluster.cluster);
  record.set_slot_count(cluster.slot_count);
  record.set_servers_expected(cluster.servers_expected);
  record.set_term(cluster.term);
  record.set_next_job(cluster.next_ids.job.value());
  record.set_next_table(cluster.next_ids.table.value());
  record.set_next_token(cluster.next_token.value());
  return record.SerializeAsString();
}

std::string Encode(const SlotMap& map) { return ToProto(map).SerializeAsString(); }

std::string Encode(const Job& job) {
  v1::JobRecord record;
  *record.mutable_info() = ToProto(job.info);
  record.mutable_joined()->Add(job.joined.begin(), job.joined.end());
  return record.SerializeAsString();
}

std::string Encode(const Table& table) {
  v1::TableRecord record;
  *record.mutable_info() = ToProto(table.info);
  for (const ChangeLearningRate& rate : table.rates) *record.add_rates() = ToProto(rate);
  return record.SerializeAsString();
}

std::string Encode(const ServerEntry& server) { return ToProto(server).SerializeAsString(); }

std::string Encode(const Session& session) {
  v1::SessionRecord record;
  *record.mutable_install() =
      ToProto(InstallSession{session.id, session.token, session.job, session.rank, session.clocked,
                             session.principal, session.start});
  record.set_client(session.client);
  record.set_nonce(session.nonce);
  for (const auto& [id, boot] : session.installed_on) {
    v1::ServerAddress* const address = record.add_installed_on();
    address->set_id(id.value());
    address->set_boot(boot);
  }
  record.set_state(session.over()                         ? v1::SessionRecord::ENDING
                   : session.state == SessionState::kLive ? v1::SessionRecord::LIVE
                                                          : v1::SessionRecord::OPENING);
  return record.SerializeAsString();
}

absl::StatusOr<StoredState> DecodeRecords(
    const std::vector<std::pair<std::string, std::string>>& records) {
  StoredState state;
  for (const auto& [key, bytes] : records) {
    auto is = [&k = key](std::string_view prefix) { return k.rfind(prefix, 0) == 0; };
    if (key == ClusterKey()) RETURN_IF_ERROR(DecodeCluster(key, bytes, state));
    if (key == MapKey()) RETURN_IF_ERROR(DecodeMap(key, bytes, state));
    if (is("job/")) RETURN_IF_ERROR(DecodeJob(key, bytes, state));
    if (is("table/")) RETURN_IF_ERROR(DecodeTable(key, bytes, state));
    if (is("server/")) RETURN_IF_ERROR(DecodeServer(key, bytes, state));
    if (is("session/")) RETURN_IF_ERROR(DecodeSession(key, bytes, state));
  }
  return state;
}

}  // namespace syncline::coordinator
