#include "tests/worker/client/model_cluster.h"

#include <algorithm>

#include "common/codec/codec.h"
#include "common/limits.h"
#include "common/status/status.h"
#include "common/wire/frame_codec.h"

namespace syncline {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const SessionId kSession{0x5e55, 0x10};

std::vector<float> DecodeRows(const ByteView& bytes, uint32_t codec_id, size_t rows) {
  std::vector<uint8_t> scratch;
  if (rows == 0) return {};
  const Codec* codec = FindCodec(codec_id);
  SYNCLINE_CHECK(codec != nullptr, "unknown codec");
  size_t dim = 1;
  while (codec->EncodedRowBytes(dim) * rows < bytes.size()) ++dim;
  std::vector<float> values(rows * dim);
  SYNCLINE_CHECK(codec->Decode(bytes.Contiguous(scratch), dim, values).ok(), "no such encoding");
  return values;
}

template <typename T>
ByteView Bytes(const std::vector<T>& v) {
  return ByteView(ByteSpan(reinterpret_cast<const uint8_t*>(v.data()), v.size() * sizeof(T)));
}

}  // namespace

TableInfo ModelTable(uint32_t id, uint32_t dim, std::string name) {
  TableInfo table;
  table.id = TableId(id);
  table.spec.name = std::move(name);
  table.spec.dim = dim;
  return table;
}

ModelCluster::ModelCluster(uint32_t servers, uint32_t slots, uint64_t seed, Faults f)
    : faults(f), random_(seed), slots_(slots) {
  std::vector<ServerEntry> entries;
  for (uint32_t i = 1; i <= servers; ++i) {
    entries.push_back({ServerId(i), fmt::format("ps-{}", i), fmt::format("10.0.0.{}:7070", i), i});
  }
  map_ = SlotMap::Initial("model", slots, entries).value();
}

CoreSession ModelCluster::Session(bool clocked) const {
  CoreSession session;
  session.session = kSession;
  session.token = Token(7);
  session.rank = clocked ? Rank(0) : kNoRank;
  session.clocked = clocked;
  session.map = map_;
  return session;
}

void ModelCluster::At(std::chrono::nanoseconds delay, std::function<void(ClientCore&)> action) {
  events_.emplace(std::pair(now_ + delay, ++next_event_), std::move(action));
}

std::chrono::nanoseconds ModelCluster::Delay() {
  const auto base = microseconds(50 + random_.Below(200));
  return random_.Uniform() < faults.reorder ? base * 10 : base;
}

bool ModelCluster::Run(ClientCore& core, const std::function<bool()>& done,
                       std::chrono::nanoseconds limit) {
  const MonotonicTime end = now_ + limit;
  Drain(core);
  while (!done()) {
    const MonotonicTime timer = core.NextTimer();
    const MonotonicTime event =
        events_.empty() ? MonotonicTime::Max() : events_.begin()->first.first;
    const MonotonicTime next = std::min(timer, event);
    if (next > end) return false;
    now_ = std::max(now_, next);
    if (event <= timer) {
      const auto action = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      action(core);
    } else {
      core.OnTimer(now_);
    }
    Drain(core);
  }
  return true;
}

void ModelCluster::Drain(ClientCore& core) {
  ClientEffects effects = core.TakeEffects();
  for (const ServerId server : effects.disconnects) connections_.erase(server);
  for (const auto& connect : effects.connects) Connect(connect);
  for (const auto& send : effects.frames) ToServer(send.server, send.frame);
  if (effects.refresh_map) {
    At(milliseconds(1), [this](ClientCore& c) { c.OnMap(map_, now_); });
  }
  for (auto& completion : effects.completions) {
    if (completion.done) completion.done(completion.status);
  }
}

void ModelCluster::Connect(const ClientEffects::Connect& connect) {
  At(Delay(), [this, connect](ClientCore& core) {
    if (broken_.contains(connect.server)) {
      return core.OnDisconnected(connect.server, connect.connection,
                                 absl::UnavailableError("connection refused"), now_);
    }
    connections_[connect.server] = connect.connection;
    core.OnConnected(connect.server, connect.connection, now_);
  });
}

void ModelCluster::Disconnect(ServerId server) {
  const uint64_t connection = connections_[server];
  connections_.erase(server);
  ++counters.disconnects;
  At(Delay(), [this, server, connection](ClientCore& core) {
    core.OnDisconnected(server, connection, absl::UnavailableError("reset by peer"), now_);
  });
}

