// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// A journal keeps a recording that is under way: one line of JSON for each
// exchange that has ended, in a file beside the cassette. A process that dies
// loses the exchange in flight; the next recorder, or a replay, finds the
// rest.
//
// Its last line may be a commit: the recording is whole, and its files only lack
// their names. Whoever opens the recording next gives them these.
type journal struct {
	path  string
	file  *os.File
	lines recfile.Lines
}

// maxJournal is what a journal holds at most, in bytes. It is more than a
// cassette may have: its exchanges are in base64, and it is read by lines.
const maxJournal = 4 * plainfile.MaxRecording

// heading is the first line of a journal.
type heading struct {
	// Base is the digest of the cassette as it was when the recording began,
	// empty when there was none. A cassette that has another by now was
	// written by the recording itself, or by somebody else.
	Base string `json:"base"`
	// Adds says that the exchanges come behind those of the cassette, and not
	// in their place.
	Adds bool `json:"adds"`
	// Whole says that the recording is of use only as a whole: the journal
	// holds no exchange, and keeps other recorders away.
	Whole bool `json:"whole,omitempty"`

	commit []Rename // of the last line
	torn   []int    // lines of which only a part is there, from 1
}

// record is any other line of a journal.
type record struct {
	Slot        int    `json:"slot"`             // the place of the exchange in the file, from 0
	Renews      int    `json:"renews,omitempty"` // the interaction whose place it takes, from 1
	Interaction []byte `json:"interaction"`      // a file of one, as vcr writes it

	Commit []Rename `json:"commit,omitempty"`
}

func journalPath(path string) string { return path + ".journal" }

// digest is that of a cassette's file; empty when there is none.
func digest(path string) (string, error) {
	data, err := plainfile.Read(path, plainfile.MaxRecording)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// newJournal begins a journal.
func newJournal(path string, adds, whole bool) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	base, err := digest(path)
	if err != nil {
		return nil, err
	}
	f, err := recfile.Create(journalPath(path))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, recfile.ErrBusy) {
		return nil, busy(path)
	}
	if err != nil {
		return nil, err
	}
	j := &journal{path: journalPath(path), file: f, lines: recfile.Lines{File: f, Most: maxJournal}}
	if err := j.write(heading{Base: base, Adds: adds, Whole: whole}); err != nil {
		return nil, errors.Join(err, j.remove())
	}
	return j, nil
}

// add keeps an exchange.
func (j *journal) add(slot, renews int, i *vcr.Interaction) error {
	one := vcr.File{Interactions: []*vcr.Interaction{i}}
	return j.write(record{Slot: slot, Renews: renews, Interaction: one.Encode()})
}

// write adds a line, in one write.
func (j *journal) write(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		err = j.lines.Append(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing journal %q: %w", j.path, err)
	}
	return nil
}

func (j *journal) remove() error {
	return recfile.Remove(j.file)
}

// busy is the error of who comes second.
func busy(path string) error {
	return fmt.Errorf("cassette %q is being recorded by another process (%q is its journal)", path, journalPath(path))
}

// live reports whether a process is recording the cassette now.
func live(path string) bool { return recfile.Live(journalPath(path)) }

// left is an exchange that a journal holds.
type left struct {
	record
	*vcr.Interaction
}

// readJournal reads what a recording left, in the order of the file. A last
// line that is cut off was never whole. Nor was another one that is not JSON,
// as older versions left them on a full disk: it costs no other exchange, and
// head.torn has it. That a journal has nothing else is an error.
func readJournal(path string) (head heading, found []left, err error) {
	f, err := plainfile.Open(journalPath(path))
	if err != nil {
		return head, nil, err
	}
	defer f.Close()
	if head, found, err = readLines(f); err != nil {
		return head, nil, fmt.Errorf("reading journal %q: %w", journalPath(path), err)
	}
	return head, found, nil
}

// readLines reads the lines of a journal. An error says of which it is.
func readLines(f io.Reader) (head heading, found []left, err error) {
	wrong := func(n int, err error) error { return fmt.Errorf("line %d: %w", n, err) }
	in := bufio.NewReader(io.LimitReader(f, maxJournal))
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return head, nil, wrong(n, err)
		}
		var l left
		switch line = bytes.TrimSpace(line); {
		case n == 1:
			err = json.Unmarshal(line, &head)
		case len(line) == 0:
			continue
		case !json.Valid(line):
			head.torn = append(head.torn, n)
			continue
		default:
			l, err = readRecord(line)
		}
		switch {
		case err != nil:
			return head, nil, wrong(n, err)
		case l.Commit != nil:
			head.commit = l.Commit
		case n > 1:
			found = append(found, l)
		}
	}
	if len(head.torn) > 0 && len(found) == 0 && head.commit == nil {
		return head, nil, wrong(head.torn[0], errors.New("only a part of it is there, and no exchange is whole"))
	}
	slices.SortStableFunc(found, func(a, b left) int { return cmp.Compare(a.Slot, b.Slot) })
	return head, found, nil
}

