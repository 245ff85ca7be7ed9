#include "server/executor/pull_operation.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "common/codec/codec.h"
#include "common/status/status.h"

namespace syncline {
namespace {

// Rows gathered at a time where they cannot go straight into the answer: fits the L2 cache.
constexpr size_t kScratchFloats = size_t{1} << 16;
// What an answer may hold beside values: part headers.
constexpr size_t kPartOverheadBytes = 48;

std::chrono::milliseconds DeadlineOf(const PullFrame& frame) {
  if (frame.deadline_ms == 0) return kDefaultReadDeadline;
  return std::min(std::chrono::milliseconds(frame.deadline_ms), kMaxReadDeadline);
}

// Scratch memory of a thread, kept: pulls are too frequent to allocate.
struct Scratch {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> bag_offsets;
  std::vector<uint32_t> bag_ids;
  std::vector<float> rows;
};
Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

void PullOperation::Start() {
  deadline_ = host_.timers_.Now() + DeadlineOf(*frame_);
  table_ = host_.CurrentTable();
  if (absl::Status status = Validate(); !status.ok()) {
    if (DetailOf(status) == Detail::kUnknownTable) return AskTheSession();
    return FinishError(std::move(status), SlotId(), Incarnation());
  }
  Go();
}

absl::Status PullOperation::UnknownTable() const {
  return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                   "table {} is not known to this server; create it first", frame_->table.value());
}

// A server that has just restarted learns its tables after its map. A session that it lost must
// hear so (S7), not that its table is gone.
void PullOperation::AskTheSession() {
  HostedSlot* const slot =
      frame_->parts.empty() ? nullptr : table_->Find(frame_->parts.front().slot);
  if (slot == nullptr) return FinishError(UnknownTable(), SlotId(), Incarnation());
  const absl::Status accepted = slot->executor.Submit([self = shared_from_this(), slot] {
    const PartOutcome known =
        slot->core.Resume(self->caller_, self->frame_->parts.front().incarnation);
    self->FinishError(known.error.ok() ? self->UnknownTable() : known.error, slot->core.slot(),
                      slot->core.incarnation());
  });
  if (!accepted.ok()) FinishError(accepted, slot->core.slot(), slot->core.incarnation());
}

absl::Status PullOperation::Validate() {
  if (table_ == nullptr) return NotHereError(table_, SlotId());
  const std::optional<TableInfo> table = host_.FindTable(frame_->table);
  if (!table.has_value()) return UnknownTable();
  codec_ = FindCodec(frame_->codec);
  if (codec_ == nullptr) {
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kUnsupported,
                     "codec {} is not supported by this server; use 1 (fp32)", frame_->codec);
  }
  dim_ = table->spec.dim;
  row_bytes_ = codec_->EncodedRowBytes(dim_);
  size_t rows = frame_->bag_count;
  for (const PullPart& part : frame_->parts) {
    offsets_.push_back(frame_->bag_count > 0 ? 0 : rows * row_bytes_);
    if (frame_->bag_count == 0) rows += part.key_count();
  }
  total_bytes_ = rows * row_bytes_;
  const size_t reply_bytes = total_bytes_ + frame_->parts.size() * kPartOverheadBytes;
  if (reply_bytes > kMaxFrameBytes) {
    return InvalidArgument(
        "table {}: the answer would hold {} rows of {} bytes, more than a frame ({} bytes); split "
        "the pull",
        table->spec.name, rows, row_bytes_, kMaxFrameBytes);
  }
  order_.resize(frame_->parts.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
    return frame_->parts[a].slot < frame_->parts[b].slot;
  });
  return absl::OkStatus();
}

void PullOperation::Go() {
  if (next_ == order_.size()) return FinishOk();
  HostedSlot* slot = CurrentSlot();
  if (slot == nullptr) {
    const SlotId id = CurrentPart().slot;
    return FinishError(NotHereError(table_, id), id, Incarnation());
  }
  Executor& executor = slot->executor;
  const absl::Status accepted =
      executor.Submit([self = shared_from_this(), &executor] { self->Visit(executor); });
  if (!accepted.ok()) FinishError(accepted, slot->core.slot(), slot->core.incarnation());
}

void PullOperation::Visit(Executor& executor) {
  while (next_ < order_.size()) {
    HostedSlot* slot = CurrentSlot();
    if (slot == nullptr || &slot->executor != &executor) break;
    if (!AskAndServe(*slot)) return;
  }
  // The next executor is asked when this one is free for others.
  Executor::AfterRelease([self = shared_from_this()] { self->Go(); });
}

