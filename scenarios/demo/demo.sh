#!/usr/bin/env bash
# Plays what `make demo` shows, offline, into the folder that the first argument
# names; the second is the rehearse binary. The last line names the gallery.
set -euo pipefail
out=$1 rehearse=$2
here=scenarios/demo
rm -rf "$out"

# run plays and goes on when trials fail, which here they do on purpose.
run() { "$rehearse" run "$@" >/dev/null || [ $? = 1 ] || [ $? = 3 ]; }
report() { "$rehearse" report "$@" || [ $? = 1 ] || [ $? = 3 ]; }

# An offline run as in CI: the shipped suites, recorded traffic, and a suite that
# fails on purpose.
run scenarios/suites --name suites --out "$out"
# The chat and the agent server as anybody would run them: programs in the PATH.
PATH=$(cd "$(dirname "$rehearse")" && pwd):$PATH run scenarios/clients --name clients --out "$out" 2>/dev/null
run scenarios/suites/utilities scenarios/suites/gemflux/05-workflow.yaml \
  --mode replay --cassettes cassettes/argo-proxy/3.3.3/plain --name argo-proxy-3.3.3 --out "$out"
echo "a suite that fails on purpose, with one file that check warns of:" >&2
run $here/ci --name on-purpose --out "$out"
report "$out"/*-suites "$out"/*-clients "$out"/*-argo-proxy-3.3.3 --html "$out/suites.html"
report "$out"/*-on-purpose --html "$out/ci.html" >/dev/null

# Models that are made up, behind a real endpoint on this machine: compared, and
# compared with a month later.
compare() {
  local url pid
  exec 3< <(exec "$rehearse" serve llm "$here/standin-$1.yaml" --listen 127.0.0.1:0 2>/dev/null)
  pid=$!
  read -r url <&3
  url=${url#*\"url\":\"} url=${url%%\"*}
  run $here/models --mode live --base-url "$url" --model made-up-large --model made-up-large-2 --model made-up-small \
    --trials 5 --parallel 8 --keep-wire --name "$1" --out "$out"
  kill "$pid"
  exec 3<&-
}
compare before
compare after
report "$out"/*-before --html "$out/models.html" >/dev/null
"$rehearse" compare "$out"/*-before "$out"/*-after --html "$out/changes.html" >/dev/null

cp $here/index.html "$out/index.html"
echo "gallery: $out/index.html"
