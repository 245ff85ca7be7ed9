#!/usr/bin/env bash
# A cluster on this machine that outlives the shell:
#   cluster.sh start --build build/dev --servers 2 --folder DIR    writes DIR/coordinator
#   cluster.sh stop --folder DIR
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$0")/cluster.py" "$@"
