// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/cassettes/key"
	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

// Recorder is an [http.RoundTripper] that records or replays. Its methods may
// be called concurrently.
type Recorder struct {
	path    string
	opts    Options
	secrets *redact.Redactor

	mu      sync.Mutex // guards the rest
	tape    []*entry   // what the file holds, in its order
	same    map[spelling]*queue
	seed    maphash.Seed      // of same; never changes
	byKey   map[string]*queue // nil until it is needed
	slots   []*slot           // what is being recorded, in the order of the requests
	failed  map[string]int    // how often a request was recorded that failed, by key
	journal *journal
	strict  int // how many of the tape were used, in order strict
	misses  []error
	notes   []string
	drift   []string
	bases   []string  // paths of endpoints, see [vcr.Meta]
	chat    *key.Chat // what the recording is of, as far as is known
	mixed   bool      // it was said that it is of two
	closed  bool
	open    sync.WaitGroup // exchanges that are being recorded
}

// entry is an interaction of the file.
type entry struct {
	*vcr.Interaction
	number int      // from 1
	key    *key.Key // nil until it is needed
	same   *queue   // of what its request looks like; may be nil
	used   int
}

// slot is the place of an exchange in the file: requests are in the order in
// which they began, not in that in which they ended.
type slot struct {
	kept      *vcr.Interaction // nil while it is under way, or when it is not kept
	key       string
	live      *tee   // the body under way; nil before and after
	renews    *entry // whose place it takes; nil of what is new
	unreached bool   // the endpoint was not there to be asked
}

// Open opens the cassette at path. In replay the file must be there. A
// recording that a dead process left unfinished is part of it.
func Open(path string, opts *Options) (*Recorder, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("opening cassette %q: %w", path, err)
	}
	secrets, err := redact.New(o.Secrets)
	if err != nil {
		return nil, fmt.Errorf("opening cassette %q: %w", path, err)
	}
	r := &Recorder{path: path, opts: o, secrets: secrets, same: map[spelling]*queue{}, seed: maphash.MakeSeed(), failed: map[string]int{}}
	if ci, ok := o.LookupEnv("CI"); o.Mode.records() && ok && ci != "" && ci != "false" && ci != "0" {
		return nil, fmt.Errorf("opening cassette %q: CI is set, and mode %s makes recordings; record on your own machine and commit the file", path, o.Mode)
	}
	if o.Mode.records() && !o.Whole {
		if err := fold(path, o.Mode == Record, o.MaxBody, secrets, o.Logf); err != nil {
			return nil, err
		}
	}
	if o.Mode.reads() {
		if err := r.load(); err != nil {
			return nil, err
		}
	}
	if o.Mode == Replay {
		r.restore()
	}
	if o.Mode.records() && !o.Whole {
		if r.journal, err = newJournal(path, o.Mode == RecordNew); err != nil {
			return nil, fmt.Errorf("opening cassette %q: %w", path, err)
		}
	}
	return r, nil
}

