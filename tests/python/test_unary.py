"""Generated stubs alone train a table on real servers, and read back the numbers they pushed.

Needs the ps-server and psctl of the build folder that SYNCLINE_BUILD names (build/dev unless set).
"""

import json
import os
import struct
import subprocess
import sys

import grpc
import pytest

import stubs

sys.path.insert(0, str(stubs.ROOT / "deploy" / "local"))

from cluster import Cluster  # noqa: E402
from simple_client import Session, co, create_job, proto, ps, table_proto  # noqa: E402

BUILD = stubs.ROOT / os.environ.get("SYNCLINE_BUILD", "build/dev")
KEYS = [0, 2**24 - 1, 2**24, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1]
DIM = 4
ASYNC = {"consistency": {"mode": table_proto.ConsistencyPolicy.ASYNC}}
SSP = {"consistency": {"mode": table_proto.ConsistencyPolicy.SSP, "staleness": 1}}
BSP = {"consistency": {"mode": table_proto.ConsistencyPolicy.BSP}}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(BUILD, tmp_path_factory.mktemp("cluster"), servers=2) as running:
        yield running


@pytest.fixture(params=[False, True], ids=["clockless", "clocked"])
def session(request, cluster):
    job = "clocked" if request.param else "clockless"
    create_job(cluster.coordinator, job, ranks=int(request.param))
    opened = Session(cluster.coordinator, job, clocked=request.param)
    yield opened
    opened.leave()


def spec(name: str, consistency: dict) -> dict:
    """Plain SGD with rate 1 from zero: a row is minus the sum of its gradients, exactly."""
    return {
        "name": name,
        "dim": DIM,
        "optimizer": {"name": "sgd", "arguments": {"lr": 1}},
        "reduce": table_proto.SUM,
        **consistency,
    }


def gradient(i: int) -> list[float]:
    return [i + 1, -(i + 1) / 4, 0.5, i * 1024]


def negated(row: list[float], times: int = 1) -> list[float]:
    return [-times * value for value in row]


