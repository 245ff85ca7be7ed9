#include "common/config/loader.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

enum class Mode { kFast, kSafe };

struct Config {
  std::string listen = "127.0.0.1:7070";
  uint32_t threads = 2;
  double rate = 0.5;
  bool reproducible = false;
  milliseconds lease{10'000};
  ByteSize quota{64 << 20};
  Mode mode = Mode::kFast;
  std::vector<std::string> peers = {"a:1"};
};

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    loader_.Add("--listen", config_.listen, "address to serve on");
    loader_.Add("--threads", config_.threads, "executor threads");
    loader_.Add("--rate", config_.rate, "rate");
    loader_.Add("--reproducible", config_.reproducible, "bit-identical runs");
    loader_.Add("--lease", config_.lease, "how long a silent session lives");
    loader_.Add("--quota", config_.quota, "buffer memory");
    loader_.AddChoice("--mode", config_.mode, {{"fast", Mode::kFast}, {"safe", Mode::kSafe}},
                      "what matters");
    loader_.Add("--peers", config_.peers, "other servers");
    loader_.AddValidator([this](Problems& problems) {
      if (config_.threads == 0) problems.Add("--threads is 0: at least 1 is needed");
    });
  }

  absl::StatusOr<ParseResult> Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "ps-test");
    return loader_.Parse(static_cast<int>(arguments.size()), arguments.data());
  }

  std::string WriteFile(const std::string& text) {
    const std::string path = ::testing::TempDir() + "loader_test.toml";
    std::ofstream(path) << text;
    return path;
  }

  Config config_;
  Loader loader_{"ps-test", "1.2.3", "Tests the loader."};
};

TEST_F(LoaderTest, WithoutArgumentsTheDefaultsStay) {
  ASSERT_OK_AND_ASSIGN(const ParseResult result, Parse({}));
  EXPECT_EQ(result.action, ParseResult::Action::kRun);
  EXPECT_EQ(config_.threads, 2u);
  EXPECT_THAT(config_.peers, ElementsAre("a:1"));
}

TEST_F(LoaderTest, FlagsSetEveryKindOfField) {
  ASSERT_OK(Parse({"--listen", "0.0.0.0:1", "--threads=4", "--rate", "-1.5", "--reproducible",
                   "--lease", "500ms", "--quota", "1GiB", "--mode", "safe", "--peers", "b:1,c:2",
                   "--peers", "d:3"}));
  EXPECT_EQ(config_.listen, "0.0.0.0:1");
  EXPECT_EQ(config_.threads, 4u);
  EXPECT_EQ(config_.rate, -1.5);
  EXPECT_TRUE(config_.reproducible);
  EXPECT_EQ(config_.lease, milliseconds(500));
  EXPECT_EQ(config_.quota.bytes, uint64_t{1} << 30);
  EXPECT_EQ(config_.mode, Mode::kSafe);
  EXPECT_THAT(config_.peers, ElementsAre("b:1", "c:2", "d:3"));
}

TEST_F(LoaderTest, TheLastOfARepeatedFlagCounts) {
  ASSERT_OK(Parse({"--threads", "3", "--threads", "5", "--reproducible", "--reproducible=false"}));
  EXPECT_EQ(config_.threads, 5u);
  EXPECT_FALSE(config_.reproducible);
}

TEST_F(LoaderTest, AFlagWinsOverTheFileAndTheFileOverTheDefault) {
  const std::string path = WriteFile(
      "# a comment\nthreads = 7\nlisten = \"h:1\"\nreproducible = true\npeers = [\"x:1\", "
      "\"y:2\"]\nlease = '2s'\n");
  ASSERT_OK(Parse({"--config", path.c_str(), "--listen", "flag:2"}));
  EXPECT_EQ(config_.threads, 7u);
  EXPECT_EQ(config_.listen, "flag:2");
  EXPECT_TRUE(config_.reproducible);
  EXPECT_EQ(config_.lease, milliseconds(2000));
  EXPECT_THAT(config_.peers, ElementsAre("x:1", "y:2"));
}

