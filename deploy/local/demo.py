#!/usr/bin/env python3
"""Trains a DLRM on a local cluster of real processes and compares it with one process.

The last line is `RESULT name=value ...`. With --check the exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import svg  # noqa: E402
from cluster import Cluster, ClusterError  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclass
class Run:
    """One training run: a mode ("ssp(4)", "async", "bsp", "single") and what its workers said."""

    mode: str
    seed: int
    workers: list[list[dict]] = field(default_factory=list)

    def summaries(self) -> list[dict]:
        found = [e for events in self.workers for e in events if e.get("event") == "summary"]
        if len(found) != len(self.workers):
            raise ClusterError(f"{self.mode}: {len(found)} of {len(self.workers)} summaries")
        return found

    def leader(self) -> dict:
        return next(s for s in self.summaries() if s["rank"] == 0)

    @property
    def test_auc(self) -> float:
        return self.leader()["test_auc"]

    @property
    def seconds(self) -> float:
        return max(s["train_seconds"] for s in self.summaries())


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="deploy/local/run.sh",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Sets everything up, starts a cluster of ps-server and ps-worker processes on this "
            "machine,\ntrains a DLRM on real data, and compares it with one process that trains "
            "alone.\n\n"
            "servers      hold the tables; rows are spread over them by a hash of table and key\n"
            "workers      compute gradients; each takes its own piece of every pass over the data\n"
            "consistency  how stale a read may be: bsp (every clock is a barrier), ssp (at most\n"
            "             --staleness clocks apart), async (no bound)\n"
            "straggler    --slow-factor makes the last worker that many times slower\n"
        ),
    )
    add = parser.add_argument
    add("--servers", type=int, default=2, help="ps-server processes (default %(default)s)")
    add("--workers", type=int, default=4, help="ps-worker processes (default %(default)s)")
    add("--consistency", choices=["bsp", "ssp", "async"], help="default: ssp; criteo: bsp")
    add("--staleness", type=int, default=4, help="the s of ssp(s), in clocks (default %(default)s)")
    add("--slow-factor", type=float, default=1.5, help="of the last worker (default %(default)s)")
    add(
        "--data",
        default="movielens",
        help="movielens (shipped in bench/data), criteo:FOLDER (train.tsv, dev.tsv, test.tsv), "
        "or synthetic (a planted click log, 800,000 rows to train on and 200,000 to test)",
    )
    add("--seed", type=int, default=1, help="of the model and the split (default %(default)s)")
    add("--repeats", type=int, help="seeds or splits, from --seed on; default 1, with --check 3 (criteo: 5)")
    add("--passes", type=int, help="over the training data (default: as suits the data, at most 3)")
    add("--no-compare", action="store_true", help="leave out the second run under async")
    add("--quick", action="store_true", help="a small part of the data, one pass: checks the path")
    add("--check", action="store_true", help="exit 1 when an accuracy bound is missed")
    add("--out", type=pathlib.Path, help="run folder (default runs/<number>)")
    add("--build", type=pathlib.Path, default=pathlib.Path("build/release"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.servers < 1 or arguments.workers < 1:
        parser.error("--servers and --workers must be at least 1")
    if arguments.consistency is None:
        arguments.consistency = "bsp" if is_criteo(arguments) else "ssp"
    if arguments.repeats is None:
        full_check = arguments.check and not arguments.quick
        arguments.repeats = (5 if is_criteo(arguments) else 3) if full_check else 1
    return arguments


def is_criteo(arguments: argparse.Namespace) -> bool:
    return arguments.data.startswith("criteo:")


def data_arguments(arguments: argparse.Namespace, seed: int) -> list[str]:
    data = arguments.data
    if data == "movielens":
        data = f"movielens:{ROOT / 'bench' / 'data' / 'ml-latest-small'}"
    if data == "synthetic":
        rows = "rows=9600,test_rows=2400" if arguments.quick else "rows=800000,test_rows=200000"
        data = f"synthetic:{rows}"
    found = [f"--data={data}", f"--seed={seed}"]
    if arguments.quick:
        found += ["--max-rows=12000", "--passes=1"]
    elif arguments.passes:
        found.append(f"--passes={arguments.passes}")
    return found


def show_progress(processes, stop: threading.Event) -> None:
    """One line that is rewritten while workers train; only on a terminal."""
    while not stop.wait(0.5):
        parts = []
        for process in processes:
            steps = [e for e in process.events() if e.get("event") == "step"]
            if steps:
                last = steps[-1]
                parts.append(f"{process.name} clock {last['clock']} wait {last['wait_share']:.0%}")
        sys.stderr.write("\r\033[K" + " | ".join(parts))
        sys.stderr.flush()
    sys.stderr.write("\r\033[K")


def train_cluster(arguments, folder: pathlib.Path, mode: str, seed: int) -> Run:
    name = mode.split("(")[0]
    with Cluster(arguments.build, folder, arguments.servers) as cluster:
        workers = []
        for rank in range(arguments.workers):
            command = [
                str(arguments.build / "worker" / "ps-worker"),
                f"--coordinator={cluster.coordinator}",
                "--job=demo",
                f"--rank={rank}",
                f"--ranks={arguments.workers}",
                f"--consistency={name}",
                *data_arguments(arguments, seed),
            ]
            if name == "ssp":
                command.append(f"--staleness={arguments.staleness}")
            if name == "bsp":
                command.append("--reproducible")
            if rank == arguments.workers - 1 and arguments.workers > 1:
                command.append(f"--slow-factor={arguments.slow_factor}")
            workers.append(cluster.spawn(f"worker-{rank}", command))
        stop = threading.Event()
        watcher = threading.Thread(target=show_progress, args=(workers, stop))
        if sys.stderr.isatty():
            watcher.start()
        try:
            cluster.wait(workers, seconds=1800)
        finally:
            stop.set()
            if watcher.is_alive():
                watcher.join()
        return Run(mode, seed, [w.events() for w in workers])


def train_single(arguments, folder: pathlib.Path, seed: int) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "single.jsonl", "w+") as out, open(folder / "single.log", "w") as log:
        command = [
            str(arguments.build / "worker" / "ps-worker"),
            "--single",
            *data_arguments(arguments, seed),
        ]
        if arguments.consistency == "bsp":
            # A BSP round is the workers' batches together.
            command.append(f"--ranks={arguments.workers}")
            command.append("--whole-rounds")
        subprocess.run(command, check=True, stdout=out, stderr=log, stdin=subprocess.DEVNULL)
    events = [json.loads(line) for line in (folder / "single.jsonl").read_text().splitlines()]
    return Run("single", seed, [events])


def print_workers(run: Run) -> None:
    print(f"\n{run.mode}, seed {run.seed}: test AUC {run.test_auc:.4f}, {run.seconds:.1f} s")
    print("  worker   clock   wait share   samples/s   staleness mean")
    for summary in sorted(run.summaries(), key=lambda s: s["rank"]):
        print(
            f"  {summary['rank']:>6}   {summary['clock']:>5}   {summary['wait_share']:>10.1%}"
            f"   {summary['samples_per_second']:>9.0f}   {summary['staleness_mean']:>14.2f}"
        )


def write_folder(folder: pathlib.Path, runs: list[Run]) -> None:
    loss, auc = {}, {}
    with open(folder / "steps.csv", "w", newline="") as out:
        fields = ["mode", "seed", "rank", "step", "clock", "seconds", "samples_per_second", "loss",
                  "wait_share", "staleness", "bytes_sent", "bytes_received"]
        writer = csv.DictWriter(out, fields, extrasaction="ignore", restval="")
        writer.writeheader()
        for run in runs:
            for events in run.workers:
                for event in events:
                    if event.get("event") == "step":
                        writer.writerow({**event, "mode": run.mode, "seed": run.seed})
                    if event.get("rank", 0) == 0 and run.seed == runs[0].seed:
                        if event.get("event") == "step":
                            loss.setdefault(run.mode, []).append((event["step"], event["loss"]))
                        if event.get("event") == "eval":
                            auc.setdefault(run.mode, []).append((event["pass"], event["valid_auc"]))
    with open(folder / "summary.csv", "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["mode", "seed", "test_auc", "train_seconds"])
        writer.writerows([r.mode, r.seed, f"{r.test_auc:.6f}", f"{r.seconds:.3f}"] for r in runs)
    (folder / "loss.svg").write_text(svg.line_chart("Training loss, rank 0", "step", "log loss", loss))
    (folder / "auc.svg").write_text(svg.line_chart("Validation AUC", "pass", "AUC", auc))


def median(values) -> float:
    return statistics.median(values)


def judge(arguments, cluster_runs: list[Run], single_runs: list[Run]) -> tuple[dict, list[str]]:
    """The RESULT figures and the bounds that were missed."""
    aucs = [r.test_auc for r in cluster_runs]
    singles = [r.test_auc for r in single_runs]
    result = {"runs": len(aucs), "train_seconds": round(median(r.seconds for r in cluster_runs), 2)}
    if is_criteo(arguments):
        difference = statistics.mean(a - b for a, b in zip(aucs, singles))
        result |= {
            "test_auc": round(statistics.mean(aucs), 4),
            "single_auc": round(statistics.mean(singles), 4),
            "paired_difference": round(difference, 4),
        }
        bounds = [(result["test_auc"] >= 0.715, "mean test AUC is below 0.715"),
                  (abs(difference) <= 0.01, "mean paired difference to single is above 0.01")]
    else:
        result |= {"test_auc": round(median(aucs), 4), "single_auc": round(median(singles), 4)}
        bounds = [(result["test_auc"] >= result["single_auc"] - 0.004,
                   "test AUC is more than 0.004 below the single process")]
        if arguments.data == "movielens":
            bounds.append((result["test_auc"] >= 0.78, "test AUC is below 0.78"))
        else:
            bayes = cluster_runs[0].leader()["bayes_auc"]
            result["bayes_auc"] = round(bayes, 4)
            bounds.append((result["test_auc"] >= bayes - 0.01, "test AUC is not within 0.01 of Bayes"))
    if arguments.quick:
        bounds = [(result["test_auc"] > 0.5, "test AUC is no better than chance")]
    return result, [text for good, text in bounds if not good]


def new_folder(asked: pathlib.Path | None) -> pathlib.Path:
    if asked is not None:
        asked.mkdir(parents=True, exist_ok=True)
        return asked
    parent = ROOT / "runs"
    parent.mkdir(exist_ok=True)
    number = 1 + max((int(p.name) for p in parent.iterdir() if p.name.isdigit()), default=0)
    folder = parent / str(number)
    folder.mkdir()
    return folder


def main() -> int:
    arguments = parse_arguments()
    os.chdir(ROOT)
    folder = new_folder(arguments.out)
    mode = arguments.consistency
    if mode == "ssp":
        mode = f"ssp({arguments.staleness})"
    compare = not arguments.no_compare and mode != "async" and not is_criteo(arguments)
    print(f"data {arguments.data}; {arguments.servers} servers, {arguments.workers} workers, {mode}, "
          f"last worker x{arguments.slow_factor} slower; run folder {folder}")
    cluster_runs, single_runs, other_runs = [], [], []
    began = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.repeats):
        single_runs.append(train_single(arguments, folder / f"single-{seed}", seed))
        print(f"\nsingle process, seed {seed}: test AUC {single_runs[-1].test_auc:.4f}, "
              f"{single_runs[-1].seconds:.1f} s")
        cluster_runs.append(train_cluster(arguments, folder / f"{arguments.consistency}-{seed}", mode, seed))
        print_workers(cluster_runs[-1])
        if compare and seed == arguments.seed:
            other_runs.append(train_cluster(arguments, folder / f"async-{seed}", "async", seed))
            print_workers(other_runs[-1])
    write_folder(folder, cluster_runs + other_runs + single_runs)
    result, missed = judge(arguments, cluster_runs, single_runs)
    if other_runs:
        result["async_auc"] = round(other_runs[0].test_auc, 4)
    print(f"\ncurves and tables: {folder}  ({time.monotonic() - began:.0f} s in all)")
    for text in missed:
        print(f"missed: {text}")
    print("RESULT " + " ".join(f"{name}={value}" for name, value in result.items()))
    return 1 if missed and arguments.check else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClusterError as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
