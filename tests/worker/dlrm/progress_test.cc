#include "worker/dlrm/progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace syncline {
namespace {

// What a reporter writes to a file.
template <typename Reporter, typename Fn>
std::string Written(Fn report) {
  std::FILE* file = std::tmpfile();
  Reporter reporter(file);
  report(reporter);
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(JsonReporterTest, WritesOneObjectALineWithNullForWhatIsAbsent) {
  const std::string text = Written<JsonReporter>([](JsonReporter& reporter) {
    reporter.Step({.rank = 2, .pass = 1, .step = 10, .clock = 10, .loss = 0.5});
    reporter.Summary({.rank = 2, .samples = 640});
  });
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const auto step = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(step["event"], "step");
  EXPECT_EQ(step["loss"], 0.5);
  EXPECT_TRUE(step["auc"].is_null());
  const auto summary = nlohmann::json::parse(text.substr(text.find('\n')));
  EXPECT_EQ(summary["samples"], 640);
  EXPECT_TRUE(summary["test_auc"].is_null());
}

TEST(TerminalReporterTest, RewritesTheStepLineAndKeepsEvaluations) {
  const std::string text = Written<TerminalReporter>([](TerminalReporter& reporter) {
    reporter.Step({.step = 1});
    EvaluationReport evaluation{.pass = 1};
    evaluation.validation.auc = 0.75;
    reporter.Evaluated(evaluation);
  });
  EXPECT_EQ(text.find('\n'), text.size() - 1);  // only the evaluation ends its line
  EXPECT_NE(text.find("validation AUC 0.7500, test AUC -"), std::string::npos);
}

}  // namespace
}  // namespace syncline
