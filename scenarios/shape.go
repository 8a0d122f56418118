// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// object is a map with known keys.
type object struct {
	name string // how other definitions refer to it, and its heading
	doc  string // one sentence
	keys []key
	// one lists keys of which exactly one must be given.
	one []string
	// unless lists keys beside which none of one need be given.
	unless []string
	// late leaves one to be checked when defaults have been merged in.
	late bool
	// some lists keys of which at least one must be given.
	some []string
	// open objects take unknown keys too.
	open bool
}

// key is one key of an [object].
type key struct {
	name     string
	typ      typ
	required bool
	def      string // the default in words; empty means none
	doc      string // one sentence
}

// typ is what a key may hold. The zero value lets everything pass.
type typ struct {
	words  string // for messages and the reference: "a text"
	kinds  []strictyaml.Kind
	oneOf  []string // the words that a text may be
	object string   // the object that a map is
	elem   *typ     // of a list's items, or of a map's values
	// scalar says what is wrong with a scalar; empty means nothing.
	scalar func(n *strictyaml.Node) string
	// alts are alternatives told apart by kind.
	alts []typ
	// onePair says that a map has exactly one key: a call.
	onePair bool
	pattern string // of the scalar, for the JSON Schema
	integer bool
}

func text() typ { return typ{words: "a text", kinds: []strictyaml.Kind{strictyaml.String}} }

// filled is a text that must not be empty.
func filled() typ {
	t := text()
	t.scalar = func(n *strictyaml.Node) string {
		if strings.TrimSpace(n.Text) == "" {
			return "must not be empty"
		}
		return ""
	}
	return t
}

func template() typ {
	t := text()
	t.words = "a text with {{ }}"
	return t
}

func celText() typ {
	t := text()
	t.words = "a CEL expression"
	return t
}

func boolean() typ {
	return typ{words: "true or false", kinds: []strictyaml.Kind{strictyaml.Bool}}
}

func enum(words ...string) typ {
	t := text()
	t.words, t.oneOf = "one of "+strings.Join(words, ", "), words
	return t
}

func number() typ { return typ{words: "a number", kinds: []strictyaml.Kind{strictyaml.Number}} }

func notNegative() typ {
	t := number()
	t.words = "a number from 0"
	t.scalar = func(n *strictyaml.Node) string {
		if p := floatOf(n); p == nil || !(*p >= 0) {
			return "must not be below 0, as " + n.Text + " is"
		}
		return ""
	}
	return t
}

// probability is a number from above 0 to 1: what has none never happens.
func probability() typ {
	t := number()
	t.words = "a number above 0, up to 1"
	t.scalar = func(n *strictyaml.Node) string {
		switch p := floatOf(n); {
		case p == nil || !(*p >= 0 && *p <= 1):
			return "must be a number from 0 to 1, not " + n.Text
		case *p == 0:
			return "is 0, so this never happens: remove it, or give a number up to 1"
		}
		return ""
	}
	return t
}

func count(least int) typ {
	return typ{
		words: fmt.Sprintf("a whole number from %d", least), kinds: []strictyaml.Kind{strictyaml.Number}, integer: true,
		scalar: func(n *strictyaml.Node) string {
			if i, err := strconv.Atoi(n.Text); err != nil || i < least {
				return fmt.Sprintf("must be a whole number from %d, not %s", least, n.Text)
			}
			return ""
		},
	}
}

// share is a number above 0 and up to 1.
func share() typ {
	return typ{
		words: "a number above 0 and at most 1", kinds: []strictyaml.Kind{strictyaml.Number},
		scalar: func(n *strictyaml.Node) string {
			if f, err := strconv.ParseFloat(n.Text, 64); err != nil || !(f > 0 && f <= 1) {
				return fmt.Sprintf("must be a number above 0 and at most 1, such as 0.9, not %s", n.Text)
			}
			return ""
		},
	}
}

func whole() typ {
	return typ{
		words: "a whole number", kinds: []strictyaml.Kind{strictyaml.Number}, integer: true,
		scalar: func(n *strictyaml.Node) string {
			if _, err := strconv.Atoi(n.Text); err != nil {
				return "must be a whole number, not " + n.Text
			}
			return ""
		},
	}
}

