// What travels between a client and a server, as C++ structs: the bulk frames of
// common/wire/frames.h and the small ones beside them. frame_io.h turns them into bytes and back.
#ifndef SYNCLINE_WORKER_CLIENT_MESSAGES_H_
#define SYNCLINE_WORKER_CLIENT_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "common/types.h"
#include "common/wire/frames.h"
#include "common/wire/outcome.h"

namespace syncline {

struct TickFrame {
  OperationHeader header;
  Clock clock;  // from now on (C1)
  Round ends_round;
  uint64_t samples = 0;
  std::string reader_position;
  std::vector<SlotId> slots;  // one entry of each list per slot
  std::vector<Incarnation> incarnations;
  std::vector<Sequence> sequences;
};

struct LeaveFrame {
  OperationHeader header;
  std::vector<SlotId> slots;
  std::vector<Incarnation> incarnations;
  std::vector<Sequence> sequences;
};

struct ResumeFrame {
  struct Part {
    SlotId slot;
    Incarnation incarnation;
    Clock clock;
    Sequence durable;
    Sequence told;
  };
  OperationHeader header;
  std::vector<Part> parts;
};

using OutMessage = std::variant<PushFrame, PullFrame, TickFrame, LeaveFrame, ResumeFrame>;

// Views inside point into memory that `owner` keeps.
struct OutFrame {
  uint64_t request_id = 0;
  OutMessage message;
  std::shared_ptr<const void> owner;
};

// Reply to a push, tick, leave or resume. With an error the whole frame was refused and `parts` is
// empty.
struct OutcomesFrame {
  std::vector<PartOutcome> parts;
  Epoch epoch;
  absl::Status error;
};

using InMessage = std::variant<OutcomesFrame, PullReplyFrame>;

// A received frame; views inside live as long as the call that hands it over.
struct InFrame {
  uint64_t request_id = 0;
  InMessage message;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_MESSAGES_H_
