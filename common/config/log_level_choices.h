// The words of --log-level, the same in every daemon.
#ifndef SYNCLINE_COMMON_CONFIG_LOG_LEVEL_CHOICES_H_
#define SYNCLINE_COMMON_CONFIG_LOG_LEVEL_CHOICES_H_

#include <string>
#include <utility>
#include <vector>

#include "common/metrics/log.h"

namespace syncline {

// For Loader::AddChoice; most talkative first.
inline std::vector<std::pair<std::string, LogLevel>> LogLevelChoices() {
  return {{"debug", LogLevel::kDebug},
          {"info", LogLevel::kInfo},
          {"warning", LogLevel::kWarning},
          {"error", LogLevel::kError},
          {"off", LogLevel::kOff}};
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_CONFIG_LOG_LEVEL_CHOICES_H_
