"""Servers and workers that are killed, paused or never come: everyone ends or goes on, none hangs.

Needs the ps-server, ps-worker and psctl of the build folder that SYNCLINE_BUILD names (build/dev
unless set).
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import stubs

sys.path.insert(0, str(stubs.ROOT / "deploy" / "local"))

from cluster import Cluster  # noqa: E402
from simple_client import Session, create_job, table_proto  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("SYNCLINE_BUILD", "build/dev")
DATA = f"--data=movielens:{ROOT / 'bench' / 'data' / 'ml-latest-small'}"
MODES = {
    "async": ["--consistency=async"],
    "ssp": ["--consistency=ssp", "--staleness=1"],
    "bsp": ["--consistency=bsp", "--reproducible"],
}
SHORT = ["--passes=1", "--max-rows=3000"]
LEASE = 2.0


@pytest.fixture
def cluster(tmp_path):
    with Cluster(BUILD, tmp_path, servers=2) as running:
        yield running


class Worker:
    def __init__(self, cluster, job, rank, ranks, *arguments):
        self.coordinator = cluster.coordinator
        self.process = cluster.spawn(
            f"{job}-{rank}-{len(cluster.processes)}",
            [
                str(BUILD / "worker" / "ps-worker"),
                f"--coordinator={cluster.coordinator}",
                f"--job={job}",
                f"--rank={rank}",
                f"--ranks={ranks}",
                DATA,
                *arguments,
            ],
        )

    def steps(self):
        return sum(event["event"] == "step" for event in self.process.events())

    def waits(self):
        """Whether a read is parked on a server, which is this worker's when it is alone."""
        listed = subprocess.run(
            [
                str(BUILD / "worker" / "psctl" / "psctl"),
                f"--endpoints={self.coordinator}",
                "--output=json",
                "slot",
                "list",
            ],
            capture_output=True,
            text=True,
        )
        return any(slot["parked_reads"] > 0 for slot in json.loads(listed.stdout)["items"])

    def signal(self, number):
        self.process.popen.send_signal(number)

    def end(self, seconds=60):
        """The exit code and the last line of the log."""
        code = self.process.popen.wait(seconds)
        return code, self.process.tail(1)


def workers(cluster, job, ranks, *arguments):
    return [Worker(cluster, job, rank, ranks, *arguments) for rank in range(ranks)]


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def server(cluster, index):
    return [p for p in cluster.processes if p.name == f"server-{index}"][-1].popen


def kill_and_restart(cluster, index):
    server(cluster, index).kill()
    server(cluster, index).wait()
    cluster.start_server(index, listen=cluster.endpoints[index])


def assert_trains(cluster, job):
    for worker in workers(cluster, job, 2, *MODES["ssp"], *SHORT):
        code, text = worker.end()
        assert code == 0, text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", [1, 0], ids=["plain", "coordinator"])
def test_a_killed_server_ends_its_sessions_by_name_and_serves_new_ones(cluster, index, mode):
    pair = workers(cluster, "first", 2, "--passes=50", *MODES[mode])
    until(lambda: all(worker.steps() > 0 for worker in pair))
    kill_and_restart(cluster, index)
    for worker in pair:
        code, text = worker.end(30)
        assert code == 1
        # The text names what happened, never a table or row that is merely missing.
        assert any(word in text for word in ("lost the session", "lost its state", "has failed",
                                             "job failed")), text
    cluster.wait_ready()
    assert_trains(cluster, "second")


def test_the_coordinators_records_outlive_a_kill(cluster):
    create_job(cluster.coordinator, "kept", ranks=0)
    session = Session(cluster.coordinator, "kept", clocked=False)
    spec = {"name": "t", "dim": 4, "optimizer": {"name": "sgd", "arguments": {"lr": 1}}}
    before = session.create_table(**spec)
    kill_and_restart(cluster, 0)
    cluster.wait_ready()
    create_job(cluster.coordinator, "kept", ranks=0)
    again = Session(cluster.coordinator, "kept", clocked=False)
    assert again.create_table(**spec) == before
    assert again.create_table(**{**spec, "name": "next"}).id > before.id
    assert again.map.epoch >= session.map.epoch
    assert again.opened.token > session.opened.token
    again.leave()


@pytest.mark.parametrize("index", [1, 0], ids=["plain", "coordinator"])
def test_sigterm_ends_a_server_under_load_and_with_parked_reads(cluster, index):
    pair = workers(cluster, "job", 2, "--passes=50", "--call-deadline=3s", *MODES["ssp"])
    until(lambda: all(worker.steps() > 0 for worker in pair))
    pair[1].signal(signal.SIGSTOP)  # soon reads of rank 0 are parked
    steps = pair[0].steps()
    time.sleep(0.5)
    assert pair[0].steps() <= steps + 1
    server(cluster, index).send_signal(signal.SIGTERM)
    assert server(cluster, index).wait(20) == 0
    pair[1].signal(signal.SIGCONT)
    for worker in pair:
        code, text = worker.end(20)
        assert code == 1
        assert cluster.endpoints[index] in text


