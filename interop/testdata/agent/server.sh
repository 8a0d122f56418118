# The agent server with the tools of all servers of the trial.
set -eu
mkfifo "$TMPDIR/tools"
rehearse serve tools --with-parent "$MCP_CONFIG" >"$TMPDIR/tools" &
read -r tools <"$TMPDIR/tools"
tools=${tools#*\"url\":\"}
exec rehearse serve agent --with-parent --tools "${tools%%\"*}" --model "$OPENAI_MODEL"
