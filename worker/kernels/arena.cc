#include "worker/kernels/arena.h"

#include <new>

#include "common/status/status.h"

namespace syncline {

Arena::Arena(size_t capacity)
    : capacity_(RoundUp(capacity)),
      memory_(static_cast<std::byte*>(::operator new (capacity_ == 0 ? kAlignment : capacity_,
                                                      std::align_val_t{kAlignment}))) {}

void Arena::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kAlignment});
}

absl::StatusOr<void*> Arena::Take(size_t count, size_t element_size) {
  const size_t left = capacity_ - used_;
  // The quotient first: a product of huge numbers would wrap. `left` is a multiple of the
  // alignment, so what fits before rounding up fits after it.
  if (count > left / element_size) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kNone,
                     "arena: {} values of {} bytes asked, {} of {} bytes are free; make the arena "
                     "larger or the batch smaller",
                     count, element_size, left, capacity_);
  }
  void* memory = memory_.get() + used_;
  used_ += RoundUp(count * element_size);
  return memory;
}

}  // namespace syncline
