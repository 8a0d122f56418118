// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// What [Options.Stale] says.
const (
	staleWarn   = "warn"
	staleError  = "error"
	staleRecord = "record"
)

// stale reports whether an interaction is older than it may be. Of one that
// does not say when it was recorded nobody knows.
func (r *Recorder) stale(e *entry) bool {
	return r.opts.MaxAge > 0 && !e.Meta.Recorded.IsZero() && r.opts.Clock.Now().Sub(e.Meta.Recorded) > r.opts.MaxAge
}

// renews reports whether an interaction that answers is to be recorded anew.
// The mode does not change for it: record-new asks the endpoint anyway.
func (r *Recorder) renews(e *entry) bool {
	return r.opts.Mode == RecordNew && r.opts.Stale == staleRecord && r.stale(e)
}

// checkAge warns of a recording that is too old, or refuses it.
func (r *Recorder) checkAge() error {
	if r.opts.Mode != Replay && r.opts.Mode != RecordNew {
		return nil
	}
	for _, e := range r.tape {
		if !r.stale(e) {
			continue
		}
		text := fmt.Sprintf("interaction %d was recorded on %s, more than %s ago",
			e.number, e.Meta.Recorded.Format("2006-01-02"), vcr.Days(r.opts.MaxAge))
		switch {
		case r.opts.Stale == staleError:
			return fmt.Errorf("cassette %q: %s; record it again", r.path, text)
		case r.opts.Stale == staleRecord && r.opts.Mode == Replay:
			return fmt.Errorf("cassette %q: %s, and mode %s asks no endpoint; record it again, or open it with mode %s, in which stale %q does so",
				r.path, text, r.opts.Mode, RecordNew, staleRecord)
		case r.opts.Stale == staleRecord:
			r.note("%s; interactions that old are recorded again when they are asked for", text)
		default:
			r.note("%s; record it again", text)
		}
		return nil
	}
	return nil
}

// contents is what the file is to hold: what it held, with what was recorded
// anew at its place, and then what is new. A new answer leads to new requests,
// so that once something was recorded anew, stale interactions that nobody
// asked for would wait for ever: they go. The caller holds mu.
func (r *Recorder) contents() (list []*vcr.Interaction, renewed, dropped int) {
	anew := map[*entry]*vcr.Interaction{}
	for _, s := range r.slots {
		if s.renews != nil && s.kept != nil {
			anew[s.renews] = s.kept
		}
	}
	for _, e := range r.tape {
		switch kept := anew[e]; {
		case kept != nil:
			list = append(list, kept)
		case len(anew) > 0 && e.used == 0 && r.stale(e):
			dropped++
		default:
			list = append(list, e.Interaction)
		}
	}
	for _, s := range r.slots {
		if s.renews == nil && s.kept != nil {
			list = append(list, s.kept)
		}
	}
	return list, len(anew), dropped
}