def psctl(cluster, *arguments: str) -> dict:
    done = subprocess.run(
        [str(BUILD / "worker" / "psctl" / "psctl"), "-e", cluster.coordinator, "-o", "json"]
        + list(arguments),
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("consistency", [ASYNC, SSP], ids=["async", "ssp"])
def test_reads_what_it_pushed_and_every_key_is_a_row_of_its_own(session, cluster, consistency):
    name = "immediate_" + str(consistency["consistency"]["mode"])
    table = session.create_table(**spec(name, consistency))
    pushed = {key: gradient(i) for i, key in enumerate(KEYS)}
    session.push(table, pushed)
    session.push(table, {KEYS[0]: pushed[KEYS[0]]})
    expected = {key: negated(row) for key, row in pushed.items()}
    expected[KEYS[0]] = negated(pushed[KEYS[0]], times=2)
    assert session.pull(table, KEYS) == expected
    assert len({tuple(row) for row in expected.values()}) == len(KEYS)
    stats = psctl(cluster, "table", "stats", name, "--job", session.job)
    assert stats["items"][0]["rows"] == len(KEYS)
    for key in KEYS:
        row = psctl(cluster, "key", "get", name, str(key), "--job", session.job)
        assert (row["key"], row["stored"]) == (str(key), True)
        assert row["weights"] == expected[key]


def test_keys_of_a_unary_push_may_be_unsorted_and_repeated(session):
    table = session.create_table(**spec("unsorted", ASYNC))
    slot = session.by_slot(table, [1]).popitem()[0]
    low, high = [k for k in range(100_000) if slot in session.by_slot(table, [k])][:2]
    session.sequences[slot] += 1
    values = [gradient(1), gradient(2), gradient(3)]
    part = ps.PushPart(
        slot=slot,
        incarnation=session.map.slots[slot].incarnation,
        sequence=session.sequences[slot],
        keys=struct.pack("<3Q", high, low, high),
        values=b"".join(struct.pack(f"<{DIM}f", *v) for v in values),
    )
    request = ps.PushRequest(
        header=session.header, table=table.id, codec=1, samples=1, parts=[part]
    )
    session.expect_ok(session.owner(slot).Push(request, timeout=20))
    both = [-(a + b) for a, b in zip(gradient(1), gradient(3))]
    assert session.pull(table, [high, low]) == {high: both, low: negated(gradient(2))}


def test_a_push_sent_twice_under_one_number_is_applied_once(session):
    table = session.create_table(**spec("twice", ASYNC))
    session.push(table, {5: gradient(5)})
    slot = session.by_slot(table, [5]).popitem()[0]
    session.sequences[slot] -= 1
    session.push(table, {5: gradient(5)})
    assert session.pull(table, [5]) == {5: negated(gradient(5))}


def test_a_gap_in_the_numbers_is_refused_and_names_the_expected_one(session):
    table = session.create_table(**spec("gap", ASYNC))
    session.push(table, {5: gradient(5)})
    slot = session.by_slot(table, [5]).popitem()[0]
    part = ps.PushPart(
        slot=slot,
        incarnation=session.map.slots[slot].incarnation,
        sequence=session.sequences[slot] + 2,
        keys=struct.pack("<Q", 5),
        values=struct.pack(f"<{DIM}f", *gradient(5)),
    )
    request = ps.PushRequest(
        header=session.header, table=table.id, codec=1, samples=1, parts=[part]
    )
    answer = session.owner(slot).Push(request, timeout=20).parts[0]
    assert answer.outcome == ps.RETRY_OUT_OF_ORDER
    assert answer.expected == session.sequences[slot] + 1
    assert session.pull(table, [5]) == {5: negated(gradient(5))}


def test_a_round_shows_once_its_tick_closed_it(cluster):
    create_job(cluster.coordinator, "rounds", ranks=1)
    session = Session(cluster.coordinator, "rounds", clocked=True)
    table = session.create_table(**spec("round", BSP))
    for _ in range(3):
        session.push(table, {key: gradient(i) for i, key in enumerate(KEYS)})
        session.tick()
    rows = session.pull(table, KEYS)
    assert rows == {key: negated(gradient(i), times=3) for i, key in enumerate(KEYS)}
    workers = psctl(cluster, "worker", "list", "--job", "rounds")["items"]
    assert [(w["rank"], w["lag"], w["holds_back"]) for w in workers] == [(0, 0, False)]
    session.leave()


def test_a_clocked_session_reads_its_own_pushes_across_ticks(cluster):
    create_job(cluster.coordinator, "ticks", ranks=1)
    session = Session(cluster.coordinator, "ticks", clocked=True)
    table = session.create_table(**spec("ticked", SSP))
    for done in range(1, 6):
        session.push(table, {7: gradient(7)})
        session.tick()
        assert session.pull(table, [7]) == {7: negated(gradient(7), times=done)}
    session.leave()


def test_an_unknown_session_is_told_so(cluster, session):
    stranger = ps.OperationHeader(session_high=1, session_low=2, token=3, epoch=session.map.epoch)
    table = session.create_table(**spec("stranger", ASYNC))
    slot = session.by_slot(table, [5]).popitem()[0]
    part = ps.PushPart(
        slot=slot,
        incarnation=session.map.slots[slot].incarnation,
        sequence=1,
        keys=struct.pack("<Q", 5),
        values=struct.pack(f"<{DIM}f", *gradient(5)),
    )
    request = ps.PushRequest(header=stranger, table=table.id, codec=1, samples=1, parts=[part])
    reply = session.owner(slot).Push(request, timeout=20)
    details = [reply.error.detail] + [p.error.detail for p in reply.parts]
    assert ps.SESSION_UNKNOWN in details


def test_a_table_with_another_spec_is_refused_with_the_difference(session):
    session.create_table(**spec("spec", ASYNC))
    session.create_table(**spec("spec", ASYNC))  # the same again is no error
    with pytest.raises(grpc.RpcError) as raised:
        session.create_table(**{**spec("spec", ASYNC), "dim": 8})
    assert raised.value.code() == grpc.StatusCode.ALREADY_EXISTS
    assert "dim" in raised.value.details()


def test_sessions_are_listed_while_they_live(session, cluster):
    stub = proto.coordinator_grpc.CoordinatorStub(grpc.insecure_channel(cluster.coordinator))
    listed = stub.ListSessions(co.ListSessionsRequest(), timeout=20).sessions
    mine = [s for s in listed if s.session_low == session.opened.session_low]
    assert [s.state for s in mine] == ["live"]
