// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Values returns the words that a knob of [Fragments] takes, by the name that
// it has in JSON, the default left out; nil for one that takes no words.
func Values(knob string) []string {
	switch knob {
	case "unit":
		return words(Byte, Rune, Token, Whole)
	case "index":
		return words(IndexMissing, IndexZero, IndexWandering, IndexMixed)
	case "id", "name", "type":
		return words(PlaceRepeated, PlaceLate, PlaceNull, PlaceEmpty, PlaceSplit, PlaceNever)
	case "args":
		return words(ArgsMerged, ArgsWhole, ArgsEmpty, ArgsNull, ArgsObject, ArgsCumulative, ArgsRepeated)
	case "finish":
		return words(FinishLast, FinishEachCall, FinishNever)
	}
	return nil
}

func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// Check says what is wrong with f; nil is nothing.
func (f *Fragments) Check() error {
	for _, k := range []struct{ knob, value string }{
		{"unit", string(f.Unit)},
		{"index", string(f.Index)},
		{"id", string(f.ID)},
		{"name", string(f.Name)},
		{"type", string(f.Type)},
		{"args", string(f.Args)},
		{"finish", string(f.Finish)},
	} {
		if known := Values(k.knob); k.value != "" && !slices.Contains(known, k.value) {
			return fmt.Errorf("fragments: %s is %q: want one of %s", k.knob, k.value, strings.Join(known, ", "))
		}
	}
	switch {
	case f.Min < 0 || f.Max < 0 || f.Writes < 0:
		return fmt.Errorf("fragments: min, max and writes cannot be negative")
	case f.Max != 0 && f.Max < f.Min:
		return fmt.Errorf("fragments: max %d is below min %d", f.Max, f.Min)
	case f.Unit == "" && (f.Min > 0 || f.Max > 0 || len(f.Cuts) > 0):
		return fmt.Errorf("fragments: min, max and cuts need a unit")
	case !slices.IsSortedFunc(f.Cuts, func(a, b int) int { return cmp.Or(cmp.Compare(a, b), -1) }):
		return fmt.Errorf("fragments: cuts %v do not go up", f.Cuts)
	}
	return nil
}

// IsZero reports whether f cuts nothing in a way of its own.
func (f *Fragments) IsZero() bool {
	g := *f
	g.Seed, g.Cuts = 0, nil
	return len(f.Cuts) == 0 && fmt.Sprint(g) == fmt.Sprint(Fragments{})
}
