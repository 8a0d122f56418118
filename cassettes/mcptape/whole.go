// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Discard ends the recording like [Recorder.Close], but there is no tape of
// it: an older one stays as it is.
func (r *Recorder) Discard() error {
	_ = r.Stop() // there would be no tape, and there is to be none
	if !r.finish() {
		return nil
	}
	return r.drop()
}

// drop closes the file and takes it away, if it is still ours.
func (r *Recorder) drop() error {
	mine, err := r.file.Stat()
	there, err2 := os.Lstat(partPath(r.path))
	err = errors.Join(err, r.file.Close())
	if err == nil && err2 == nil && os.SameFile(mine, there) {
		err = os.Remove(partPath(r.path))
	}
	return err
}

// Empty reports whether nothing went by, once [Recorder.Stop] has ended the
// recording.
func (r *Recorder) Empty() bool { return r.kept == 0 }

// Recording reads what was recorded, once [Recorder.Stop] has ended it.
func (r *Recorder) Recording() (*Recording, error) {
	data, err := os.ReadFile(partPath(r.path))
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
