// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpmatrix"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

var update = flag.Bool("update", false, "rewrite mcp-faults.json and testdata/three.txt")

// TestMCPFaults has small clients made with the official SDKs meet every fault.
// What they do stands in the testdata of harness/agent, and in docs/mcp-faults.md,
// which `go test ./harness/agent -update` writes.
func TestMCPFaults(t *testing.T) {
	clients := map[string][]string{
		"Go SDK":         {buildGoClient(t, "mcpfaults")},
		"TypeScript SDK": {node, "clients/mcp_faults.mjs"},
	}
	const path = "../harness/agent/testdata/mcp-faults.json"
	var want map[string]map[string]string
	golden, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(golden, &want)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards cells
	cells := make(map[string]map[string]string)
	var running sync.WaitGroup
	slots := make(chan struct{}, 6) // most of them only wait for a time limit
	for _, c := range mcpmatrix.Cases(mcpmatrix.Columns()) {
		for _, subject := range mcpmatrix.Subjects() {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				name, column := c.Fault.String(), subject+", "+c.Column.Name
				text := meet(t, c, clients[subject])
				// What a client does may hang on which of two things it hears
				// first: what was seen once must be seen again within a few tries.
				for try := 0; try < 3 && !*update && text != want[name][column]; try++ {
					text = meet(t, c, clients[subject])
				}
				mu.Lock()
				defer mu.Unlock()
				if cells[name] == nil {
					cells[name] = make(map[string]string)
				}
				cells[name][column] = text
			})
		}
	}
	running.Wait()
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(cells); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(golden), got.String()); diff != "" {
		t.Errorf("%s is stale; go -C interop test -tags interop . -run TestMCPFaults -update writes it (-want +got):\n%s", path, diff)
	}
}

// meet has a client meet a fault, and says what came of it.
func meet(t *testing.T, c mcpmatrix.Case, argv []string) string {
	limit := 20 * time.Second
	if c.Silent() {
		limit = 3 * time.Second
	}
	mode := "legacy"
	if c.Probes() {
		mode = "auto"
	}
	argv = append(argv[:len(argv):len(argv)], mode, strconv.FormatInt(limit.Milliseconds(), 10))
	var o mcpmatrix.Outcome
	var charges atomic.Int64
	lists := func() int { return 0 }
	tally := filepath.Join(t.TempDir(), "tally")
	if c.Column.Transport == fault.Stdio {
		// The SDKs hand little of their environment on to a server.
		self, err := os.Executable()
		if err != nil {
			t.Error(err)
			return ""
		}
		argv = append(append(argv, "/usr/bin/env"), mcpmatrix.Env(c, tally)...)
		argv = append(argv, self)
	} else {
		mock, err := mockmcp.New(mcpmatrix.Script(c, func() { charges.Add(1) }), nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		mux := http.NewServeMux()
		mux.Handle("/mcp", mock.Handler())
		server := httptest.NewServer(mux)
		defer server.Close()
		defer mock.Close()
		argv = append(argv, server.URL+"/mcp")
		lists = mock.Lists
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*limit+20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		o.Hangs = true
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		o.Crash = lastLine(stderr.String()) + " (" + err.Error() + ")"
	default:
		if err := json.Unmarshal(out, &o.Steps); err != nil {
			t.Errorf("%s: %v: %s", c, err, prose.Excerpt(out, 300))
		}
	}
	o.Charges, o.Lists = int(charges.Load()), lists()
	if c.Column.Transport == fault.Stdio {
		o.Charges, o.Lists = mcpmatrix.Tally(tally)
	}
	return o.Cell()
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
