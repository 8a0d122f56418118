// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/dnaeon/go-vcr/v2/recorder"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// The libraries.
const (
	ours   = "rehearse"
	stock  = "go-vcr"
	reader = "go-vcr that reads bodies" // with the matcher that its README has
)

// job is what a child process does, once: so that none finds the memory that
// another has left.
type job struct {
	Do      string // load, save or replay
	Who     string
	Path    string // without .yaml
	Fixture string
	Count   int // requests
	Asked   string
}

// report is what a job took.
type report struct {
	Open   cost // what comes before
	Work   cost
	Peak   float64 // MiB
	Wrong  int     // answers
	Allocs float64 // MiB, of the work
}

type cost struct{ Wall, CPU time.Duration }

// run does the job in a process of its own.
func (j job) run() (report, error) {
	self, err := os.Executable()
	if err != nil {
		return report{}, err
	}
	spec, err := json.Marshal(j)
	if err != nil {
		return report{}, err
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(self, "-job", string(spec))
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return report{}, fmt.Errorf("%s by %s: %w: %s", j.Do, j.Who, err, &errs)
	}
	var r report
	return r, json.Unmarshal(out.Bytes(), &r)
}

// work is the child's part.
func work(spec string, out io.Writer) error {
	var j job
	err := json.Unmarshal([]byte(spec), &j)
	if err != nil {
		return err
	}
	var r report
	switch j.Do {
	case "load":
		r.Work, r.Allocs, err = measure(j.load)
	case "save":
		err = j.save(&r)
	case "replay":
		err = j.replay(&r)
	}
	if err != nil {
		return err
	}
	if r.Peak, err = peak(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

func measure(f func() error) (c cost, allocated float64, err error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := processorTime(), time.Now()
	err = f()
	c = cost{time.Since(start), processorTime() - cpu}
	runtime.ReadMemStats(&after)
	return c, float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20), err
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes a number and a place
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the most memory that this process had, in MiB.
func peak() (float64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	after, _, _ = strings.Cut(after, "kB")
	n, err := strconv.ParseFloat(strings.TrimSpace(after), 64)
	return n / 1024, err
}

func (j job) load() error {
	if j.Who == ours {
		_, err := vcr.Read(j.Path + ".yaml")
		return err
	}
	_, err := cassette.Load(j.Path)
	return err
}

// save writes what the file holds to another.
func (j job) save(r *report) (err error) {
	to := j.Path + ".copy"
	if err := os.RemoveAll(to + ".yaml"); err != nil {
		return err
	}
	if j.Who == ours {
		f, err := vcr.Read(j.Path + ".yaml")
		if err != nil {
			return err
		}
		r.Work, r.Allocs, err = measure(func() error { return vcr.WriteFile(to+".yaml", f, -1) })
		return err
	}
	c, err := cassette.Load(j.Path)
	if err != nil {
		return err
	}
	c.File = to + ".yaml"
	r.Work, r.Allocs, err = measure(c.Save)
	return err
}

// replay asks for all of a file.
func (j job) replay(r *report) error {
	requests, numbers, err := fixtures()[j.Fixture].requests(j.Count, j.Asked)
	if err != nil {
		return err
	}
	var transport http.RoundTripper
	r.Open, _, err = measure(func() (err error) {
		transport, err = j.open()
		return err
	})
	if err != nil {
		return err
	}
	// A whole client would cost more than what is measured.
	body := make([]byte, 64<<10)
	r.Work, r.Allocs, err = measure(func() error {
		for i, req := range requests {
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return err
			}
			n, err := io.ReadFull(resp.Body, body)
			resp.Body.Close()
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("reading a body: %w", err)
			}
			if !bytes.HasPrefix(body[:n], answer(numbers[i], 0)) {
				r.Wrong++
			}
		}
		return nil
	})
	return err
}

func (j job) open() (http.RoundTripper, error) {
	if j.Who == ours {
		return cassettes.Open(j.Path+".yaml", nil)
	}
	r, err := recorder.NewAsMode(j.Path, recorder.ModeReplaying, nil)
	if err != nil {
		return nil, err
	}
	r.SkipRequestLatency = true
	if j.Who == reader {
		r.SetMatcher(readsBodies)
	}
	return r, nil
}

// readsBodies is what go-vcr's README proposes for requests that differ in
// their bodies alone.
func readsBodies(r *http.Request, i cassette.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return cassette.DefaultMatcher(r, i)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(r.Body); err != nil {
		return false
	}
	r.Body = io.NopCloser(&b)
	return cassette.DefaultMatcher(r, i) && (b.String() == "" || b.String() == i.Body)
}
