"""Runs what the READMEs tell a reader to type.

Fenced blocks whose info string is `sh run` are commands that must work:

    ```sh run
    build/dev/worker/psctl/psctl version
    ```

Every tracked README*.md with such blocks is run on its own: its blocks in order, in one
`bash -euo pipefail` from the repository root, so that a later block sees the variables of an earlier
one. What a README started and left running is ended with its shell. SYNCLINE_BUILD names the build
folder (build/dev unless set); blocks that need a built program use it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

TAG = "sh run"
FENCE = re.compile(r"^( *)(```+|~~~+)(.*)$")
KEPT_OUTPUT_LINES = 30


@dataclass
class Block:
    line: int  # of the opening fence, from 1
    lines: list[str]


class DocsError(ValueError):
    """A README that cannot be read as intended; the text has file and line."""


def find_blocks(text: str, name: str) -> list[Block]:
    """The `sh run` blocks of a Markdown text. Fences inside other fences are text."""
    blocks: list[Block] = []
    fence = ""  # of the block that is open
    indent = ""
    current: Block | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if not fence and match:
            indent, fence, info = match.groups()
            if info.strip() == TAG:
                current = Block(number, [])
        elif fence and match and match[2].startswith(fence) and not match[3].strip():
            if current:
                blocks.append(current)
            fence, current = "", None
        elif current:
            current.lines.append(line.removeprefix(indent))
    if current:
        raise DocsError(f"{name}:{current.line}: the block is never closed")
    return blocks


def script_of(blocks: list[Block]) -> str:
    """One script whose line numbers are the README's, so that bash's messages fit. In place of each
    opening fence it notes the line, and at the end that the end was reached."""
    lines: list[str] = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines))
        lines.append(f'echo {block.line} >>"$SYNCLINE_DOCS_PROGRESS"')
        lines += block.lines
    return "\n".join([*lines, 'echo end >>"$SYNCLINE_DOCS_PROGRESS"', ""])


def adopt_orphans() -> None:
    """Makes what a shell leaves behind this process's child, also what has a session of its own."""
    set_child_subreaper = 36  # linux/prctl.h
    if ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def descendants() -> list[int]:
    """Living processes below this one."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it ended meanwhile
        if state != "Z":
            parents[int(path.parent.name)] = int(parent)
    found, todo = [], [os.getpid()]
    while todo:
        parent = todo.pop()
        children = [pid for pid, above in parents.items() if above == parent]
        found += children
        todo += children
    return found


def end_descendants() -> None:
    """SIGTERM to the shell and what it started; SIGKILL to what is left after 10 s."""
    for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 1)):
        told: set[int] = set()
        deadline = time.monotonic() + seconds
        # Again and again: a process may start another one before its signal arrives.
        while (alive := set(descendants())) and time.monotonic() < deadline:
            for pid in alive - told:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            told |= alive
            time.sleep(0.02)
    while True:  # leaves no zombies
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def run_script(script: str, name: str, root: pathlib.Path, seconds: float) -> str:
    """Runs one README's script. Returns what went wrong, empty when all is well."""
    with tempfile.TemporaryDirectory(prefix="syncline-docs-") as folder:
        path = pathlib.Path(folder) / name.replace("/", "_")
        path.write_text(script)
        progress = pathlib.Path(folder) / "progress"
        progress.touch()
        output = pathlib.Path(folder) / "output"
        environment = {"SYNCLINE_BUILD": "build/dev", **os.environ}
        environment["SYNCLINE_DOCS_PROGRESS"] = str(progress)
        with open(output, "wb") as out:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", str(path)],
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            try:
                problem = verdict(process, seconds)
            finally:
                end_descendants()
        reached = progress.read_text().split()
        if not problem and reached[-1:] == ["end"]:
            return ""
        where = f"{name}:{reached[-1]}" if reached else name
        tail = output.read_text(errors="replace").splitlines()[-KEPT_OUTPUT_LINES:]
        return "\n".join(
            [f"{where}: {problem or 'the block ended the shell'}", *("    " + t for t in tail)]
        )


def verdict(process: subprocess.Popen, seconds: float) -> str:
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"the block was still running when the README's {seconds:g} s were over"
    return f"the block failed with {code}" if code else ""


def tracked_readmes(root: pathlib.Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "README*.md", "**/README*.md"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(set(filter(None, listed.stdout.split("\0"))))


def run_readme(root: pathlib.Path, name: str, seconds: float) -> tuple[int, str]:
    """Number of blocks and what went wrong."""
    try:
        blocks = find_blocks((root / name).read_text(), name)
    except DocsError as error:
        return 0, str(error)
    if not blocks:
        return 0, ""
    return len(blocks), run_script(script_of(blocks), name, root, seconds)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readmes", nargs="*", help="below the root; all tracked ones without it")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path.cwd())
    parser.add_argument("--seconds", type=float, default=300, help="time limit of each README")
    options = parser.parse_args(arguments)
    adopt_orphans()
    failed = 0
    for name in options.readmes or tracked_readmes(options.root):
        began = time.monotonic()
        count, problem = run_readme(options.root, name, options.seconds)
        failed += bool(problem)
        if problem:
            print(problem)
        elif count:
            print(f"{name}: {count} blocks passed in {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