bool PullOperation::AskAndServe(HostedSlot& slot) {
  const PullPart& part = CurrentPart();
  const ReadId read = host_.next_read_id_.fetch_add(1, std::memory_order_relaxed);
  const absl::StatusOr<bool> admitted =
      slot.core.AskRead(caller_, ReadRequest{.id = read,
                                             .incarnation = part.incarnation,
                                             .sequence = part.sequence,
                                             .clock = frame_->header.clock,
                                             .table = frame_->table});
  absl::Status status = admitted.status();
  if (status.ok() && !*admitted) {
    Park(slot, read);
    return false;
  }
  if (status.ok()) status = Serve(slot);
  if (status.ok()) return true;
  FinishError(std::move(status), slot.core.slot(), slot.core.incarnation());
  return false;
}

void PullOperation::Park(HostedSlot& slot, ReadId read) {
  const bool full = host_.parked_reads_.fetch_add(1) >= host_.options_.max_parked_reads;
  MutexLock lock(mutex_);
  if (full || cancelled_ || slot.dropped) {
    absl::Status why = absl::CancelledError("the caller is gone");
    if (slot.dropped) why = NotHereError(table_, slot.core.slot());
    if (full) {
      why = MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                      "{} reads wait on this server already; retry later",
                      host_.options_.max_parked_reads);
    }
    lock.Unlock();
    host_.parked_reads_.fetch_sub(1);
    slot.core.CancelRead(read);
    return FinishError(std::move(why), slot.core.slot(), slot.core.incarnation());
  }
  parked_.slot = table_->by_slot[slot.core.slot().value()];
  parked_.read = read;
  slot.parked.emplace(read, shared_from_this());
  // The timer finds the read by its number, so it is harmless when it comes late.
  parked_.timer = host_.timers_.Schedule(deadline_, [hosted = parked_.slot, read] {
    hosted->executor.Post([hosted, read] {
      const auto found = hosted->parked.find(read);
      if (found == hosted->parked.end()) return;
      const std::shared_ptr<PullOperation> pull = found->second;
      hosted->core.CancelRead(read);
      hosted->parked.erase(found);
      pull->Continue(*hosted,
                     MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                               "slot {}: the read in clock {} was not ready within its deadline of "
                               "{} ms; a worker is behind, or an operation named by the read never "
                               "came; ask again",
                               hosted->core.slot().value(), pull->frame_->header.clock.value(),
                               DeadlineOf(*pull->frame_).count()));
    });
  });
  lock.Unlock();
  if (observer_) observer_(true);
}

void PullOperation::Continue(HostedSlot& slot, const absl::Status& status) {
  host_.parked_reads_.fetch_sub(1);
  Parked was;
  {
    MutexLock lock(mutex_);
    was = std::exchange(parked_, Parked{});
  }
  host_.timers_.Cancel(was.timer);
  if (observer_) observer_(false);
  absl::Status served = status;
  if (served.ok()) served = Serve(slot);
  if (!served.ok()) {
    return FinishError(std::move(served), slot.core.slot(), slot.core.incarnation());
  }
  Visit(slot.executor);
}

void PullOperation::Cancel() {
  Parked parked;
  {
    MutexLock lock(mutex_);
    cancelled_ = true;
    parked = parked_;
  }
  if (parked.slot == nullptr) return;
  parked.slot->executor.Post([hosted = parked.slot, read = parked.read] {
    const auto found = hosted->parked.find(read);
    if (found == hosted->parked.end()) return;
    const std::shared_ptr<PullOperation> pull = found->second;
    hosted->core.CancelRead(read);
    hosted->parked.erase(found);
    pull->Continue(*hosted, absl::CancelledError("the caller is gone"));
  });
}

absl::Status PullOperation::Serve(HostedSlot& slot) {
  AllocateOnce();
  const PullPart& part = CurrentPart();
  const std::span<const Key> keys = part.keys.AsU64(ThreadScratch().keys);
  RETURN_IF_ERROR(CheckOrder(keys));
  PullPartReply& reply = replies_[order_[next_]];
  reply.slot = slot.core.slot();
  reply.incarnation = slot.core.incarnation();
  RETURN_IF_ERROR(frame_->bag_count > 0 ? ServeBags(slot, part, keys, reply)
                                        : ServeRows(slot, keys, reply));
  ++next_;
  return absl::OkStatus();
}

absl::Status PullOperation::CheckOrder(std::span<const Key> keys) const {
  const auto bad = std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>());
  if (frame_->bag_count == 0 || bad == keys.end()) return absl::OkStatus();
  return InvalidArgument("table {}: keys of a bags pull must ascend; {} follows {}",
                         frame_->table.value(), *std::next(bad), *bad);
}

