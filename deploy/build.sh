#!/usr/bin/env bash
# Configures and builds one preset:  deploy/build.sh PRESET [TARGET...]
# Quiet when all is well; the last lines of the log otherwise. Used by run.sh, tests/run.sh and CI.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?preset: dev, release, asan or tsan}
shift
jobs=${SYNCLINE_JOBS:-$(nproc)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "building preset $preset (-j$jobs) ..." >&2
if ! { cmake --preset "$preset" && cmake --build "build/$preset" -j "$jobs" ${@:+--target "$@"}; } >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "build of preset $preset failed" >&2
  exit 1
fi
