// Memory for operands of kernels: one bounded block, handed out front to back, freed as a whole.
#ifndef SYNCLINE_WORKER_KERNELS_ARENA_H_
#define SYNCLINE_WORKER_KERNELS_ARENA_H_

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "absl/status/statusor.h"

namespace syncline {

// Where an arena's memory lives. Host memory is what CPU kernels take; pinned and device memory
// come with CUDA kernels, behind this same interface.
enum class MemoryKind { kHost = 1 };

// Bump allocation. Every allocation starts at a multiple of kAlignment and is not initialized.
// Reset makes all earlier ones invalid at once: REQUIRES a Synchronize of every stream that uses
// them. Not thread-safe.
class Arena {
 public:
  static constexpr size_t kAlignment = 64;  // a cache line, and the widest SIMD register

  // Takes `capacity` bytes (rounded up to kAlignment) from the heap. They are touched when used.
  explicit Arena(size_t capacity);
  ~Arena() = default;
  Arena(Arena&&) noexcept = default;
  Arena& operator=(Arena&&) noexcept = default;

  // `count` values of T; an empty span for 0.
  // Errors: RESOURCE_EXHAUSTED when they do not fit, and nothing was taken.
  template <typename T>
  absl::StatusOr<std::span<T>> Allocate(size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    auto memory = Take(count, sizeof(T));
    if (!memory.ok()) return memory.status();
    return std::span<T>(static_cast<T*>(*memory), count);
  }

  void Reset() { used_ = 0; }

  // What `count` values of T take from the capacity, alignment included.
  template <typename T>
  static constexpr size_t BytesFor(size_t count) {
    return RoundUp(count * sizeof(T));
  }

  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }
  MemoryKind kind() const { return MemoryKind::kHost; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  static constexpr size_t RoundUp(size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  absl::StatusOr<void*> Take(size_t count, size_t element_size);

  size_t capacity_;
  size_t used_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_KERNELS_ARENA_H_
