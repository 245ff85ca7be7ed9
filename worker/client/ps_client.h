// The client of a Syncline cluster: what training programs, tools and bindings use.
//
//   ClientOptions options;
//   options.coordinator = "127.0.0.1:7070";
//   options.job = {.name = "ctr", .ranks = 4};
//   ASSIGN_OR_RETURN(auto client, PsClient::Connect(options));
//   ASSIGN_OR_RETURN(TableInfo users, client->CreateTable(spec));
//   std::vector<float> rows(keys.size() * spec.dim);
//   RETURN_IF_ERROR(client->Pull(users, keys, {rows.data()}));
//   ... compute gradients, summed over the batch's samples ...
//   client->PushAsync(users, keys, {gradients.data()}, samples, nullptr);
//   client->TickAsync(samples, /*reader_position=*/"", nullptr);
//   ...
//   RETURN_IF_ERROR(client->Leave());
#ifndef SYNCLINE_WORKER_CLIENT_PS_CLIENT_H_
#define SYNCLINE_WORKER_CLIENT_PS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "common/types.h"
#include "worker/client/client_options.h"
#include "worker/client/rows.h"

namespace syncline {

class CoordinatorApi;
class TimeSource;
class Transport;

// One session of one worker, tool or notebook.
//
// Thread-safe, without thread affinity: any thread may call anything; calls of one thread take
// effect in the order made. Pushes and ticks of one client keep that order in every slot (S2), and
// a pull sees what the same client pushed before it (C4).
//
// Asynchronous calls (…Async) return before the answer; `done` gets it on the executor of the
// options and may be null. `keys`, `offsets` and gradients are copied before the call returns;
// memory for results must live until `done` has run. Blocking twins wait for the answer; they
// refuse to run inside a `done` on the inline executor (FAILED_PRECONDITION), because they would
// wait for themselves.
//
// Failures hide behind retries: a lost reply, a broken stream, an overloaded server and a moved
// slot cost time only, and no update is applied twice (PROTOCOL.md S1 to S7). What is left:
//   DEADLINE_EXCEEDED    not decided within call_deadline; the text names the server. A push then
//                        may or may not have been applied, in each slot; it is not sent again
//   RESOURCE_EXHAUSTED   max_queued_bytes are waiting
//   INVALID_ARGUMENT     nothing was sent (or, on a server's verdict, that part was not applied)
//   NOT_FOUND            detail FENCED, SESSION_UNKNOWN: the session is over; call Rejoin
//   DATA_LOSS            detail SESSION_LOST: a server restarted and lost what this session pushed
//                        there; never answered with fresh rows. Call Rejoin, or start over
//   ABORTED              detail JOB_FAILED: the job stopped; the text says why
//   CANCELLED            the client was destroyed, or left
// After the session has ended every call fails with that same status.
class PsClient {
 public:
  // Errors: INVALID_ARGUMENT for options that cannot work. Unless `lazy`, also those of Open.
  static absl::StatusOr<std::unique_ptr<PsClient>> Connect(const ClientOptions& options);
  // The same over given seams, for tests and simulation.
  static absl::StatusOr<std::unique_ptr<PsClient>> ConnectOver(
      const ClientOptions& options, std::unique_ptr<CoordinatorApi> coordinator,
      std::unique_ptr<Transport> transport, const TimeSource* time);

  // Ends pending calls with CANCELLED and drops the connections, without leaving: the job waits for
  // the lease to run out. Call Leave first.
  ~PsClient();
  PsClient(const PsClient&) = delete;
  PsClient& operator=(const PsClient&) = delete;

  // Opens the session now; does nothing when it is open. Creates the job when it is absent.
  // Errors: ALREADY_EXISTS the job exists with another spec (SPEC_DIFFERS), or the rank is held by
  // a live session; NOT_FOUND no such job; UNAVAILABLE or DEADLINE_EXCEEDED naming the coordinator.
  absl::Status Open();
  // After FENCED, SESSION_UNKNOWN or SESSION_LOST: forgets the old session (its pending calls fail)
  // and opens a new one of the same rank, in the clock that the coordinator says. Tables stay
  // valid. Errors: as Open.
  absl::Status Rejoin();

  // --- Tables. Blocking.
  // Idempotent for an equal spec. Errors: INVALID_ARGUMENT; ALREADY_EXISTS (SPEC_DIFFERS) naming
  // each difference; UNIMPLEMENTED (UNSUPPORTED).
  absl::StatusOr<TableInfo> CreateTable(const TableSpec& spec);
  // Errors: NOT_FOUND (UNKNOWN_TABLE).
  absl::StatusOr<TableInfo> DescribeTable(std::string_view name);
  absl::StatusOr<std::vector<TableInfo>> ListTables();  // of every job
  absl::StatusOr<TableInfo> SetOptimizer(const TableInfo& table, const OptimizerSpec& optimizer);
  // Applies to pushes issued at `from_clock` or later.
  absl::Status ChangeLearningRate(const TableInfo& table, Clock from_clock, double learning_rate);

