#include "worker/client/ps_client.h"

#include <utility>

#include <unistd.h>

#include "common/status/status.h"
#include "worker/client/coordinator_api.h"
#include "worker/client/push_plan.h"
#include "worker/client/session_loop.h"
#include "worker/client/transport.h"

namespace syncline {

class PsClient::Impl {
 public:
  Impl(const ClientOptions& options, std::unique_ptr<CoordinatorApi> coordinator,
       std::unique_ptr<Transport> transport, const TimeSource& time)
      : options_(options),
        coordinator_(std::move(coordinator)),
        transport_(std::move(transport)),
        loop_(options_, *coordinator_, *transport_, time) {}

  // Opens a lazy client with its first call. After a session has ended only Rejoin opens another.
  absl::Status EnsureOpen() {
    if (loop_.view().has_value()) return absl::OkStatus();
    return loop_.Open(options_.rank, options_.take_over);
  }

  // An asynchronous call: `call` gets what tells the user.
  void Start(Done done, const std::function<void(ClientCore&, MonotonicTime, Done)>& call) {
    Submit(loop_.ForUser(std::move(done)), call);
  }
  void Submit(const Done& done, const std::function<void(ClientCore&, MonotonicTime, Done)>& call) {
    const absl::Status open = EnsureOpen();
    if (!open.ok()) return done(open);
    loop_.Run([&](ClientCore& core, MonotonicTime now) { call(core, now, done); }, done);
  }
  absl::Status Block(const std::function<void(ClientCore&, MonotonicTime, Done)>& call) {
    return loop_.Await([&](const Done& done) { Submit(done, call); });
  }
  // The same for pushes, which wait for room first.
  void StartPush(const TableInfo& table, size_t rows, Done done,
                 const std::function<void(ClientCore&, MonotonicTime, Done)>& call) {
    const Done user = loop_.ForUser(std::move(done));
    const absl::Status room = AwaitRoom(table, rows);
    if (!room.ok()) return user(Annotate(room, "push to table " + table.spec.name));
    Submit(user, call);
  }
  absl::Status BlockPush(const TableInfo& table, size_t rows,
                         const std::function<void(ClientCore&, MonotonicTime, Done)>& call) {
    RETURN_IF_ERROR(AwaitRoom(table, rows));
    return Block(call);
  }
  absl::Status AwaitRoom(const TableInfo& table, size_t rows) {
    return loop_.AwaitRoom(rows * (sizeof(Key) + table.spec.dim * sizeof(float)));
  }

  ClientOptions options_;
  std::unique_ptr<CoordinatorApi> coordinator_;
  std::unique_ptr<Transport> transport_;
  bool left_ = false;
  SessionLoop loop_;  // last: its threads use the others
};

namespace {

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.coordinator.empty()) {
    return InvalidArgument("ClientOptions.coordinator is empty; give host:port or unix:path");
  }
  if (options.job.name.empty()) return InvalidArgument("ClientOptions.job.name is empty");
  if (options.clocked && options.job.create && options.job.ranks == 0) {
    return InvalidArgument(
        "a clocked client needs a job with ranks; set ClientOptions.job.ranks, "
        "or clocked = false");
  }
  const auto positive = {options.call_deadline, options.reply_timeout, options.backoff_min,
                         options.backoff_max};
  for (const auto time : positive) {
    if (time.count() <= 0) return InvalidArgument("ClientOptions: every time must be above zero");
  }
  if (options.backoff_min > options.backoff_max) {
    return InvalidArgument("ClientOptions: backoff_min is above backoff_max");
  }
  RETURN_IF_ERROR(NeedCodec(options.pull_codec).status());
  return NeedCodec(options.push_codec).status();
}

std::string DefaultName() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return fmt::format("{}/{}", host, getpid());
}

}  // namespace

PsClient::PsClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PsClient::~PsClient() = default;

absl::StatusOr<std::unique_ptr<PsClient>> PsClient::ConnectOver(
    const ClientOptions& options, std::unique_ptr<CoordinatorApi> coordinator,
    std::unique_ptr<Transport> transport, const TimeSource* time) {
  RETURN_IF_ERROR(CheckOptions(options));
  ClientOptions named = options;
  if (named.client_name.empty()) named.client_name = DefaultName();
  auto client = std::unique_ptr<PsClient>(new PsClient(
      std::make_unique<Impl>(named, std::move(coordinator), std::move(transport), *time)));
  if (!options.lazy) RETURN_IF_ERROR(client->Open());
  return client;
}

absl::Status PsClient::Open() { return impl_->EnsureOpen(); }

absl::Status PsClient::Rejoin() {
  const auto view = impl_->loop_.view();
  if (!view.has_value()) return Open();
  if (view->ended.ok()) return absl::OkStatus();
  impl_->left_ = false;
  // A fenced rank may have another holder by now; a lost session's rank is still ours.
  const bool fenced = DetailOf(view->ended) == Detail::kFenced;
  const bool take_over = impl_->options_.take_over || !fenced;
  return impl_->loop_.Open(view->rank, take_over && impl_->options_.clocked);
}

