"""A client as proto/README.md describes it: generated stubs, unary calls, one operation at a time."""

import collections
import struct
import sys
import uuid

import grpc

import stubs

sys.path.insert(0, str(stubs.ROOT / "worker" / "python"))

from syncline.hash import slot_of  # noqa: E402

proto = stubs.load()
ps, co, table_proto = proto.parameter_server, proto.coordinator, proto.table

FP32 = 1
SECONDS = 20


class Session:
    """One session and its sequences. Not for several threads."""

    def __init__(self, coordinator: str, job: str, clocked: bool):
        self.coordinator = proto.coordinator_grpc.CoordinatorStub(connect(coordinator))
        self.job = job
        self.opened = self.coordinator.OpenSession(
            co.OpenSessionRequest(
                job=job, clocked=clocked, rank=-1, client="simple", nonce=uuid.uuid4().hex
            ),
            timeout=SECONDS,
        )
        self.map = self.opened.map
        self.clock = self.opened.clock
        self.sequences = collections.Counter()  # by slot, of the last operation
        self.servers = [
            proto.parameter_server_grpc.ParameterServerStub(connect(server.endpoint))
            for server in self.map.servers
        ]

    @property
    def header(self):
        return ps.OperationHeader(
            session_high=self.opened.session_high,
            session_low=self.opened.session_low,
            token=self.opened.token,
            epoch=self.map.epoch,
            clock=self.clock,
        )

    def create_table(self, **spec):
        return self.coordinator.CreateTable(
            co.CreateTableRequest(job=self.job, spec=table_proto.TableSpec(**spec)),
            timeout=SECONDS,
        )

    def by_slot(self, table, keys) -> dict:
        slots = collections.defaultdict(list)
        for key in keys:
            slots[slot_of(table.id, key, self.map.slot_count)].append(key)
        return slots

    def owner(self, slot: int):
        return self.servers[self.map.slots[slot].server]

    def push(self, table, gradients: dict) -> None:
        """Sends one part per call and stops at the first that is refused."""
        for slot, keys in self.by_slot(table, gradients).items():
            self.sequences[slot] += 1
            part = ps.PushPart(
                slot=slot,
                incarnation=self.map.slots[slot].incarnation,
                sequence=self.sequences[slot],
                keys=struct.pack(f"<{len(keys)}Q", *keys),
                values=b"".join(struct.pack(f"<{table.spec.dim}f", *gradients[k]) for k in keys),
            )
            request = ps.PushRequest(
                header=self.header, table=table.id, codec=FP32, samples=1, parts=[part]
            )
            self.expect_ok(self.owner(slot).Push(request, timeout=SECONDS))

    def pull(self, table, keys) -> dict:
        rows = {}
        for slot, wanted in self.by_slot(table, keys).items():
            part = ps.PullPart(
                slot=slot,
                incarnation=self.map.slots[slot].incarnation,
                sequence=self.sequences[slot],
                keys=struct.pack(f"<{len(wanted)}Q", *wanted),
            )
            reply = self.owner(slot).Pull(
                ps.PullRequest(header=self.header, table=table.id, codec=FP32, parts=[part]),
                timeout=SECONDS,
            )
            assert not reply.error.code, reply.error
            values = struct.iter_unpack(f"<{table.spec.dim}f", reply.parts[0].values)
            rows.update(zip(wanted, (list(row) for row in values), strict=True))
        return rows

    def slots_of_servers(self) -> list[list[int]]:
        slots = [[] for _ in self.map.servers]
        for slot, owner in enumerate(self.map.slots):
            slots[owner.server].append(slot)
        return slots

    def numbered(self, slots: list[int]) -> dict:
        """Takes the next number of each slot: the fields that ticks and leaves share."""
        self.sequences.update(slots)
        return {
            "header": self.header,
            "slots": slots,
            "incarnations": [self.map.slots[slot].incarnation for slot in slots],
            "sequences": [self.sequences[slot] for slot in slots],
        }

    def tick(self, samples: int = 1) -> None:
        """One operation in every slot of the cluster (C1)."""
        for stub, slots in zip(self.servers, self.slots_of_servers()):
            request = ps.TickRequest(
                **self.numbered(slots),
                clock=self.clock + 1,
                ends_round=self.clock,
                samples=samples,
            )
            self.expect_ok(stub.Tick(request, timeout=SECONDS))
        self.clock += 1

    def leave(self) -> None:
        for stub, slots in zip(self.servers, self.slots_of_servers()):
            request = ps.LeaveRequest(**self.numbered(slots))
            self.expect_ok(stub.Leave(request, timeout=SECONDS))
        self.close()

    def close(self) -> None:
        """The second half of leaving."""
        self.coordinator.CloseSession(
            co.CloseSessionRequest(
                session_high=self.opened.session_high,
                session_low=self.opened.session_low,
                token=self.opened.token,
            ),
            timeout=SECONDS,
        )

    def heartbeat(self) -> None:
        """Renews the lease and reports the clock."""
        self.coordinator.Heartbeat(
            co.HeartbeatRequest(
                session_high=self.opened.session_high,
                session_low=self.opened.session_low,
                token=self.opened.token,
                report=co.WorkerReport(clock=self.clock),
            ),
            timeout=SECONDS,
        )

    @staticmethod
    def expect_ok(reply) -> None:
        assert not reply.error.code, reply.error
        assert reply.parts
        for part in reply.parts:
            assert part.outcome == ps.OK, part


def connect(endpoint: str) -> grpc.Channel:
    # A connection of its own: a shared one may be that to a process that was killed.
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.insecure_channel(endpoint, options=options)


def create_job(coordinator: str, name: str, ranks: int) -> None:
    stub = proto.coordinator_grpc.CoordinatorStub(connect(coordinator))
    stub.CreateJob(
        co.CreateJobRequest(spec=co.JobSpec(name=name, ranks=ranks)), timeout=SECONDS
    )