  // --- Rows.
  // Row i of `out` becomes the weights of keys[i]. Keys in any order; duplicates are asked once. On
  // error the contents of `out` are unspecified. May be parked until the table's staleness bound
  // allows the read (C3).
  void PullAsync(const TableInfo& table, std::span<const Key> keys, RowsOut out,
                 const PullOptions& options, Done done);
  absl::Status Pull(const TableInfo& table, std::span<const Key> keys, RowsOut out,
                    const PullOptions& options = {});

  // A pull for the next clock, invoked now: it holds own writes issued before it, and under `bsp`
  // it comes only after the own tick (C4). The same as PullAsync with options.clock = clock() + 1.
  void Prefetch(const TableInfo& table, std::span<const Key> keys, RowsOut out, Done done);

  // Row i of `gradients` is the gradient of keys[i], summed over the batch's `samples`; duplicate
  // keys are added in the order given. The server divides as the table's `reduce` says (R1).
  // Checked whole before anything is sent (S5): sizes, finite numbers, id policy, range of dense
  // keys. Atomic in each slot, not across slots. A part of one slot above kTargetFrameBytes is cut
  // into several operations, each atomic.
  void PushAsync(const TableInfo& table, std::span<const Key> keys, RowsIn gradients,
                 uint64_t samples, Done done);
  absl::Status Push(const TableInfo& table, std::span<const Key> keys, RowsIn gradients,
                    uint64_t samples);

  // --- Bags (B1). Bag b holds keys[offsets[b]] .. keys[offsets[b + 1] - 1]; offsets has one entry
  // more than there are bags, starts at 0, ends at keys.size() and never decreases. A key may occur
  // more than once in a bag and counts each time. Empty bags give zeros.
  // Row b of `out` becomes the pooled weights of bag b. The result's bits depend on the arguments
  // and the map alone (servers are added in id order).
  void PullBagsAsync(const TableInfo& table, std::span<const Key> keys,
                     std::span<const uint32_t> offsets, Pooling pooling, RowsOut out,
                     const PullOptions& options, Done done);
  absl::Status PullBags(const TableInfo& table, std::span<const Key> keys,
                        std::span<const uint32_t> offsets, Pooling pooling, RowsOut out,
                        const PullOptions& options = {});
  // Row b of `gradients` is the gradient of the pooled bag b. Each of the bag's keys gets it,
  // divided by the bag's count (mean) or its root.
  void PushBagsAsync(const TableInfo& table, std::span<const Key> keys,
                     std::span<const uint32_t> offsets, Pooling pooling, RowsIn gradients,
                     uint64_t samples, Done done);
  absl::Status PushBags(const TableInfo& table, std::span<const Key> keys,
                        std::span<const uint32_t> offsets, Pooling pooling, RowsIn gradients,
                        uint64_t samples);

  // --- Dense tables: `values` are the tensor's elements [first, first + values.size()). A range
  // that is pushed must begin and end at a block's border or at the tensor's end; one that is
  // pulled may be any.
  void PullDenseAsync(const TableInfo& table, uint64_t first, std::span<float> values,
                      const PullOptions& options, Done done);
  absl::Status PullDense(const TableInfo& table, std::span<float> values,
                         const PullOptions& options = {});  // the whole tensor
  void PushDenseAsync(const TableInfo& table, uint64_t first, std::span<const float> gradients,
                      uint64_t samples, Done done);
  absl::Status PushDense(const TableInfo& table, std::span<const float> gradients,
                         uint64_t samples);

  // --- Clocks.
  // Ends the present clock: one operation in every slot of the cluster (C1). `samples` are those of
  // the round that ends, `reader_position` is opaque. The clock advances at once; `done` comes when
  // every slot has answered, and need not be waited for. FAILED_PRECONDITION: a clockless session.
  // ABORTED: a slot had closed the round (late); the contributions there did not count.
  void TickAsync(uint64_t samples, std::string_view reader_position, Done done);
  absl::Status Tick(uint64_t samples, std::string_view reader_position = {});

  // Waits until every push and tick issued before is decided, and its `done` has run (or was handed
  // to the executor). Returns the first error, since the
  // last Flush, of a push or tick whose `done` was null.
  absl::Status Flush();
  // The same, and for every pull as well.
  absl::Status WaitAll();
  // Flush, then leaves in every slot and closes the session: other workers no longer wait for this
  // one. Later calls fail with CANCELLED. An error of Flush is returned, but the session is left.
  absl::Status Leave();

  // --- Leased data pieces (D1). Blocking.
  struct LeasedPiece {
    bool pass_closed = false;       // every piece was reported
    std::optional<uint64_t> piece;  // unset: none is free now, ask again later
  };
  // Idempotent for an equal number of pieces.
  absl::Status OpenPass(uint64_t pass, uint64_t pieces);
  absl::StatusOr<LeasedPiece> LeasePiece(uint64_t pass);
  absl::Status ReportPiece(uint64_t pass, uint64_t piece);

  // --- What it is. Before the session is open: 0, kNoRank, null, empty.
  Clock clock() const;
  Rank rank() const;
  SessionId session() const;
  SessionState state() const;
  // OK while the session is live (or not opened yet); else what ended it.
  absl::Status session_status() const;
  std::string DescribeJob() const;  // "ctr (4 ranks)"
  ClientStats stats() const;

 private:
  class Impl;
  explicit PsClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_PS_CLIENT_H_
