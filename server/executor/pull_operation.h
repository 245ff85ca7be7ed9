// A pull on its way through the slots. Internal to server/executor.
#ifndef SYNCLINE_SERVER_EXECUTOR_PULL_OPERATION_H_
#define SYNCLINE_SERVER_EXECUTOR_PULL_OPERATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "common/thread/mutex.h"
#include "server/executor/hosted_slot.h"
#include "server/executor/slot_host.h"

namespace syncline {

// At any time one executor holds it, or it is parked in one slot, or between the two. All fields
// but those under the mutex belong to whoever has it at the moment.
class PullOperation final : public PullHandle, public std::enable_shared_from_this<PullOperation> {
 public:
  PullOperation(SlotHost& host, Caller caller, std::shared_ptr<const PullFrame> frame,
                SlotHost::PullDone done, SlotHost::ParkObserver observer)
      : host_(host),
        caller_(std::move(caller)),
        frame_(std::move(frame)),
        done_(std::move(done)),
        observer_(std::move(observer)) {}

  // Validates, then visits the first slot. Answers at once what cannot be served.
  void Start();
  // On the slot's executor, after the read left the slot's parking lot.
  void Continue(HostedSlot& slot, const absl::Status& status);
  void Cancel() override;

 private:
  struct Parked {
    std::shared_ptr<HostedSlot> slot;  // null: not parked
    ReadId read = 0;
    TimerQueue::TimerId timer;
  };

  absl::Status Validate();
  absl::Status UnknownTable() const;
  // Answers a pull of an unknown table.
  void AskTheSession();
  // Hands the pull to the executor of its next slot.
  void Go();
  // On `executor`: serves slots until one parks the pull, another executor's turn comes or all are
  // served.
  void Visit(Executor& executor);
  // True: served. False: parked or answered.
  bool AskAndServe(HostedSlot& slot);
  void Park(HostedSlot& slot, ReadId read);
  absl::Status Serve(HostedSlot& slot);
  absl::Status ServeRows(HostedSlot& slot, std::span<const Key> keys, PullPartReply& reply);
  absl::Status ServeBags(HostedSlot& slot, const PullPart& part, std::span<const Key> keys,
                         PullPartReply& reply);
  // B1 sums bags in ascending order of keys.
  absl::Status CheckOrder(std::span<const Key> keys) const;
  // Memory is taken when the first slot has admitted the session's read.
  void AllocateOnce();
  ByteView ValuesAt(size_t offset, size_t size) const;

  const PullPart& CurrentPart() const { return frame_->parts[order_[next_]]; }
  HostedSlot* CurrentSlot() const { return table_->Find(CurrentPart().slot); }
  void FinishOk();
  void FinishError(absl::Status error, SlotId slot, Incarnation incarnation);
  void Finish(PullAnswer answer);

  SlotHost& host_;
  const Caller caller_;
  const std::shared_ptr<const PullFrame> frame_;
  SlotHost::PullDone done_;
  const SlotHost::ParkObserver observer_;

  std::shared_ptr<const SlotHost::SlotTable> table_;
  MonotonicTime deadline_;
  std::vector<uint32_t> order_;  // parts, ascending by slot
  size_t next_ = 0;              // index into order_
  const Codec* codec_ = nullptr;
  uint32_t dim_ = 0;
  size_t row_bytes_ = 0;
  std::vector<size_t> offsets_;  // of each part's values
  size_t total_bytes_ = 0;
  std::shared_ptr<float[]> buffer_;
  std::vector<float> bag_sums_;
  std::vector<PullPartReply> replies_;  // in the order asked

  Mutex mutex_;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  Parked parked_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_PULL_OPERATION_H_