TEST_F(LoaderTest, EveryMistakeIsInOneMessage) {
  const std::string path = WriteFile("lease = 5\nthreds = 3\nquota = \"many\"\n");
  const absl::StatusOr<ParseResult> result =
      Parse({"--config", path.c_str(), "--threads", "0", "--rate", "x", "--mode", "slow",
             "--nonsense", "1", "--other=2", "stray"});
  EXPECT_THAT(
      result,
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("ps-test: 9 problems"), HasSubstr("key 'lease': '5' is not"),
                     HasSubstr("unknown key 'threds'"), HasSubstr("key 'quota': 'many'"),
                     HasSubstr("--threads is 0"), HasSubstr("--rate: 'x' is not a number"),
                     HasSubstr("--mode: 'slow' is not one of fast, safe"),
                     HasSubstr("unknown flag --nonsense"), HasSubstr("unknown flag --other ("),
                     HasSubstr("unexpected argument 'stray'"))));
}

TEST_F(LoaderTest, AFlagWithoutItsValueIsAProblem) {
  EXPECT_THAT(Parse({"--threads"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--threads")));
}

TEST_F(LoaderTest, AMissingFileIsNamed) {
  EXPECT_THAT(Parse({"--config", "/nonexistent/x.toml"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nonexistent/x.toml")));
}

TEST_F(LoaderTest, ASectionIsNotSilentlyIgnored) {
  const std::string path = WriteFile("[server]\nthreads = 3\n");
  EXPECT_THAT(
      Parse({"--config", path.c_str()}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown key 'server.threads'")));
}

TEST_F(LoaderTest, AKeyGivenTwiceOrWithTwoValuesIsAProblem) {
  const std::string path = WriteFile("threads = 3\nrate = 1 2\nthreads = 4\n");
  EXPECT_THAT(
      Parse({"--config", path.c_str()}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'threads' is given twice"), HasSubstr("'rate' takes one value"))));
}

TEST_F(LoaderTest, CheckConfigPrintsAFileThatReadsBackToTheSame) {
  ASSERT_OK_AND_ASSIGN(const ParseResult first,
                       Parse({"--check-config", "--peers", "b:1,c:2", "--mode", "safe", "--lease",
                              "1500ms", "--listen", "it's", "--reproducible", "--quota", "3KiB"}));
  EXPECT_EQ(first.action, ParseResult::Action::kPrintAndExit);
  EXPECT_THAT(first.output, AllOf(HasSubstr("lease = \"1500ms\"\n"), HasSubstr("threads = 2\n"),
                                  HasSubstr("peers = [\"b:1\", \"c:2\"]\n")));
  const std::string path = WriteFile(first.output);
  config_ = Config{};
  ASSERT_OK_AND_ASSIGN(const ParseResult second,
                       Parse({"--check-config", "--config", path.c_str()}));
  EXPECT_EQ(second.output, first.output);
}

TEST_F(LoaderTest, AnEmptyTextSurvivesTheFile) {
  const std::string path = WriteFile("listen = \"\"\npeers = []\n");
  ASSERT_OK(Parse({"--config", path.c_str()}));
  EXPECT_EQ(config_.listen, "");
  EXPECT_THAT(config_.peers, ElementsAre());
}

TEST_F(LoaderTest, HelpShowsFlagsAndDefaults) {
  ASSERT_OK_AND_ASSIGN(const ParseResult result, Parse({"--help"}));
  EXPECT_EQ(result.action, ParseResult::Action::kPrintAndExit);
  EXPECT_THAT(result.output, AllOf(HasSubstr("--lease"), HasSubstr("10s"), HasSubstr("fast, safe"),
                                   HasSubstr("--check-config"), HasSubstr("Tests the loader.")));
}

TEST_F(LoaderTest, ExitCodesTellGoodFromBad) {
  const char* version[] = {"ps-test", "--version"};
  EXPECT_EQ(loader_.ParseOrExitCode(2, version), 0);
  const char* bad[] = {"ps-test", "--check-config", "--rate=x"};
  EXPECT_EQ(loader_.ParseOrExitCode(3, bad), 2);
  const char* good[] = {"ps-test", "--check-config"};
  EXPECT_EQ(loader_.ParseOrExitCode(2, good), 0);
  EXPECT_EQ(loader_.ParseOrExitCode(1, good), std::nullopt);
}

}  // namespace
}  // namespace syncline
