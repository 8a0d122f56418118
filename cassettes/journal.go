// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

// A journal keeps a recording that is under way: one line of JSON for each
// exchange that has ended, in a file beside the cassette. A process that dies
// loses the exchange in flight; the next recorder, or a replay, finds the
// rest.
type journal struct {
	path string
	file *os.File
}

// record is a line of the journal.
type record struct {
	// Slot is the place of the exchange in the file, from 0; -1 for what the
	// file held before, which is all in the first lines.
	Slot        int    `json:"slot"`
	Interaction []byte `json:"interaction"` // a file of one, as vcr writes it
}

func journalPath(path string) string { return path + ".journal" }

// newJournal begins a journal, with what the cassette holds already.
func newJournal(path string, before []*vcr.Interaction) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(journalPath(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%q is there: another process is recording this cassette", journalPath(path))
	}
	if err != nil {
		return nil, err
	}
	j := &journal{path: journalPath(path), file: f}
	for _, i := range before {
		if err := j.add(-1, i); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// add writes a line, in one write.
func (j *journal) add(slot int, i *vcr.Interaction) error {
	one := vcr.File{Interactions: []*vcr.Interaction{i}}
	line, err := json.Marshal(record{slot, one.Encode()})
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing journal %q: %w", j.path, err)
	}
	return nil
}

func (j *journal) remove() error {
	return errors.Join(j.file.Close(), os.Remove(j.path))
}

// readJournal reads what a recording left, in the order of the file. A last
// line that is cut off was never whole.
func readJournal(path string) ([]*vcr.Interaction, error) {
	data, err := os.ReadFile(journalPath(path))
	if err != nil {
		return nil, err
	}
	type placed struct {
		slot int
		*vcr.Interaction
	}
	var found []placed
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			break
		}
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			return nil, fmt.Errorf("reading journal %q: line %d: %w", journalPath(path), len(found)+1, err)
		}
		one, err := vcr.Parse(journalPath(path), rec.Interaction)
		if err == nil && len(one.Interactions) != 1 {
			err = fmt.Errorf("it holds %d interactions, not one", len(one.Interactions))
		}
		if err != nil {
			return nil, fmt.Errorf("reading journal %q: line %d: %w", journalPath(path), len(found)+1, err)
		}
		found = append(found, placed{rec.Slot, one.Interactions[0]})
	}
	slices.SortStableFunc(found, func(a, b placed) int { return a.slot - b.slot })
	out := make([]*vcr.Interaction, len(found))
	for i, p := range found {
		out[i] = p.Interaction
	}
	return out, nil
}

// fold makes the cassette of what a dead process left, before a new recording
// begins.
func fold(path string, maxBody int, logf func(string, ...any)) error {
	left, err := readJournal(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(left) > 0 {
		logf("cassette %q: a recording was cut off; %d interactions of it are kept", path, len(left))
		if err := vcr.WriteFile(path, &vcr.File{Path: path, Interactions: left}, maxBody); err != nil {
			return err
		}
	}
	return os.Remove(journalPath(path))
}
