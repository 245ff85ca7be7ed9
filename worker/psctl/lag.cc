#include "worker/psctl/lag.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace syncline::psctl {
namespace {

struct Span {
  int64_t least = INT64_MAX;
  int64_t greatest = INT64_MIN;
};

bool Counts(const v1::SessionInfo& session) {
  return session.clocked() && (session.state() == "live" || session.state() == "fencing");
}

auto OrderOf(const v1::SessionInfo& s) {
  return std::tuple(s.job(), s.rank(), s.session_high(), s.session_low());
}

}  // namespace

std::vector<WorkerLag> LagsOf(const v1::ListSessionsReply& sessions) {
  std::map<uint32_t, Span> jobs;
  for (const v1::SessionInfo& session : sessions.sessions()) {
    if (!Counts(session)) continue;
    Span& span = jobs[session.job()];
    span.least = std::min(span.least, session.report().clock());
    span.greatest = std::max(span.greatest, session.report().clock());
  }
  std::vector<WorkerLag> lags;
  for (const v1::SessionInfo& session : sessions.sessions()) {
    WorkerLag& worker = lags.emplace_back();
    worker.session = session;
    worker.counts = Counts(session);
    if (!worker.counts) continue;
    const Span& span = jobs[session.job()];
    worker.lag = span.greatest - session.report().clock();
    worker.holds_back = worker.lag > 0 && session.report().clock() == span.least;
  }
  std::sort(lags.begin(), lags.end(), [](const WorkerLag& a, const WorkerLag& b) {
    return OrderOf(a.session) < OrderOf(b.session);
  });
  return lags;
}

}  // namespace syncline::psctl
