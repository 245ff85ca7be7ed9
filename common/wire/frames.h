// The bulk frames as C++ structs. common/wire/codec encodes and decodes them by hand, byte for byte
// as the generated code of proto/parameter_server.proto does. Everything that is not bulk (Hello,
// Tick, Leave, Resume, Ping, ...) goes through the generated messages.
#ifndef SYNCLINE_COMMON_WIRE_FRAMES_H_
#define SYNCLINE_COMMON_WIRE_FRAMES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "common/types.h"
#include "common/wire/byte_view.h"
#include "common/wire/outcome.h"

namespace syncline {

struct OperationHeader {
  SessionId session;
  Token token;
  Epoch epoch;
  Clock clock;
};

// In the decoded structs below every ByteView points into the received frame and lives as long as
// it; in structs to be encoded it points into the caller's memory. Counts are not yet judged
// against the table: only the frame's own consistency is (sizes divisible, offsets ascending and in
// range, bag ids below bag_count, limits of common/limits.h).

struct PushPart {
  SlotId slot;
  Incarnation incarnation;
  Sequence sequence;
  ByteView keys;         // 8 bytes each
  ByteView values;       // rows: encoded by the frame's codec; bags: empty
  ByteView bag_offsets;  // bags: (keys + 1) x 4 bytes
  ByteView bag_ids;      // bags: 4 bytes each
  Outcome placeholder = Outcome::kUnspecified;

  size_t key_count() const { return keys.size() / sizeof(Key); }
};

struct PushFrame {
  OperationHeader header;
  TableId table;
  uint32_t codec = 0;
  uint64_t samples = 0;
  std::vector<PushPart> parts;
  uint32_t bag_count = 0;
  ByteView bag_values;
};

struct PullPart {
  SlotId slot;
  Incarnation incarnation;
  Sequence sequence;
  ByteView keys;
  ByteView bag_offsets;
  ByteView bag_ids;

  size_t key_count() const { return keys.size() / sizeof(Key); }
};

struct PullFrame {
  OperationHeader header;
  TableId table;
  uint32_t codec = 0;
  bool read_only = false;
  uint32_t deadline_ms = 0;
  std::vector<PullPart> parts;
  uint32_t bag_count = 0;
};

struct PullPartReply {
  SlotId slot;
  Incarnation incarnation;
  Sequence sequence;
  Clock min_clock;
  ByteView values;
};

struct PullReplyFrame {
  std::vector<PullPartReply> parts;
  ByteView bag_values;
  Epoch epoch;
  uint64_t checkpoint = 0;
  absl::Status error;  // not OK: parts and bag_values are empty
  SlotId error_slot;
  Incarnation error_incarnation;
};

// Outcome of one operation in one slot (PartOutcome on the wire).
struct PartOutcome {
  SlotId slot;
  Incarnation incarnation;
  Sequence sequence;
  Outcome outcome = Outcome::kUnspecified;
  Sequence expected;  // kRetryOutOfOrder
  Sequence durable;
  Round oldest_round;
  Clock min_clock;
  absl::Status error;  // why, unless kOk
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_FRAMES_H_
