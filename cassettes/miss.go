// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// MissError is a request that fits nothing recorded.
type MissError struct {
	Cassette, Method, URL string
	// Nearest is the interaction that differs least, from 1; 0 when the
	// cassette is empty.
	Nearest int
	// Differences are between it and the request; none when it was used
	// before, or stands at another place.
	Differences []key.Difference
	// Refused says of each recorded interaction that comes near why it does
	// not answer.
	Refused []string
}

// Is has the error be a [harness.ErrMiss], which tells clients that the request
// would miss again.
func (e *MissError) Is(target error) bool { return target == harness.ErrMiss }

// maxShown bounds the differences and candidates that a message shows.
const maxShown = 6

func (e *MissError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette %q has no answer for %s %s", e.Cassette, e.Method, e.URL)
	if e.Nearest == 0 {
		b.WriteString(": it is empty; record it")
		return b.String()
	}
	if len(e.Differences) > 0 {
		fmt.Fprintf(&b, "\n  interaction %d is nearest, and differs:", e.Nearest)
		for n, d := range e.Differences {
			if n == maxShown {
				fmt.Fprintf(&b, "\n    and %d more", len(e.Differences)-n)
				break
			}
			b.WriteString("\n    " + d.String())
		}
	}
	for n, why := range e.Refused {
		if n == maxShown {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Refused)-n)
			break
		}
		b.WriteString("\n  " + why)
	}
	return b.String()
}

// maxCompared bounds how many interactions a miss is compared with in full.
const maxCompared = 200

// miss explains why a request has no answer. The caller holds mu.
func (r *Recorder) miss(k *key.Key, asked *vcr.Request) *MissError {
	e := &MissError{Cassette: r.path, Method: asked.Method, URL: asked.URL}
	type candidate struct {
		*entry
		diff []key.Difference
	}
	var near []candidate
	for _, entry := range r.tape {
		if entry.key.ID != k.ID && len(near) >= maxCompared {
			continue
		}
		near = append(near, candidate{entry, key.Diff(entry.key, k)})
	}
	if len(near) == 0 {
		return e
	}
	// A used interaction is as good a hint as any; the order of the file
	// decides between equals, unused ones first.
	slices.SortStableFunc(near, func(a, b candidate) int {
		if d := weight(a.diff) - weight(b.diff); d != 0 {
			return d
		}
		return min(a.used, 1) - min(b.used, 1)
	})
	e.Nearest, e.Differences = near[0].number, near[0].diff
	for _, c := range near {
		switch {
		case len(c.diff) == 0 && r.opts.Order == Strict:
			e.Refused = append(e.Refused, fmt.Sprintf("interaction %d is the same request, but order strict requires %s now", c.number, r.due()))
		case len(c.diff) == 0:
			e.Refused = append(e.Refused, fmt.Sprintf("interaction %d is the same request, but was already used; record one answer for each, or use order repeat-last (rehearse proxy: --order repeat-last)", c.number))
		case len(e.Refused) < maxShown+1 && c.number != e.Nearest:
			e.Refused = append(e.Refused, fmt.Sprintf("interaction %d: %s", c.number, c.diff[0]))
		}
	}
	return e
}

// weight is how far a request is from a recorded one.
func weight(diff []key.Difference) int {
	n := len(diff)
	for _, d := range diff {
		if d.Path == "method" || d.Path == "path" {
			n += 1000
		}
	}
	return n
}

func (r *Recorder) due() string {
	if r.strict < len(r.tape) {
		return r.tape[r.strict].describe()
	}
	return "no more requests"
}