// load reads the file.
func (r *Recorder) load() error {
	f, err := vcr.Read(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		_, left, readErr := readJournal(r.path)
		switch {
		case readErr == nil && r.opts.Mode == Replay:
			if live(r.path) {
				r.note("it is being recorded by another process; exchanges so far: %d", len(left))
			} else {
				r.note("the recording was cut off; exchanges that it holds: %d", len(left))
			}
			f, err = &vcr.File{Path: r.path}, nil
			for _, l := range left {
				f.Interactions = append(f.Interactions, l.Interaction)
			}
		case r.opts.Mode == RecordNew:
			return nil
		default:
			return fmt.Errorf("cassette %q is not there, and mode %s makes none; record it with mode %s (`rehearse proxy --mode record --cassette %s --upstream URL`, or `rehearse run --mode record`)", r.path, r.opts.Mode, Record, r.path)
		}
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(journalPath(r.path)); err == nil && len(r.notes) == 0 {
		if live(r.path) {
			r.note("it is being recorded by another process, and this is what it held before")
		} else {
			r.note("a recording of it was cut off: %q is there; mode %s takes it up, mode %s puts it into %q", journalPath(r.path), RecordNew, Record, besidePath(r.path, "cut"))
		}
	}
	for n, i := range f.Interactions {
		if i.Meta.Base != "" && !slices.Contains(r.bases, i.Meta.Base) {
			r.bases = append(r.bases, i.Meta.Base)
		}
		r.tape = append(r.tape, &entry{Interaction: i, number: n + 1})
	}
	for _, e := range r.tape {
		r.index(e)
	}
	return r.checkAge()
}

// keyOf makes the key of a request without the path of the endpoint's own
// address, which a client of the proxy does not know.
func (r *Recorder) keyOf(q *vcr.Request) *key.Key {
	// A secret that differs from the recorded one makes no other request.
	address, body := redact.Neutral(q.URL), q.Body
	if bytes.Contains(body, []byte("REDACTED-")) {
		body = []byte(redact.Neutral(string(body)))
	}
	if u, err := url.Parse(address); err == nil {
		for _, base := range r.bases {
			if path, ok := strings.CutPrefix(u.Path, base+"/"); ok {
				u.Path, u.RawPath = "/"+path, ""
				address = u.String()
				break
			}
		}
	}
	return key.Of(q.Method, address, q.Header, body, r.opts.Match)
}

func (r *Recorder) note(format string, args ...any) {
	line := fmt.Sprintf("cassette %q: ", r.path) + fmt.Sprintf(format, args...)
	r.notes = append(r.notes, line)
	r.opts.Logf("%s", line)
}

// RoundTrip answers a request by the mode. The request is not changed.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if r.opts.Mode == Passthrough {
		return r.ask(req, body)
	}
	if r.opts.Mode == Replay {
		if found := r.again(req, body); found != nil {
			return r.replay(req, found)
		}
	}
	base, _ := req.Context().Value(baseKey{}).(string)
	asked := r.secrets.Request(vcr.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: body})
	r.mu.Lock()
	if base != "" && !slices.Contains(r.bases, base) {
		r.bases = append(r.bases, base)
	}
	k := r.keyOf(&asked)
	if r.closed {
		r.mu.Unlock()
		return nil, fmt.Errorf("cassette %q: the recorder is closed", r.path)
	}
	var found *entry
	if r.opts.Mode.reads() {
		found = r.find(k)
	}
	switch {
	case found != nil && r.opts.Mode != Verify && !r.renews(found):
		r.use(found, k)
		r.mu.Unlock()
		return r.replay(req, found)
	case r.opts.Mode == Replay:
		miss := r.miss(k, &asked)
		r.misses = append(r.misses, miss)
		r.mu.Unlock()
		return nil, miss
	}
	s := &slot{key: k.ID}
	if found != nil {
		r.use(found, k)
		if r.opts.Mode != Verify {
			s.renews, found = found, nil
		}
	}
	r.warnMixed(k)
	attempt := r.failed[k.ID] + 1
	r.slots = append(r.slots, s)
	r.open.Add(1)
	r.mu.Unlock()
	return r.record(req, body, s, &vcr.Interaction{Request: asked, Meta: vcr.Meta{Attempt: attempt, Base: base}}, found)
}

// use notes that an interaction answers a request. The caller holds mu.
func (r *Recorder) use(e *entry, k *key.Key) {
	e.used++
	if text := key.Reordered(e.key, k); text != "" {
		r.note("interaction %d: %s", e.number, text)
	}
}

// failedAttempt reports whether a client has cause to send a request again.
func failedAttempt(i *vcr.Interaction) bool {
	return i.Meta.Outcome != vcr.Complete || i.Response.Code == http.StatusTooManyRequests || i.Response.Code >= 500 || i.Response.Code == http.StatusRequestTimeout
}

// readBody takes the whole body, as a transport does.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	var body bytes.Buffer
	if n := req.ContentLength; n > 0 && n < 1<<20 {
		body.Grow(int(n) + bytes.MinRead) // room for the end to be found in
	}
	_, err := body.ReadFrom(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("reading the body of a request to record it: %w", err)
	}
	return body.Bytes(), nil
}

// ask sends a request to the endpoint.
func (r *Recorder) ask(req *http.Request, body []byte) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Body, out.GetBody = nil, nil
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.ContentLength = int64(len(body))
	}
	if accepted := out.Header.Get("Accept-Encoding"); accepted != "" && r.opts.Mode != Passthrough {
		// What cannot be read here can hold secrets that nobody finds.
		out.Header = out.Header.Clone()
		out.Header.Set("Accept-Encoding", "identity")
		if strings.Contains(accepted, "gzip") {
			out.Header.Set("Accept-Encoding", "gzip")
		}
	}
	return r.opts.Upstream.RoundTrip(out)
}

// Misses returns what was asked for and fits nothing.
func (r *Recorder) Misses() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.misses)
}

// Notes are remarks for a report: a recording that was cut off or is old,
// tools in another order, answers that were not kept.
func (r *Recorder) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// Unused describes the interactions of the file that nobody asked for.
func (r *Recorder) Unused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.tape {
		if e.used == 0 {
			out = append(out, e.describe())
		}
	}
	return out
}

func (e *entry) describe() string {
	return fmt.Sprintf("interaction %d (line %d): %s %s", e.number, e.Line, e.Request.Method, e.Request.URL)
}

// Close waits for exchanges under way, for so long as [Options.Grace] says,
// and writes what was recorded. In replay it returns an error when there were
// misses, or interactions that nobody asked for.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.mu.Unlock()
	switch {
	case r.opts.Mode.records():
		r.settle()
		return r.save()
	case r.opts.Mode == Replay:
		return r.verdict()
	}
	return nil
}

