// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Path is the file of the tape.
func (r *Recorder) Path() string { return r.path }

// begin makes the file that is written, and locks it.
func (r *Recorder) begin() error {
	part := partPath(r.path)
	left, err := recfile.Take(part)
	switch {
	case errors.Is(err, recfile.ErrBusy):
		return errBusy
	case err == nil: // of a process that died
		to, err := r.saveCut(left)
		if err != nil {
			return err
		}
		r.logf("tape %q: a recording was interrupted; its frames so far are in %q", r.path, to)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	r.file, err = recfile.Create(part)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, recfile.ErrBusy) {
		return errBusy
	}
	r.lines = recfile.Lines{File: r.file, Most: maxTape}
	return err
}

// maxTape is how large a tape becomes, in bytes. What stands for secrets that are
// found at its end needs room, too, in what is read again.
const maxTape = plainfile.MaxRecording / 8 * 7

// saveCut renames what was left of a recording, and closes it.
func (r *Recorder) saveCut(left *os.File) (string, error) {
	to, err := recfile.Unused(recfile.Beside(r.path, recfile.Cut))
	if err == nil {
		err = os.Rename(left.Name(), to)
	}
	return to, errors.Join(err, left.Close())
}

var errBusy = errors.New("another process is recording it")

// Stage ends the recording like [Recorder.Close], but leaves its name to
// somebody who has others to give together with it: it returns the path of a
// file that is whole, and stays locked until [Recorder.Discard]; empty where
// there is none any more.
func (r *Recorder) Stage() (string, error) {
	err := r.Stop()
	r.mu.Lock()
	over := r.over
	r.mu.Unlock()
	switch {
	case over:
		return "", nil
	case err != nil:
		return "", err
	}
	if err := r.file.Sync(); err != nil {
		return "", fmt.Errorf("tape %q is not written: %w", r.path, err)
	}
	if !recfile.Mine(r.file) {
		return "", fmt.Errorf("tape %q is not written: %q was removed, or another process is recording", r.path, r.file.Name())
	}
	return r.file.Name(), nil
}

// Discard ends the recording like [Recorder.Close], but there is no tape of
// it: an older one stays as it is.
func (r *Recorder) Discard() error {
	_ = r.Stop() // there would be no tape, and there is to be none
	if !r.finish() {
		return nil
	}
	return r.drop()
}

// Refuse ends the recording, but it goes to NAME.refused.tape, and a tape that is there
// stays: for a recording that is of use only together with another one that is refused.
// The error says why, and where it is.
func (r *Recorder) Refuse(why error) error {
	if err := r.Stop(); err != nil {
		return err
	}
	return errors.Join(r.setAside(why), r.Discard())
}

// drop closes the file and takes it away, if it is still ours, has no name yet and
// does not stay.
func (r *Recorder) drop() error {
	if r.stays || !recfile.Mine(r.file) {
		return r.file.Close()
	}
	return recfile.Remove(r.file)
}

// stay leaves the file where it was written, because nothing else has what was
// recorded: the next recorder takes it for that of a process that died.
func (r *Recorder) stay(err error) error {
	r.stays = true
	return fmt.Errorf("%w; the recording is in %q", err, r.file.Name())
}

// certain is the first finding that is no guess; nil when there is none.
func certain(found []redact.Finding) *redact.Finding {
	for i := range found {
		if !found[i].Guess {
			return &found[i]
		}
	}
	return nil
}

// scanned looks at a line that is to be written. One in which something looks
// like a secret still is written without it, and the tape is refused.
func (r *Recorder) scanned(line []byte, dir Dir) []byte {
	found := r.secrets.Scan(line)
	for _, f := range found {
		if f.Guess {
			if r.doubts++; r.doubts == 1 {
				r.doubt = fmt.Sprintf("frame %d (%s): %s: %s", r.kept+1, dir, f.Rule, f.Excerpt)
			}
		}
	}
	f := certain(found)
	if f == nil {
		return line
	}
	if r.secret == nil {
		r.secret = fmt.Errorf("frame %d (%s) still contains what looks like a secret: %s: %s; if it is not a secret, keep it with --keep NAME (in rehearse.yaml: redact.keep)", r.kept+1, dir, f.Rule, f.Excerpt)
	}
	i := &vcr.Interaction{Response: vcr.Response{Body: line}}
	masked := r.secrets.Mask(i, found).Response.Body
	if !json.Valid(masked) { // it is taken out whole
		frame := Frame{Dir: dir, Text: string(bytes.TrimSpace(masked))}
		return frame.encode()
	}
	return append(bytes.TrimSpace(masked), '\n')
}

