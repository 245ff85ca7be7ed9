#include "common/metrics/log_line.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

#include "common/limits.h"

namespace syncline {
namespace {

void AppendText(std::string_view text, std::string& out) {
  text = text.substr(0, kMaxLogTextBytes);
  const auto size = static_cast<uint32_t>(text.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out.append(text);
}

std::string TakeText(std::string_view& packed) {
  uint32_t size = 0;
  if (packed.size() < sizeof(size)) return "";
  std::memcpy(&size, packed.data(), sizeof(size));
  std::string text(packed.substr(sizeof(size), size));
  packed.remove_prefix(std::min(packed.size(), sizeof(size) + size));
  return text;
}

std::string JsonText(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// JSON has no NaN or infinity.
std::string JsonValue(const LogParts::Field& field) {
  const bool is_number_or_bool = !field.is_text && nlohmann::json::accept(field.value);
  return is_number_or_bool ? field.value : JsonText(field.value);
}

// Plain where that is safe on a terminal; quoted and escaped otherwise.
std::string HumanText(const std::string& text, bool quote_spaces) {
  const bool safe = std::all_of(text.begin(), text.end(), [&](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte >= 0x20 && byte < 0x7f && !(quote_spaces && (c == ' ' || c == '"'));
  });
  if (safe && !(quote_spaces && text.empty())) return text;
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string Timestamp(std::chrono::nanoseconds since_unix_epoch, const char* format) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_unix_epoch);
  const std::time_t whole = seconds.count();
  std::tm utc{};
  gmtime_r(&whole, &utc);
  char text[32];
  std::strftime(text, sizeof(text), format, &utc);
  return fmt::format("{}.{:06}", text, (since_unix_epoch - seconds).count() / 1'000);
}

}  // namespace

std::string PackLogParts(const LogParts& parts) {
  std::string packed;
  AppendText(parts.component, packed);
  AppendText(parts.message, packed);
  for (const LogParts::Field& field : parts.fields) {
    AppendText(field.key, packed);
    packed.push_back(field.is_text ? 't' : 'n');
    AppendText(field.value, packed);
  }
  return packed;
}

LogParts UnpackLogParts(std::string_view packed) {
  LogParts parts;
  parts.component = TakeText(packed);
  parts.message = TakeText(packed);
  while (!packed.empty()) {
    LogParts::Field field;
    field.key = TakeText(packed);
    if (packed.empty()) break;
    field.is_text = packed.front() == 't';
    packed.remove_prefix(1);
    field.value = TakeText(packed);
    parts.fields.push_back(std::move(field));
  }
  return parts;
}

std::string JsonLine(const LogParts& parts, std::string_view level,
                     std::chrono::nanoseconds since_unix_epoch) {
  std::string line = fmt::format(R"({{"ts":"{}Z","level":"{}","component":{},"msg":{})",
                                 Timestamp(since_unix_epoch, "%Y-%m-%dT%H:%M:%S"), level,
                                 JsonText(parts.component), JsonText(parts.message));
  for (const LogParts::Field& field : parts.fields) {
    line += "," + JsonText(field.key) + ":" + JsonValue(field);
  }
  return line + "}\n";
}

std::string HumanLine(const LogParts& parts, std::string_view level,
                      std::chrono::nanoseconds since_unix_epoch) {
  std::string line =
      fmt::format("{} {:<7} {}: {}", Timestamp(since_unix_epoch, "%H:%M:%S"), level,
                  HumanText(parts.component, false), HumanText(parts.message, false));
  for (const LogParts::Field& field : parts.fields) {
    line += "  " + HumanText(field.key, true) + "=" + HumanText(field.value, true);
  }
  return line + "\n";
}

}  // namespace syncline
