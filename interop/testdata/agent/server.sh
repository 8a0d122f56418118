# The agent server with the tools of all servers of the trial: server.sh SYSTEM.
set -eu
mkfifo "$TMPDIR/tools"
rehearse serve tools --with-parent "$MCP_CONFIG" >"$TMPDIR/tools" &
if ! read -r tools <"$TMPDIR/tools"; then
  wait $! # and end as it did
fi
tools=${tools#*\"url\":\"}
case $REHEARSE_SETTINGS in *'"stream":true'*) stream=true ;; *) stream=false ;; esac
exec rehearse serve agent --with-parent --tools "${tools%%\"*}" --model "$OPENAI_MODEL" --system "$1" --stream=$stream --idle-timeout 5s
