#include "server/consistency/session_table.h"

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

SessionTable::Lookup Gone(Outcome outcome, absl::Status error) {
  return {nullptr, outcome, std::move(error)};
}

}  // namespace

Session* SessionTable::Install(const SessionDeclaration& declaration) {
  if (ended_.contains(declaration.id)) return nullptr;
  const auto [entry, added] = sessions_.try_emplace(declaration.id);
  if (!added) return nullptr;
  entry->second.declaration = declaration;
  entry->second.life = ++installs_;
  return &entry->second;
}

SessionTable::Lookup SessionTable::Find(const Caller& caller, Incarnation named) {
  const auto entry = sessions_.find(caller.session);
  if (entry == sessions_.end()) return Missing(caller, named);
  const SessionDeclaration& known = entry->second.declaration;
  if (caller.principal != known.principal) {
    return Gone(Outcome::kGoneSessionUnknown,
                MakeError(absl::StatusCode::kPermissionDenied, Detail::kSessionUnknown,
                          "session {} does not belong to '{}'; open one of your own",
                          caller.session.ToString(), caller.principal.name));
  }
  if (caller.token < known.token) {
    return Gone(Outcome::kGoneFenced,
                MakeError(absl::StatusCode::kNotFound, Detail::kFenced,
                          "token {} of session {} is older than {}; open a new session",
                          caller.token.value(), caller.session.ToString(), known.token.value()));
  }
  if (caller.token != known.token) {
    return Gone(Outcome::kGoneSessionUnknown,
                MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown,
                          "session {} has no token {}; open a new session",
                          caller.session.ToString(), caller.token.value()));
  }
  return {&entry->second, Outcome::kUnspecified, absl::OkStatus()};
}

SessionTable::Lookup SessionTable::Missing(const Caller& caller, Incarnation named) const {
  const auto ended = ended_.find(caller.session);
  if (ended != ended_.end() && ended->second == End::kFenced) {
    return Gone(Outcome::kGoneFenced,
                MakeError(absl::StatusCode::kNotFound, Detail::kFenced,
                          "session {} is fenced: its lease expired; open a new session",
                          caller.session.ToString()));
  }
  // A client that spoke to an earlier life of this slot had a session then; nothing of it is left,
  // because without a journal a session never outlives an incarnation.
  if (ended == ended_.end() && named.value() != 0 && named < incarnation_) {
    return Gone(Outcome::kGoneSessionLost,
                MakeError(absl::StatusCode::kDataLoss, Detail::kSessionLost,
                          "session {} ended with incarnation {} of the slot (now {}): its updates "
                          "here are lost; open a new session",
                          caller.session.ToString(), named.value(), incarnation_.value()));
  }
  return Gone(
      Outcome::kGoneSessionUnknown,
      MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown,
                "session {} is not known here; open a new session", caller.session.ToString()));
}

const Session* SessionTable::Find(SessionId id) const {
  const auto entry = sessions_.find(id);
  return entry == sessions_.end() ? nullptr : &entry->second;
}

void SessionTable::Remove(SessionId id, End end) {
  sessions_.erase(id);
  if (!ended_.emplace(id, end).second) return;
  ended_order_.push_back(id);
  if (ended_order_.size() <= kMaxEndedSessionsPerSlot) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

void SessionTable::ForEach(const std::function<void(const Session&)>& fn) const {
  for (const auto& [id, session] : sessions_) fn(session);
}

}  // namespace syncline
