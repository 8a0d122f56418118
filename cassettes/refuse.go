// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// refuse says why a recording is not written. The caller holds mu.
func (r *Recorder) refuse(list []*vcr.Interaction, left []redact.Finding) error {
	if err := secretLeft(r.path, list, left); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.slots, func(s *slot) bool { return s.kept != nil }) {
		return nil // it is what it was
	}
	return errors.Join(r.checkMixed(list), r.spoils(list))
}

// secretLeft is the error of a recording in which something is known to be a
// secret, or has the shape of one, after all that was replaced.
func secretLeft(path string, list []*vcr.Interaction, left []redact.Finding) error {
	i := slices.IndexFunc(left, func(f redact.Finding) bool { return !f.Guess })
	if i < 0 {
		return nil
	}
	f := left[i]
	asked := list[f.Interaction-1].Request
	place, _, _ := strings.Cut(asked.URL, "?") // where it may stand itself
	return fmt.Errorf("cassette %q is not written: interaction %d (%s %s) still contains what looks like a secret: %s; if it is not a secret, keep it with %s",
		path, f.Interaction, asked.Method, place, describe(f), keepIt(f))
}

// describe says what was found and where, without the line, which is of no
// file.
func describe(f redact.Finding) string {
	return fmt.Sprintf("%s: %s: %s", cmp.Or(f.Place, "in an encoded part"), f.Rule, f.Excerpt)
}

// keepIt says how to have a place written as it came.
func keepIt(f redact.Finding) string {
	path := "PATH"
	for _, side := range []string{"request body ", "response body "} {
		if rest, ok := strings.CutPrefix(f.Place, side); ok {
			path = rest
		}
	}
	return fmt.Sprintf("--keep '%s' (in rehearse.yaml: redact: {keep: ['%s']})", path, path)
}

// Judge looks at a file that is to be written. Where something in it looks
// like a secret still it writes the rest beside it, as a recording that is
// refused, and returns where, and an error that says what; else what is worth a
// warning, which may be empty. It puts what the file may hold into f.
func Judge(f *vcr.File, secrets *redact.Redactor) (refused, doubts string, err error) {
	list, left := secrets.Review(f.Interactions)
	f.Interactions = list
	why := secretLeft(f.Path, list, left)
	if why == nil {
		return "", guesses(left), nil
	}
	at, err := setAside(f.Path, list, left, secrets, 0)
	return at, "", errors.Join(why, err)
}

// guesses reports texts that may be secrets, and were written; empty when there
// are none.
func guesses(left []redact.Finding) string {
	all := slices.DeleteFunc(slices.Clone(left), func(f redact.Finding) bool { return !f.Guess })
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("texts that look random were written unchanged, since no rule knows them as secrets: %d; check the first: interaction %d, %s; %s ends this warning",
		len(all), all[0].Interaction, describe(all[0]), keepIt(all[0]))
}

// setAside keeps what was recorded and refused, in a file of its own, and adds
// to the error where: in its journal, where the file cannot be written. The
// caller holds mu.
func (r *Recorder) setAside(list []*vcr.Interaction, left []redact.Finding, why error) error {
	keep := setAside
	if cut := (*cutError)(nil); errors.As(why, &cut) && secretLeft(r.path, list, left) == nil {
		keep = setCut
	}
	at, err := keep(r.path, list, left, r.secrets, r.opts.MaxBody)
	switch {
	case err == nil:
		why = fmt.Errorf("%w; the recording is in %q", why, at)
	case r.opts.Whole: // nothing is in the journal
		why = errors.Join(why, err)
	default:
		return errors.Join(why, fmt.Errorf("%w; the recording is in %q", err, r.journal.path))
	}
	return errors.Join(why, r.journal.remove())
}

// setAside writes a recording that was refused, without what looks like a
// secret in it.
func setAside(path string, list []*vcr.Interaction, left []redact.Finding, secrets *redact.Redactor, maxBody int) (string, error) {
	at, err := recfile.Unused(recfile.Beside(path, recfile.Refused))
	if err != nil {
		return at, fmt.Errorf("writing cassette: %w", err)
	}
	f := &vcr.File{Path: at, Interactions: slices.Clone(list)}
	for n, i := range f.Interactions {
		found := slices.DeleteFunc(slices.Clone(left), func(f redact.Finding) bool { return f.Guess || f.Interaction != n+1 })
		if len(found) > 0 {
			f.Interactions[n] = secrets.Mask(i, found)
		}
	}
	return at, vcr.WriteFile(at, f, maxBody)
}

