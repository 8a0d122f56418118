// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestResumeAfterKills kills a run against an endpoint with -9 at seeded
// requests and resumes it until it comes to its end: no trial is lost, none is
// recorded twice, and what was finished is not asked for again.
func TestResumeAfterKills(t *testing.T) {
	t.Parallel()
	seed := number(t, "REHEARSE_SEED", 12)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 14))
	ask := make(chan chan struct{})
	ctx := t.Context()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		let := make(chan struct{})
		select {
		case ask <- let:
			<-let
		case <-ctx.Done():
		}
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}]}`)
	}))
	t.Cleanup(server.Close)
	k := &killer{T: t, dir: t.TempDir()}
	put(t, k.dir, "s.yaml", "scenario: s\ncases: [{name: a}, {name: b}, {name: c}, {name: d}]\nturns: [{user: hi, expect: [{answer: {equals: hello}}]}]\n")
	args := []string{"run", "s.yaml", "--mode", "live", "--base-url", server.URL + "/v1", "--model", "m", "--trials", "3", "--parallel", "2", "--out", "runs"}
	dir := ""
	requests := 0
	for kills := 0; ; kills++ {
		c := k.child(args...)
		if kills == 3 {
			k.serveAll(c, ask, -1, &requests)
			k.end(c)
			break
		}
		k.serveAll(c, ask, 1+r.IntN(3), &requests)
		if dir == "" {
			found, _ := filepath.Glob(filepath.Join(k.dir, "runs", "*"))
			if len(found) != 1 {
				t.Fatalf("run folders %q", found)
			}
			dir = found[0]
			args = append(args, "--resume", dir)
		}
	}
	list, err := trials.ReadFile(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[trials.Key]int{}
	for _, rec := range list {
		if seen[rec.Key]++; rec.Outcome != harness.OutcomePassed {
			t.Errorf("%s: %s", rec.Key, rec.Outcome)
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s is recorded %d times", key, n)
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d trials are recorded, want 12", len(seen))
	}
	if most := 12 + 3*2; requests > most { // those under way at each kill
		t.Errorf("%d requests, want at most %d", requests, most)
	}
}

// serveAll answers a program's requests, and kills it when it has sent one more
// than most of them; a negative number waits for its end.
func (k *killer) serveAll(c *child, ask chan chan struct{}, most int, requests *int) {
	for n := 0; ; n++ {
		select {
		case let := <-ask:
			*requests++
			if n == most {
				_ = c.cmd.Process.Kill()
				<-c.done
				close(let)
				return
			}
			close(let)
		case <-c.done:
			if most >= 0 {
				k.Fatalf("ended before it was killed\n%s", c.stderr.String())
			}
			return
		}
	}
}