// settle ends the exchanges that are still under way.
func (r *Recorder) settle() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.open.Wait()
	}()
	ctx, cancel := context.WithCancel(context.Background())
	timer := make(chan struct{})
	go func() {
		defer close(timer)
		_ = r.opts.Clock.Sleep(ctx, r.opts.Grace)
	}()
	select {
	case <-done:
	case <-timer:
		r.mu.Lock()
		var live []*tee
		for _, s := range r.slots {
			if s.live != nil {
				live = append(live, s.live)
			}
		}
		r.mu.Unlock()
		for _, t := range live {
			t.finish(vcr.Open, "")
		}
	}
	cancel()
	<-timer
}

// save writes the file and drops the journal. Where nothing came to be
// recorded, a file that is there stays.
func (r *Recorder) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, renewed, dropped := r.contents()
	if len(list) == 0 {
		r.note("nothing was recorded, so nothing is written")
		return r.journal.remove()
	}
	if err := errors.Join(r.refuse(list), r.spoils(list)); err != nil {
		// A journal is there to take a recording up again, which this is not.
		return errors.Join(err, r.journal.remove())
	}
	if err := vcr.WriteFile(r.path, &vcr.File{Path: r.path, Interactions: list}, r.opts.MaxBody); err != nil {
		return err
	}
	failed := 0
	for _, i := range list {
		if i.Meta.Outcome != vcr.Complete || i.Response.Code >= 400 {
			failed++
		}
	}
	r.note("written; exchanges: %d, of which failed: %d", len(list), failed)
	if renewed > 0 {
		r.note("recorded anew, for they were older than %s: %d; taken out, for nobody asked for them: %d", vcr.Days(r.opts.MaxAge), renewed, dropped)
	}
	return r.journal.remove()
}

// refuse says why a recording is not written. The caller holds mu.
func (r *Recorder) refuse(list []*vcr.Interaction) error {
	if err := checkSecrets(r.path, list, r.secrets); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.slots, func(s *slot) bool { return s.kept != nil }) {
		return nil // it is what it was
	}
	mixed := r.checkMixed(list)
	if mixed == nil {
		return nil
	}
	at := besidePath(r.path, "refused")
	if err := vcr.WriteFile(at, &vcr.File{Path: at, Interactions: list}, r.opts.MaxBody); err != nil {
		return errors.Join(mixed, err)
	}
	return fmt.Errorf("%w; what was recorded is in %q", mixed, at)
}

// spoils says why a recording of failures alone does not replace one that has
// successes: the key was wrong, or the address.
func (r *Recorder) spoils(list []*vcr.Interaction) error {
	if r.opts.Mode != Record || r.opts.KeepErrors || slices.ContainsFunc(list, succeeded) {
		return nil
	}
	before, err := vcr.Read(r.path)
	if err != nil || !slices.ContainsFunc(before.Interactions, succeeded) {
		return nil // there is nothing to lose
	}
	last := list[len(list)-1]
	how := "was answered " + cmp.Or(last.Response.Status, strconv.Itoa(last.Response.Code))
	if last.Response.Code == 0 || last.Response.Code < 400 {
		how = "broke off"
	}
	place, _, _ := strings.Cut(last.Request.URL, "?")
	return fmt.Errorf("cassette %q is not written, and the one that is there stays: it has answers, and all that was recorded now failed (exchanges: %d; %s %s %s); see to the key and the address of the endpoint, or keep failures with --keep-errors (in a scenario: cassette.keep_errors)",
		r.path, len(list), last.Request.Method, place, how)
}

// succeeded reports whether the endpoint has answered. A client that left
// before the end may have had what it wanted.
func succeeded(i *vcr.Interaction) bool {
	return i.Response.Code < 400 && i.Meta.Outcome != vcr.UpstreamError && i.Meta.Outcome != vcr.Aborted
}

// Asked returns how many requests were sent to the endpoint so far, in modes
// that record or verify.
func (r *Recorder) Asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.slots)
}

// checkSecrets looks for what is left of secrets in the bytes to be written.
func checkSecrets(path string, list []*vcr.Interaction, secrets *redact.Redactor) error {
	for n, i := range list {
		one := &vcr.File{Interactions: []*vcr.Interaction{i}}
		if found := secrets.Scan(one.Encode()); len(found) > 0 {
			place, _, _ := strings.Cut(i.Request.URL, "?") // where it may stand itself
			return fmt.Errorf("cassette %q is not written: interaction %d (%s %s) still holds what looks like a secret: %s; add a rule for it",
				path, n+1, i.Request.Method, place, found[0])
		}
	}
	return nil
}

// verdict is what a replay comes to.
func (r *Recorder) verdict() error {
	var errs []error
	misses := r.Misses()
	if len(misses) > 0 {
		errs = append(errs, misses...)
	}
	if unused := r.Unused(); len(unused) > 0 && !r.opts.AllowUnused && len(misses) == 0 {
		errs = append(errs, fmt.Errorf("cassette %q: %d of %d interactions were not asked for: %s", r.path, len(unused), len(r.tape), strings.Join(unused, "; ")))
	}
	return errors.Join(errs...)
}

// Drift describes how the endpoint's answers differ from the file, in mode
// verify.
func (r *Recorder) Drift() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.drift)
}
