#!/usr/bin/env bash
# live.sh OUT: play forty scenarios to two real models, one of them with and
# without a system prompt, with the program and with go test. Meant for a network
# namespace of its own.
set -euo pipefail
cd "$(dirname "$0")"
out=$1
ip link set lo up
if ip -o link | grep -qv 'lo:'; then
  echo "live.sh: there is an interface besides loopback" >&2
  exit 1
fi
pids=()
trap 'kill "${pids[@]}"' EXIT
pids+=("$(./needle.sh 8102)")
coproc smollm { exec .venv/bin/python smollm.py 2>"$out/smollm.log"; }
pids+=("$smollm_PID")
read -r smollm <&"${smollm[0]}" || { cat "$out/smollm.log" >&2; exit 1; }

# The suites as they are shipped, each in two variants, and with time for models
# that share a processor.
mkdir "$out/suites"
cp -r ../scenarios/suites/utilities ../scenarios/suites/calendar live/chores "$out/suites"
for suite in "$out"/suites/*/suite.yaml; do
  sed -i 's/time: 60s/time: 5m/' "$suite"
  printf 'variants:\n  prompted: {}\n  bare: {system: ""}\n' >>"$suite"
done
cat >"$out/models.yaml" <<END
models:
  needle: {model: needle-3, base_url: "http://127.0.0.1:8102/v1", max_tokens: 96}
  smollm: {model: smollm2, base_url: "$smollm/v1", max_tokens: 32}
END

# A small model fails scenarios, so that both end with 1.
code=0
../bin/rehearse run "$out/suites" --mode live --models "$out/models.yaml" --trials 1 --parallel 2 --name program --out "$out/runs" || code=$?
[ "$code" -eq 1 ] || { echo "live.sh: rehearse ended with $code" >&2; exit 1; }
code=0
GOPROXY=off REHEARSE_SUITES="$out/suites" REHEARSE_MODELS="$out/models.yaml" REHEARSE_OUT="$out/runs" \
  go test -tags real_llm -count=1 -timeout 25m -run '^TestLive$' -v ./live >"$out/gotest.log" 2>&1 || code=$?
[ "$code" -eq 1 ] || { cat "$out/gotest.log" >&2; echo "live.sh: go test ended with $code" >&2; exit 1; }
