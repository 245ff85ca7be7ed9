#include "server/admin_http/admin_http.h"

#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A request by hand: the server's library does not judge itself.
std::string Get(uint16_t port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

TEST(AdminHttpTest, ServesItsPages) {
  std::string reason;
  AdminHttp http({.metrics = [] { return std::string("ps_server_slots 3\n"); },
                  .not_ready_reason = [&] { return reason; },
                  .status_json = [] { return std::string("{\"server\":{}}"); }});
  ASSERT_OK_AND_ASSIGN(const uint16_t port, http.Start("127.0.0.1:0"));
  EXPECT_THAT(Get(port, "/metrics"), HasSubstr("ps_server_slots 3"));
  EXPECT_THAT(Get(port, "/livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get(port, "/readyz"), StartsWith("HTTP/1.1 200"));
  reason = "no cluster map yet";
  EXPECT_THAT(Get(port, "/readyz"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Get(port, "/readyz"), HasSubstr("no cluster map yet"));
  EXPECT_THAT(Get(port, "/api/v1/status"), HasSubstr("application/json"));
  EXPECT_THAT(Get(port, "/nothing"), StartsWith("HTTP/1.1 404"));
  http.Stop();
  http.Stop();
}

TEST(AdminHttpTest, AnAddressThatCannotBeBoundIsNamed) {
  const AdminPages pages{.metrics = [] { return std::string(); },
                         .not_ready_reason = [] { return std::string(); },
                         .status_json = [] { return std::string(); }};
  AdminHttp first(pages);
  ASSERT_OK_AND_ASSIGN(const uint16_t port, first.Start("127.0.0.1:0"));
  AdminHttp second(pages);
  const std::string taken = "127.0.0.1:" + std::to_string(port);
  EXPECT_THAT(second.Start(taken), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(taken)));
  EXPECT_THAT(AdminHttp(pages).Start("nowhere"), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace syncline
