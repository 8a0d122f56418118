// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolname

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// AmbiguousError says that a name could be more than one of the tools offered.
type AmbiguousError struct {
	Want    string
	Offered []string // what it could be
}

func (e *AmbiguousError) Error() string {
	advice := "write server.tool"
	if server, _ := Split(e.Want); server != "" {
		advice = "say which under names, or write the name that is offered"
	}
	return fmt.Sprintf("tool %q could be any of %s: %s", e.Want, quoted(e.Offered), advice)
}

// known is a tool that a server lists.
type known struct {
	entry
	schema json.RawMessage
}

// claim is how good a reading of an offered name as that of a tool is.
type claim struct {
	tools int  // of all that are known, how many are offered in the same style
	bare  bool // the name is the tool's own
	full  bool // the name is as the style makes it, not fitted
}

// compare is above 0 when c is better than other.
func (c claim) compare(other claim) int {
	rank := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(c.tools, other.tools), cmp.Compare(rank(c.bare), rank(other.bare)), cmp.Compare(rank(c.full), rank(other.full)))
}

// claimed returns the tool, as server.tool, whose name t is rather than that of
// want; "" when there is none. A name may be read in two ways where that of a
// tool begins with its server's: kit_search is search of kit with its server
// before it, or kit_search of kit as it is. A client names all its tools in one
// style, so the style in which more of them are offered decides; where two are
// as good, a tool's own name does.
func claimed(want string, t harness.Tool, has *nameSet, names map[string]string, rivals []known) string {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] == t.Name && name != want {
			return name
		}
	}
	var own, best claim
	var owner string
	styles := append(prefixes(), Bare.Name)
	for i, style := range styles {
		tools := 0 // counted when it is asked for
		for _, rival := range rivals {
			if !has.mayBe(t.Name, rival.tool) || offeredAs(style, rival.entry, has) != t.Name || !sameProperties(t.Schema, rival.schema) {
				continue
			}
			if tools == 0 {
				tools = covered(style, has, rivals)
			}
			c := claim{tools: tools, bare: i == len(styles)-1, full: style(rival.server, rival.tool) == t.Name}
			switch name := rival.server + "." + rival.tool; {
			case name == want:
				if c.compare(own) > 0 {
					own = c
				}
			case c.compare(best) > 0:
				best, owner = c, name
			}
		}
	}
	if order := own.compare(best); order > 0 || order == 0 && own.bare { // two servers may have a tool of one name
		return ""
	}
	return owner
}

// covered counts the names offered that a style makes of the tools known.
func covered(style func(server, tool string) string, has *nameSet, all []known) int {
	found := make(map[string]bool)
	for _, k := range all {
		if name := offeredAs(style, k.entry, has); name != "" {
			found[name] = true
		}
	}
	return len(found)
}

// offeredAs returns the offered name that a style makes of a tool; "" when it
// is not offered.
func offeredAs(style func(server, tool string) string, e entry, has *nameSet) string {
	full := style(e.server, e.tool)
	fitted := Fit(full)
	if has.hashes {
		if kept := hashed(full, fitted); kept != fitted && has.names[kept] {
			return kept
		}
	}
	switch {
	case has.names[full]:
		return full
	case has.names[fitted]:
		return fitted
	}
	return ""
}

// mistakable reports whether a name that is offered beside the tool's own may
// be that of another tool as well, where the tools of the server are not known.
// Names with mcp in front are a client's; kit_search and search beside each
// other may be two tools of kit, or one of kit and one of the client's own.
func mistakable(server, tool, name string, offered []harness.Tool) bool {
	if name == tool || strings.HasPrefix(name, "mcp_") && !strings.HasPrefix(server, "mcp_") && server != "mcp" {
		return false
	}
	return slices.ContainsFunc(offered, func(t harness.Tool) bool { return t.Name == tool || t.Name == Fit(tool) })
}

// nameSet is the names that are offered. All names of all tools in all styles
// are looked for in it, for each tool: hashes are made only where one is offered.
type nameSet struct {
	names  map[string]bool
	hashes bool // one may end in a hash
}

func newNameSet(offered []harness.Tool) *nameSet {
	has := &nameSet{names: make(map[string]bool, len(offered))}
	for _, t := range offered {
		has.names[t.Name] = true
		has.hashes = has.hashes || endsInHash(t.Name)
	}
	return has
}

// endsInHash reports whether [hashed] may have made a name.
func endsInHash(name string) bool {
	const digits = 8
	i := len(name) - digits - 1
	return i >= 0 && name[i] == '_' && strings.Trim(name[i+1:], "0123456789abcdef") == ""
}

// mayBe reports whether some style may make an offered name of a tool: all of
// them end in the tool's name, but for a hash.
func (s *nameSet) mayBe(name, tool string) bool {
	return s.hashes || strings.HasSuffix(name, tool) || strings.HasSuffix(name, Fit(tool))
}
