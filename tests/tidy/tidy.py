#!/usr/bin/python3
"""Checks of the repository that no compiler makes. README.md lists the rules.

Usage: tidy.py [--root DIR] [--format]     exit code 0: clean, 1: findings, 2: usage
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_text  # noqa: E402

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
CPP = {".h", ".cc", ".cu", ".cuh"}
CODE = CPP | {".py", ".proto", ".sh"}
TEXT = CODE | {".md", ".txt", ".cmake", ".yaml", ".yml", ".toml", ".json"}
SKIPPED_FOLDERS = {"build", "runs", "__pycache__", "node_modules"}

# Which folder may include which, DESIGN order: main -> ps_server -> {service, ...} -> executor -> ...
_SERVER_LAYERS = [
    {"kv"},
    {"optimizer", "storage"},
    {"table", "consistency", "journal"},
    {"executor"},
    {"service", "coordinator", "admin_http", "checkpoint", "replication"},
    {"."},  # main.cc and ps_server: files directly in server/
]
_WORKER_ALLOWED = {
    "kernels": set(),
    "data": set(),
    "cache": set(),
    "client": {"cache"},
    "psctl": {"client", "cache"},
    "python": {"client", "cache"},
    "dlrm": {"client", "cache", "kernels", "data"},
    ".": {"client", "cache", "kernels", "data", "dlrm"},
}
_TREE_ALLOWED = {
    "proto": set(),
    "common": {"proto"},
    "server": {"common", "proto"},
    "worker": {"common", "proto"},
    "tests": {"common", "proto", "server", "worker", "bench"},
    "bench": {"common", "proto", "server", "worker", "tests"},
}

# Headers of libraries that only some folders may see. Tests and benchmarks may see what they test.
_LIBRARIES = [
    (
        "grpc-header",
        r'[<"](grpc|grpcpp|grpc\+\+)/|\.grpc\.pb\.h"',
        ("common/net/", "server/service/", "server/coordinator/", "worker/client/"),
    ),
    ("rocksdb-header", r'[<"]rocksdb/', ("server/kv/",)),
    (
        "cuda-header",
        r'[<"](cuda|cublas|cusparse|curand|cub/|thrust/|device_launch)',
        ("worker/kernels/",),
    ),
]

# (rule, pattern over text without comments and strings, path prefixes where it is allowed, remedy)
_BANNED = [
    (
        "clock",
        r"\b\w*_clock\s*::\s*now\b",
        ("common/time_source.cc",),
        "use TimeSource",
    ),
    (
        "wall-clock",
        r"\bsystem_clock\b|\bgettimeofday\s*\(|\bstd::time\s*\("
        r"|(?<![\w.>:])time\s*\(\s*(nullptr|NULL|0|&\w+)\s*\)",
        ("common/metrics/log",),
        "wall time belongs in logs alone",
    ),
    (
        "random",
        r"(?<![\w.>])s?rand\s*\(|\brandom_device\b|(?<![\w.>:])random\s*\(\s*\)\s*%",
        (),
        "use SplitMix64 or Random",
    ),
    (
        "abort",
        r"(?<![\w.>])abort\s*\(|\bstd::terminate\s*\(",
        ("common/status/status.cc",),
        "return a Status; SYNCLINE_CHECK for broken invariants",
    ),
    (
        "absl-mutex",
        r"\babsl::(Mutex|MutexLock|CondVar)\b|absl/synchronization/",
        (),
        "use common/thread/mutex.h",
    ),
]


class Tree:
    """The files of a repository, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(
                f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(".")
            )
            for name in sorted(names):
                path = pathlib.Path(folder) / name
                is_text = path.suffix in TEXT or name == "CMakeLists.txt"
                if is_text and not path.is_symlink():
                    relative = path.relative_to(self.root).as_posix()
                    self.files[relative] = path.read_text("utf-8", "replace")

    def cpp(self):
        return {p: t for p, t in self.files.items() if pathlib.Path(p).suffix in CPP}


class Findings:
    """Collects findings, less those that the text itself allows with a reason."""

    def __init__(self, tree):
        self.tree = tree
        self.found = []

    def add(self, path, line, rule, message):
        lines = self.tree.files.get(path, "").split("\n")
        near = lines[max(0, line - 2) : line] if line else lines[:20]
        allow = re.compile(r"tidy: allow " + re.escape(rule) + r": \S")
        if not any(allow.search(text) for text in near):
            self.found.append((path, line, rule, message))


def _line(text, offset):
    return text.count("\n", 0, offset) + 1


def _folder_in(tree_name, path):
    parts = path.split("/")
    if parts[0] != tree_name:
        return None
    return parts[1] if len(parts) > 2 else "."


def _server_may(source, target):
    def layer(name):
        return next((i for i, names in enumerate(_SERVER_LAYERS) if name in names), None)

    below, above = layer(target), layer(source)
    return below is not None and above is not None and below < above


def check_includes(tree, findings):
    """Includes flow one way, and some libraries stay behind one folder."""
    for path, text in tree.cpp().items():
        top = path.split("/")[0]
        for match in re.finditer(r'^\s*#\s*include\s*(.*)$', cpp_text.strip(text), re.M):
            line, what = _line(text, match.start()), match.group(1)
            for rule, pattern, allowed in _LIBRARIES:
                if top in ("tests", "bench") or path.startswith(allowed):
                    continue
                if re.search(pattern, what):
                    folders = ", ".join(allowed)
                    findings.add(path, line, rule, f"{what}: only in {folders}")
            _check_direction(path, top, what.strip().strip('"'), line, findings)