ModelCluster::Wire ModelCluster::ToWire(const OutFrame& frame) {
  Wire wire;
  wire.request_id = frame.request_id;
  if (const auto* push = std::get_if<PushFrame>(&frame.message)) {
    wire.content = EncodeFrame(frame.request_id, *push).Flatten();
    wire.is_push = true;
  } else if (const auto* pull = std::get_if<PullFrame>(&frame.message)) {
    wire.content = EncodeFrame(frame.request_id, *pull).Flatten();
  } else if (const auto* tick = std::get_if<TickFrame>(&frame.message)) {
    wire.content = *tick;
  } else if (const auto* leave = std::get_if<LeaveFrame>(&frame.message)) {
    wire.content = *leave;
  } else {
    wire.content = std::get<ResumeFrame>(frame.message);
  }
  return wire;
}

void ModelCluster::ToServer(ServerId server, const OutFrame& frame) {
  ++counters.frames;
  const Wire wire = ToWire(frame);
  size_t bytes = 0;
  if (const auto* encoded = std::get_if<std::vector<uint8_t>>(&wire.content)) {
    bytes = encoded->size();
    counters.largest_frame = std::max(counters.largest_frame, bytes);
  }
  if (on_frame) on_frame(server, frame.message, bytes);
  if (!connections_.contains(server)) return;
  const uint64_t connection = connections_[server];
  if (random_.Uniform() < faults.disconnect) return Disconnect(server);
  const int copies = random_.Uniform() < faults.duplicate ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    if (random_.Uniform() < faults.drop) {
      ++counters.dropped;
      continue;
    }
    At(Delay(), [this, server, connection, wire](ClientCore&) { Serve(server, connection, wire); });
  }
}

void ModelCluster::ToClient(ServerId server, uint64_t connection, const Wire& reply) {
  if (random_.Uniform() < faults.drop) {
    ++counters.replies_lost;
    return;
  }
  const int copies = random_.Uniform() < faults.duplicate ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    At(Delay(), [this, server, connection, reply](ClientCore& core) {
      if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&reply.content)) {
        counters.largest_frame = std::max(counters.largest_frame, bytes->size());
      }
      Receive(reply, [&](const InFrame& frame) { core.OnFrame(server, connection, frame, now_); });
    });
  }
}

void ModelCluster::Receive(const Wire& reply, const std::function<void(const InFrame&)>& handle) {
  InFrame frame;
  frame.request_id = reply.request_id;
  if (const auto* outcomes = std::get_if<OutcomesFrame>(&reply.content)) {
    frame.message = *outcomes;
    return handle(frame);
  }
  const std::vector<ByteSpan> pieces{ByteSpan(std::get<std::vector<uint8_t>>(reply.content))};
  auto pull = DecodePullReplyFrame(pieces);
  SYNCLINE_CHECK(pull.ok(), "the model's own reply does not decode");
  frame.message = *std::move(pull);
  handle(frame);
}

void ModelCluster::Serve(ServerId server, uint64_t connection, const Wire& wire) {
  if (!broken_.contains(server)) ToClient(server, connection, Answer(server, wire));
}

ModelCluster::Wire ModelCluster::Answer(ServerId server, const Wire& wire) {
  Wire reply;
  if (wire.is_push) {
    reply = ServePush(server, wire);
  } else if (std::holds_alternative<std::vector<uint8_t>>(wire.content)) {
    reply = ServePull(server, wire);
  } else if (const auto* tick = std::get_if<TickFrame>(&wire.content)) {
    reply.content = ServeTick(server, *tick);
  } else if (const auto* leave = std::get_if<LeaveFrame>(&wire.content)) {
    reply.content = ServeLeave(server, *leave);
  } else {
    reply.content = ServeResume(server, std::get<ResumeFrame>(wire.content));
  }
  reply.request_id = wire.request_id;
  return reply;
}

