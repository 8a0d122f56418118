#!/usr/bin/env bash
# Proof that nothing needs a network: the Go tests and the shipped suites run
# in a namespace whose only interface is loopback. A skipped test fails here.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(. internal/bench interop)
if [ "${1:-}" != inside ]; then
  for module in "${modules[@]}"; do go -C "$module" mod download; done
  exec unshare -n "$0" inside
fi

ip link set lo up
export GOPROXY=off
if ip -o link | grep -qv 'lo:'; then
  echo "offline: there is an interface besides loopback" >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tests() {
  for module in "${modules[@]}"; do
    go -C "$module" test -count=1 -timeout "${TIMEOUT:-10m}" -v ./... || return
  done
}
if ! tests >"$log" 2>&1; then
  grep -vE '^(=== |\s*--- (PASS|SKIP)|PASS$|ok )' "$log" >&2 || true
  echo "offline: what failed, with what was printed before it:" >&2
  grep -E -B 30 '^\s*--- FAIL|^FAIL\s+[a-z]|^panic: ' "$log" | grep -vE '^(=== |\s*--- PASS)' >&2
  exit 1
fi
if grep -E '^\s*--- SKIP' "$log" >&2; then
  echo "offline: a test was skipped" >&2
  exit 1
fi
printf 'offline: %s tests passed, none skipped\n' "$(grep -cE '^\s*--- PASS' "$log")"
bin/rehearse run scenarios/suites --out runs
PATH="$PWD/bin:$PATH" bin/rehearse run scenarios/clients --out runs
