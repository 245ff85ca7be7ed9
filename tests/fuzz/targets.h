// What the fuzzers call. The same functions run under libFuzzer (clang builds) and over the corpus
// in the plain regression test (every build). Each aborts when a promise is broken.
#ifndef SYNCLINE_TESTS_FUZZ_TARGETS_H_
#define SYNCLINE_TESTS_FUZZ_TARGETS_H_

#include <cstddef>
#include <cstdint>

namespace syncline {

// The first byte chooses how the rest is cut into pieces; the rest is a Frame and, read a second
// time, the bare message.
void FuzzPush(const uint8_t* data, size_t size);
void FuzzPull(const uint8_t* data, size_t size);
void FuzzPullReply(const uint8_t* data, size_t size);
// The first two bytes choose codec and dim; the rest is an encoding.
void FuzzCodec(const uint8_t* data, size_t size);

}  // namespace syncline

#endif  // SYNCLINE_TESTS_FUZZ_TARGETS_H_