absl::Status PullOperation::ServeRows(HostedSlot& slot, std::span<const Key> keys,
                                      PullPartReply& reply) {
  const size_t offset = offsets_[order_[next_]];
  uint8_t* out = reinterpret_cast<uint8_t*>(buffer_.get()) + offset;
  reply.values = ValuesAt(offset, keys.size() * row_bytes_);
  const bool straight = codec_->id() == CodecId::kFp32;
  const size_t step = straight ? keys.size() : std::max<size_t>(1, kScratchFloats / dim_);
  std::vector<float>& scratch = ThreadScratch().rows;
  size_t begin = 0;
  do {  // once also without keys: the position is part of the answer
    const std::span<const Key> some = keys.subspan(begin, std::min(step, keys.size() - begin));
    std::span<float> rows;
    if (straight) {
      rows = {buffer_.get() + offset / sizeof(float), some.size() * dim_};
    } else {
      scratch.resize(std::max(scratch.size(), some.size() * dim_));
      rows = std::span(scratch).first(some.size() * dim_);
    }
    ASSIGN_OR_RETURN(
        const ReadPosition position,
        slot.core.Gather(caller_.session, frame_->table, some, frame_->read_only, rows, dim_));
    reply.sequence = position.sequence;
    reply.min_clock = position.min_clock;
    if (!straight) {
      codec_->Encode(rows, dim_, {out + begin * row_bytes_, some.size() * row_bytes_});
    }
    begin += some.size();
  } while (begin < keys.size());
  return absl::OkStatus();
}

absl::Status PullOperation::ServeBags(HostedSlot& slot, const PullPart& part,
                                      std::span<const Key> keys, PullPartReply& reply) {
  Scratch& scratch = ThreadScratch();
  const std::span<const uint32_t> offsets = part.bag_offsets.AsU32(scratch.bag_offsets);
  const std::span<const uint32_t> ids = part.bag_ids.AsU32(scratch.bag_ids);
  const size_t step = std::max<size_t>(1, kScratchFloats / dim_);
  scratch.rows.resize(std::max(scratch.rows.size(), std::min(step, keys.size()) * dim_));
  size_t begin = 0;
  do {
    const std::span<const Key> some = keys.subspan(begin, std::min(step, keys.size() - begin));
    const std::span<float> rows = std::span(scratch.rows).first(some.size() * dim_);
    ASSIGN_OR_RETURN(
        const ReadPosition position,
        slot.core.Gather(caller_.session, frame_->table, some, frame_->read_only, rows, dim_));
    reply.sequence = position.sequence;
    reply.min_clock = position.min_clock;
    for (size_t i = 0; i < some.size(); ++i) {
      const float* row = rows.data() + i * dim_;
      for (uint32_t at = offsets[begin + i]; at < offsets[begin + i + 1]; ++at) {
        float* sum = bag_sums_.data() + size_t{ids[at]} * dim_;
        for (uint32_t j = 0; j < dim_; ++j) sum[j] += row[j];
      }
    }
    begin += some.size();
  } while (begin < keys.size());
  return absl::OkStatus();
}

void PullOperation::AllocateOnce() {
  if (!replies_.empty()) return;
  replies_.resize(frame_->parts.size());
  buffer_ = std::shared_ptr<float[]>(new float[(total_bytes_ + sizeof(float) - 1) / sizeof(float)]);
  if (frame_->bag_count > 0) bag_sums_.assign(size_t{frame_->bag_count} * dim_, 0.0f);
}

ByteView PullOperation::ValuesAt(size_t offset, size_t size) const {
  return ByteView(ByteSpan(reinterpret_cast<const uint8_t*>(buffer_.get()) + offset, size));
}

void PullOperation::FinishOk() {
  AllocateOnce();  // a pull without parts
  PullAnswer answer;
  answer.reply.epoch = table_ == nullptr ? Epoch() : table_->epoch;
  if (frame_->bag_count > 0) {
    codec_->Encode(bag_sums_, dim_, {reinterpret_cast<uint8_t*>(buffer_.get()), total_bytes_});
    answer.reply.bag_values = ValuesAt(0, total_bytes_);
  }
  answer.reply.parts = std::move(replies_);
  answer.values =
      std::shared_ptr<const uint8_t>(buffer_, reinterpret_cast<const uint8_t*>(buffer_.get()));
  Finish(std::move(answer));
}

void PullOperation::FinishError(absl::Status error, SlotId slot, Incarnation incarnation) {
  PullAnswer answer;
  answer.reply.epoch = table_ == nullptr ? Epoch() : table_->epoch;
  answer.reply.error = std::move(error);
  answer.reply.error_slot = slot;
  answer.reply.error_incarnation = incarnation;
  Finish(std::move(answer));
}

void PullOperation::Finish(PullAnswer answer) {
  Executor::AfterRelease(
      [self = shared_from_this(), answer = std::make_shared<PullAnswer>(std::move(answer))] {
        std::exchange(self->done_, nullptr)(std::move(*answer));
      });
}

}  // namespace syncline
