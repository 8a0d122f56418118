#!/usr/bin/env bash
# Prints docs/lines.md: the lines of Go without tests of each package, at BASE and
# now. A package of BASE that is gone stands beside the one that has its work.
#
#   internal/archtest/lines.sh [BASE] > docs/lines.md
set -euo pipefail
cd "$(dirname "$0")/../.."
base=${1:-33dd2db}

became() { # the package of today that has the work of one of BASE
  case $1 in
  cassettes/key | cassettes/shape | cassettes/timeline | cassettes/vcr) echo "internal/${1#cassettes/}" ;;
  harness/dialect | internal/llmwire) echo internal/dialect ;;
  harness/conduct | harness/expr | harness/match | harness/passthrough | harness/retry | harness/schema) echo "internal/${1#harness/}" ;;
  harness/toolname | harness/trajectory | harness/value) echo "internal/${1#harness/}" ;;
  mockllm/profile) echo internal/profile ;;
  mockllm/wire) echo mockllm ;;
  mockmcp/catalog | mockmcp/protocol | mockmcp/step) echo mockmcp ;;
  *) echo "$1" ;;
  esac
}

count() { # FILES of a tree in this folder: package and lines
  git ls-files '*.go' ':!*_test.go' ':!**/testdata/**' ':!interop/goclients' ':!interop/secrets' ':!internal/bench' |
    xargs wc -l | awk '$2 != "total" {sub("/[^/]*$", "", $2); n[$2] += $1} END {for (p in n) print p, n[p]}'
}

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
git worktree add -q --detach "$work/base" "$base"
(cd "$work/base" && count) | while read -r package lines; do echo "$(became "$package") $package $lines"; done | sort >"$work/before"
count | sort >"$work/after"

cat <<E2
# The lines of the house

Lines of Go without tests by package, of the main module, at $base and now; \`make lines\` prints this page. A package of $base
that is gone stands beside the one that has its work.

| package | at $base | lines | now |
| --- | --- | ---: | ---: |
E2
join -a1 -a2 -e 0 -o 0,1.2,2.2 <(awk '{p[$1] = p[$1] (p[$1] ? ", " : "") "`" $2 "`"; n[$1] += $3; gsub("`" $1 "`", "the same", p[$1])} END {for (k in p) {gsub(" ", "~", p[k]); print k, p[k] "|" n[k]}}' "$work/before" | sort) "$work/after" |
  awk '{split($2, was, "|"); gsub("~", " ", was[1]); if (was[1] == "0") {was[1] = ""; was[2] = ""}
    printf "| `%s` | %s | %s | %s |\n", $1, was[1], was[2], $3 == 0 ? "" : $3; before += was[2]; after += $3}
    END {printf "| all | | %d | %d |\n", before, after}'
