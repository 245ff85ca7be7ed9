#include "server/admin_http/admin_http.h"

#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include "httplib.h"

#include "common/status/status.h"
#include "common/thread/thread.h"

namespace syncline {
namespace {

// A scraper, a probe or two and a person: enough, and never many beside the data plane.
constexpr size_t kAdminThreads = 3;
constexpr size_t kMaxAdminRequestBytes = 64 << 10;
constexpr time_t kAdminTimeoutSeconds = 5;

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

absl::StatusOr<HostPort> ParseHostPort(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  HostPort parsed;
  if (colon != std::string::npos) {
    parsed.host = listen.substr(0, colon);
    const char* begin = listen.data() + colon + 1;
    const char* end = listen.data() + listen.size();
    const auto [stop, error] = std::from_chars(begin, end, parsed.port);
    if (error == std::errc() && stop == end && begin != end && !parsed.host.empty()) return parsed;
  }
  return InvalidArgument("'{}' is no address to listen on; write host:port", listen);
}

}  // namespace

struct AdminHttp::Impl {
  AdminPages pages;
  httplib::Server server;
  Thread thread;
};

AdminHttp::AdminHttp(AdminPages pages) : impl_(std::make_unique<Impl>()) {
  impl_->pages = std::move(pages);
  httplib::Server& server = impl_->server;
  const AdminPages& shown = impl_->pages;
  server.new_task_queue = [] { return new httplib::ThreadPool(kAdminThreads); };
  // The library's default also sets SO_REUSEPORT: two processes would share the port unnoticed.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server.set_payload_max_length(kMaxAdminRequestBytes);
  server.set_read_timeout(kAdminTimeoutSeconds);
  server.set_write_timeout(kAdminTimeoutSeconds);
  server.set_keep_alive_timeout(kAdminTimeoutSeconds);
  server.Get("/metrics", [&shown](const httplib::Request&, httplib::Response& response) {
    response.set_content(shown.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server.Get("/livez", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  server.Get("/readyz", [&shown](const httplib::Request&, httplib::Response& response) {
    const std::string reason = shown.not_ready_reason();
    response.status = reason.empty() ? 200 : 503;
    response.set_content(reason.empty() ? "ok\n" : reason + "\n", "text/plain");
  });
  server.Get("/api/v1/status", [&shown](const httplib::Request&, httplib::Response& response) {
    response.set_content(shown.status_json(), "application/json");
  });
}

AdminHttp::~AdminHttp() { Stop(); }

absl::StatusOr<uint16_t> AdminHttp::Start(const std::string& listen) {
  ASSIGN_OR_RETURN(HostPort address, ParseHostPort(listen));
  httplib::Server& server = impl_->server;
  if (address.port == 0) {
    const int port = server.bind_to_any_port(address.host);
    if (port > 0) address.port = static_cast<uint16_t>(port);
  } else if (!server.bind_to_port(address.host, address.port)) {
    address.port = 0;
  }
  if (address.port == 0) {
    return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                     "cannot listen on {}: another process has the port, or this machine has no "
                     "such address; choose another --admin-listen",
                     listen);
  }
  impl_->thread = Thread("admin-http", [this] { impl_->server.listen_after_bind(); });
  // Stop() only stops a server that runs.
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return address.port;
}

void AdminHttp::Stop() {
  impl_->server.stop();
  impl_->thread.Join();
}

}  // namespace syncline
