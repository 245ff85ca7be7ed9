#!/usr/bin/env bash
# Sets up and runs the tests: packages, the dev build, every test that is not labelled slow.
#   tests/run.sh              everything
#   tests/run.sh -R REGEX     only tests whose name matches; further arguments go to ctest
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

deploy/install-deps.sh
deploy/build.sh dev
exec ctest --test-dir build/dev --output-on-failure --label-exclude slow "$@"