PartOutcome ModelCluster::Decide(ServerId server, SlotId id, Incarnation incarnation,
                                 Sequence sequence,
                                 const std::function<void(ModelSlot&, PartOutcome&)>& apply) {
  ModelSlot& slot = slots_[id.value()];
  PartOutcome out;
  out.slot = id;
  out.incarnation = slot.incarnation;
  out.sequence = sequence;
  const auto answer = [&](Outcome outcome) {
    out.outcome = outcome;
    return out;
  };
  if (map_.At(id).server != server) return answer(Outcome::kRetryWrongOwner);
  if (slot.fenced) return answer(Outcome::kGoneFenced);
  if (!slot.session_known || slot.left) return answer(Outcome::kGoneSessionUnknown);
  if (incarnation != slot.incarnation) return answer(Outcome::kRetryResumeFirst);
  if (sequence.value() <= slot.last) {
    ++slot.duplicates;
    if (!slot.outcomes.contains(sequence.value())) return answer(Outcome::kGoneAlreadyDecided);
    return slot.outcomes[sequence.value()];
  }
  if (sequence.value() > slot.last + 1) {
    out.expected = Sequence(slot.last + 1);
    return answer(Outcome::kRetryOutOfOrder);
  }
  if (random_.Uniform() < faults.refuse) {
    return answer(random_.Uniform() < 0.5 ? Outcome::kRetryResourceExhausted
                                          : Outcome::kRetryNotReady);
  }
  out.outcome = Outcome::kOk;
  apply(slot, out);
  slot.last = sequence.value();
  slot.outcomes[sequence.value()] = out;
  if (slot.outcomes.size() > kOutcomeWindow) slot.outcomes.erase(slot.outcomes.begin());
  return out;
}

void ModelCluster::ApplyPush(ModelSlot& slot, const PushFrame& push, const PushPart& part) {
  std::vector<uint64_t> key_scratch;
  std::vector<uint32_t> offset_scratch;
  std::vector<uint32_t> id_scratch;
  const auto keys = part.keys.AsU64(key_scratch);
  const bool bags = push.bag_count > 0;
  const auto offsets = part.bag_offsets.AsU32(offset_scratch);
  const auto ids = part.bag_ids.AsU32(id_scratch);
  const std::vector<float> values = bags ? DecodeRows(push.bag_values, push.codec, push.bag_count)
                                         : DecodeRows(part.values, push.codec, keys.size());
  const size_t dim = values.size() / (bags ? push.bag_count : keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    SYNCLINE_CHECK(k == 0 || keys[k - 1] < keys[k], "keys of a part must ascend (S5)");
    auto& row = slot.rows[{push.table.value(), keys[k]}];
    row.resize(dim);
    const size_t begin = bags ? offsets[k] : k;
    const size_t end = bags ? offsets[k + 1] : k + 1;
    for (size_t i = begin; i < end; ++i) {
      const size_t v = bags ? ids[i] : i;
      for (size_t e = 0; e < dim; ++e) row[e] += static_cast<double>(values[v * dim + e]);
    }
  }
}

ModelCluster::Wire ModelCluster::ServePush(ServerId server, const Wire& wire) {
  const auto& bytes = std::get<std::vector<uint8_t>>(wire.content);
  const std::vector<ByteSpan> pieces{ByteSpan(bytes)};
  const auto push = DecodePushFrame(pieces);
  SYNCLINE_CHECK(push.ok(),
                 "the client's push does not decode: " + std::string(MessageOf(push.status())));
  SYNCLINE_CHECK(push->parts.size() <= slots_.size(), "a server refuses more parts than slots");
  OutcomesFrame reply;
  for (const PushPart& part : push->parts) {
    reply.parts.push_back(Decide(server, part.slot, part.incarnation, part.sequence,
                                 [&](ModelSlot& slot, PartOutcome& out) {
                                   if (part.placeholder != Outcome::kUnspecified) {
                                     out.outcome = part.placeholder;
                                     ++slot.cancelled;
                                     return;
                                   }
                                   ApplyPush(slot, *push, part);
                                 }));
  }
  Wire out;
  out.content = std::move(reply);
  return out;
}

absl::Status ModelCluster::CheckRead(ServerId server, const PullPart& part, PullReplyFrame& reply) {
  const ModelSlot& slot = slots_[part.slot.value()];
  reply.error_slot = part.slot;
  reply.error_incarnation = slot.incarnation;
  const auto code = absl::StatusCode::kFailedPrecondition;
  if (map_.At(part.slot).server != server) return MakeStatus(code, Detail::kWrongOwner, "moved");
  if (slot.fenced) return MakeStatus(absl::StatusCode::kNotFound, Detail::kFenced, "fenced");
  if (!slot.session_known) {
    return MakeStatus(absl::StatusCode::kNotFound, Detail::kSessionUnknown, "unknown");
  }
  if (part.incarnation != slot.incarnation) {
    return MakeStatus(code, Detail::kResumeFirst, "resume");
  }
  if (part.sequence.value() > slot.last) return absl::UnavailableError("not decided yet (S6)");
  return absl::OkStatus();
}

