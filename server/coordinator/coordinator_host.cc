#include "server/coordinator/coordinator_host.h"

#include <utility>

#include "common/status/status.h"
#include "server/coordinator/command_sender.h"
#include "server/coordinator/coordinator_runner.h"
#include "server/coordinator/coordinator_service.h"
#include "server/coordinator/local_meta_store.h"
#include "server/kv/kv_store.h"
#include "server/optimizer/factory.h"

namespace syncline::coordinator {

struct CoordinatorHost::Impl {
  std::unique_ptr<KvStore> kv;
  std::unique_ptr<LocalMetaStore> store;
  std::unique_ptr<CommandSender> sender;
  std::unique_ptr<CoordinatorRunner> runner;
  std::unique_ptr<CoordinatorService> service;
};

CoordinatorHost::CoordinatorHost(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

CoordinatorHost::~CoordinatorHost() { Stop(); }

absl::StatusOr<std::unique_ptr<CoordinatorHost>> CoordinatorHost::Start(const HostOptions& options,
                                                                        const TimeSource& time,
                                                                        Random& random) {
  auto impl = std::make_unique<Impl>();
  Impl& parts = *impl;
  ASSIGN_OR_RETURN(parts.kv, KvStore::Open(options.directory));
  ASSIGN_OR_RETURN(parts.store, LocalMetaStore::Open(*parts.kv, time));
  parts.sender = std::make_unique<CommandSender>(
      options.connections, [&parts](const Dispatch& dispatch, const CommandReply& reply) {
        parts.runner->OnCommandReply(dispatch.server, dispatch.command, reply);
      });
  auto check = [](const OptimizerSpec& spec) { return MakeOptimizer(spec).status(); };
  // Commands are sent from registrations on, which come through the service below.
  ASSIGN_OR_RETURN(parts.runner,
                   CoordinatorRunner::Start(
                       options.core, *parts.store, check, time, random,
                       [&parts](const Dispatch& dispatch) { parts.sender->Send(dispatch); }));
  RETURN_IF_ERROR(parts.kv->AdoptClusterId(parts.runner->cluster()));
  parts.service = std::make_unique<CoordinatorService>(*parts.runner, options.server);
  return std::unique_ptr<CoordinatorHost>(new CoordinatorHost(std::move(impl)));
}

grpc::Service* CoordinatorHost::service() { return impl_->service.get(); }

const std::string& CoordinatorHost::cluster() const { return impl_->runner->cluster(); }

void CoordinatorHost::Stop() {
  impl_->runner->Stop();
  impl_->sender->Stop();  // its last replies find the runner closed
}

}  // namespace syncline::coordinator