// lost says which exchanges are missing among those of a journal; empty when
// none are.
func (h *heading) lost() string {
	if len(h.torn) == 0 {
		return ""
	}
	return fmt.Sprintf("; lost because only a part was written: %s of its journal (first: line %d)", prose.Count(len(h.torn), "line"), h.torn[0])
}

func readRecord(line []byte) (left, error) {
	var l left
	if err := json.Unmarshal(line, &l.record); err != nil {
		return l, err
	}
	if l.Commit != nil {
		return l, nil
	}
	one, err := vcr.Parse("the interaction", l.record.Interaction)
	if err != nil {
		return l, err
	}
	if len(one.Interactions) != 1 {
		return l, fmt.Errorf("it contains %d interactions, not one", len(one.Interactions))
	}
	l.Interaction = one.Interactions[0]
	return l, nil
}

// fold keeps what a dead process left, before a new recording begins. What was
// to be added to the cassette is, in mode record-new; what was to take its place
// stands beside it, for the cassette is whole and this is not. The journal goes
// last: whoever dies here leaves both.
func fold(path string, anew bool, maxBody int, secrets *redact.Redactor, logf func(string, ...any)) (err error) {
	f, err := recfile.Take(journalPath(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, recfile.ErrBusy):
		return busy(path)
	case err != nil:
		return fmt.Errorf("cassette %q: a recording was interrupted: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it stays
			return
		}
		err = errors.Join(sweep(path), recfile.Remove(f))
	}()
	head, found, err := readJournal(path)
	if err != nil {
		return err
	}
	if head.commit != nil {
		return roll(path, head.commit)
	}
	if len(found) == 0 {
		return nil
	}
	now, err := digest(path)
	if err != nil {
		return fmt.Errorf("reading cassette: %w", err)
	}
	if now != head.Base && holdsAll(path, found) {
		return nil // the recording has been written
	}
	aside := anew || now != head.Base || now != "" && !head.Adds
	to := path
	if aside {
		to = recfile.Beside(path, recfile.Cut)
	}
	list, err := before(to)
	if err != nil {
		return err
	}
	for _, l := range found {
		if n := l.Renews; !aside && n > 0 && n <= len(list) {
			list[n-1] = l.Interaction
		} else {
			list = append(list, l.Interaction)
		}
	}
	list, rest := secrets.Review(list)
	if why := secretLeft(to, list, rest); why != nil {
		at, err := setAside(path, list, rest, secrets, maxBody)
		if err != nil {
			return err
		}
		logf("a recording was interrupted, and %v; its finished exchanges are in %q%s", why, at, head.lost())
		return nil
	}
	if err := vcr.WriteFile(to, &vcr.File{Path: to, Interactions: list}, maxBody); err != nil {
		return err
	}
	switch {
	case !aside:
		logf("cassette %q: a recording was interrupted; its finished exchanges are kept in the cassette (exchanges: %d)%s", path, len(found), head.lost())
	case anew:
		logf("cassette %q: a recording was interrupted; its finished exchanges are in %q (exchanges: %d), because mode %s makes a new file%s", path, to, len(found), Record, head.lost())
	default:
		logf("cassette %q: a recording that would have replaced it was interrupted; its finished exchanges are in %q (exchanges: %d), and the cassette is unchanged%s", path, to, len(found), head.lost())
	}
	return nil
}

// sweep removes what a dead process had begun to write and not renamed.
func sweep(path string) error {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if name := e.Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ".tmp") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	return err
}

// before is what a file holds already.
func before(path string) ([]*vcr.Interaction, error) {
	f, err := vcr.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return f.Interactions, nil
}

// holdsAll reports whether a cassette has all exchanges of a journal.
func holdsAll(path string, found []left) bool {
	f, err := vcr.Read(path)
	if err != nil {
		return false
	}
	there := map[string]bool{}
	for _, i := range f.Interactions {
		there[string((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode())] = true
	}
	return !slices.ContainsFunc(found, func(l left) bool {
		return !there[string((&vcr.File{Interactions: []*vcr.Interaction{l.Interaction}}).Encode())]
	})
}
