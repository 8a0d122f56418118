# Starts the tool server, learns its address from its first line, and becomes the
# agent, which says its own. Both end with whoever started them.
set -eu
REHEARSE_ADMIN_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export REHEARSE_ADMIN_TOKEN
mkfifo "$TMPDIR/tools"
rehearse serve tools --with-parent "$TOOLS" >"$TMPDIR/tools" &
read -r tools <"$TMPDIR/tools"
tools=${tools#*\"url\":\"}
exec rehearse serve agent --with-parent --tools "${tools%%\"*}" --model "$MODEL"
