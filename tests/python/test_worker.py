"""ps-worker as a process: short jobs end well every time, SIGTERM leaves cleanly, bad flags exit 2."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy" / "local"))
from cluster import Cluster  # noqa: E402

BUILD = ROOT / os.environ.get("SYNCLINE_BUILD", "build/dev")
WORKER = BUILD / "worker" / "ps-worker"
DATA = f"--data=movielens:{ROOT / 'bench' / 'data' / 'ml-latest-small'}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(BUILD, tmp_path_factory.mktemp("cluster"), servers=2) as made:
        yield made


def worker(cluster, job, *arguments):
    return [str(WORKER), f"--coordinator={cluster.coordinator}", f"--job={job}", DATA, *arguments]


def summary(text):
    return next(e for e in map(json.loads, text.splitlines()) if e["event"] == "summary")


def test_short_jobs_end_well_every_time(cluster):
    # A client that came and went quickly crashed in one of twenty: gRPC's callback thread held the
    # last channel.
    for i in range(40):
        done = subprocess.run(
            worker(cluster, f"short{i}", "--rank=0", "--max-rows=1000", "--passes=1"),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert summary(done.stdout)["samples"] > 700


def test_sigterm_leaves_the_job_so_that_others_go_on(cluster):
    common = ("--ranks=2", "--consistency=ssp", "--staleness=1", "--lease=60s", "--passes=2")
    first, second = (
        subprocess.Popen(
            worker(cluster, "leaving", f"--rank={rank}", *common),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    )
    time.sleep(1.5)
    second.send_signal(signal.SIGTERM)
    out, error = second.communicate(timeout=20)
    assert second.returncode == 0, error
    assert summary(out)["interrupted"]
    out, error = first.communicate(timeout=90)  # the lease alone would hold it for 60 s
    assert first.returncode == 0, error
    assert summary(out)["best_pass"] in (1, 2)


def test_leased_pieces_follow_speed_and_cover_the_data_once(cluster):
    common = ("--ranks=2", "--consistency=async", "--pieces=leased", "--max-rows=8000", "--passes=2")
    ranks = [
        subprocess.Popen(
            worker(cluster, "leased", f"--rank={rank}", f"--slow-factor={slow}", *common),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, slow in ((0, 1), (1, 8))
    ]
    summaries = []
    for rank in ranks:
        out, error = rank.communicate(timeout=120)
        assert rank.returncode == 0, error
        summaries.append(summary(out))
    train = single_samples(passes=2)
    assert summaries[0]["samples"] + summaries[1]["samples"] == train
    assert summaries[0]["samples"] > summaries[1]["samples"]
    assert [s["pieces_repeated"] for s in summaries] == [0, 0]
    assert summaries[0]["best_pass"] in (1, 2)


def single_samples(passes):
    """What one process trains: every training row once a pass."""
    done = subprocess.run(
        [str(WORKER), "--single", DATA, "--max-rows=8000", f"--passes={passes}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return summary(done.stdout)["samples"]


def test_bad_flags_name_every_problem_and_exit_2():
    done = subprocess.run(
        [str(WORKER), "--rank=7", "--ranks=2", "--slow-factor=0.5"], capture_output=True, text=True
    )
    assert done.returncode == 2
    for part in ("--data is missing", "--rank is 7", "--slow-factor is 0.5"):
        assert part in done.stderr
