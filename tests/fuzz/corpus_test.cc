// Every file of the corpus through its target, in every build.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/fuzz/targets.h"

namespace syncline {
namespace {

struct Target {
  std::string name;
  void (*run)(const uint8_t*, size_t);
};

class CorpusTest : public ::testing::TestWithParam<Target> {};

TEST_P(CorpusTest, HoldsItsPromisesForEveryFileAndEveryPrefix) {
  const auto folder = std::filesystem::path(std::getenv("SYNCLINE_SOURCE_DIR")) /
                      "tests/fuzz/corpus" / GetParam().name;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    for (size_t n = 0; n <= bytes.size(); ++n) {
      // A copy of its own size, so that AddressSanitizer sees a read beyond the end.
      const std::vector<uint8_t> input(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
      GetParam().run(input.data(), input.size());
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest,
                         ::testing::Values(Target{"push", FuzzPush}, Target{"pull", FuzzPull},
                                           Target{"pull_reply", FuzzPullReply},
                                           Target{"codec", FuzzCodec}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace syncline
