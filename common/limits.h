// Every bound of the system, in one place. A queue, buffer, cache or retry without a name here is a
// defect. Bounds that must agree with each other are checked at compile time at the end.
#ifndef SYNCLINE_COMMON_LIMITS_H_
#define SYNCLINE_COMMON_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace syncline {

// --- Wire -------------------------------------------------------------------------------------
// What a client fills a frame to. Frames of 256 KiB to 1 MiB reach raw TCP speed.
inline constexpr size_t kTargetFrameBytes = size_t{1} << 20;
// What a receiver takes. Slack above the target holds headers and one slot part that does not
// split.
inline constexpr size_t kMaxFrameBytes = size_t{4} << 20;
inline constexpr size_t kMaxKeysPerFrame = size_t{1} << 18;
inline constexpr size_t kMaxBagsPerFrame = size_t{1} << 17;
inline constexpr size_t kMaxSlotPartsPerFrame = 65'536;
inline constexpr size_t kMaxErrorMessageBytes = 2'048;
// Frames that are not bulk name at most kMaxSlotPartsPerFrame slots with three numbers each; their
// generated messages take many times their bytes, so they get a tighter bound.
inline constexpr size_t kMaxControlFrameBytes = size_t{1} << 20;

// --- Tables -----------------------------------------------------------------------------------
inline constexpr uint32_t kMaxDim = 65'536;
inline constexpr size_t kMaxTablesPerCluster = 4'096;
inline constexpr size_t kMaxNameBytes = 128;
// Elements of one dense block (row of a dense table).
inline constexpr uint32_t kDefaultDenseBlock = 4'096;
inline constexpr int64_t kMaxDenseElements = int64_t{1} << 34;
// Rows of one table in one slot: row numbers have 32 bits, and one value means "none".
inline constexpr size_t kMaxRowsPerShard = 4'000'000'000;
// Learning-rate changes that a table remembers, because late pushes still need the old rates.
inline constexpr size_t kMaxLearningRateChanges = 4'096;

// --- Slots and sessions -----------------------------------------------------------------------
inline constexpr uint32_t kDefaultSlotCount = 256;
inline constexpr uint32_t kMaxSlotCount = 65'536;
// Outcomes kept per (session, slot), and the widest span of unanswered sequences (S4).
inline constexpr uint64_t kOutcomeWindow = 64;
inline constexpr size_t kMaxSessionsPerServer = 16'384;
// Ended sessions that a slot remembers, to answer them as fenced and to refuse their return.
inline constexpr size_t kMaxEndedSessionsPerSlot = 1'024;
inline constexpr size_t kMaxParkedReadsPerSession = 64;
inline constexpr size_t kMaxParkedReadsPerServer = 10'000;
inline constexpr size_t kMaxRanksPerJob = 4'096;
inline constexpr size_t kMaxJobs = 1'024;
inline constexpr size_t kMaxServers = 4'096;
// Memory that open rounds of one slot may hold before pushes get RESOURCE_EXHAUSTED.
inline constexpr size_t kMaxRoundBytesPerSlot = size_t{1} << 30;
// Gradients that one push of one slot may expand to: bags repeat their vectors for every key.
inline constexpr size_t kMaxExpandedPushBytes = size_t{64} << 20;
inline constexpr int64_t kMaxStaleness = 1'000'000;

// --- Server -----------------------------------------------------------------------------------
inline constexpr size_t kMaxStreamsPerServer = 4'096;
inline constexpr size_t kMaxFramesInFlightPerStream = 64;
// Bytes of a stream's frames that are being worked on and of its replies that are not yet written:
// above it nothing more is read. Parked pulls have a bound of their own, since their release may
// depend on frames that come later.
inline constexpr size_t kMaxBytesInFlightPerStream = size_t{32} << 20;
inline constexpr size_t kMaxParkedBytesPerStream = size_t{64} << 20;
inline constexpr size_t kMaxExecutorQueue = 65'536;
inline constexpr uint32_t kMaxExecutorsPerServer = 256;
// Memory that gRPC may hold for buffers of all connections.
inline constexpr size_t kServerResourceQuotaBytes = size_t{64} << 20;
// What gRPC reads from a connection at once.
inline constexpr size_t kServerReadChunkBytes = size_t{32} << 10;

