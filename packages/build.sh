#!/usr/bin/env bash
# Builds the packages for people who know no Go: a wheel and an npm tarball, each
# with the program for this machine. Nothing is published.
#
#   packages/build.sh PROGRAM OUT
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

for kind in python npm; do
  cp -r "$kind" "$stage/"
  cp ../LICENSE "$stage/$kind/"
  install -D -m 755 "$program" "$stage/$kind/bin/rehearse"
done

rm -f "$out"/rehearse-*.whl "$out"/rehearse-*.tgz
python3 -m venv "$stage/venv"
"$stage/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out" "$stage/python"
# The program runs on this platform alone.
npm pkg set --prefix "$stage/npm" "os[0]=$(node -p process.platform)" "cpu[0]=$(node -p process.arch)"
npm pack --silent --pack-destination "$out" "$stage/npm"
ls "$out"/rehearse-*
