// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package cassettes_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// child records until it is killed: it says "done" after each exchange, and
// "closed" after it has written the file, over and over.
func child(path string) {
	for {
		r, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.RecordNew, Upstream: echo(), LookupEnv: noCI})
		if err != nil {
			fmt.Println("error", err)
			return
		}
		for n := range 5 {
			req, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1:1/", strings.NewReader(fmt.Sprint(os.Getpid(), n, rand.Int())))
			resp, err := r.RoundTrip(req)
			if err != nil {
				fmt.Println("error", err)
				return
			}
			_, _ = bufio.NewReader(resp.Body).WriteTo(discard{})
			resp.Body.Close()
			fmt.Println("done")
		}
		if err := r.Close(); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("closed")
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestKill kills recordings at random moments: what was said to be done is
// there afterwards, and the file always loads.
func TestKill(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	lost := 0
	for n := range 200 {
		path := filepath.Join(t.TempDir(), "a.yaml")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CASSETTES_CHILD="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It is killed while it does what comes after so many lines.
		done, lines := 0, bufio.NewScanner(out)
		stop := r.IntN(14)
		for i := 0; i < stop && lines.Scan(); i++ {
			switch text := lines.Text(); {
			case text == "done":
				done++
			case strings.HasPrefix(text, "error"):
				t.Fatalf("child: %s", text)
			}
		}
		for range r.IntN(20_000) { // somewhere within
			_ = r.Uint64()
		}
		_ = cmd.Process.Kill()
		for lines.Scan() { // what it had said before it died
			if lines.Text() == "done" {
				done++
			}
		}
		_ = cmd.Wait()
		if got := held(t, path); got < done {
			t.Errorf("recording %d: %d exchanges were done, and %d are held", n, done, got)
			lost++
		}
	}
	t.Logf("200 recordings killed, %d lost anything that had ended", lost)
}

// held counts what a cassette and its journal hold, read in each way that a
// user may come across them.
func held(t *testing.T, path string) int {
	t.Helper()
	if _, err := vcr.Read(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the file does not load: %v", err)
	}
	rec, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.RecordNew, LookupEnv: noCI})
	if err != nil {
		t.Fatalf("the recording cannot go on: %v", err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := vcr.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(f.Interactions)
}
