"""psctl against real servers: what scripts rely on.

Needs the ps-server and psctl of the build folder that SYNCLINE_BUILD names (build/dev unless set).
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

import stubs

sys.path.insert(0, str(stubs.ROOT / "deploy" / "local"))

from cluster import Cluster  # noqa: E402
from simple_client import Session, create_job, table_proto  # noqa: E402

BUILD = stubs.ROOT / os.environ.get("SYNCLINE_BUILD", "build/dev")
FAILED, USAGE, CANNOT_CONNECT, TIMEOUT, UNHEALTHY, NOT_FOUND = 1, 2, 3, 4, 5, 6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(BUILD, tmp_path_factory.mktemp("cluster"), servers=2) as running:
        yield running


def psctl(endpoints: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(BUILD / "worker" / "psctl" / "psctl"), "-e", endpoints, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


def answer(endpoints: str, *arguments: str) -> dict:
    done = psctl(endpoints, "-o", "json", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["apiVersion"] == "psctl/v1"
    return found


def until(condition, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_healthy_cluster_says_so(cluster):
    assert answer(cluster.coordinator, "cluster", "health")["healthy"] is True
    status = answer(cluster.coordinator, "cluster", "status")
    assert (status["servers_expected"], status["servers_ready"]) == (2, 2)
    assert status["epoch"] >= 1


def test_servers_share_the_slots(cluster):
    servers = answer(cluster.coordinator, "server", "list")["items"]
    assert [s["state"] for s in servers] == ["ready", "ready"]
    assert [s["coordinator"] for s in servers] == [True, False]
    assert sorted(s["endpoint"] for s in servers) == sorted(cluster.endpoints)
    slots = answer(cluster.coordinator, "slot", "list")["items"]
    count = answer(cluster.coordinator, "cluster", "status")["slots"]
    assert [s["slot"] for s in slots] == list(range(count))
    assert sum(s["slots"] for s in servers) == count


def test_the_first_endpoint_that_answers_is_taken(cluster):
    listed = ",".join(["127.0.0.1:1", cluster.endpoints[1], cluster.coordinator])
    assert answer(listed, "cluster", "health")["healthy"] is True


def test_who_holds_the_clock_back_is_marked(cluster):
    create_job(cluster.coordinator, "race", ranks=2)
    fast, slow = (Session(cluster.coordinator, "race", clocked=True) for _ in range(2))
    for _ in range(3):
        fast.tick()
    slow.tick()
    for session in (fast, slow):
        session.heartbeat()
    workers = answer(cluster.coordinator, "worker", "list", "--job", "race")["items"]
    assert [w["rank"] for w in workers] == [0, 1]
    by_rank = {w["rank"]: (w["clock"], w["lag"], w["holds_back"]) for w in workers}
    assert by_rank[fast.opened.rank] == (3, 0, False)
    assert by_rank[slow.opened.rank] == (1, 2, True)
    for session in (fast, slow):
        session.leave()


def test_tables_are_described_and_names_of_none_are_not_found(cluster):
    create_job(cluster.coordinator, "shapes", ranks=0)
    session = Session(cluster.coordinator, "shapes", clocked=False)
    session.create_table(
        name="wide",
        dim=3,
        optimizer={"name": "adagrad", "arguments": {"lr": 0.05}},
        consistency={"mode": table_proto.ConsistencyPolicy.SSP, "staleness": 4},
    )
    listed = answer(cluster.coordinator, "table", "list", "--job", "shapes")["items"]
    assert [(t["name"], t["dim"], t["consistency"]) for t in listed] == [("wide", 3, "ssp(4)")]
    described = answer(cluster.coordinator, "table", "describe", "wide")
    assert (described["kind"], described["optimizer"]) == ("embedding", "adagrad(lr=0.05)")
    row = answer(cluster.coordinator, "key", "get", "wide", str(2**64 - 1))
    assert (row["stored"], row["weights"]) == (False, [0, 0, 0])
    assert psctl(cluster.coordinator, "table", "describe", "narrow").returncode == NOT_FOUND
    session.leave()


def test_nobody_listening_is_cannot_connect():
    done = psctl("127.0.0.1:1", "cluster", "health")
    assert (done.returncode, done.stdout) == (CANNOT_CONNECT, "")
    assert "127.0.0.1:1" in done.stderr


def test_somebody_silent_is_a_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = "127.0.0.1:%d" % silent.getsockname()[1]
        done = psctl(endpoint, "--timeout", "300ms", "cluster", "health")
    assert (done.returncode, done.stdout) == (TIMEOUT, "")
    assert endpoint in done.stderr


@pytest.mark.parametrize("timeout", ["300ms", "2s", "2500ms"])
def test_a_stopped_coordinator_is_a_timeout_however_long(tmp_path, timeout):
    with Cluster(BUILD, tmp_path, servers=1) as cluster:
        process = cluster.processes[0].popen
        process.send_signal(signal.SIGSTOP)
        try:
            done = psctl(cluster.coordinator, "--timeout", timeout, "worker", "list")
        finally:
            process.send_signal(signal.SIGCONT)
    assert (done.returncode, done.stdout) == (TIMEOUT, "")


def test_another_servers_address_is_told_as_such(cluster):
    done = psctl(cluster.endpoints[1], "table", "list")
    assert (done.returncode, done.stdout) == (FAILED, "")
    assert cluster.endpoints[1] in done.stderr
    assert "coordinator" in done.stderr


@pytest.mark.parametrize("endpoint", ["nonsense", ":7070", "127.0.0.1:99999", "127.0.0.1:"])
def test_what_is_no_address_is_usage(endpoint):
    done = psctl(endpoint, "cluster", "health")
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert "host:port" in done.stderr


def test_a_wrong_command_line_is_usage():
    assert psctl("127.0.0.1:1", "cluster", "wealth").returncode == USAGE


def test_a_stopped_server_makes_the_cluster_unhealthy(tmp_path):
    with Cluster(BUILD, tmp_path, servers=2) as cluster:
        process = cluster.processes[1].popen
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: psctl(cluster.coordinator, "cluster", "health").returncode == UNHEALTHY)
        done = psctl(cluster.coordinator, "-o", "json", "cluster", "health")
        assert any("server-1" in problem for problem in json.loads(done.stdout)["problems"])
        states = answer(cluster.coordinator, "server", "list")["items"]
        assert states[0]["state"] == "ready"
        assert states[1]["state"] in ("lost", "unreachable")
        # A sum without a server would be wrong.
        assert psctl(cluster.coordinator, "table", "stats").returncode == CANNOT_CONNECT
