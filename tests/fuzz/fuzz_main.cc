// libFuzzer's entry; SYNCLINE_FUZZ_TARGET names the function of targets.h.
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  syncline::SYNCLINE_FUZZ_TARGET(data, size);
  return 0;
}