func duration() typ {
	return typ{
		words: "a duration with its unit", kinds: []strictyaml.Kind{strictyaml.String}, pattern: spelled.String(),
		scalar: func(n *strictyaml.Node) string {
			d, err := time.ParseDuration(n.Text)
			if err != nil && spelled.MatchString(n.Text) {
				return fmt.Sprintf("%q is longer than rehearse can count, which is 292 years", n.Text)
			}
			if err != nil || d < 0 {
				return fmt.Sprintf("%q is not a duration: write a number and its unit, as in 20ms, 60s, 5m", n.Text)
			}
			return ""
		},
	}
}

// spelled is a duration, however long.
var spelled = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`)

// limit is a duration that ends something: none at all is no limit.
func limit() typ {
	t := duration()
	spelling := t.scalar
	t.scalar = func(n *strictyaml.Node) string {
		text := spelling(n)
		if d, err := time.ParseDuration(n.Text); text == "" && err == nil && d == 0 {
			return "must be longer than 0s; leave it out for no limit"
		}
		return text
	}
	return t
}

// size is a number of bytes, with or without a unit.
func size() typ {
	units := text()
	units.words, units.pattern = "a size, as in 64kB or 1MB", `^[0-9]+(B|kB|KB|MB|GB|KiB|MiB|GiB)$`
	units.scalar = func(n *strictyaml.Node) string {
		if _, ok := bytesOf(n.Text); !ok {
			return fmt.Sprintf("%q is not a size: write a number of bytes, or a unit, as in 64kB, 1MB", n.Text)
		}
		return ""
	}
	return either(count(1), units)
}

// bytesOf reads a size.
func bytesOf(s string) (int, bool) {
	digits := strings.TrimRight(s, "BkKMGi")
	factor, ok := map[string]int{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[s[len(digits):]]
	n, err := strconv.Atoi(digits)
	const most = 1 << 30
	return n * factor, ok && err == nil && n > 0 && n <= most/factor
}

// base64Text is bytes in base64.
func base64Text() typ {
	t := text()
	t.words = "a text in base64"
	t.scalar = func(n *strictyaml.Node) string {
		if _, err := base64.StdEncoding.DecodeString(n.Text); err != nil {
			return fmt.Sprintf("not base64: %v", err)
		}
		return ""
	}
	return t
}

func list(of typ) typ {
	return typ{words: "a list", kinds: []strictyaml.Kind{strictyaml.List}, elem: &of}
}

func mapOf(of typ) typ {
	return typ{words: "a map", kinds: []strictyaml.Kind{strictyaml.Map}, elem: &of}
}

func objectOf(name string) typ {
	return typ{words: "a map", kinds: []strictyaml.Kind{strictyaml.Map}, object: name}
}

func anyMap() typ { return typ{words: "a map", kinds: []strictyaml.Kind{strictyaml.Map}} }

func anything() typ { return typ{words: "any value"} }

func either(alts ...typ) typ {
	t := typ{alts: alts}
	var words []string
	for _, a := range alts {
		words = append(words, a.words)
		t.kinds = append(t.kinds, a.kinds...)
	}
	t.words = strings.Join(words, " or ")
	return t
}

// shapes checks nodes against the table of keys.
type shapes struct {
	all      []*object // in the order of the reference
	objects  map[string]*object
	problems *problems
}

// check reports what is wrong with the shape of n, the value of the key or
// the item that name stands for. What is wrong is marked Invalid, so that
// nothing later reports it again.
func (s *shapes) check(n *strictyaml.Node, t typ, name string) {
	if n.Kind == strictyaml.Invalid {
		return
	}
	if len(t.kinds) > 0 && !slices.Contains(t.kinds, n.Kind) {
		s.wrongKind(n, t, name)
		return
	}
	for _, alt := range t.alts {
		if slices.Contains(alt.kinds, n.Kind) {
			s.check(n, alt, name)
			return
		}
	}
	switch {
	case t.oneOf != nil && n.Kind == strictyaml.String && !slices.Contains(t.oneOf, n.Text):
		s.problems.add(n.Pos, "%q cannot be %q%s; it is %s", name, n.Text, didYouMean(n.Text, t.oneOf), t.words)
		n.Kind = strictyaml.Invalid
	case t.scalar != nil:
		if msg := t.scalar(n); msg != "" {
			s.problems.add(n.Pos, "%q: %s", name, msg)
			n.Kind = strictyaml.Invalid
		}
	case t.onePair:
		s.onePair(n, *t.elem, name)
	case t.object != "":
		s.object(n, s.objects[t.object], name)
	case t.elem != nil && n.Kind == strictyaml.List:
		for _, item := range n.Items {
			s.check(item, *t.elem, name)
		}
	case t.elem != nil:
		for _, p := range n.Pairs {
			s.check(p.Value, *t.elem, p.Key.Text)
		}
	}
}

func (s *shapes) wrongKind(n *strictyaml.Node, t typ, name string) {
	hint := ""
	switch {
	case t.words == duration().words && n.Kind == strictyaml.Number:
		// Hundreds are meant as milliseconds by who comes from languages that
		// count in them.
		if ms, err := strconv.ParseFloat(n.Text, 64); err == nil && ms >= 100 {
			hint = fmt.Sprintf(": write it as in %sms", n.Text)
		} else {
			hint = fmt.Sprintf(": write it as in %[1]ss or %[1]sms", n.Text)
		}
	case t.oneOf != nil && n.Kind == strictyaml.List:
		hint = ": give one"
	case n.Kind == strictyaml.Map && slices.Equal(t.kinds, []strictyaml.Kind{strictyaml.List}) && len(n.Pairs) > 0 && !strings.HasPrefix(n.Pairs[0].Key.Text, "-"):
		hint = fmt.Sprintf(": an item begins with a dash, as in %q", "- "+n.Pairs[0].Key.Text+":")
	case n.Hint() != "" && (slices.Contains(t.kinds, strictyaml.String) || n.Kind == strictyaml.String):
		hint = ": " + n.Hint()
	case n.Kind == strictyaml.Map && slices.Contains(t.kinds, strictyaml.List) && len(n.Pairs) > 0 && strings.HasPrefix(n.Pairs[0].Key.Text, "-"):
		hint = fmt.Sprintf(": a - without a space begins no item: write %q", "- "+n.Pairs[0].Key.Text[1:])
	case n.Kind == strictyaml.Null && n.Hint() != "" && n.Comment != "":
		hint = ": " + n.Hint()
	case n.Kind == strictyaml.String && len(t.kinds) == 1 && (t.kinds[0] == strictyaml.Bool || t.kinds[0] == strictyaml.Number) && !n.Plain:
		hint = ": write it without quotes"
	}
	wants := strings.ReplaceAll(t.words, " with {{ }}", "") // it may have them, and need not
	s.problems.add(n.Pos, "%q needs %s, got %s%s", name, wants, n.Describe(), hint)
	n.Kind = strictyaml.Invalid
}

// onePair checks a call: one tool with its arguments.
func (s *shapes) onePair(n *strictyaml.Node, args typ, name string) {
	switch {
	case len(n.Pairs) == 1 && n.Pairs[0].Value.Kind == strictyaml.Null:
		s.problems.add(n.Pairs[0].Value.Pos, "%q has no arguments: write the name alone, or {}", n.Pairs[0].Key.Text)
	case len(n.Pairs) == 1:
		s.check(n.Pairs[0].Value, args, n.Pairs[0].Key.Text)
		if n.Pairs[0].Value.Kind != strictyaml.Invalid {
			return
		}
	case len(n.Pairs) == 0:
		s.problems.add(n.Pos, "an item of %q has no tool name", name)
	default:
		s.problems.add(n.Pairs[1].Key.Pos, "two keys in one item of %q: each call needs its own item (check the indentation of the arguments)", name)
	}
	n.Kind = strictyaml.Invalid
}

func (s *shapes) object(n *strictyaml.Node, o *object, name string) {
	var known []string
	for _, k := range o.keys {
		known = append(known, k.name)
	}
	for _, p := range n.Pairs {
		i := slices.IndexFunc(o.keys, func(k key) bool { return k.name == p.Key.Text })
		switch {
		case i >= 0:
			s.check(p.Value, o.keys[i].typ, p.Key.Text)
		case slices.Contains(reserved(), p.Key.Text) && confused(o.name, p.Key.Text) == "":
			s.problems.add(p.Key.Pos, "%q is reserved for a later version of rehearse", p.Key.Text)
		case !o.open:
			s.problems.add(p.Key.Pos, unknownKey+" %q in %s%s", p.Key.Text, o.name, s.unknownHint(o, p.Key.Text, known))
		}
	}
	for _, k := range o.keys {
		if k.required && n.Get(k.name) == nil {
			s.problems.add(n.Pos, "%s needs the key %q", a(o.name), k.name)
		}
	}
	if !o.late {
		s.choice(n, o)
	}
}

// choice checks the keys of which one must or may be given.
func (s *shapes) choice(n *strictyaml.Node, o *object) {
	var given []string
	for _, p := range n.Pairs {
		if slices.Contains(o.one, p.Key.Text) {
			given = append(given, p.Key.Text)
		}
	}
	switch {
	case len(given) > 1:
		s.problems.add(n.Key(given[1]).Pos, "%s takes exactly one of %s, but has both %q and %q", a(o.name), strings.Join(o.one, ", "), given[1], given[0])
	case len(o.one) > 0 && len(given) == 0 && !s.hasUnknown(n, o) && !slices.ContainsFunc(o.unless, func(k string) bool { return n.Get(k) != nil }):
		s.problems.add(n.Pos, "%s needs one of %s", a(o.name), strings.Join(o.one, ", "))
	}
	if len(o.some) > 0 && !slices.ContainsFunc(o.some, func(k string) bool { return n.Get(k) != nil }) && !s.hasUnknown(n, o) {
		s.problems.add(n.Pos, "%s needs at least one of %s", a(o.name), strings.Join(o.some, ", "))
	}
}

// hasUnknown reports whether a key of n was refused: then a missing one is
// most likely that one, misspelt.
func (s *shapes) hasUnknown(n *strictyaml.Node, o *object) bool {
	return slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool {
		return !slices.ContainsFunc(o.keys, func(k key) bool { return k.name == p.Key.Text })
	})
}

// unknownHint suggests a key: a close one, or the places that know this one.
func (s *shapes) unknownHint(o *object, name string, known []string) string {
	if meant := confused(o.name, name); meant != "" {
		return fmt.Sprintf(" (did you mean %q?)", meant)
	}
	if key, rest, ok := strings.Cut(name, ":"); ok && slices.Contains(known, key) {
		return fmt.Sprintf(": a key needs a space after its colon, as in %q", key+": "+rest)
	}
	if key, ok := strings.CutPrefix(name, "-"); ok {
		return fmt.Sprintf(": a - without a space begins no item of a list: write %q", "- "+key)
	}
	if hint := didYouMean(name, known); hint != "" {
		return hint
	}
	for _, other := range s.all {
		if other.name != o.name && slices.ContainsFunc(other.keys, func(k key) bool { return k.name == name }) {
			return fmt.Sprintf(" (it is a key of %s)", a(other.name))
		}
	}
	return ""
}

func didYouMean(word string, known []string) string { return prose.DidYouMean(word, known) }

// a names an object in a sentence: with an article, or by its key where that is
// no noun, or more than one.
func a(name string) string {
	plural := strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") && !strings.Contains(name, " of ")
	switch {
	case plural || slices.Contains([]string{"at", "auth", "live", "removed", "until"}, name):
		return strconv.Quote(name)
	case strings.ContainsRune("aeiou", rune(name[0])) || strings.HasPrefix(name, "llm") || strings.HasPrefix(name, "rpc"):
		return "an " + name
	}
	return "a " + name
}