def _check_direction(path, top, target, line, findings):
    target_top = target.split("/")[0]
    if target_top not in _TREE_ALLOWED or top not in _TREE_ALLOWED or "/" not in target:
        return
    if target_top != top and target_top not in _TREE_ALLOWED[top]:
        findings.add(path, line, "include-direction", f"{top}/ must not include {target}")
        return
    if target_top != top or top not in ("server", "worker"):
        return
    source_folder, target_folder = _folder_in(top, path), _folder_in(top, target)
    if source_folder == target_folder:
        return
    if top == "server":
        fine = _server_may(source_folder, target_folder)
    else:
        fine = target_folder in _WORKER_ALLOWED.get(source_folder, set())
    if not fine:
        message = f"{top}/{source_folder} must not include {target}"
        findings.add(path, line, "include-direction", message)


def check_banned_calls(tree, findings):
    for path, text in tree.cpp().items():
        stripped = cpp_text.strip(text)
        for rule, pattern, allowed, remedy in _BANNED:
            if allowed and path.startswith(allowed):
                continue
            for match in re.finditer(pattern, stripped):
                call = " ".join(match.group(0).split())
                findings.add(path, _line(text, match.start()), rule, f"{call}: {remedy}")


def check_lengths(tree, findings):
    for path, text in tree.files.items():
        if pathlib.Path(path).suffix not in CODE:
            continue
        lines = text.count("\n")
        if lines > MAX_FILE_LINES:
            findings.add(path, 0, "file-length", f"{lines} lines, at most {MAX_FILE_LINES}")
    for path, text in tree.cpp().items():
        for first, last in cpp_text.functions(cpp_text.strip(text)):
            length = last - first + 1
            if length > MAX_FUNCTION_LINES:
                message = f"{length} lines, at most {MAX_FUNCTION_LINES}"
                findings.add(path, first, "function-length", message)


def check_guards(tree, findings):
    for path, text in tree.cpp().items():
        if not path.endswith(".h"):
            continue
        guard = "SYNCLINE_" + re.sub(r"[/.]", "_", path).upper() + "_"
        wanted = rf"^#ifndef {guard}\n#define {guard}\n"
        if not re.search(wanted, text, re.M):
            findings.add(path, 0, "include-guard", f"the guard must be {guard}")


def check_readmes(tree, findings):
    """Each folder with code explains itself; tests that mirror a folder are explained by it."""
    folders = {
        p.rpartition("/")[0]
        for p in tree.files
        if pathlib.Path(p).suffix in CODE and "/" in p
    }
    for folder in sorted(folders):
        mirrored = re.match(r"tests/((common|server|worker)(/.*)?)$", folder)
        readme = (mirrored.group(1) if mirrored else folder) + "/README.md"
        if readme not in tree.files:
            findings.add(folder, 0, "readme", f"{readme} is missing")


def check_marks(tree, findings):
    unfinished = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    disabled = re.compile(r"\bDISABLED" + r"_\w+")
    for path, text in tree.files.items():
        if path.startswith("bench/data/"):
            continue
        for match in unfinished.finditer(text):
            message = "finish it, or file it and take the mark out"
            findings.add(path, _line(text, match.start()), "unfinished", message)
        if pathlib.Path(path).suffix in CPP:
            for match in disabled.finditer(text):
                message = f"{match.group(0)}: a disabled test is deleted or repaired"
                findings.add(path, _line(text, match.start()), "disabled-test", message)


def check_built(tree, findings):
    """Every source is named by the CMakeLists.txt of its folder or of one above it."""
    for path in tree.files:
        if pathlib.Path(path).suffix not in (".cc", ".cu"):
            continue
        folder, _, name = path.rpartition("/")
        while folder and folder + "/CMakeLists.txt" not in tree.files:
            folder = folder.rpartition("/")[0]
        lists = tree.files.get((folder + "/" if folder else "") + "CMakeLists.txt", "")
        if not re.search(rf"\b{re.escape(name)}\b", lists) and "foreach" not in lists:
            findings.add(path, 0, "not-built", "no CMakeLists.txt names this file")


def check_format(tree, findings):
    """Needs clang-format-14."""
    paths = [p for p in tree.cpp()]
    for start in range(0, len(paths), 100):
        result = subprocess.run(
            ["clang-format-14", "--dry-run", "--Werror", *paths[start : start + 100]],
            cwd=tree.root,
            capture_output=True,
            text=True,
            check=False,
        )
        seen = set()
        for match in re.finditer(r"^(\S+?):(\d+):\d+: error", result.stderr, re.M):
            if match.group(1) not in seen:
                seen.add(match.group(1))
                message = "run clang-format-14 -i"
                findings.add(match.group(1), int(match.group(2)), "format", message)


CHECKS = [
    check_includes,
    check_banned_calls,
    check_lengths,
    check_guards,
    check_readmes,
    check_marks,
    check_built,
]


def run(root, with_format=False):
    """All findings as (path, line, rule, message); line 0 means the whole file."""
    tree = Tree(root)
    findings = Findings(tree)
    for check in CHECKS + ([check_format] if with_format else []):
        check(tree, findings)
    return sorted(findings.found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--format", action="store_true", help="also clang-format-14")
    arguments = parser.parse_args()
    found = run(arguments.root, arguments.format)
    for path, line, rule, message in found:
        print(f"{path}:{line}: [{rule}] {message}" if line else f"{path}: [{rule}] {message}")
    print(f"tidy: {len(found)} findings" if found else "tidy: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
