// Text for protobuf's `string`, whose parsers refuse what is not UTF-8.
#ifndef SYNCLINE_COMMON_WIRE_UTF8_H_
#define SYNCLINE_COMMON_WIRE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace syncline {

// At most `max_bytes` of `text`, never cutting a character; each byte that belongs to no valid
// UTF-8 sequence (RFC 3629) becomes '?'.
std::string ValidUtf8(std::string_view text, size_t max_bytes);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_UTF8_H_
