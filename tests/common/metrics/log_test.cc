#include "common/metrics/log.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/limits.h"
#include "common/metrics/log_line.h"
#include "common/thread/thread.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  void Init(LogFormat format, LogLevel level = LogLevel::kInfo) {
    InitLogging({.level = level, .format = format, .stream = &stream_});
  }
  ~LogTest() override { InitLogging({}); }

  std::vector<nlohmann::json> Lines() {
    std::vector<nlohmann::json> lines;
    std::istringstream text(stream_.str());
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  std::ostringstream stream_;
  const Logger log_{"service"};
};

TEST_F(LogTest, JsonLinesHaveTimeLevelComponentMessageAndFields) {
  Init(LogFormat::kJson);
  log_.With({{"table", "user"}, {"rows", 7}, {"share", 0.5}, {"full", true}}).Warning("n={}", 3);
  ASSERT_EQ(Lines().size(), 1u);
  const nlohmann::json line = Lines()[0];
  EXPECT_THAT(line["ts"].get<std::string>(),
              MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{6}Z"));
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["component"], "service");
  EXPECT_EQ(line["msg"], "n=3");
  EXPECT_EQ(line["table"], "user");
  EXPECT_EQ(line["rows"], 7);
  EXPECT_EQ(line["share"], 0.5);
  EXPECT_EQ(line["full"], true);
}

TEST_F(LogTest, AnyBytesStayOneValidLine) {
  Init(LogFormat::kJson);
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  log_.With({{every_byte, every_byte}, {"quote", "\"\\\n"}}).Error("{}", every_byte);
  log_.With({{"nan", std::nan("")}, {"inf", std::numeric_limits<double>::infinity()}}).Info("x");
  ASSERT_EQ(Lines().size(), 2u);
  EXPECT_EQ(Lines()[0]["quote"], "\"\\\n");
  EXPECT_EQ(Lines()[1]["nan"], "nan");
}

TEST_F(LogTest, TheLevelChangesWhileRunning) {
  Init(LogFormat::kJson);
  log_.Debug("hidden");
  SetLogLevel(LogLevel::kDebug);
  EXPECT_TRUE(IsLogged(LogLevel::kDebug));
  log_.Debug("shown");
  SetLogLevel(LogLevel::kError);
  log_.Warning("hidden");
  SetLogLevel(LogLevel::kOff);
  log_.Error("hidden");
  ASSERT_EQ(Lines().size(), 1u);
  EXPECT_EQ(Lines()[0]["msg"], "shown");
}

TEST_F(LogTest, LongTextsAreCut) {
  Init(LogFormat::kJson);
  log_.With({{"sent", std::string(100'000, 'x')}}).Info("{}", std::string(100'000, 'y'));
  EXPECT_EQ(Lines()[0]["msg"].get<std::string>().size(), kMaxLogTextBytes);
  EXPECT_EQ(Lines()[0]["sent"].get<std::string>().size(), kMaxLogTextBytes);
}

TEST_F(LogTest, LinesOfManyThreadsDoNotMix) {
  Init(LogFormat::kJson);
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("logger", [&] {
        for (int i = 0; i < 100; ++i) log_.With({{"i", i}}).Info("line");
      });
    }
  }
  EXPECT_EQ(Lines().size(), 400u);
}

TEST_F(LogTest, HumanLinesAreShortAndCannotControlTheTerminal) {
  Init(LogFormat::kHuman);
  log_.With({{"table", "user"}, {"name", "two words"}}).Info("started");
  log_.Info("{}", "\x1b[2J");
  EXPECT_THAT(stream_.str(),
              HasSubstr(" info    service: started  table=user  name=\"two words\"\n"));
  EXPECT_THAT(stream_.str(), Not(HasSubstr("\x1b")));
}

TEST(LogLineTest, TimesAreUtcWithMicroseconds) {
  const LogParts parts{.component = "c", .message = "m", .fields = {}};
  const std::chrono::nanoseconds time(1'769'854'830'123'456'789);
  EXPECT_EQ(JsonLine(parts, "info", time),
            "{\"ts\":\"2026-01-31T10:20:30.123456Z\",\"level\":\"info\",\"component\":\"c\","
            "\"msg\":\"m\"}\n");
  EXPECT_EQ(HumanLine(parts, "info", time), "10:20:30.123456 info    c: m\n");
}

TEST(LogLineTest, UnpackingCutOffBytesIsHarmless) {
  const LogParts parts{.component = "c", .message = "m", .fields = {{"k", false, "1"}}};
  const std::string packed = PackLogParts(parts);
  for (size_t size = 0; size <= packed.size(); ++size) UnpackLogParts(packed.substr(0, size));
  EXPECT_EQ(UnpackLogParts(packed).fields.size(), 1u);
}

}  // namespace
}  // namespace syncline