// --- Client -----------------------------------------------------------------------------------
inline constexpr size_t kClientBytesInFlight = size_t{16} << 20;
inline constexpr size_t kClientQueuedBytes = size_t{256} << 20;
inline constexpr std::chrono::milliseconds kDefaultReplyTimeout{2'000};
inline constexpr std::chrono::milliseconds kDefaultCallDeadline{30'000};
inline constexpr std::chrono::milliseconds kReconnectBackoffMin{20};
inline constexpr std::chrono::milliseconds kReconnectBackoffMax{1'000};
// For one attempt to connect, handshake included.
inline constexpr std::chrono::milliseconds kConnectTimeout{2'000};
// An idle connection is pinged after the first, and given up after the second without an answer.
inline constexpr std::chrono::milliseconds kKeepaliveTime{10'000};
inline constexpr std::chrono::milliseconds kKeepaliveTimeout{5'000};
// A server cuts off peers that ping more often than this.
inline constexpr std::chrono::milliseconds kMinPingInterval{500};
inline constexpr std::chrono::milliseconds kDefaultLease{10'000};
inline constexpr std::chrono::milliseconds kMinLease{500};

// --- Training data ----------------------------------------------------------------------------
// A longer line of a data file is malformed.
inline constexpr size_t kMaxDataLineBytes = size_t{1} << 16;
// Rows are named by 32-bit indices.
inline constexpr size_t kMaxDatasetRows = UINT32_MAX;
// Clocks that a leased piece of data takes: its report, and what a killed worker repeats (D2).
inline constexpr uint32_t kClocksPerPiece = 8;
// Between two questions of a worker for whom no piece is free.
inline constexpr std::chrono::milliseconds kPieceAskInterval{20};
// Rank 0 opens the next pass when it has evaluated the last; if it is gone, others do after this.
inline constexpr std::chrono::milliseconds kPassOpenTimeout{60'000};
// Malformed lines that a load skips by default, and how many of them it names.
inline constexpr uint64_t kDefaultMalformedLines = 100;
inline constexpr size_t kReportedMalformedLines = 5;
// Ids per field of generated data: the sampler keeps a table of that many numbers.
inline constexpr uint64_t kMaxSyntheticIds = uint64_t{1} << 24;

// --- Logs -------------------------------------------------------------------------------------
// A longer message or field is cut: some hold what a client sent.
inline constexpr size_t kMaxLogTextBytes = 4'096;
// Distinct repeated messages that are limited one by one; beyond it they share one limit.
inline constexpr size_t kMaxLimitedLogKeys = 1'024;

// --- Coordinator ------------------------------------------------------------------------------
inline constexpr std::chrono::milliseconds kMaxLease{3'600'000};
// From the first join of a declared rank until the job fails by name of those missing (C5).
inline constexpr std::chrono::milliseconds kDefaultStartTimeout{120'000};
inline constexpr std::chrono::milliseconds kServerHeartbeat{1'000};
// A server not heard of for this long is shown as not live, and its name may be taken over.
inline constexpr std::chrono::milliseconds kServerSilentAfter{3'000};
// An unacknowledged command is sent again after this; one that failed visibly after the shorter.
inline constexpr std::chrono::milliseconds kCommandResend{1'000};
inline constexpr std::chrono::milliseconds kCommandRetry{100};
// One attempt to deliver a command, or one call of a server to the coordinator.
inline constexpr std::chrono::milliseconds kControlCallDeadline{3'000};
// A request that waits for servers is answered UNAVAILABLE after this, below kDefaultCallDeadline.
inline constexpr std::chrono::milliseconds kServersAnswerTimeout{20'000};
inline constexpr std::chrono::milliseconds kCoordinatorTick{50};
// Ticks further apart mean that the coordinator was away: every lease gets a full term (C7).
inline constexpr std::chrono::milliseconds kCoordinatorAway{1'000};
inline constexpr size_t kMaxCoordinatorQueue = 65'536;
inline constexpr size_t kMaxQueuedCommands = 65'536;
inline constexpr size_t kMaxWaitingRequests = 65'536;
inline constexpr size_t kMaxRatesPerTable = 4'096;
inline constexpr size_t kMaxClientTextBytes = 1'024;
// Ended sessions that the coordinator still names (psctl, the reason in a late heartbeat).
inline constexpr size_t kMaxEndedSessions = 1'024;
inline constexpr uint64_t kMaxPiecesPerPass = uint64_t{1} << 20;
inline constexpr size_t kMaxPassesPerJob = 4'096;
// Pieces of all passes that are not closed: the coordinator keeps a bit for each.
inline constexpr uint64_t kMaxOpenPieces = uint64_t{1} << 26;

static_assert(kTargetFrameBytes * 2 <= kMaxFrameBytes);
// A frame full of one-byte-per-element rows must still pass the key cap.
static_assert(kMaxKeysPerFrame * 16 <= kMaxFrameBytes);
// One row of the largest dim, fp32, fits a frame.
static_assert(size_t{kMaxDim} * 4 + 4'096 <= kTargetFrameBytes);
static_assert(kMaxControlFrameBytes <= kMaxFrameBytes);
static_assert(kClientBytesInFlight <= kMaxBytesInFlightPerStream);
// A client that fills its frames as told may park as many pulls as a session may.
static_assert(kMaxParkedReadsPerSession * kTargetFrameBytes <= kMaxParkedBytesPerStream);
static_assert(kMinPingInterval * 2 <= kKeepaliveTime);
static_assert((kDefaultSlotCount & (kDefaultSlotCount - 1)) == 0);
static_assert((kMaxSlotCount & (kMaxSlotCount - 1)) == 0);
static_assert(kMaxPiecesPerPass <= kMaxOpenPieces);
static_assert(kServersAnswerTimeout < kDefaultCallDeadline);
static_assert(kCoordinatorTick * 4 < kCoordinatorAway && kCoordinatorAway > kMinLease);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_LIMITS_H_
