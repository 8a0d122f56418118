// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"bufio"
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
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The names inside a run folder.
const (
	ManifestFile = "run.json"
	RecordsFile  = "trials.jsonl"
	DetailsDir   = "transcripts"
)

// Writer appends records to a file, one at a time. Its methods may be called
// concurrently.
type Writer struct {
	mu sync.Mutex // guards f's position: one record is one write
	f  *os.File
}

// Append opens a file of records for appending and makes it where there is
// none. A torn last line of an earlier run is cut off first.
func Append(name string) (*Writer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := cutTorn(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("repairing %q: %w", name, err)
	}
	return &Writer{f: f}, nil
}

// cutTorn leaves f at its end, after a whole line.
func cutTorn(f *os.File) error {
	data, err := io.ReadAll(f)
	if err != nil || len(data) == 0 || data[len(data)-1] == '\n' {
		return err
	}
	last := data[bytes.LastIndexByte(data, '\n')+1:]
	if _, err := decode(last); err == nil { // whole but for its newline
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

// Write appends one record and flushes it to the disk. It sets r's schema.
func (w *Writer) Write(r Record) error {
	r.Schema = Schema
	line, err := encode(r)
	if err != nil {
		return fmt.Errorf("encoding trial %q: %w", r.Key, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.f.Write(append(line, '\n')); err != nil {
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

// Read reads records. A last line that has no newline and is not a record is
// left out: it is what a killed run leaves. [Salvage] tells of it.
func Read(r io.Reader) ([]Record, error) {
	records, _, err := read(r)
	return records, err
}

func read(r io.Reader) (out []Record, torn bool, err error) {
	br := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return out, false, err
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			rec, derr := decode(text)
			switch {
			case derr == nil:
				out = append(out, rec)
			case !last || errors.Is(derr, errSchema):
				return out, false, fmt.Errorf("line %d: %w", n, derr)
			default:
				torn = true
			}
		}
		if last {
			return out, torn, nil
		}
	}
}

var errSchema = errors.New("unknown schema")

func decode(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("not a trial record: %w", err)
	}
	if err := checkSchema(r.Schema); err != nil {
		return Record{}, err
	}
	return r, nil
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
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	records, torn, err = read(f)
	if err != nil {
		return records, false, fmt.Errorf("reading %q: %w", name, err)
	}
	return records, torn, nil
}

// Merge joins lists of records: one record a key, the last one given, in the
// order in which the keys first appear.
func Merge(lists ...[]Record) []Record {
	var out []Record
	at := map[Key]int{}
	for _, list := range lists {
		for _, r := range list {
			if i, ok := at[r.Key]; ok {
				out[i] = r
				continue
			}
			at[r.Key] = len(out)
			out = append(out, r)
		}
	}
	return out
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
	if err := readJSON(name, &m); err != nil {
		return m, err
	}
	if err := checkSchema(m.Schema); err != nil {
		return m, fmt.Errorf("reading %q: %w", name, err)
	}
	return m, nil
}

// WriteDetail writes the detail of a trial into a run folder and returns the
// path for [Record.Detail].
func WriteDetail(dir string, d Detail) (string, error) {
	d.Schema = Schema
	rel := path.Join(DetailsDir, detailName(d.Key))
	name := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	return rel, writeJSON(name, d)
}

// ReadDetail reads the detail that a record of a run folder names.
func ReadDetail(dir string, r Record) (Detail, error) {
	var d Detail
	if r.Detail == "" {
		return d, fmt.Errorf("trial %q has no detail file", r.Key)
	}
	if !filepath.IsLocal(filepath.FromSlash(r.Detail)) {
		return d, fmt.Errorf("trial %q names a detail file outside its folder: %q", r.Key, r.Detail)
	}
	name := filepath.Join(dir, filepath.FromSlash(r.Detail))
	if err := readJSON(name, &d); err != nil {
		return d, err
	}
	if err := checkSchema(d.Schema); err != nil {
		return d, fmt.Errorf("reading %q: %w", name, err)
	}
	return d, nil
}

// detailName is readable, the same for the same key, and different for
// different ones.
func detailName(k Key) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", []string{k.Scenario, k.File, k.Subject, k.Model, string(k.Mode)})
	return fmt.Sprintf("%s-%016x-%d.json", strings.ToLower(FileName(k.Scenario, "trial")), h.Sum64(), k.Attempt)
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
	const readable = 1 << 20 // nobody reads what is larger, and it is large enough
	if len(data) <= readable {
		var text bytes.Buffer
		if err := json.Indent(&text, data, "", "  "); err != nil {
			return fmt.Errorf("encoding %q: %w", name, err)
		}
		data = text.Bytes()
	}
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

func readJSON(name string, v any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	return nil
}
