#!/usr/bin/env python3
"""Runs clang-tidy-14 over the product's translation units, two at a time.

    clang_tidy.py --build build/asan [PATH...]

A unit that was clean is not looked at again until its preprocessed text, .clang-tidy or the tool
changes: verdicts are kept in the user's cache folder, for clones anywhere. Exit 1 when anything is
found.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "clang-tidy-14"
FOLDERS = ("common/", "server/", "worker/")


def units(build: pathlib.Path, only: list[str]) -> list[dict]:
    """Entries of the compilation database that are the product's own code."""
    database = json.loads((build / "compile_commands.json").read_text())
    found = []
    for entry in database:
        path = os.path.relpath(entry["file"], ROOT)
        if path.startswith(tuple(only) if only else FOLDERS):
            found.append({**entry, "path": path})
    return sorted(found, key=lambda e: e["path"])


def fingerprint(entry: dict) -> str:
    """Of everything that the verdict depends on. Line markers are left out: they hold paths."""
    command = [a for a in shlex.split(entry["command"]) if a != "ccache"]
    output = command.index("-o")
    del command[output : output + 2]
    command[command.index("-c")] = "-E"
    text = subprocess.run(
        [*command, "-P", "-CC"], cwd=entry["directory"], capture_output=True, check=True
    ).stdout
    digest = hashlib.sha256(text.replace(str(ROOT).encode(), b""))  # __FILE__ names the clone
    digest.update((ROOT / ".clang-tidy").read_bytes())
    digest.update(pathlib.Path(__file__).read_bytes())
    return digest.hexdigest()


def check(entry: dict, build: pathlib.Path, cache: pathlib.Path) -> str:
    """What clang-tidy says, or nothing."""
    mark = cache / fingerprint(entry)
    if mark.exists():
        return ""
    done = subprocess.run(
        [TOOL, "--quiet", "-p", str(build), str(ROOT / entry["path"])],
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        mark.touch()
        return ""
    return done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("paths", nargs="*", help="prefixes of paths; default: all product code")
    arguments = parser.parse_args()
    build = (ROOT / arguments.build).resolve()
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    cache = caches / "syncline" / "clang-tidy"
    cache.mkdir(parents=True, exist_ok=True)
    entries = units(build, arguments.paths)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for entry, text in zip(entries, pool.map(lambda e: check(e, build, cache), entries)):
            if text:
                bad += 1
                print(f"{entry['path']}:\n{text}")
    print(f"clang-tidy: {len(entries)} units, {bad} with findings")
    return 1 if bad or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