// spoils says why a recording does not replace the tape that is there: that is
// of another server, or it has more.
func (r *Recorder) spoils() error {
	if r.force {
		return nil
	}
	before, err := Read(r.path)
	if err != nil || before.Cut {
		return nil // there is nothing to lose
	}
	now, err := r.Recording()
	if err != nil {
		return err
	}
	if before.Server != "" && now.Server != "" && before.Server != now.Server {
		return fmt.Errorf("the existing tape records %q, but this recording is of %q; --force replaces it", before.Server, now.Server)
	}
	asked, answered := before.count()
	switch askedNow, answeredNow := now.count(); {
	case askedNow < asked:
		return fmt.Errorf("the existing tape has %d requests, but this recording has %d; --force replaces it", asked, askedNow)
	case answeredNow < answered:
		return fmt.Errorf("the existing tape has answers to %d requests, but this recording to %d; --force replaces it", answered, answeredNow)
	}
	return nil
}

// Answered counts the requests of the client that the server answered, with an error
// too. A tape without any has nothing to replay and nothing to verify.
func (r *Recording) Answered() int {
	_, answered := r.count()
	return answered
}

// count counts the requests of the client, and those of them that have an answer.
func (r *Recording) count() (asked, answered int) {
	type id struct {
		session int
		key     string
	}
	open := map[id]bool{}
	for i := range r.Frames {
		f := &r.Frames[i]
		for _, m := range f.messages() {
			switch at := (id{f.Session, m.Key()}); {
			case f.Dir == In && m.IsRequest():
				open[at] = true
				asked++
			case f.Dir == Out && m.IsResponse() && open[at]:
				delete(open, at)
				answered++
			}
		}
	}
	return asked, answered
}

// setAside keeps a recording that is refused, in a file of its own, and adds to
// the error where.
func (r *Recorder) setAside(why error) error {
	why = fmt.Errorf("tape %q is not written, and an existing one stays: %w", r.path, why)
	if r.aside != "" {
		return fmt.Errorf("%w; the recording is in %q", why, r.aside)
	}
	data, err := os.ReadFile(r.file.Name())
	if err == nil && certain(r.secrets.Scan(data)) != nil { // over lines
		data = r.secrets.Mask(&vcr.Interaction{Response: vcr.Response{Body: data}}, r.secrets.Scan(data)).Response.Body
		err = r.rewrite(data)
	}
	var at string
	if err == nil {
		at, err = recfile.Unused(recfile.Beside(r.path, recfile.Refused))
	}
	if err == nil {
		err = plainfile.ReplaceBytes(at, 0o600, data)
	}
	if err != nil {
		return errors.Join(why, r.stay(err))
	}
	r.aside = at
	return fmt.Errorf("%w; the recording is in %q", why, at)
}

// keepShort keeps what there is of a tape that could not be written to its end, in
// a file of its own, and says where.
func (r *Recorder) keepShort() error {
	why := fmt.Errorf("tape %q is not written, and an existing one stays: %w", r.path, r.short)
	if r.aside == "" {
		at, err := recfile.Unused(recfile.Beside(r.path, recfile.Cut))
		if err == nil {
			err = os.Rename(r.file.Name(), at)
		}
		if err != nil {
			return errors.Join(why, r.stay(err))
		}
		r.aside = at
	}
	return fmt.Errorf("%w; the frames before that are in %q", why, r.aside)
}

// rewrite puts data in place of all that is written.
func (r *Recorder) rewrite(data []byte) error {
	if err := r.file.Truncate(0); err != nil {
		return err
	}
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := r.file.Write(data)
	return err
}

// Empty reports whether nothing went by, once [Recorder.Stop] has ended the
// recording.
func (r *Recorder) Empty() bool { return r.kept == 0 }

// Recording reads what was recorded, once [Recorder.Stop] has ended it.
func (r *Recorder) Recording() (*Recording, error) {
	data, err := plainfile.Read(partPath(r.path), plainfile.MaxRecording)
	if err != nil {
		return nil, fmt.Errorf("reading tape: %w", err)
	}
	return Parse(r.path, data)
}

// Same reports whether two recordings say the same: only times may differ.
func Same(a, b *Recording) bool {
	return a.Server == b.Server && slices.EqualFunc(a.Frames, b.Frames, func(a, b Frame) bool {
		a.At, b.At = 0, 0
		return bytes.Equal(a.encode(), b.encode())
	})
}