// --- Tables.

absl::StatusOr<TableInfo> PsClient::CreateTable(const TableSpec& spec) {
  RETURN_IF_ERROR(ValidateTableSpec(spec));
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->CreateTable(impl_->options_.job.name, spec,
                                          impl_->options_.call_deadline);
}

absl::StatusOr<TableInfo> PsClient::DescribeTable(std::string_view name) {
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->DescribeTable(impl_->options_.job.name, std::string(name),
                                            impl_->options_.call_deadline);
}

absl::StatusOr<std::vector<TableInfo>> PsClient::ListTables() {
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->ListTables(impl_->options_.call_deadline);
}

absl::StatusOr<TableInfo> PsClient::SetOptimizer(const TableInfo& table,
                                                 const OptimizerSpec& optimizer) {
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->SetOptimizer(impl_->options_.job.name, table.spec.name, optimizer,
                                           impl_->options_.call_deadline);
}

absl::Status PsClient::ChangeLearningRate(const TableInfo& table, Clock from_clock,
                                          double learning_rate) {
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->ChangeLearningRate(impl_->options_.job.name, table.spec.name,
                                                 from_clock, learning_rate,
                                                 impl_->options_.call_deadline);
}

// --- Rows.

void PsClient::PullAsync(const TableInfo& table, std::span<const Key> keys, RowsOut out,
                         const PullOptions& options, Done done) {
  impl_->Start(std::move(done), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.Pull(table, keys, out, options, std::move(d), now);
  });
}

absl::Status PsClient::Pull(const TableInfo& table, std::span<const Key> keys, RowsOut out,
                            const PullOptions& options) {
  return impl_->Block([&](ClientCore& core, MonotonicTime now, Done d) {
    core.Pull(table, keys, out, options, std::move(d), now);
  });
}

void PsClient::Prefetch(const TableInfo& table, std::span<const Key> keys, RowsOut out, Done done) {
  impl_->Start(std::move(done), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.Pull(table, keys, out, {.clock = core.clock().Next()}, std::move(d), now);
  });
}

void PsClient::PushAsync(const TableInfo& table, std::span<const Key> keys, RowsIn gradients,
                         uint64_t samples, Done done) {
  impl_->StartPush(table, keys.size(), std::move(done),
                   [&](ClientCore& core, MonotonicTime now, Done d) {
                     core.Push(table, keys, gradients, samples, std::move(d), now);
                   });
}

absl::Status PsClient::Push(const TableInfo& table, std::span<const Key> keys, RowsIn gradients,
                            uint64_t samples) {
  return impl_->BlockPush(table, keys.size(), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.Push(table, keys, gradients, samples, std::move(d), now);
  });
}

// --- Bags.

void PsClient::PullBagsAsync(const TableInfo& table, std::span<const Key> keys,
                             std::span<const uint32_t> offsets, Pooling pooling, RowsOut out,
                             const PullOptions& options, Done done) {
  impl_->Start(std::move(done), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.PullBags(table, keys, offsets, pooling, out, options, std::move(d), now);
  });
}

absl::Status PsClient::PullBags(const TableInfo& table, std::span<const Key> keys,
                                std::span<const uint32_t> offsets, Pooling pooling, RowsOut out,
                                const PullOptions& options) {
  return impl_->Block([&](ClientCore& core, MonotonicTime now, Done d) {
    core.PullBags(table, keys, offsets, pooling, out, options, std::move(d), now);
  });
}

void PsClient::PushBagsAsync(const TableInfo& table, std::span<const Key> keys,
                             std::span<const uint32_t> offsets, Pooling pooling, RowsIn gradients,
                             uint64_t samples, Done done) {
  impl_->StartPush(
      table, keys.size(), std::move(done), [&](ClientCore& core, MonotonicTime now, Done d) {
        core.PushBags(table, keys, offsets, pooling, gradients, samples, std::move(d), now);
      });
}

absl::Status PsClient::PushBags(const TableInfo& table, std::span<const Key> keys,
                                std::span<const uint32_t> offsets, Pooling pooling,
                                RowsIn gradients, uint64_t samples) {
  return impl_->BlockPush(table, keys.size(), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.PushBags(table, keys, offsets, pooling, gradients, samples, std::move(d), now);
  });
}

// --- Dense tables.

void PsClient::PullDenseAsync(const TableInfo& table, uint64_t first, std::span<float> values,
                              const PullOptions& options, Done done) {
  impl_->Start(std::move(done), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.PullDense(table, first, values, options, std::move(d), now);
  });
}

absl::Status PsClient::PullDense(const TableInfo& table, std::span<float> values,
                                 const PullOptions& options) {
  return impl_->Block([&](ClientCore& core, MonotonicTime now, Done d) {
    core.PullDense(table, 0, values, options, std::move(d), now);
  });
}

