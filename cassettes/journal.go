// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

// A journal keeps a recording that is under way: one line of JSON for each
// exchange that has ended, in a file beside the cassette. A process that dies
// loses the exchange in flight; the next recorder, or a replay, finds the
// rest.
// A recording that is of use only as a whole has none, a nil one.
type journal struct {
	path string
	file *os.File
}

// heading is the first line of a journal.
type heading struct {
	// Base is the digest of the cassette as it was when the recording began,
	// empty when there was none. A cassette that has another by now was
	// written by the recording itself, or by somebody else.
	Base string `json:"base"`
	// Adds says that the exchanges come behind those of the cassette, and not
	// in their place.
	Adds bool `json:"adds"`
}

// record is any other line of a journal.
type record struct {
	Slot        int    `json:"slot"`             // the place of the exchange in the file, from 0
	Renews      int    `json:"renews,omitempty"` // the interaction whose place it takes, from 1
	Interaction []byte `json:"interaction"`      // a file of one, as vcr writes it
}

func journalPath(path string) string { return path + ".journal" }

// digest is that of a cassette's file; empty when there is none.
func digest(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// newJournal begins a journal.
func newJournal(path string, adds bool) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	base, err := digest(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(journalPath(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, busy(path)
	}
	if err != nil {
		return nil, err
	}
	if !own(f) { // somebody took the new file for one that was left
		_ = f.Close()
		return nil, busy(path)
	}
	j := &journal{path: journalPath(path), file: f}
	return j, j.write(heading{base, adds})
}

// add keeps an exchange.
func (j *journal) add(slot, renews int, i *vcr.Interaction) error {
	if j == nil {
		return nil
	}
	one := vcr.File{Interactions: []*vcr.Interaction{i}}
	return j.write(record{slot, renews, one.Encode()})
}

// write adds a line, in one write.
func (j *journal) write(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing journal %q: %w", j.path, err)
	}
	return nil
}

func (j *journal) remove() error {
	if j == nil {
		return nil
	}
	return drop(j.file)
}

// busy is the error of who comes second.
func busy(path string) error {
	return fmt.Errorf("cassette %q is being recorded by another process (%q is its journal)", path, journalPath(path))
}

// own locks the file of a journal, and reports whether it is still the one
// under its name. Who only looks whether it is locked holds it for a moment.
func own(f *os.File) bool {
	for n := 0; !tryLock(f, false); n++ {
		if n == 20 {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Name())
	return err == nil && os.SameFile(mine, there)
}

// live reports whether a process is recording the cassette now.
func live(path string) bool {
	f, err := os.Open(journalPath(path))
	if err != nil {
		return false
	}
	defer f.Close()
	return !tryLock(f, true)
}

// left is an exchange that a journal holds.
type left struct {
	record
	*vcr.Interaction
}

// readJournal reads what a recording left, in the order of the file. A last
// line that is cut off was never whole.
func readJournal(path string) (heading, []left, error) {
	var head heading
	data, err := os.ReadFile(journalPath(path))
	if err != nil {
		return head, nil, err
	}
	var found []left
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			break
		}
		if n == 1 {
			err = json.Unmarshal(line, &head)
		} else {
			var l left
			l, err = readRecord(line)
			found = append(found, l)
		}
		if err != nil {
			return head, nil, fmt.Errorf("reading journal %q: line %d: %w", journalPath(path), n, err)
		}
	}
	slices.SortStableFunc(found, func(a, b left) int { return cmp.Compare(a.Slot, b.Slot) })
	return head, found, nil
}

func readRecord(line []byte) (left, error) {
	var l left
	if err := json.Unmarshal(line, &l.record); err != nil {
		return l, err
	}
	one, err := vcr.Parse("the interaction", l.record.Interaction)
	if err != nil {
		return l, err
	}
	if len(one.Interactions) != 1 {
		return l, fmt.Errorf("it holds %d interactions, not one", len(one.Interactions))
	}
	l.Interaction = one.Interactions[0]
	return l, nil
}

// fold keeps what a dead process left, before a new recording begins: in the
// cassette itself, or in a file beside it when that is recorded anew. The
// journal goes last: whoever dies here leaves both.
func fold(path string, anew bool, maxBody int, secrets *redact.Redactor, logf func(string, ...any)) (err error) {
	f, err := os.OpenFile(journalPath(path), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cassette %q: a recording was cut off: %w", path, err)
	}
	if !own(f) {
		_ = f.Close()
		return busy(path)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it stays
			return
		}
		err = drop(f)
	}()
	head, found, err := readJournal(path)
	if err != nil {
		return err
	}
	now, err := digest(path)
	if err != nil {
		return fmt.Errorf("reading cassette: %w", err)
	}
	if len(found) > 0 && now == head.Base { // else the recording has been written
		to, list, err := foldInto(path, anew, head.Adds && now != "")
		if err != nil {
			return err
		}
		for _, l := range found {
			if n := l.Renews; !anew && n > 0 && n <= len(list) {
				list[n-1] = l.Interaction
			} else {
				list = append(list, l.Interaction)
			}
		}
		if err := checkSecrets(path, list, secrets); err != nil {
			return fmt.Errorf("a recording was cut off, and %w; remove %q", err, journalPath(path))
		}
		if err := vcr.WriteFile(to, &vcr.File{Path: to, Interactions: list}, maxBody); err != nil {
			return err
		}
		if anew {
			logf("cassette %q: a recording was cut off; what ended of it is in %q (exchanges: %d), for mode %s makes a new file; %s would have gone on with it", path, to, len(found), Record, RecordNew)
		} else {
			logf("cassette %q: a recording was cut off; what ended of it is kept in it (exchanges: %d)", path, len(found))
		}
	}
	return nil
}

// foldInto says where what was left goes, and behind what.
func foldInto(path string, anew, adds bool) (string, []*vcr.Interaction, error) {
	to := path
	if anew {
		to, adds = besidePath(path, "cut"), true
	}
	if !adds {
		return to, nil, nil
	}
	before, err := vcr.Read(to)
	if anew && errors.Is(err, fs.ErrNotExist) {
		return to, nil, nil
	}
	if err != nil {
		return to, nil, err
	}
	return to, before.Interactions, nil
}
