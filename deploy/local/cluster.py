"""Starts and stops a cluster of real processes on this machine, for the demo and the tests.

Every process is ended by its own id, also when the caller fails: use Cluster as a context manager.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field


class ClusterError(RuntimeError):
    """A process did not start or ended badly; the text names it and its log file."""


@dataclass
class Process:
    """One child: `name` for messages, `log` for its standard error."""

    name: str
    popen: subprocess.Popen
    log: pathlib.Path
    output: pathlib.Path

    def events(self) -> list[dict]:
        """The JSON lines that the process has printed so far; a torn last line is left out."""
        found = []
        if not self.output.exists():
            return found
        for line in self.output.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return found

    def tail(self, lines: int = 15) -> str:
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@dataclass
class Cluster:
    """ps-servers on loopback ports that the system chooses. Server 0 hosts the coordinator."""

    build: pathlib.Path
    folder: pathlib.Path
    servers: int = 2
    server_arguments: list[str] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    coordinator: str = ""
    endpoints: list[str] = field(default_factory=list)
    admin_endpoints: list[str] = field(default_factory=list)

    def __enter__(self) -> "Cluster":
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            for i in range(self.servers):
                self.start_server(i)
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *unused) -> None:
        self.stop()

    def spawn(self, name: str, arguments: list[str], environment: dict | None = None) -> Process:
        log = self.folder / f"{name}.log"
        output = self.folder / f"{name}.jsonl"
        with open(log, "ab") as err, open(output, "ab") as out:
            popen = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
            )
        process = Process(name, popen, log, output)
        self.processes.append(process)
        return process

    def start_server(self, index: int, listen: str = "127.0.0.1:0") -> Process:
        """Starts server `index`; its name is stable, so that a restart is the same server."""
        port_file = self.folder / f"server-{index}.ports"
        port_file.unlink(missing_ok=True)
        arguments = [
            str(self.build / "server" / "ps-server"),
            f"--name=server-{index}",
            f"--listen={listen}",
            "--admin-listen=127.0.0.1:0",
            f"--port-file={port_file}",
            *self.server_arguments,
        ]
        if index == 0:
            arguments += [
                f"--servers={self.servers}",
                f"--data-dir={self.folder / 'coordinator-data'}",
            ]
        else:
            arguments.append(f"--coordinator={self.coordinator}")
        process = self.spawn(f"server-{index}", arguments)
        ports = self._read_ports(port_file, process)
        if index == 0:
            self.coordinator = ports["listen"]
        for values, key in ((self.endpoints, "listen"), (self.admin_endpoints, "admin")):
            while len(values) <= index:
                values.append("")
            values[index] = ports[key]
        return process

    def _read_ports(self, path: pathlib.Path, process: Process) -> dict:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if process.popen.poll() is not None:
                raise ClusterError(
                    f"{process.name} ended with {process.popen.returncode}; {process.log}:\n"
                    f"{process.tail()}"
                )
            if path.exists() and path.read_text().endswith("\n"):
                return dict(line.split("=", 1) for line in path.read_text().split())
            time.sleep(0.02)
        raise ClusterError(f"{process.name} did not listen within 20 s; {process.log}")

    def wait_ready(self, seconds: float = 20) -> None:
        """Returns when the map is complete, as psctl sees it."""
        deadline = time.monotonic() + seconds
        answer = ""
        while time.monotonic() < deadline:
            done = subprocess.run(
                [
                    str(self.build / "worker" / "psctl" / "psctl"),
                    f"--endpoints={self.coordinator}",
                    "cluster",
                    "health",
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode == 0:
                return
            answer = done.stdout + done.stderr
            time.sleep(0.1)
        raise ClusterError(f"the cluster was not healthy within {seconds} s: {answer.strip()}")

    def wait(self, processes: list[Process], seconds: float) -> None:
        """Waits for processes to end well; raises with the log's end when one does not."""
        deadline = time.monotonic() + seconds
        for process in processes:
            try:
                code = process.popen.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise ClusterError(
                    f"{process.name} did not end within {seconds} s; {process.log}:\n"
                    f"{process.tail()}"
                ) from None
            if code != 0:
                raise ClusterError(
                    f"{process.name} ended with {code}; {process.log}:\n{process.tail()}"
                )

    def stop(self) -> None:
        """SIGTERM to all, workers first; SIGKILL to what is left after 20 s."""
        alive = [p for p in reversed(self.processes) if p.popen.poll() is None]
        for process in alive:
            process.popen.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        for process in alive:
            try:
                process.popen.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()

    def detach(self) -> None:
        """Leaves the processes running; their ids go to DIR/pids."""
        (self.folder / "coordinator").write_text(self.coordinator + "\n")
        (self.folder / "pids").write_text("\n".join(str(p.popen.pid) for p in self.processes) + "\n")
        self.processes = []


def _stop_detached(folder: pathlib.Path) -> int:
    """Ends what `start` left running, by the ids that it wrote and only if they still are ours."""
    pids = [int(line) for line in (folder / "pids").read_text().split()]
    ours = [pid for pid in pids if _is_server(pid)]
    for pid in reversed(ours):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while any(_is_server(pid) for pid in ours):
        if time.monotonic() > deadline:
            print(f"cluster: {ours} did not end within 20 s", file=sys.stderr)
            return 1
        time.sleep(0.05)
    (folder / "pids").unlink()
    return 0


def _is_server(pid: int) -> bool:
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"ps-server" in command and state != "Z"


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster.sh", description=__doc__)
    parser.add_argument("command", choices=["start", "stop"])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--servers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.command == "stop":
        return _stop_detached(arguments.folder)
    if (arguments.folder / "pids").exists():
        print(f"cluster: {arguments.folder}/pids exists: stop that cluster first", file=sys.stderr)
        return 1
    with Cluster(arguments.build, arguments.folder, arguments.servers) as cluster:
        cluster.detach()
        print(cluster.coordinator)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        sys.exit(1)