void PsClient::PushDenseAsync(const TableInfo& table, uint64_t first,
                              std::span<const float> gradients, uint64_t samples, Done done) {
  impl_->StartPush(table, gradients.size() / std::max(table.spec.dim, 1U), std::move(done),
                   [&](ClientCore& core, MonotonicTime now, Done d) {
                     core.PushDense(table, first, gradients, samples, std::move(d), now);
                   });
}

absl::Status PsClient::PushDense(const TableInfo& table, std::span<const float> gradients,
                                 uint64_t samples) {
  return impl_->BlockPush(table, gradients.size() / std::max(table.spec.dim, 1U),
                          [&](ClientCore& core, MonotonicTime now, Done d) {
                            core.PushDense(table, 0, gradients, samples, std::move(d), now);
                          });
}

// --- Clocks.

void PsClient::TickAsync(uint64_t samples, std::string_view reader_position, Done done) {
  impl_->Start(std::move(done), [&](ClientCore& core, MonotonicTime now, Done d) {
    core.Tick(samples, reader_position, std::move(d), now);
  });
  impl_->loop_.CountTick(samples);
}

absl::Status PsClient::Tick(uint64_t samples, std::string_view reader_position) {
  impl_->loop_.CountTick(samples);
  return impl_->Block([&](ClientCore& core, MonotonicTime now, Done d) {
    core.Tick(samples, reader_position, std::move(d), now);
  });
}

absl::Status PsClient::Flush() {
  RETURN_IF_ERROR(impl_->loop_.AwaitIdle(/*pulls_too=*/false));
  return impl_->loop_.TakeUnreported();
}

absl::Status PsClient::WaitAll() {
  RETURN_IF_ERROR(impl_->loop_.AwaitIdle(/*pulls_too=*/true));
  return impl_->loop_.TakeUnreported();
}

absl::Status PsClient::Leave() {
  const auto view = impl_->loop_.view();
  if (!view.has_value()) return absl::OkStatus();
  if (!view->ended.ok()) return impl_->left_ ? absl::OkStatus() : view->ended;
  const absl::Status flushed = Flush();
  impl_->loop_.SetLeaving();
  RETURN_IF_ERROR(impl_->Block(
      [](ClientCore& core, MonotonicTime now, Done d) { core.Leave(std::move(d), now); }));
  const absl::Status closed =
      impl_->coordinator_->CloseSession(view->session, view->token, impl_->options_.call_deadline);
  impl_->left_ = true;
  impl_->loop_.EndSession(
      MakeStatus(absl::StatusCode::kCancelled, Detail::kNone, "the client has left"));
  return flushed.ok() ? closed : flushed;
}

// --- Leased data pieces.

absl::Status PsClient::OpenPass(uint64_t pass, uint64_t pieces) {
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->OpenPass(impl_->options_.job.name, pass, pieces,
                                       impl_->options_.call_deadline);
}

absl::StatusOr<PsClient::LeasedPiece> PsClient::LeasePiece(uint64_t pass) {
  RETURN_IF_ERROR(Open());
  ASSIGN_OR_RETURN(const CoordinatorApi::Piece piece,
                   impl_->coordinator_->LeasePiece(impl_->options_.job.name, pass, session(),
                                                   impl_->options_.call_deadline));
  return LeasedPiece{piece.pass_closed, piece.piece};
}

absl::Status PsClient::ReportPiece(uint64_t pass, uint64_t piece) {
  RETURN_IF_ERROR(Open());
  return impl_->coordinator_->ReportPiece(impl_->options_.job.name, pass, piece, session(),
                                          impl_->options_.call_deadline);
}

// --- What it is.

Clock PsClient::clock() const {
  const auto view = impl_->loop_.view();
  return view.has_value() ? view->clock : Clock(0);
}

Rank PsClient::rank() const {
  const auto view = impl_->loop_.view();
  return view.has_value() ? view->rank : kNoRank;
}

SessionId PsClient::session() const {
  const auto view = impl_->loop_.view();
  return view.has_value() ? view->session : SessionId();
}

SessionState PsClient::state() const {
  const auto view = impl_->loop_.view();
  if (!view.has_value()) return SessionState::kUnopened;
  if (view->ended.ok()) return SessionState::kLive;
  switch (DetailOf(view->ended)) {
    case Detail::kFenced:
      return SessionState::kFenced;
    case Detail::kSessionLost:
      return SessionState::kLost;
    case Detail::kSessionUnknown:
      return SessionState::kUnknown;
    default:
      return impl_->left_ ? SessionState::kLeft : SessionState::kFailed;
  }
}

absl::Status PsClient::session_status() const {
  const auto view = impl_->loop_.view();
  return view.has_value() ? view->ended : absl::OkStatus();
}

std::string PsClient::DescribeJob() const {
  const JobOptions& job = impl_->options_.job;
  return fmt::format("{} ({} ranks)", job.name, job.ranks);
}

ClientStats PsClient::stats() const { return impl_->loop_.stats(); }

}  // namespace syncline
