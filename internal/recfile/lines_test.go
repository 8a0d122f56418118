// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package recfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/recfile"
)

// disk is a file on a disk that has room for so many bytes, or for all when
// that is less than 0.
type disk struct {
	*os.File
	room  int
	stuck bool // nothing can be taken back
}

func (d *disk) Write(b []byte) (int, error) {
	if d.room < 0 || len(b) <= d.room {
		return d.File.Write(b)
	}
	n, _ := d.File.Write(b[:d.room])
	d.room = 0
	return n, syscall.ENOSPC
}

func (d *disk) Truncate(size int64) error {
	if d.stuck {
		return errors.ErrUnsupported
	}
	return d.File.Truncate(size)
}

// TestLines writes to a disk that is full for a moment.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		room  int // when the second line comes
		stuck bool
		want  string
	}{
		{"a part fits", 3, false, "first\nthird\nfourth\n"},
		{"nothing fits", 0, false, "first\nthird\nfourth\n"},
		{"a part fits and stays", 3, true, "first\nsec\nthird\nfourth\n"},
		{"nothing fits, nothing is taken back", 0, true, "first\nthird\nfourth\n"},
	} {
		for _, appends := range []int{0, os.O_APPEND} {
			path := filepath.Join(t.TempDir(), "a")
			f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|appends, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			d := &disk{f, -1, tt.stuck}
			l := recfile.Lines{File: d}
			for n, line := range []string{"first\n", "second\n", "second again\n", "third\n", "fourth\n"} {
				full := n == 1 || n == 2
				if d.room = -1; n == 1 {
					d.room = tt.room
				} else if full {
					d.room = 0
				}
				if err := l.Append([]byte(line)); errors.Is(err, syscall.ENOSPC) != full {
					t.Errorf("%s: line %q: %v", tt.name, line, err)
				}
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != tt.want {
				t.Errorf("%s: the file holds %q, %v; want %q", tt.name, got, err, tt.want)
			}
		}
	}
}

// TestLinesBounded: a line that would make the file too large is not begun.
func TestLinesBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := recfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := recfile.Lines{File: f, Most: 8}
	for _, tt := range []struct {
		line string
		fits bool
	}{{"12345678\n", false}, {"1234\n", true}, {"123\n", false}, {"12\n", true}, {"\n", false}} {
		if err := l.Append([]byte(tt.line)); errors.Is(err, recfile.ErrFull) == tt.fits {
			t.Errorf("%q: %v", tt.line, err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "1234\n12\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}
