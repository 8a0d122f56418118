#!/usr/bin/env bash
# Installs what `make agents` plays beside the agents of `make interop`.
set -euo pipefail
cd "$(dirname "$0")/.."
library() { # library NAME REQUIREMENT...
  local venv=".venv/$1"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
}
library litellm litellm==1.110.2 mcp==2.3.0
library autogen autogen-agentchat==0.7.5 'autogen-ext[openai]==0.7.5' mcp==2.3.0
library strands 'strands-agents[openai]==1.62.0'
library inspect-ai inspect-ai==0.3.285 openai==3.57.0 mcp==2.3.0
