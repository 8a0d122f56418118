// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Rename gives a file that is whole its name. Both are in the folder of the
// cassette.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// CloseWith is [Recorder.Close] for a recording that is of use only together
// with other files, such as the tapes of its MCP servers: they get their names
// together with the cassette. A process that dies on the way leaves all as it
// was, or a journal with which the next recording or replay goes on; see
// [Recover]. Where same is set the cassette stays as it is, and the others
// alone get their names.
func (r *Recorder) CloseWith(files []Rename, same bool) error {
	if r.ended() {
		return nil
	}
	r.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*vcr.Interaction
	var left []redact.Finding
	if !same {
		list, _, _ = r.contents()
		list, left = r.secrets.Review(list)
		if err := r.refuse(list, left); err != nil {
			return r.setAside(list, left, err)
		}
		staged, err := vcr.Stage(r.path, &vcr.File{Path: r.path, Interactions: list}, r.opts.MaxBody)
		if err != nil {
			return errors.Join(err, r.journal.remove())
		}
		if staged != "" {
			files = append([]Rename{{staged, r.path}}, files...)
		}
	}
	if err := r.commit(files); err != nil {
		return err
	}
	if !same {
		r.written(list, left)
	}
	return r.journal.remove()
}

// commit writes down what is to be done, so that it can be done by others, and
// does it.
func (r *Recorder) commit(files []Rename) error {
	if len(files) == 0 {
		return nil
	}
	todo := make([]Rename, len(files))
	for n, f := range files {
		if filepath.Dir(f.From) != filepath.Dir(r.path) || filepath.Dir(f.To) != filepath.Dir(r.path) {
			return fmt.Errorf("cassette %q: %q and %q are not in its folder", r.path, f.From, f.To)
		}
		todo[n] = Rename{filepath.Base(f.From), filepath.Base(f.To)}
	}
	err := r.journal.write(record{Commit: todo})
	if err == nil {
		err = r.journal.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("cassette %q: %w", r.path, err)
	}
	return roll(r.path, todo)
}

// roll does what a commit says, or what is left of that to do.
func roll(path string, todo []Rename) error {
	dir := filepath.Dir(path)
	for _, f := range todo {
		if f.From != filepath.Base(f.From) || f.To != filepath.Base(f.To) {
			return fmt.Errorf("journal %q: it renames %q to %q, outside its folder", journalPath(path), f.From, f.To)
		}
		if err := os.Rename(filepath.Join(dir, f.From), filepath.Join(dir, f.To)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("writing the recording of %q: %w", path, err)
		}
	}
	return recfile.Sync(dir)
}

// RecoverAll does what [Recover] does for all recordings in a folder, which
// need not be there.
func RecoverAll(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil // whoever reads there will say why
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for recordings: %w", err)
	}
	var errs []error
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), journalPath("")); ok && !e.IsDir() {
			errs = append(errs, Recover(filepath.Join(dir, name)))
		}
	}
	return errors.Join(errs...)
}

// Recover ends what a recording that was written together with others left to
// do when its process died: the files that were whole get their names. Where
// there is nothing to do, it does nothing.
func Recover(path string) error {
	path, err := recfile.Resolve(path)
	if err != nil {
		return fmt.Errorf("opening cassette: %w", err)
	}
	head, _, err := readJournal(path)
	if err != nil || head.commit == nil { // the next recorder reports a broken journal
		return nil
	}
	f, err := recfile.Take(journalPath(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // done by now
	case errors.Is(err, recfile.ErrBusy):
		return busy(path)
	case err != nil:
		return fmt.Errorf("cassette %q: its recording was interrupted while it was written: %w", path, err)
	}
	if err := roll(path, head.commit); err != nil {
		return errors.Join(err, f.Close())
	}
	return recfile.Remove(f)
}
