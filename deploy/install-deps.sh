#!/usr/bin/env bash
# Installs what Syncline builds and runs with, from Debian 12's packages. Idempotent: does nothing
# when all is there. CUDA is never installed; the build uses it when nvcc is found.
#   deploy/install-deps.sh            build and run
#   deploy/install-deps.sh --checks   also what the sanitizer, format and lint checks need
set -euo pipefail

usage() { sed -n '2,5s/^# \{0,1\}//p' "$0"; }

packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev
  librocksdb-dev libgtest-dev libgmock-dev libcli11-dev libspdlog-dev libfmt-dev
  nlohmann-json3-dev prometheus-cpp-dev libcpp-httplib-dev libeigen3-dev
  python3 python3-numpy python3-pytest python3-grpcio python3-protobuf
)
checks=(clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev)

case "${1:-}" in
  "") ;;
  --checks) packages+=("${checks[@]}") ;;
  -h | --help) usage; exit 0 ;;
  *) echo "install-deps.sh: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $state == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || {
    echo "install-deps.sh: needs root or sudo to install: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q >&2
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
