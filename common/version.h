// The version of every binary. Kept equal to project(VERSION) by a test in tests/tidy.
#ifndef SYNCLINE_COMMON_VERSION_H_
#define SYNCLINE_COMMON_VERSION_H_

namespace syncline {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace syncline

#endif  // SYNCLINE_COMMON_VERSION_H_
