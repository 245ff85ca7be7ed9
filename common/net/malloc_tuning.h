// Settings of glibc's malloc for processes that move megabytes a message.
#ifndef SYNCLINE_COMMON_NET_MALLOC_TUNING_H_
#define SYNCLINE_COMMON_NET_MALLOC_TUNING_H_

#include <climits>

#include <malloc.h>

namespace syncline {

// By default every buffer above 128 KiB is mapped and unmapped, and its pages are faulted in again:
// unary calls of 1 MiB then reach a third of their speed or less. Keeps such buffers on the heap
// and the heap's top in the process. The price: memory once used is not given back by itself. Call
// once, first thing in main. Returns false when malloc refused a setting (it is not glibc's).
inline bool TuneMalloc() {
  constexpr int kMmapThreshold = 1 << 30;
  constexpr int kTopPad = 64 << 20;
  const bool heap = mallopt(M_MMAP_THRESHOLD, kMmapThreshold) == 1;
  const bool keep = mallopt(M_TRIM_THRESHOLD, INT_MAX) == 1;
  return mallopt(M_TOP_PAD, kTopPad) == 1 && heap && keep;
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_NET_MALLOC_TUNING_H_
