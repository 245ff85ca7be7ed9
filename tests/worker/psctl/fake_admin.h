// A cluster that is a few messages: two servers, one job, one table, filled by the test.
#ifndef SYNCLINE_TESTS_WORKER_PSCTL_FAKE_ADMIN_H_
#define SYNCLINE_TESTS_WORKER_PSCTL_FAKE_ADMIN_H_

#include <map>
#include <string>
#include <utility>

#include "common/status/status.h"
#include "worker/client/admin_api.h"

namespace syncline::psctl {

struct FakeServer {
  absl::Status error;  // what every call answers unless OK
  v1::ServerStatus status;
  v1::TableStatsReply stats;
  v1::ListSlotsReply slots;
  v1::Row row;
};

struct FakeCluster {
  v1::ClusterMap map;
  v1::ListServersReply servers;
  v1::ListJobsReply jobs;
  v1::ListTablesReply tables;
  v1::ListSessionsReply sessions;
  std::map<std::string, FakeServer> by_endpoint;
  // What the last GetRow named.
  std::string asked_endpoint;
  std::pair<TableId, Key> asked_row;
};

class FakeAdmin final : public AdminApi {
 public:
  explicit FakeAdmin(FakeCluster& cluster) : cluster_(cluster) {}

  absl::StatusOr<v1::ClusterMap> GetMap() override { return cluster_.map; }
  absl::StatusOr<v1::ListServersReply> ListServers() override { return cluster_.servers; }
  absl::StatusOr<v1::ListJobsReply> ListJobs() override { return cluster_.jobs; }
  absl::StatusOr<v1::ListTablesReply> ListTables() override { return cluster_.tables; }
  absl::StatusOr<v1::ListSessionsReply> ListSessions(bool) override { return cluster_.sessions; }

  absl::StatusOr<v1::ServerStatus> GetServerStatus(const std::string& endpoint) override {
    return Answer(endpoint, &FakeServer::status);
  }
  absl::StatusOr<v1::TableStatsReply> GetTableStats(const std::string& endpoint, TableId) override {
    return Answer(endpoint, &FakeServer::stats);
  }
  absl::StatusOr<v1::Row> GetRow(const std::string& endpoint, TableId table, Key key) override {
    cluster_.asked_endpoint = endpoint;
    cluster_.asked_row = {table, key};
    return Answer(endpoint, &FakeServer::row);
  }
  absl::StatusOr<v1::ListSlotsReply> ListSlots(const std::string& endpoint) override {
    return Answer(endpoint, &FakeServer::slots);
  }

 private:
  template <typename T>
  absl::StatusOr<T> Answer(const std::string& endpoint, T FakeServer::*field) {
    const FakeServer& server = cluster_.by_endpoint[endpoint];
    if (!server.error.ok()) return server.error;
    return server.*field;
  }

  FakeCluster& cluster_;
};

inline void AddFakeServer(FakeCluster& cluster, const std::string& endpoint) {
  const auto id = static_cast<uint32_t>(cluster.map.servers_size());
  v1::ServerAddress& address = *cluster.map.add_servers();
  address.set_id(id);
  address.set_name("server-" + std::to_string(id));
  address.set_endpoint(endpoint);
  v1::ServerInfo& info = *cluster.servers.add_servers();
  *info.mutable_address() = address;
  info.set_live(true);
  info.set_coordinator(id == 0);
  cluster.by_endpoint[endpoint].status.set_ready(true);
}

// Slots alternate between the two servers "a:1" and "b:1"; job "train" (1) has table "users" (7).
inline FakeCluster MakeFakeCluster() {
  FakeCluster cluster;
  cluster.map.set_cluster("demo");
  cluster.map.set_epoch(1);
  cluster.map.set_slot_count(4);
  cluster.map.set_servers_expected(2);
  for (uint32_t slot = 0; slot < 4; ++slot) cluster.map.add_slots()->set_server(slot % 2);
  AddFakeServer(cluster, "a:1");
  AddFakeServer(cluster, "b:1");
  v1::JobInfo& job = *cluster.jobs.add_jobs();
  job.set_id(1);
  job.mutable_spec()->set_name("train");
  v1::TableInfo& table = *cluster.tables.add_tables();
  table.set_id(7);
  table.set_job(1);
  table.mutable_spec()->set_name("users");
  table.mutable_spec()->set_kind(v1::EMBEDDING);
  table.mutable_spec()->set_dim(2);
  return cluster;
}

}  // namespace syncline::psctl

#endif  // SYNCLINE_TESTS_WORKER_PSCTL_FAKE_ADMIN_H_