@pytest.mark.parametrize("mode", ["ssp", "async"])
def test_a_worker_paused_beyond_its_lease_is_fenced_and_a_new_one_joins(cluster, mode):
    arguments = ["--passes=6", f"--lease={LEASE:.0f}s", *MODES[mode]]
    first, paused = workers(cluster, "job", 2, *arguments)
    until(lambda: first.steps() > 0 and paused.steps() > 0)
    paused.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    if mode == "ssp":
        steps = first.steps()
        time.sleep(0.7)  # a report that was on its way
        until(lambda: first.steps() > steps + 1 or first.process.popen.poll() is not None)
        assert time.monotonic() - stopped < LEASE + 1.5 + 0.5  # steps are reported every 0.5 s
    time.sleep(max(0.0, stopped + LEASE + 0.5 - time.monotonic()))
    paused.signal(signal.SIGCONT)
    code, text = paused.end(10)
    assert code == 1
    assert "lease" in text and "new" in text
    replacement = Worker(cluster, "job", 1, 2, "--passes=1", f"--lease={LEASE:.0f}s", *MODES[mode])
    for worker in (first, replacement):
        code, text = worker.end()
        assert code == 0, text


def test_a_killed_worker_is_replaced_by_take_over_alone(cluster):
    arguments = ["--passes=3", "--lease=60s", *MODES["ssp"]]
    first, killed = workers(cluster, "job", 2, *arguments)
    until(lambda: first.steps() > 0 and killed.steps() > 0)
    killed.signal(signal.SIGKILL)
    killed.process.popen.wait()
    code, text = Worker(cluster, "job", 1, 2, *arguments).end(20)
    assert code == 1 and "take_over" in text
    replacement = Worker(cluster, "job", 1, 2, "--take-over", *arguments)
    for worker in (first, replacement):
        code, text = worker.end()
        assert code == 0, text


@pytest.mark.parametrize("mode", MODES)
def test_a_rank_that_never_comes_fails_the_job_by_name(cluster, mode):
    present = [
        Worker(cluster, "job", rank, 4, "--start-timeout=1s", *MODES[mode]) for rank in (0, 2)
    ]
    for worker in present:
        code, text = worker.end(20)
        assert code == 1
        assert "did not join" in text and "1 3" in text


@pytest.mark.parametrize("signals", [1, 2])
def test_sigterm_ends_a_worker_that_waits_for_others(cluster, signals):
    alone = Worker(cluster, "job", 0, 2, *MODES["ssp"])
    until(alone.waits)
    for _ in range(signals):
        alone.signal(signal.SIGTERM)
        time.sleep(0.2)
    code, text = alone.end(15)
    assert code == (1 if signals == 1 else -signal.SIGTERM)
    if signals == 1:
        assert "without leave" in text


def memory_and_files(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(resident.split()[1]), len(os.listdir(f"/proc/{process.pid}/fd"))


@pytest.mark.parametrize("leaves", [True, False], ids=["left", "closed_only"])
def test_sessions_that_came_and_went_leave_nothing_behind(cluster, leaves):
    create_job(cluster.coordinator, "job", ranks=0)

    def come_and_go(count):
        for _ in range(count):
            session = Session(cluster.coordinator, "job", clocked=False)
            session.leave() if leaves else session.close()
        return [memory_and_files(server(cluster, i)) for i in range(2)]

    # A slot remembers the last 1,024 that ended.
    before = come_and_go(1_100)
    for (kib, files), (kib_before, files_before) in zip(come_and_go(400), before):
        if "asan" not in BUILD.name:  # AddressSanitizer keeps freed memory for a while
            assert kib < kib_before + 6 * 1024  # a live session takes 32 KiB
        assert files < files_before + 8


def test_a_clocked_session_that_closes_without_leaving_holds_nobody_back(cluster):
    create_job(cluster.coordinator, "job", ranks=2)
    stays, goes = (Session(cluster.coordinator, "job", clocked=True) for _ in range(2))
    table = stays.create_table(
        name="t",
        dim=4,
        optimizer={"name": "sgd", "arguments": {"lr": 1}},
        consistency={"mode": table_proto.ConsistencyPolicy.SSP, "staleness": 0},
    )
    goes.close()
    stays.tick()
    assert stays.pull(table, [1]) == {1: [0, 0, 0, 0]}
    stays.leave()
