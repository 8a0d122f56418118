#!/usr/bin/env bash
# Prints docs/lines.md: the lines of Go without tests of each package of the main
# module, at three commits and now. A package that is gone stands beside the one
# that has its work, and one that left beside the module that has it now.
#
#   internal/archtest/lines.sh > docs/lines.md
set -euo pipefail
cd "$(dirname "$0")/../.."
commits=(33dd2db ed4e305 9fde6e4)

became() { # the package of today that has the work of one of then
  case $1 in
  cassettes/key | cassettes/shape | cassettes/timeline | cassettes/vcr) echo "internal/${1#cassettes/}" ;;
  harness/dialect | internal/llmwire) echo internal/dialect ;;
  harness/conduct | harness/expr | harness/match | harness/passthrough | harness/retry | harness/schema) echo "internal/${1#harness/}" ;;
  harness/toolname | harness/trajectory | harness/value) echo "internal/${1#harness/}" ;;
  internal/documents | internal/mutants | internal/overlay | internal/procstat | internal/simulate | internal/walk) echo "internal/bench/${1#internal/}" ;;
  harness/model/* | internal/provider) echo harness/model ;;
  cassettes/redact | harness/stats) echo "internal/${1##*/}" ;;
  mockllm/profile) echo internal/profile ;;
  mockllm/wire) echo mockllm ;;
  mockmcp/catalog | mockmcp/protocol | mockmcp/step) echo mockmcp ;;
  *) echo "$1" ;;
  esac
}

modules() { # the folders of the other modules of the tree in this folder
  git ls-files '*/go.mod' ':!**/testdata/**' | xargs -n1 dirname
}

count() { # COLUMN of the tree in this folder: package of today, package, COLUMN, lines
  local others
  mapfile -t others < <(modules)
  git ls-files '*.go' ':!*_test.go' ':!**/testdata/**' "${others[@]/#/:!}" | xargs wc -l |
    awk '$2 != "total" {sub("/[^/]*$", "", $2); n[$2] += $1} END {for (p in n) print p, n[p]}' |
    while read -r package lines; do echo "$(became "$package") $package $1 $lines"; done
}

work=$(mktemp -d)
trap 'for c in "${commits[@]}"; do git worktree remove --force "$work/$c" >/dev/null 2>&1 || true; done; rm -rf "$work"' EXIT
for i in "${!commits[@]}"; do
  git worktree add -q --detach "$work/${commits[i]}" "${commits[i]}"
  (cd "$work/${commits[i]}" && count "$i") >>"$work/lines"
done
count now >>"$work/lines"

cat <<END
# The lines of the house

Lines of Go without tests by package, of the main module, at ${commits[0]}, at ${commits[1]} and ${commits[2]}, between which the house was put in
order, and now; \`make lines\` prints this page. A package that is gone stands beside the one that has its work, and one that left beside the
module that has it now: who uses rehearse neither downloads nor compiles that.

| package | has the work of | ${commits[0]} | ${commits[1]} | ${commits[2]} | now | left for |
| --- | --- | ---: | ---: | ---: | ---: | --- |
END
sort "$work/lines" | awk -v modules="$(modules | tr '\n' ' ')" '
  !seen[$1]++ {order[++packages] = $1}
  $2 != $1 && !seen[$1, $2]++ {was[$1] = was[$1] (was[$1] ? ", " : "") "`" $2 "`"}
  {lines[$1, $3] += $4; all[$3] += $4}
  END {
    split(modules, module)
    for (i = 1; i <= packages; i++) {
      p = order[i]
      to = ""
      for (j = 1; module[j] && !lines[p, "now"] && !to; j++) if (index(p "/", module[j] "/") == 1) to = module[j]
      if (to) for (c in all) left[c] += lines[p, c]
      printf "| `%s` | %s | %s | %s | %s | %s | %s |\n", p, was[p], lines[p, 0], lines[p, 1], lines[p, 2], lines[p, "now"], to ? "`" to "`" : ""
    }
    printf "| all | | %d | %d | %d | %d | |\n", all[0], all[1], all[2], all["now"]
    printf "| of which left | | %d | %d | %d | | |\n", left[0], left[1], left[2]
  }'
