#include "server/server_config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;

absl::Status Check(const std::string& flag) {
  ServerConfig config;
  Loader loader("ps-server", "test", "");
  AddServerFlags(loader, config);
  const char* arguments[] = {"ps-server", flag.c_str()};
  return loader.Parse(2, arguments).status();
}

TEST(ServerConfigTest, EachFlagThatCannotWorkIsNamed) {
  const std::string long_name(kMaxNameBytes + 1, 'n');
  for (const std::string& flag :
       {std::string("--listen=nonsense"), std::string("--listen=127.0.0.1:99999"),
        std::string("--listen=127.0.0.1:"), std::string("--listen=unix:/tmp/s"),
        std::string("--admin-listen=7071"), std::string("--admin-listen=127.0.0.1:65536"),
        std::string("--advertise=host"), std::string("--coordinator=127.0.0.1:-1"),
        std::string("--name=a b"), std::string("--name=../c"), "--name=" + long_name,
        std::string("--servers=0"), std::string("--servers=4097"), std::string("--slots=0"),
        std::string("--slots=100"), std::string("--slots=131072"),
        std::string("--executors=257")}) {
    EXPECT_THAT(Check(flag), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr(flag.substr(0, flag.find('=')) + " is ")))
        << flag;
  }
}

TEST(ServerConfigTest, TheEdgesOfWhatWorksAreTaken) {
  for (const char* flag : {"--listen=127.0.0.1:0", "--listen=[::1]:65535", "--advertise=ps-0.ps:1",
                           "--coordinator=self", "--name=Ps_0.a-b", "--servers=4096", "--slots=1",
                           "--slots=65536", "--executors=256"}) {
    EXPECT_OK(Check(flag)) << flag;
  }
}

}  // namespace
}  // namespace syncline
