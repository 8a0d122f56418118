// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/recfile"
)

// The names inside a run folder.
const (
	ManifestFile = "run.json"
	RecordsFile  = "trials.jsonl"
	DetailsDir   = "transcripts"
)

// ErrBusy is the error of a file of records that somebody writes to now.
var ErrBusy = errors.New("another process writes records there now")

// Writer appends records to a file, one at a time. Its methods may be called
// concurrently.
type Writer struct {
	mu    sync.Mutex // guards lines: one record is one write
	f     *os.File
	lines recfile.Lines
}

// Append opens a file of records for appending and makes it where there is
// none. A torn last line of an earlier run is cut off first. The file is locked
// until it is closed: a second writer, of this process or another, is an error
// that is [ErrBusy]. The name has to be that of the file itself: a link is an
// error.
func Append(name string) (*Writer, error) {
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "append to", Path: name, Err: errors.New("it is a link, and records are not written through links")}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := recfile.Lock(f); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "append to", Path: name, Err: ErrBusy}
	}
	if err := cutTorn(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("repairing %q: %w", name, err)
	}
	return &Writer{f: f, lines: recfile.Lines{File: f}}, nil
}

// cutTorn leaves f at its end, after a whole line.
func cutTorn(f *os.File) error {
	data, err := io.ReadAll(f)
	if err != nil || len(data) == 0 || data[len(data)-1] == '\n' {
		return err
	}
	last := data[bytes.LastIndexByte(data, '\n')+1:]
	if _, _, err := decode(last); err == nil { // whole but for its newline
		_, err = f.Write([]byte("\n"))
		return err
	}
	end := int64(len(data) - len(last))
	if err := f.Truncate(end); err != nil {
		return err
	}
	_, err = f.Seek(end, io.SeekStart)
	return err
}

