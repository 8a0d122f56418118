// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
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

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Recorder is an [http.RoundTripper] that records or replays. Its methods may
// be called concurrently.
type Recorder struct {
	path    string
	opts    Options
	secrets *redact.Redactor

	mu       sync.Mutex // guards the rest
	tape     []*entry   // what the file holds, in its order
	same     map[spelling]*queue
	seed     maphash.Seed      // of same; never changes
	byKey    map[string]*queue // nil until it is needed
	slots    []*slot           // what is being recorded, in the order of the requests
	failed   map[string]int    // how often a request was recorded that failed, by key
	journal  *journal
	strict   int // how many of the tape were used, in order strict
	misses   []error
	notes    []string
	drift    []string
	unjudged []string        // requests whose answers could not be compared
	bases    []string        // paths of endpoints, see [vcr.Meta]
	fits     map[string]bool // which of the paths that do not count are in a request
	chat     *key.Chat       // what the recording is of, as far as is known
	mixed    bool            // it was said that it is of two
	closed   bool
	refused  *vcr.Interaction
	open     sync.WaitGroup // exchanges that are being recorded
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
	opaque    string // the coding of a request that cannot be read
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
	r := &Recorder{path: path, opts: o, secrets: secrets, same: map[spelling]*queue{}, seed: maphash.MakeSeed(), failed: map[string]int{}, fits: map[string]bool{}}
	if r.path, err = recfile.Resolve(path); err != nil {
		return nil, fmt.Errorf("opening cassette %q: %w", path, err)
	}
	path = r.path
	if o.Mode == Replay || o.Mode == Verify {
		if err := Recover(path); err != nil {
			return nil, err
		}
	}
	if o.Mode.records() {
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
	if o.Mode.records() {
		if r.journal, err = newJournal(path, o.Mode == RecordNew, o.Whole); err != nil {
			return nil, fmt.Errorf("opening cassette %q: %w", path, err)
		}
	}
	return r, nil
}

// load reads the file.
func (r *Recorder) load() error {
	f, err := vcr.Read(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		head, left, readErr := readJournal(r.path)
		switch {
		case readErr == nil && r.opts.Mode == Replay && !head.Whole:
			if live(r.path) {
				r.note("it is being recorded by another process; exchanges so far: %d%s", len(left), head.lost())
			} else {
				r.note("the recording was interrupted; exchanges so far: %d%s", len(left), head.lost())
			}
			f, err = &vcr.File{Path: r.path}, nil
			for _, l := range left {
				f.Interactions = append(f.Interactions, l.Interaction)
			}
		case r.opts.Mode == RecordNew:
			return nil
		default:
			return fmt.Errorf("cassette %q does not exist, and mode %s does not create it; record it with mode %s (`rehearse proxy --mode record --cassette %s --upstream URL`, or `rehearse run --mode record`)", r.path, r.opts.Mode, Record, r.path)
		}
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(journalPath(r.path)); err == nil && len(r.notes) == 0 {
		head, _, _ := readJournal(r.path) // what cannot be read says nothing
		switch {
		case live(r.path):
			r.note("it is being recorded by another process; these are its previous exchanges")
		case head.Whole:
			r.note("a recording that would have replaced it was interrupted, and nothing of that is left; remove %q, or record it", journalPath(r.path))
		case !head.Adds:
			r.note("a recording that would have replaced it was interrupted and left %q; the next recording moves it to %q", journalPath(r.path), recfile.Beside(r.path, recfile.Cut))
		default:
			r.note("a recording of it was interrupted and left %q; mode %s completes it, mode %s moves it to %q", journalPath(r.path), RecordNew, Record, recfile.Beside(r.path, recfile.Cut))
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
	old := *q // of a version that recorded codings
	plainRequest(&old)
	address, body := redact.Neutral(q.URL), old.Body
	if bytes.Contains(body, []byte("REDACTED-")) {
		body = []byte(redact.Neutral(string(body)))
	}
	if u, err := url.Parse(address); err == nil {
		for _, base := range r.bases {
			if path, ok := strings.CutPrefix(u.EscapedPath(), base+"/"); ok {
				setPath(u, "/"+path)
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
	asked := vcr.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: body}
	opaque := plainRequest(&asked)
	asked = r.secrets.Request(asked)
	r.mu.Lock()
	if base != "" && !slices.Contains(r.bases, base) {
		r.bases = append(r.bases, base)
	}
	k := r.keyOf(&asked)
	r.noteFits(k)
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
	s := &slot{key: k.ID, opaque: opaque}
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
	if n := req.ContentLength; n > 0 { // what is announced need not come
		body.Grow(int(min(n, 32<<10)) + bytes.MinRead) // room for the end to be found in
	}
	_, err := body.ReadFrom(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, &bodyError{err}
	}
	return body.Bytes(), nil
}

// bodyError says that a client did not send the whole of its request.
type bodyError struct{ cause error }

func (e *bodyError) Error() string {
	return "reading the body of a request to record it: " + e.cause.Error()
}
func (e *bodyError) Unwrap() error { return e.cause }

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

// Unused is an error for each interaction of the file that nobody asked for.
func (r *Recorder) Unused() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []error
	for _, e := range r.tape {
		if e.used == 0 {
			out = append(out, filepos.Mark(harness.Position{File: r.path, Line: e.Line}, errors.New(e.describe())))
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
	if r.ended() {
		return nil
	}
	switch {
	case r.opts.Mode.records():
		r.settle()
		return r.save()
	case r.opts.Mode == Replay:
		return r.verdict()
	}
	return nil
}

// ended ends the recorder and reports whether it had ended before.
func (r *Recorder) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.closed
	r.closed = true
	return before
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
	list, left := r.secrets.Review(list)
	if err := r.refuse(list, left); err != nil {
		return r.setAside(list, left, err)
	}
	if err := vcr.WriteFile(r.path, &vcr.File{Path: r.path, Interactions: list}, r.opts.MaxBody); err != nil {
		return err
	}
	r.written(list, left)
	if renewed > 0 {
		r.note("recorded again because they were older than %s: %d; removed because nobody asked for them: %d", vcr.Days(r.opts.MaxAge), renewed, dropped)
	}
	return r.journal.remove()
}

// written says what was written. The caller holds mu.
func (r *Recorder) written(list []*vcr.Interaction, left []redact.Finding) {
	failed := 0
	for _, i := range list {
		if i.Meta.Outcome != vcr.Complete || i.Response.Code >= 400 {
			failed++
		}
	}
	r.note("written; exchanges: %d, of which failed: %d", len(list), failed)
	if text := guesses(left); text != "" {
		r.note("%s", text)
	}
}

// succeeded reports whether the endpoint has answered. A client that left
// before the end may have had what it wanted, unless it had nothing.
func succeeded(i *vcr.Interaction) bool {
	return i.Response.Code > 0 && i.Response.Code < 400 && i.Meta.Outcome != vcr.UpstreamError && i.Meta.Outcome != vcr.Aborted
}

// Asked returns how many requests were sent to the endpoint so far, in modes
// that record or verify.
func (r *Recorder) Asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.slots)
}

// verdict is what a replay comes to.
func (r *Recorder) verdict() error {
	misses := r.Misses()
	errs := slices.Clone(misses)
	if unused := r.Unused(); len(unused) > 0 && !r.opts.AllowUnused && len(misses) == 0 {
		errs = append(errs, fmt.Errorf("cassette %q: %d of %d interactions were not asked for: %s", r.path, len(unused), len(r.tape), prose.List(unused, "; ")))
	}
	if paths := r.unfitting(); len(paths) > 0 {
		errs = append(errs, fmt.Errorf("cassette %q: no request has anything at %s, which --ignore names", r.path, strings.Join(paths, ", ")))
	}
	return errors.Join(errs...)
}

// noteFits notes which of the paths that do not count a request has. The caller
// holds mu.
func (r *Recorder) noteFits(k *key.Key) {
	if r.opts.Match == nil {
		return
	}
	for _, path := range r.opts.Match.Also {
		if !r.fits[path] && k.Fits(path) {
			r.fits[path] = true
		}
	}
}

// unfitting are the paths that were not to count, and are in no request that
// was recorded or asked.
func (r *Recorder) unfitting() []string {
	if r.opts.Match == nil || len(r.opts.Match.Also) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys()
	for _, e := range r.tape {
		r.noteFits(e.key)
	}
	var out []string
	for _, path := range r.opts.Match.Also {
		if !r.fits[path] {
			out = append(out, strconv.Quote(path))
		}
	}
	return out
}

// Drift describes how the endpoint's answers differ from the file, in mode
// verify.
func (r *Recorder) Drift() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.drift)
}

// Unjudged says, in mode verify, of which requests the answer could not be
// compared with the file, since the endpoint did not give all of one.
func (r *Recorder) Unjudged() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.unjudged)
}
