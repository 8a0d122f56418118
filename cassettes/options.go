// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/recfile"
)

// Mode says where answers come from. It never changes on its own.
type Mode string

// The modes.
const (
	// Replay answers from the file and has no network under it.
	Replay Mode = "replay"
	// Record asks the endpoint and writes a new file.
	Record Mode = "record"
	// RecordNew answers from the file, and asks the endpoint for the rest,
	// which is added to the file.
	RecordNew Mode = "record-new"
	// Verify asks the endpoint and compares its answers with the file, which
	// stays as it is.
	Verify Mode = "verify"
	// Passthrough asks the endpoint and neither reads nor writes a file.
	Passthrough Mode = "passthrough"
)

// Modes returns the modes.
func Modes() []Mode { return []Mode{Replay, Record, RecordNew, Verify, Passthrough} }

// Order says which of several equal recorded requests answers.
type Order string

// The orders.
const (
	// Sequence gives equal requests their answers one after the other, each
	// once. Where several count as equal, the one that was sent byte for byte
	// like this goes first.
	Sequence Order = "sequence"
	// Strict wants all requests in the order of the file.
	Strict Order = "strict"
	// Any gives the first answer, as often as it is asked for.
	Any Order = "any"
	// RepeatLast is Sequence that goes on with the last answer.
	RepeatLast Order = "repeat-last"
)

// Options are settings of a [Recorder]. Nil means all defaults.
type Options struct {
	// Mode is where answers come from. Default [Replay].
	Mode Mode
	// Upstream carries requests to the endpoint in all modes but replay.
	// Default [http.DefaultTransport].
	Upstream http.RoundTripper
	// Order is how equal requests are answered. Default [Sequence].
	Order Order
	// Match says what of a request does not count. Nil means the defaults of
	// [Rules].
	Match *Rules
	// Secrets says what is taken out of recordings. Nil means the defaults of
	// [Secrets].
	Secrets *Secrets
	// Restore are places that are put back into answers that are replayed:
	// what a client does with a path in an answer is then done where the
	// client is. Default none, and answers have what stands for places.
	Restore []Place
	// Speed is how fast a recording is replayed: 1 as it was, 2 twice as
	// fast; 0 at once.
	Speed float64
	// Clock times recordings and paces replays. Default
	// [harness.SystemClock].
	Clock harness.Clock
	// Start is when the clock was set going that all recordings of one trial
	// share, tapes of MCP servers among them. Default: when it is opened.
	Start time.Time
	// KeepErrors records answers of 429 and of 500 and above, which are left
	// out otherwise, and lets a recording in which all failed replace a file
	// that has answers, which is an error otherwise.
	KeepErrors bool
	// AllowUnused lets a replay end with interactions that nobody asked for.
	// Default: Close returns an error that names them.
	AllowUnused bool
	// Force lets a recording replace one of another subject, or one that has
	// more exchanges. Default: such a recording is refused at its end, and
	// what was recorded is in NAME.refused.yaml, as all is that is refused.
	Force bool
	// Asides lets a recording hold requests of several models or system
	// prompts, as of agents that ask for titles and summaries beside the
	// conversation, or have others under them. Default: such a recording is
	// refused at its end, since most come of a prompt that was changed
	// between two halves.
	Asides bool
	// MaxAge is how old an interaction may be in replay and record-new; 0
	// means any age. Stale says what an older one does: "warn" (the default),
	// "error", or "record", with which record-new asks the endpoint anew and
	// replaces it, and replay, which has no endpoint, refuses the file.
	MaxAge time.Duration
	Stale  string
	// MaxBody is the longest body that stands in the file itself, in bytes.
	// Default 4 MiB; less than 0 means no limit.
	MaxBody int
	// Whole says that a recording is of use only as a whole: it is written by
	// Close alone, and a process that dies before leaves nothing of it.
	// Default: what ended is kept in a journal. Mode record-new takes up what
	// it finds in one, if that was to be added to the cassette; what was to
	// take the place of the cassette is put into NAME.cut.yaml. While it is
	// recorded nobody else can record the cassette.
	Whole bool
	// Grace is how long Close waits for exchanges under way. Default 2 s.
	Grace time.Duration
	// Subject, Model and Label are noted with each interaction, in its meta.
	// A recording of another Subject is not replaced without Force.
	Subject, Model, Label string
	// LookupEnv finds CI, which forbids to record. Default [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// Logf takes a line for what is worth knowing and no error. Nil drops it.
	Logf func(format string, args ...any)
}

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Mode = cmp.Or(c.Mode, Replay)
	c.Order = cmp.Or(c.Order, Sequence)
	c.Stale = cmp.Or(c.Stale, staleWarn)
	c.Grace = cmp.Or(c.Grace, 2*time.Second)
	if c.Upstream == nil {
		c.Upstream = http.DefaultTransport
	}
	if c.Clock == nil {
		c.Clock = harness.SystemClock()
	}
	if c.Start.IsZero() {
		c.Start = c.Clock.Now()
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	if c.Logf == nil {
		c.Logf = func(string, ...any) {}
	}
	if !slices.Contains(Modes(), c.Mode) {
		return c, fmt.Errorf("mode %q is unknown: want one of %v", c.Mode, Modes())
	}
	if orders := []Order{Sequence, Strict, Any, RepeatLast}; !slices.Contains(orders, c.Order) {
		return c, fmt.Errorf("order %q is unknown: want one of %v", c.Order, orders)
	}
	if words := []string{staleWarn, staleError, staleRecord}; !slices.Contains(words, c.Stale) {
		return c, fmt.Errorf("stale %q is unknown: want one of %v", c.Stale, words)
	}
	if c.Speed < 0 {
		return c, fmt.Errorf("speed %v is less than 0", c.Speed)
	}
	if err := c.Match.Check(); err != nil {
		return c, fmt.Errorf("paths to ignore: %w", err)
	}
	if c.Mode.records() && recfile.InCI(c.LookupEnv) {
		return c, fmt.Errorf("CI is set, and mode %s makes recordings; record on your own machine and commit the file", c.Mode)
	}
	return c, nil
}

func (m Mode) records() bool { return m == Record || m == RecordNew }

func (m Mode) reads() bool { return m == Replay || m == RecordNew || m == Verify }
