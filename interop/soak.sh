#!/usr/bin/env bash
# The tests on a machine that has better things to do: ROUNDS times beside as
# many CPU burners as BURNERS says, and once with SIGHUP ignored, as under
# nohup. A test that waits on real time, or counts what a slow machine adds,
# fails here. In a round the parts of make test and make offline run side by side,
# each with four packages at a time: a round is shorter so, and no test has a
# processor to itself, also without burners.
#
#   interop/soak.sh                    make test and make offline, ten rounds
#   interop/soak.sh ./cmd/rehearse ... go test of these packages of the main module alone
set -euo pipefail
cd "$(dirname "$0")/.."
for name in REHEARSE_DATA REHEARSE_CASES; do
  if [ ! -d "${!name:-}" ]; then
    echo "soak: $name names no folder: without it tests are skipped, and make offline fails" >&2
    exit 1
  fi
done

rounds=${ROUNDS:-10}
burners=()
log=$(mktemp -d)
end() {
  for pid in "${burners[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$log"
}
trap end EXIT

tests() {
  if [ $# -gt 0 ]; then
    go test -timeout "$TIMEOUT" "$@" >"$log/test" 2>&1
  else
    local test offline ok=0
    make -j test >"$log/test" 2>&1 &
    test=$!
    make offline >"$log/offline" 2>&1 &
    offline=$!
    wait "$test" || ok=1
    wait "$offline" || ok=1
    return "$ok"
  fi
}

round() { # its name, a command
  local name=$1 begin=$SECONDS
  shift
  rm -f "$log"/*
  if "$@"; then
    printf 'soak: %s: passed in %d s\n' "$name" "$((SECONDS - begin))"
  else
    printf 'soak: %s: FAILED after %d s\n' "$name" "$((SECONDS - begin))"
    grep -hvE '^(ok|=== |\s*--- PASS|\?)' "$log"/* || true
    failed=1
  fi
}

# Without the test cache: what passed once says nothing about now.
export GOFLAGS="${GOFLAGS:-} -count=1 -p=4" TIMEOUT=40m
failed=0
for _ in $(seq "${BURNERS:-4}"); do
  (while :; do :; done) &
  burners+=("$!")
done
for i in $(seq "$rounds"); do
  round "round $i of $rounds" tests "$@"
done
for pid in "${burners[@]}"; do kill "$pid" 2>/dev/null || true; done
burners=()
trap '' HUP # the children inherit it
round "SIGHUP ignored" tests "$@"
exit "$failed"