ModelCluster::Wire ModelCluster::ServePull(ServerId server, const Wire& wire) {
  const auto& bytes = std::get<std::vector<uint8_t>>(wire.content);
  const std::vector<ByteSpan> pieces{ByteSpan(bytes)};
  const auto pull = DecodePullFrame(pieces);
  SYNCLINE_CHECK(pull.ok(), "the client's pull does not decode");
  PullReplyFrame reply;
  std::vector<std::vector<float>> values;
  std::vector<float> bags;
  for (const PullPart& part : pull->parts) {
    reply.error = CheckRead(server, part, reply);
    if (!reply.error.ok()) break;
  }
  if (reply.error.ok()) {
    values.resize(pull->parts.size());
    for (size_t p = 0; p < pull->parts.size(); ++p) {
      const PullPart& part = pull->parts[p];
      std::vector<uint64_t> key_scratch;
      std::vector<uint32_t> offset_scratch;
      std::vector<uint32_t> id_scratch;
      const auto keys = part.keys.AsU64(key_scratch);
      const auto offsets = part.bag_offsets.AsU32(offset_scratch);
      const auto ids = part.bag_ids.AsU32(id_scratch);
      const size_t dim =
          pull->table.value();  // ModelTable: the tests give tables the id of their dim
      bags.resize(pull->bag_count * dim);
      const ModelSlot& slot = slots_[part.slot.value()];
      for (size_t k = 0; k < keys.size(); ++k) {
        const auto found = slot.rows.find({pull->table.value(), keys[k]});
        std::vector<float> row(dim, 0.0F);
        if (found != slot.rows.end()) row.assign(found->second.begin(), found->second.end());
        if (pull->bag_count == 0) {
          values[p].insert(values[p].end(), row.begin(), row.end());
          continue;
        }
        for (uint32_t i = offsets[k]; i < offsets[k + 1]; ++i) {
          for (size_t e = 0; e < dim; ++e) bags[ids[i] * dim + e] += row[e];
        }
      }
      PullPartReply part_reply;
      part_reply.slot = part.slot;
      part_reply.incarnation = slot.incarnation;
      part_reply.sequence = Sequence(slot.last);
      part_reply.min_clock = slot.clock;
      part_reply.values = Bytes(values[p]);
      reply.parts.push_back(part_reply);
    }
    reply.bag_values = Bytes(bags);
  }
  Wire out;
  out.content = EncodeFrame(wire.request_id, reply).Flatten();
  return out;
}

OutcomesFrame ModelCluster::ServeTick(ServerId server, const TickFrame& tick) {
  OutcomesFrame reply;
  for (size_t i = 0; i < tick.slots.size(); ++i) {
    reply.parts.push_back(Decide(server, tick.slots[i], tick.incarnations[i], tick.sequences[i],
                                 [&](ModelSlot& slot, PartOutcome&) { slot.clock = tick.clock; }));
  }
  return reply;
}

OutcomesFrame ModelCluster::ServeLeave(ServerId server, const LeaveFrame& leave) {
  OutcomesFrame reply;
  for (size_t i = 0; i < leave.slots.size(); ++i) {
    reply.parts.push_back(Decide(server, leave.slots[i], leave.incarnations[i], leave.sequences[i],
                                 [&](ModelSlot& slot, PartOutcome&) { slot.left = true; }));
  }
  return reply;
}

OutcomesFrame ModelCluster::ServeResume(ServerId server, const ResumeFrame& resume) {
  OutcomesFrame reply;
  for (const auto& part : resume.parts) {
    const ModelSlot& slot = slots_[part.slot.value()];
    PartOutcome out;
    out.slot = part.slot;
    out.incarnation = slot.incarnation;
    out.sequence = Sequence(slot.last);
    out.outcome = slot.session_known ? Outcome::kOk : Outcome::kGoneSessionUnknown;
    if (map_.At(part.slot).server != server) out.outcome = Outcome::kRetryWrongOwner;
    reply.parts.push_back(out);
  }
  return reply;
}

double ModelCluster::Weight(const TableInfo& table, Key key, size_t element) const {
  const ModelSlot& slot = slots_[map_.SlotOfRow(table.id, key).value()];
  const auto found = slot.rows.find({table.id.value(), key});
  return found == slot.rows.end() ? 0 : found->second[element];
}

void ModelCluster::MoveSlot(uint32_t slot, ServerId to) {
  std::vector<SlotEntry> slots(map_.slots().begin(), map_.slots().end());
  slots[slot].server = to;
  map_ = SlotMap::Make(map_.cluster(), map_.epoch().Next(),
                       {map_.servers().begin(), map_.servers().end()}, slots)
             .value();
}

}  // namespace syncline
