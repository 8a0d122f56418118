#!/usr/bin/env bash
# live.sh OUT: play the utilities and calendar suites to a real model, with the
# program and with go test. Meant for a network namespace of its own.
set -euo pipefail
cd "$(dirname "$0")"
ip link set lo up
port=8102
pid=$(./needle.sh "$port")
trap 'kill "$pid"' EXIT

export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" REHEARSE_MODEL=needle-3 GOPROXY=off
code=0
../bin/rehearse run --mode live --model needle-3 --trials 1 --parallel 1 --out "$1" \
  ../scenarios/suites/utilities ../scenarios/suites/calendar || code=$?
if [ "$code" -gt 3 ] || [ "$code" -eq 2 ]; then
  echo "live.sh: rehearse ended with $code" >&2
  exit 1
fi
# The same from go test; live mode exists there only behind the build tag. Its
# verdicts are checked, not its exit code: a small model fails some scenarios.
code=0
go test -tags real_llm -count=1 -run 'TestLive' -v ./live >"$1/gotest.log" 2>&1 || code=$?
sed "s/^/| /" "$1/gotest.log"
grep -qE '^ +--- PASS: TestLive/[a-z]+/' "$1/gotest.log"
grep -qE '^ +--- FAIL: TestLive/[a-z]+/' "$1/gotest.log"
