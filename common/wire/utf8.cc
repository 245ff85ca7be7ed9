#include "common/wire/utf8.h"

#include <cstdint>

namespace syncline {
namespace {

// Length of the valid sequence that starts `s`; 0: none (overlong forms, surrogates and code
// points above U+10FFFF included).
size_t SequenceLength(std::string_view s) {
  const auto lead = static_cast<uint8_t>(s[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || s.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(s[i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = static_cast<uint8_t>(s[1]);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f;
  const bool beyond = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string ValidUtf8(std::string_view text, size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const size_t bytes = length == 0 ? 1 : length;
    if (out.size() + bytes > max_bytes) break;
    if (length == 0) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace syncline