// setCut adds a recording that was cut off to what [fold] may have kept of others.
func setCut(path string, list []*vcr.Interaction, _ []redact.Finding, _ *redact.Redactor, maxBody int) (string, error) {
	at := recfile.Beside(path, recfile.Cut)
	all, err := before(at)
	if err != nil {
		return at, err
	}
	return at, vcr.WriteFile(at, &vcr.File{Path: at, Interactions: append(all, list...)}, maxBody)
}

// cutError says that an exchange of a recording was cut off that is whole in the
// one that is there.
type cutError struct{ text string }

func (e *cutError) Error() string { return e.text }

// isCut reports whether an exchange ended before its answer did, at our end or at
// that of the client, which an interrupt may have ended with us.
func isCut(i *vcr.Interaction) bool {
	return i.Meta.Outcome == vcr.Open || i.Meta.Outcome == vcr.ClientClosed
}

// cutOff is an exchange that was cut, and of which the recording that is there has
// more whole ones; nil for none.
func (r *Recorder) cutOff(list, before []*vcr.Interaction) *vcr.Interaction {
	if !slices.ContainsFunc(list, isCut) {
		return nil
	}
	more := map[string]int{} // whole ones there, less those of list
	for n, of := range [][]*vcr.Interaction{before, list} {
		for _, i := range of {
			if i.Meta.Outcome == vcr.Complete {
				more[r.keyOf(&i.Request).ID] += 1 - 2*n
			}
		}
	}
	for _, i := range list {
		if isCut(i) && more[r.keyOf(&i.Request).ID] > 0 {
			return i
		}
	}
	return nil
}

// spoils says why a recording does not replace the one that is there: all that
// was asked failed, since the key was wrong, or the address; it is of another
// subject; it was cut off; or it has less.
func (r *Recorder) spoils(list []*vcr.Interaction) error {
	if r.opts.Mode != Record {
		return nil
	}
	before, err := vcr.Read(r.path)
	if err != nil || len(before.Interactions) == 0 {
		return nil // there is nothing to lose
	}
	if !r.opts.KeepErrors && !slices.ContainsFunc(list, succeeded) && slices.ContainsFunc(before.Interactions, succeeded) {
		last := list[len(list)-1]
		how := "was answered " + cmp.Or(last.Response.Status, strconv.Itoa(last.Response.Code))
		if last.Response.Code < 400 {
			how = "broke off"
		}
		place, _, _ := strings.Cut(last.Request.URL, "?")
		return fmt.Errorf("cassette %q is not written, and the existing one stays: it has answers, but every exchange of this recording failed (exchanges: %d; %s %s %s); check the key and the address of the endpoint, or record failures with --keep-errors (in a scenario: cassette.keep_errors)",
			r.path, len(list), last.Request.Method, place, how)
	}
	if r.opts.Force {
		return nil
	}
	if was, is := subjectOf(before.Interactions), subjectOf(list); was != "" && is != "" && was != is {
		return fmt.Errorf("cassette %q is not written, and the existing one stays: it records %q, but this recording is of %q; --force replaces it", r.path, was, is)
	}
	if i := r.cutOff(list, before.Interactions); i != nil {
		place, _, _ := strings.Cut(i.Request.URL, "?")
		return &cutError{fmt.Sprintf("cassette %q is not written, and the existing one stays: it has the whole answer of %s %s, which was cut off in this recording; --force replaces it", r.path, i.Request.Method, place)}
	}
	if was, is := len(before.Interactions), len(list); is < was {
		return fmt.Errorf("cassette %q is not written, and the existing one stays: it has %d exchanges, but this recording has %d; --force replaces it", r.path, was, is)
	}
	return nil
}

// Failed reports whether a recording was written in which the endpoint refused
// all that was asked. Where that is what was to be recorded, [Options.KeepErrors]
// says so.
func (r *Recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, _, _ := r.contents()
	return r.opts.Mode.records() && !r.opts.KeepErrors && len(list) > 0 && !slices.ContainsFunc(list, succeeded)
}

// Refused returns the last exchange in which the endpoint refused what was asked,
// or was not reached, be it recorded or not; nil for none.
func (r *Recorder) Refused() *vcr.Interaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// subjectOf is who a recording is of; empty when it does not say.
func subjectOf(list []*vcr.Interaction) string {
	for _, i := range list {
		if i.Meta.Subject != "" {
			return i.Meta.Subject
		}
	}
	return ""
}