// Write appends one record and flushes it to the disk. It sets r's schema. Of a
// record that could not be written whole nothing stays.
func (w *Writer) Write(r Record) error {
	r.Schema = Schema
	line, err := encode(r)
	if err != nil {
		return fmt.Errorf("encoding trial %q: %w", r.Key, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.lines.Append(append(line, '\n')); err != nil {
		return err
	}
	// Some file systems (pipes, /dev/stdout) cannot sync, and need not.
	if err := w.f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

// Read reads records: one a key, in the order in which the keys first appear.
// Of a trial that was run again after an error the later record counts; a trial
// that is finished twice is an error that names both lines. A last line that has
// no newline and is not a record is left out: it is what a killed run leaves.
// [Salvage] reports it.
func Read(r io.Reader) ([]Record, error) {
	records, _, err := read(r, func(line int, err error) error { return fmt.Errorf("line %d: %w", line, err) })
	return records, err
}

func read(r io.Reader, wrong func(line int, err error) error) (out []Record, torn bool, err error) {
	var old []int // the records of schema 1
	at := map[Key]int{}
	torn, err = scan(r, wrong, func(rec Record, _ Span, wrote int) error {
		n, again := at[rec.Key]
		if !again {
			n = len(out)
			at[rec.Key] = n
			out = append(out, rec)
			if wrote == 1 {
				old = append(old, n)
			}
		}
		out[n] = rec
		return nil
	})
	upgradeCases(out, old)
	return out, torn, err
}

// ended is where a file has the outcome of a trial, and which.
type ended struct {
	line    int
	outcome harness.Outcome
}

// replaces refuses a record whose trial is finished already: only an error is
// replaced.
func (e ended) replaces(r Record) error {
	if e.outcome == "" || e.outcome == harness.OutcomeError {
		return nil
	}
	return fmt.Errorf("trial %s is finished in line %d already (%s there, %s here): it was played by two runs, or the file was put together by hand; `rehearse merge` joins runs", r.Key, e.line, e.outcome, r.Outcome)
}

var (
	errSchema = errors.New("unknown schema")
	errValue  = errors.New("unknown value")
)

// decode reads a line, and tells the schema in which it was written.
func decode(line []byte) (r Record, schema int, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, 0, fmt.Errorf("not a trial record: %w", err)
	}
	schema = r.Schema
	if err := checkSchema(schema); err != nil {
		return Record{}, 0, err
	}
	if schema == 1 {
		if err := r.upgrade(line); err != nil {
			return Record{}, 0, fmt.Errorf("not a trial record: %w", err)
		}
	}
	if err := checkValues(&r); err != nil {
		return Record{}, 0, err
	}
	if r.Uncounted() {
		r.Cost = nil // as older versions wrote it, 0
	}
	r.Attribute()
	return r, schema, nil
}

// checkValues looks at the members of a record that have one of a few values:
// another one would be counted as nothing at all.
func checkValues(r *Record) error {
	err := oneOf("outcome", r.Outcome, harness.OutcomePassed, harness.OutcomeFailed, harness.OutcomeError, harness.OutcomeSkipped)
	if r.Mode != "" && err == nil {
		err = oneOf("mode", r.Mode, harness.ModeMock, harness.ModeReplay, harness.ModeRecord, harness.ModeLive)
	}
	if r.Cause != nil && r.Cause.Kind != "" && err == nil {
		err = oneOf("cause.kind", r.Cause.Kind,
			CauseScenario, CauseEndpoint, CauseRefusal, CauseMiss,
			CauseLimits, CauseSubject, CauseConduct, CauseExpectation, CauseJudge)
	}
	if r.Cause != nil && r.Cause.Blame != "" && err == nil {
		err = oneOf("cause.blame", r.Cause.Blame, Blames()...)
	}
	states := []State{Passed, Failed, Undecided, Skipped, Warned}
	fates := []AlignmentStatus{AlignMatched, AlignMismatched, AlignMissing, AlignExtra, AlignOutOfOrder, AlignForbidden}
	for i := 0; i < len(r.Verdicts) && err == nil; i++ {
		v := &r.Verdicts[i]
		if !slices.Contains(states, v.State) {
			return oneOf(fmt.Sprintf("verdicts[%d].state", i), v.State, states...)
		}
		if v.Alignment == nil {
			continue
		}
		for n := range v.Alignment.Rows {
			if fate := v.Alignment.Rows[n].Status; !slices.Contains(fates, fate) {
				return oneOf(fmt.Sprintf("verdicts[%d].alignment.rows[%d].status", i, n), fate, fates...)
			}
		}
	}
	return err
}

func oneOf[T ~string](name string, got T, values ...T) error {
	if slices.Contains(values, got) {
		return nil
	}
	return fmt.Errorf("%w: %s is %q, want one of %q", errValue, name, got, values)
}

func checkSchema(n int) error {
	switch {
	case n < 1:
		return fmt.Errorf("%w: none given, want 1 to %d", errSchema, Schema)
	case n > Schema:
		return fmt.Errorf("%w: %d was written by a newer rehearse, this one reads up to %d", errSchema, n, Schema)
	}
	return nil
}

// ReadFile reads the records of one file, as [Read] does.
func ReadFile(name string) ([]Record, error) {
	records, _, err := Salvage(name)
	return records, err
}

// Salvage is [ReadFile], and tells whether a torn last line was left out.
func Salvage(name string) (records []Record, torn bool, err error) {
	f, err := plainfile.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	records, torn, err = read(f, func(line int, err error) error {
		return &filepos.Error{Pos: harness.Position{File: name, Line: line}, Err: err}
	})
	if err != nil && filepos.Of(err).IsZero() {
		err = fmt.Errorf("reading %q: %w", name, err)
	}
	if err != nil {
		return records, false, err
	}
	return records, torn, nil
}

// WriteManifest writes run.json into a run folder, whole or not at all. It
// sets m's schema.
func WriteManifest(dir string, m Manifest) error {
	m.Schema = Schema
	return writeJSON(filepath.Join(dir, ManifestFile), m)
}

// ReadManifest reads the run.json of a run folder.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	name := filepath.Join(dir, ManifestFile)
	data, err := readJSON(name, &m)
	if err != nil {
		return m, err
	}
	if err := checkSchema(m.Schema); err != nil {
		return m, fmt.Errorf("reading %q: %w", name, err)
	}
	if m.Schema == 1 {
		if err := m.upgrade(data); err != nil {
			return m, fmt.Errorf("reading %q: %w", name, err)
		}
	}
	return m, nil
}

// WriteDetail writes the detail of a trial into a run folder and returns the
// path for [Record.Detail].
func WriteDetail(dir string, d Detail) (string, error) {
	d.Schema = Schema
	rel := path.Join(DetailsDir, detailName(d.Key))
	name := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := plainfile.MakeFolder(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	data, whole, err := encodeWhole(d)
	if err == nil && !whole && d.Played != nil {
		played := *d.Played
		played.Cut, d.Played = true, &played
		data, err = encode(d)
	}
	if err != nil {
		return "", fmt.Errorf("encoding %q: %w", name, err)
	}
	return rel, writeEncoded(name, data)
}

// ReadDetail reads the detail that a record of a run folder names. That of
// another trial is an error.
func ReadDetail(dir string, r Record) (Detail, error) {
	var d Detail
	name, err := detailFile(dir, r)
	if err != nil {
		return d, err
	}
	if _, err := readJSON(name, &d); err != nil {
		return d, err
	}
	if err := checkSchema(d.Schema); err != nil {
		return d, fmt.Errorf("reading %q: %w", name, err)
	}
	if d.Schema == 1 {
		d.Schema, d.Key = Schema, r.Key
	}
	if d.Key != r.Key {
		return Detail{}, fmt.Errorf("reading %q: it is of another trial, %s of suite %q with subject %q", name, d.Key, d.Suite, d.Subject)
	}
	return d, nil
}

// CheckDetail reports whether there is a file where a record says that its
// detail is, and reads nothing of it.
func CheckDetail(dir string, r Record) error {
	name, err := detailFile(dir, r)
	if err != nil {
		return err
	}
	_, err = os.Stat(name)
	return err
}

func detailFile(dir string, r Record) (string, error) {
	if r.Detail == "" {
		return "", fmt.Errorf("trial %q has no detail file", r.Key)
	}
	if !filepath.IsLocal(filepath.FromSlash(r.Detail)) {
		return "", fmt.Errorf("trial %q names a detail file outside its folder: %q", r.Key, r.Detail)
	}
	return filepath.Join(dir, filepath.FromSlash(r.Detail)), nil
}

// detailName is readable, the same for the same key, and different for
// different ones.
func detailName(k Key) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", []string{k.Suite, k.Scenario, k.Case, k.Subject, k.Model, k.Variant, string(k.Mode)})
	return fmt.Sprintf("%s-%016x-%d.json", strings.ToLower(FileName(k.Name(), "trial")), h.Sum64(), k.Attempt)
}

// FileName makes of a name what can be a part of the name of a file on every
// system and in every script: its letters and digits, of any language, with a
// dash for everything else; at most 60 bytes. Where nothing is left it is
// none.
func FileName(name, none string) string {
	var b strings.Builder
	gap := false
	for _, r := range name {
		keep := unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' || r == '.' && b.Len() > 0
		if !keep || r == utf8.RuneError {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		if gap = false; b.Len()+utf8.RuneLen(r) > 60 {
			break
		}
		b.WriteRune(r)
	}
	if s := strings.TrimRight(b.String(), "-."); s != "" {
		return s
	}
	return none
}

func writeJSON(name string, v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("encoding %q: %w", name, err)
	}
	return writeEncoded(name, data)
}

func writeEncoded(name string, data []byte) error {
	const readable = 1 << 20 // nobody reads what is larger, and it is large enough
	if len(data) <= readable {
		var text bytes.Buffer
		if err := json.Indent(&text, data, "", "  "); err != nil {
			return fmt.Errorf("encoding %q: %w", name, err)
		}
		data = text.Bytes()
	}
	return plainfile.ReplaceBytes(name, 0o600, append(data, '\n'))
}

func readJSON(name string, v any) ([]byte, error) {
	data, err := plainfile.Read(name, plainfile.MaxRecording)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	return data, nil
}
