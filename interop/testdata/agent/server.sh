# The agent server with the tools of all servers of the trial: server.sh SYSTEM.
set -eu
setting() { # setting NAME DEFAULT: what the scenario says, as far as it is a word
  found=$(printf %s "$REHEARSE_SETTINGS" | sed -n "s/.*\"$1\":\"\{0,1\}\([a-z0-9.]*\).*/\1/p")
  echo "${found:-$2}"
}
mkfifo "$TMPDIR/tools"
rehearse serve tools --with-parent --tool-timeout "$(setting tool_timeout 60s)" "$MCP_CONFIG" >"$TMPDIR/tools" &
if ! read -r tools <"$TMPDIR/tools"; then
  wait $! # and end as it did
fi
tools=${tools#*\"url\":\"}
exec rehearse serve agent --with-parent --tools "${tools%%\"*}" --model "$OPENAI_MODEL" --system "$1" --idle-timeout 5s \
  --stream="$(setting stream false)" --max-model-calls "$(setting max_model_calls 20)"
