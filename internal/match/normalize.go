// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/value"
)

func normalizeTest(arg value.Value) (test, error) {
	f, err := fields("$normalize", arg, "value", "rule")
	if err != nil {
		return nil, err
	}
	want, ok := f["value"]
	if !ok {
		return nil, fmt.Errorf("$normalize needs a value")
	}
	equal := value.Equal
	var rule func(string) string
	switch name := f["rule"].Str(); name {
	case "case":
		rule = fold
	case "space":
		rule = func(s string) string { return strings.Join(strings.Fields(s), " ") }
	case "bfcl":
		rule, equal = bfcl, equalSpelled
	case "":
		return nil, fmt.Errorf("$normalize needs a rule: case, space or bfcl")
	default:
		return nil, fmt.Errorf("$normalize: %s", unknown("rule", name, []string{"case", "space", "bfcl"}))
	}
	want = mapStrings(want, rule)
	return func(got value.Value) bool { return equal(want, mapStrings(got, rule)) }, nil
}

// bfcl is the string standardisation of the Berkeley Function Calling
// Leaderboard: what it deletes is fixed, and tabs, colons and accents stay.
func bfcl(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,./-_*^", r) {
			return -1
		}
		return r
	}, s)
	return strings.ReplaceAll(strings.ToLower(s), "'", `"`)
}

// fold gives all letters that differ in case alone the same form: small letters
// do not suffice, since Σ has two.
func fold(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s))
}

// mapStrings applies f to every string of a value; keys stay.
func mapStrings(v value.Value, f func(string) string) value.Value {
	return value.Map(v, func(_ value.Path, v value.Value) (value.Value, bool) {
		if v.Kind() == value.String {
			v = value.StringOf(f(v.Str()))
		}
		return v, true
	})
}

// equalSpelled is [value.Equal], except that a float is no integer. An
// integer is a float where that is expected, as in the leaderboard.
func equalSpelled(want, got value.Value) bool {
	return value.EqualFunc(want, got, func(want, got value.Value) bool {
		return value.Equal(want, got) && (got.IsInteger() || !want.IsInteger())
	})
}

func dateTest(arg value.Value) (test, error) {
	text, err := stringArg("$date", arg)
	if err != nil {
		return nil, err
	}
	want, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, fmt.Errorf("$date needs a date like 2025-03-14, not %q", text)
	}
	return onString(func(s string) bool {
		for _, day := range days(s) {
			if day.Equal(want) {
				return true
			}
		}
		return false
	}), nil
}

var (
	ordinals = regexp.MustCompile(`(?i)(\d)(st|nd|rd|th)\b`)
	// atTime is what follows the day in a timestamp. The day counts as it is
	// written, whatever the zone.
	atTime = regexp.MustCompile(`(?i)[T ]\d{1,2}:\d{2}.*$`)
)

// days returns what a spelling of a day can mean: 03/04/2025 is the third of
// April and the fourth of March.
func days(s string) []time.Time {
	s = atTime.ReplaceAllString(strings.TrimSpace(s), "")
	s = ordinals.ReplaceAllString(s, "$1")
	s = strings.Join(strings.Fields(strings.NewReplacer(",", " ", " of ", " ").Replace(s)), " ")
	var list []time.Time
	for _, layout := range []string{
		"2006-1-2", "2006/1/2", "2006.1.2", "20060102",
		"1/2/2006", "2/1/2006", "1-2-2006", "2-1-2006", "2.1.2006", "1.2.2006",
		"January 2 2006", "Jan 2 2006", "2 January 2006", "2 Jan 2006", "2006 January 2", "2006 Jan 2",
		"2-Jan-2006", "2-January-2006", "Jan. 2 2006", "2 Jan. 2006",
	} {
		for _, weekday := range []string{"", "Monday ", "Mon ", "Mon. "} {
			if t, err := time.Parse(weekday+layout, s); err == nil {
				list = append(list, t)
			}
		}
	}
	return list
}
