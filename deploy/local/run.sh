#!/usr/bin/env bash
# Sets up and runs Syncline's main job on this machine: packages, build, a local cluster that trains
# a DLRM on real data, and a comparison with one process. `deploy/local/run.sh --help` explains.
set -euo pipefail
cd "$(dirname "$0")/../.."

for argument in "$@"; do
  if [[ $argument == --help || $argument == -h ]]; then
    # Help must work before anything is installed, except for Python itself.
    command -v python3 >/dev/null || deploy/install-deps.sh
    exec python3 deploy/local/demo.py --help
  fi
done

deploy/install-deps.sh
deploy/build.sh release ps-server ps-worker psctl
exec /usr/bin/python3 deploy/local/demo.py --build build/release "$@"
