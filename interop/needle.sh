#!/usr/bin/env bash
# needle.sh PORT: start the offline tool-calling model on loopback, in this
# namespace, and wait until it answers. Prints its process id.
#
# Its library starts a thread for each processor that is online, and each spins
# while it waits for the others. Where something else runs too, a reply then
# takes half a minute in place of half a second. So it is shown one processor.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
port=$1
lib=$("$here/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/needle
one=$(mktemp)
trap 'rm -f "$one"' EXIT
echo 0 >"$one"
# shellcheck disable=SC2016
NEEDLE_TELEMETRY=0 DO_NOT_TRACK=1 HF_HUB_OFFLINE=1 NEEDLE2_LIB_PATH="$lib/libneedle3.so" \
  unshare -m sh -c 'mount --bind "$0" /sys/devices/system/cpu/online && exec "$@"' "$one" \
  "$here/.venv/bin/needle-openai" --host 127.0.0.1 --port "$port" --model-id needle-3 \
  >"$here/needle.log" 2>&1 </dev/null &
pid=$!
for _ in $(seq 1 150); do
  if curl -fsS -o /dev/null "http://127.0.0.1:$port/health" 2>/dev/null; then
    echo "$pid"
    exit 0
  fi
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.2
done
echo "the offline model did not start:" >&2
cat "$here/needle.log" >&2
exit 1
