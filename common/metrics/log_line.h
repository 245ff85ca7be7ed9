// How a log line looks, apart from where it goes. Internal to common/metrics.
#ifndef SYNCLINE_COMMON_METRICS_LOG_LINE_H_
#define SYNCLINE_COMMON_METRICS_LOG_LINE_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace syncline {

// spdlog hands a formatter one payload only, so a line's parts travel in it, packed.
struct LogParts {
  struct Field {
    std::string key;
    bool is_text = true;
    std::string value;
  };
  std::string component;
  std::string message;
  std::vector<Field> fields;
};

std::string PackLogParts(const LogParts& parts);
LogParts UnpackLogParts(std::string_view packed);

// Both end with a newline and hold no other.
std::string JsonLine(const LogParts& parts, std::string_view level,
                     std::chrono::nanoseconds since_unix_epoch);
std::string HumanLine(const LogParts& parts, std::string_view level,
                      std::chrono::nanoseconds since_unix_epoch);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_METRICS_LOG_LINE_H_
