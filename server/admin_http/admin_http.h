// The admin port: metrics, health and a status page over HTTP.
#ifndef SYNCLINE_SERVER_ADMIN_HTTP_ADMIN_HTTP_H_
#define SYNCLINE_SERVER_ADMIN_HTTP_ADMIN_HTTP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace syncline {

// What the pages show. Called on the port's own threads, several at a time; they may wait for
// executors.
struct AdminPages {
  std::function<std::string()> metrics;           // Prometheus' text format 0.0.4
  std::function<std::string()> not_ready_reason;  // empty: ready
  std::function<std::string()> status_json;
};

// Serves
//   GET /metrics         200, for Prometheus
//   GET /livez           200 as long as the process answers
//   GET /readyz          200 "ok", or 503 with the reason
//   GET /api/v1/status   200, JSON
// and 404 to everything else. Without authentication: listen on loopback or a management network.
class AdminHttp {
 public:
  explicit AdminHttp(AdminPages pages);
  // Stops.
  ~AdminHttp();
  AdminHttp(const AdminHttp&) = delete;
  AdminHttp& operator=(const AdminHttp&) = delete;

  // Listens on "host:port" and returns the port (port 0: chosen by the system).
  // Errors: INVALID_ARGUMENT (no such address), UNAVAILABLE (cannot bind).
  absl::StatusOr<uint16_t> Start(const std::string& listen);
  // Answers what is under way, then closes. Idempotent.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_ADMIN_HTTP_ADMIN_HTTP_H_
