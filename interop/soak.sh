#!/usr/bin/env bash
# The tests on a machine that has better things to do: ROUNDS times beside as
# many CPU burners as BURNERS says, and once with SIGHUP ignored, as under
# nohup. A test that waits on real time, or counts what a slow machine adds,
# fails here.
#
#   interop/soak.sh                    make test and make offline, ten rounds
#   interop/soak.sh ./cmd/rehearse ... go test of these packages alone
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-10}
burners=()
log=$(mktemp)
end() {
  for pid in "${burners[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -f "$log"
}
trap end EXIT

tests() {
  if [ $# -gt 0 ]; then
    go test -timeout 30m "$@"
  else
    make test && make offline
  fi
}

round() { # its name, a command
  local name=$1 begin=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    printf 'soak: %s: passed in %d s\n' "$name" "$((SECONDS - begin))"
  else
    printf 'soak: %s: FAILED after %d s\n' "$name" "$((SECONDS - begin))"
    grep -vE '^(ok|=== |\s*--- PASS|\?)' "$log" || true
    failed=1
  fi
}

# Without the test cache: what passed once says nothing about now.
export GOFLAGS="${GOFLAGS:-} -count=1"
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
