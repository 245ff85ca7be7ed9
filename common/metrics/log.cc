#include "common/metrics/log.h"

#include <memory>
#include <utility>

#include <unistd.h>

#include "spdlog/formatter.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/sinks/stdout_sinks.h"

#include "common/metrics/log_line.h"

namespace syncline {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(bool json) : json_(json) {}

  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& out) override {
    const LogParts parts = UnpackLogParts({msg.payload.data(), msg.payload.size()});
    const auto level = spdlog::level::to_string_view(msg.level);
    const std::string_view level_name(level.data(), level.size());
    const std::chrono::nanoseconds time = msg.time.time_since_epoch();
    const std::string line =
        json_ ? JsonLine(parts, level_name, time) : HumanLine(parts, level_name, time);
    out.append(line.data(), line.data() + line.size());
  }

  std::unique_ptr<formatter> clone() const override {
    return std::make_unique<LineFormatter>(json_);
  }

 private:
  const bool json_;
};

std::shared_ptr<spdlog::logger> MakeRoot(const LogOptions& options) {
  spdlog::sink_ptr sink;
  if (options.stream != nullptr) {
    sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(*options.stream, /*force_flush=*/true);
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  const bool on_terminal = options.stream == nullptr && isatty(STDERR_FILENO) == 1;
  const bool json =
      options.format == LogFormat::kJson || (options.format == LogFormat::kAuto && !on_terminal);
  sink->set_formatter(std::make_unique<LineFormatter>(json));
  auto root = std::make_shared<spdlog::logger>("syncline", std::move(sink));
  root->set_level(ToSpdlog(options.level));
  return root;
}

std::shared_ptr<spdlog::logger>& Root() {
  // Never destroyed: threads may log while the process exits.
  static auto& root = *new std::shared_ptr<spdlog::logger>(MakeRoot(LogOptions{}));
  return root;
}

}  // namespace

void InitLogging(const LogOptions& options) { Root() = MakeRoot(options); }
void SetLogLevel(LogLevel level) { Root()->set_level(ToSpdlog(level)); }
bool IsLogged(LogLevel level) { return Root()->should_log(ToSpdlog(level)); }

Logger Logger::With(std::vector<LogField> fields) const {
  Logger more = *this;
  for (LogField& field : fields) more.fields_.push_back(std::move(field));
  return more;
}

void Logger::Write(LogLevel level, std::string message) const {
  LogParts parts{.component = component_, .message = std::move(message), .fields = {}};
  for (const LogField& field : fields_) {
    parts.fields.push_back({field.key_, field.is_text_, field.value_});
  }
  const std::string packed = PackLogParts(parts);
  Root()->log(ToSpdlog(level), spdlog::string_view_t(packed.data(), packed.size()));
}

}  // namespace syncline
