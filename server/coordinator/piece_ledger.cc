#include "server/coordinator/piece_ledger.h"

#include <limits>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline::coordinator {

absl::Status PieceLedger::Open(JobId job, uint64_t pass, uint64_t pieces) {
  if (pieces == 0 || pieces > kMaxPiecesPerPass) {
    return InvalidArgument("pass {} has {} pieces, must be 1 to {}", pass, pieces,
                           kMaxPiecesPerPass);
  }
  const auto it = passes_.find({job, pass});
  if (it != passes_.end()) {
    if (it->second.pieces == pieces) return absl::OkStatus();
    return MakeError(absl::StatusCode::kAlreadyExists, Detail::kSpecDiffers,
                     "pass {} is open with {} pieces, {} asked; every worker of a job must cut the "
                     "data alike",
                     pass, it->second.pieces, pieces);
  }
  const auto first = passes_.lower_bound({job, 0});
  const auto last = passes_.upper_bound({job, std::numeric_limits<uint64_t>::max()});
  if (static_cast<size_t>(std::distance(first, last)) >= kMaxPassesPerJob) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "the job has {} passes, the limit; start another job", kMaxPassesPerJob);
  }
  uint64_t open = 0;
  for (const auto& [name, known] : passes_) open += known.done.size();
  if (open + pieces > kMaxOpenPieces) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "{} pieces of other passes are open, at most {}; cut the data into fewer, or "
                     "retry when a pass has closed",
                     open, kMaxOpenPieces);
  }
  Pass& opened = passes_[{job, pass}];
  opened.pieces = pieces;
  opened.done.resize(pieces);
  return absl::OkStatus();
}

absl::StatusOr<PieceLedger::Pass*> PieceLedger::Find(JobId job, uint64_t pass) {
  const auto it = passes_.find({job, pass});
  if (it == passes_.end()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kNone,
                     "pass {} is not open (the coordinator may have restarted); open it first",
                     pass);
  }
  return &it->second;
}

absl::StatusOr<PieceLease> PieceLedger::Lease(JobId job, uint64_t pass, SessionId session) {
  ASSIGN_OR_RETURN(Pass* const p, Find(job, pass));
  if (p->closed()) return PieceLease{true, std::nullopt};
  if (const auto it = p->held.find(session); it != p->held.end()) {
    return PieceLease{false, it->second};
  }
  uint64_t piece = p->next;
  if (!p->returned.empty()) {
    piece = *p->returned.begin();
    p->returned.erase(p->returned.begin());
  } else if (p->next < p->pieces) {
    ++p->next;
  } else {
    return PieceLease{};
  }
  p->held[session] = piece;
  return PieceLease{false, piece};
}

absl::Status PieceLedger::Report(JobId job, uint64_t pass, uint64_t piece, SessionId session) {
  ASSIGN_OR_RETURN(Pass* const p, Find(job, pass));
  if (piece < p->pieces && (p->closed() || p->done[piece])) return absl::OkStatus();
  const auto it = p->held.find(session);
  if (it == p->held.end() || it->second != piece) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "piece {} of pass {} is not held by this session; lease a piece first", piece,
                     pass);
  }
  p->held.erase(it);
  p->done[piece] = true;
  ++p->done_count;
  if (p->closed()) p->done = {};
  return absl::OkStatus();
}

void PieceLedger::Return(SessionId session) {
  for (auto& [name, pass] : passes_) {
    const auto it = pass.held.find(session);
    if (it == pass.held.end()) continue;
    pass.returned.insert(it->second);
    pass.held.erase(it);
  }
}

}  // namespace syncline::coordinator
