#include "worker/dlrm/progress.h"

#include <string_view>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace syncline {
namespace {

using nlohmann::json;

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

void AddEvaluation(json& object, std::string_view prefix, const Evaluation& evaluation) {
  const std::string start(prefix);
  object[start + "_auc"] = OrNull(evaluation.auc);
  object[start + "_loss"] = OrNull(evaluation.log_loss);
  object[start + "_ne"] = OrNull(evaluation.normalized_entropy);
  object[start + "_samples"] = evaluation.samples;
}

void PrintLine(std::FILE* out, const json& object) {
  const std::string text = object.dump() + "\n";
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

std::string Show(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

}  // namespace

void JsonReporter::Step(const StepReport& report) {
  PrintLine(out_, {{"event", "step"},
                   {"rank", report.rank},
                   {"pass", report.pass},
                   {"step", report.step},
                   {"clock", report.clock},
                   {"seconds", report.seconds},
                   {"samples_per_second", report.samples_per_second},
                   {"loss", OrNull(report.loss)},
                   {"auc", OrNull(report.auc)},
                   {"wait_share", report.wait_share},
                   {"staleness", report.staleness},
                   {"bytes_sent", report.bytes_sent},
                   {"bytes_received", report.bytes_received}});
}

void JsonReporter::Evaluated(const EvaluationReport& report) {
  json object = {{"event", "eval"},
                 {"rank", report.rank},
                 {"pass", report.pass},
                 {"clock", report.clock},
                 {"seconds", report.seconds}};
  AddEvaluation(object, "valid", report.validation);
  AddEvaluation(object, "test", report.test);
  PrintLine(out_, object);
}

void JsonReporter::Summary(const SummaryReport& report) {
  json object = {{"event", "summary"},
                 {"rank", report.rank},
                 {"clock", report.clock},
                 {"samples", report.samples},
                 {"train_seconds", report.train_seconds},
                 {"samples_per_second", report.samples_per_second},
                 {"wait_share", report.wait_share},
                 {"staleness_mean", report.staleness_mean},
                 {"bytes_sent", report.bytes_sent},
                 {"bytes_received", report.bytes_received},
                 {"pieces_repeated", report.pieces_repeated},
                 {"best_pass", OrNull(report.best_pass)},
                 {"valid_auc", OrNull(report.validation_auc)},
                 {"bayes_auc", OrNull(report.bayes_auc)},
                 {"interrupted", report.interrupted}};
  AddEvaluation(object, "test", report.test);
  PrintLine(out_, object);
}

void TerminalReporter::Step(const StepReport& report) {
  fmt::print(out_,
             "\r\033[Kpass {} step {} clock {}  {:.0f} samples/s  loss {}  AUC {}  staleness {:.2f}"
             "  wait {:.0f}%  sent {:.1f} MiB",
             report.pass, report.step, report.clock, report.samples_per_second, Show(report.loss),
             Show(report.auc), report.staleness, 100 * report.wait_share,
             static_cast<double>(report.bytes_sent) / (1 << 20));
  std::fflush(out_);
}

void TerminalReporter::Evaluated(const EvaluationReport& report) {
  fmt::print(out_, "\r\033[Kpass {}: validation AUC {}, test AUC {}, test loss {}\n", report.pass,
             Show(report.validation.auc), Show(report.test.auc), Show(report.test.log_loss));
}

void TerminalReporter::Summary(const SummaryReport& report) {
  fmt::print(out_, "\r\033[Krank {}: {} samples in {:.1f} s, clock {}, wait {:.0f}%\n", report.rank,
             report.samples, report.train_seconds, report.clock, 100 * report.wait_share);
  if (report.best_pass) {
    fmt::print(out_, "best pass {}: test AUC {}, normalized entropy {}\n", *report.best_pass,
               Show(report.test.auc), Show(report.test.normalized_entropy));
  }
}

}  // namespace syncline
