// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLargeFile: a file becomes no larger than is read, or is not written.
func TestLargeFile(t *testing.T) {
	const most = 64 << 10
	for _, tt := range []struct {
		name    string
		sizes   []int // of the answers
		maxBody int
		beside  int // bodies
		want    string
	}{
		{"small", []int{100, 200}, 0, 0, ""},
		{"long bodies", []int{30_000, 30_000, 30_000, 100}, 0, 3, ""},
		{"binary ones", []int{-20_000, -20_000, 100}, 0, 2, ""},
		{"the longest of many", []int{20_000, 20_000, 9_000, 9_000, 9_000, 100}, 0, 2, ""},
		{"no body beside", []int{30_000, 30_000, 30_000}, -1, 0, "bytes, but files above 65536 bytes are not read; record it in parts"},
		{"many short ones", bytesOf(200, 900), 0, 0, "record it in parts"},
		{"one body is too long", []int{70_000}, 0, 0, "interaction 1 (GET http://127.0.0.1/) has a body of 70000 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			f := &File{Path: path}
			for n, size := range tt.sizes {
				body := bytes.Repeat([]byte{byte('a' + n%20)}, max(size, -size))
				if size < 0 {
					body[0] = 0xFF
				}
				f.Interactions = append(f.Interactions, &Interaction{Request: Request{Method: "GET", URL: "http://127.0.0.1/"}, Response: Response{Code: 200, Body: body}})
			}
			tmp, err := stageWithin(path, f, tt.maxBody, most)
			if tt.want != "" {
				left, _ := os.ReadDir(filepath.Dir(path))
				if err == nil || !strings.Contains(err.Error(), tt.want) || len(left) > 0 {
					t.Errorf("got %v, left %v", err, left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(tmp)
			if err != nil || info.Size() > most {
				t.Errorf("%v, %v", info, err)
			}
			if err := os.Rename(tmp, path); err != nil {
				t.Fatal(err)
			}
			again, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			for n, i := range again.Interactions {
				if !bytes.Equal(i.Response.Body, f.Interactions[n].Response.Body) {
					t.Errorf("answer %d is another", n+1)
				}
			}
			if list, _ := os.ReadDir(path + BodiesSuffix); len(list) != tt.beside {
				t.Errorf("%d bodies stand beside, want %d", len(list), tt.beside)
			}
		})
	}
}

func bytesOf(n, size int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = size
	}
	return out
}
