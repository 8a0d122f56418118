// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestJournalIsBounded calls more than the journal has room for: numbers go on,
// and misses that went are remembered.
func TestJournalIsBounded(t *testing.T) {
	const calls = 200
	s := newServer(t, world(), &mockmcp.Options{JournalBytes: 20_000})
	c := dial(t, s)
	c.call("build", `{"id":"fits nothing"}`)
	for i := range calls {
		c.call("echo", fmt.Sprintf(`{"n":"%d %s"}`, i, strings.Repeat("x", 100)))
	}
	j := s.Journal()
	if len(j) < 5 || len(j) > 50 {
		t.Errorf("%d calls in the journal", len(j))
	}
	for i, x := range j {
		if want := calls + 1 - (len(j) - 1 - i); x.Seq != want || x.Content == nil {
			t.Errorf("entry %d has number %d, want %d: %+v", i, x.Seq, want, x)
		}
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "fits nothing") {
		t.Errorf("the miss is forgotten: %v", err)
	}
	c.call("echo", fmt.Sprintf(`{"n":%q}`, strings.Repeat("x", 50_000)))
	if j := s.Journal(); len(j) != 1 || j[0].Seq != calls+2 || j[0].Content == nil {
		t.Errorf("after a call that is too large, %d entries", len(j))
	}
	s.Reset()
	if c.call("echo", "{}"); len(s.Journal()) != 1 || s.Journal()[0].Seq != 1 || s.Err() != nil {
		t.Errorf("after a reset: %d entries, %v", len(s.Journal()), s.Err())
	}
}

// TestJournalKeepsSoManyCalls: the journal and the frames keep the latest of
// many calls, whose numbers go on, and the misses of the others.
func TestJournalKeepsSoManyCalls(t *testing.T) {
	for _, tt := range []struct {
		name         string
		opts         *mockmcp.Options
		calls, least int
	}{
		{"as many as is said", &mockmcp.Options{JournalEntries: 10}, 30, 10},
		{"1,000 by default", nil, 2_100, 1_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, world(), tt.opts)
			c := dial(t, s)
			c.call("build", `{"id":"fits nothing"}`)
			for range tt.calls {
				c.call("echo", "{}")
			}
			j := s.Journal()
			if len(j) != tt.least || j[len(j)-1].Seq != tt.calls+1 {
				t.Errorf("%d calls in the journal, the last is %d; want %d and %d", len(j), j[len(j)-1].Seq, tt.least, tt.calls+1)
			}
			if f := s.Frames(); len(f) != 4*tt.least || f[len(f)-1].Seq < 2*tt.calls {
				t.Errorf("%d frames, the last is %d; want %d", len(f), f[len(f)-1].Seq, 4*tt.least)
			}
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), "fits nothing") {
				t.Errorf("the miss is forgotten: %v", err)
			}
		})
	}
}

// TestJournalOfACallUnderWay has the entry of a call go before it is answered.
func TestJournalOfACallUnderWay(t *testing.T) {
	script := holding()
	script.Tools[0].Results[0].Size = 5000
	s := newServer(t, script, &mockmcp.Options{JournalBytes: 2000})
	held, c := dial(t, s), dial(t, s)
	held.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`)
	if err := s.AwaitHeld(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c.call("quick", "{}")
	}
	s.Cue("go on")
	if m := held.receive(); !strings.Contains(string(m.Frame), "at last") {
		t.Errorf("got %.200s", m.Frame)
	}
	for _, x := range s.Journal() {
		if x.Tool != "quick" || len(x.Content) > 1000 {
			t.Errorf("entry %+v", x)
		}
	}
}

// TestLongFrames: the log has whole what a client's conduct is judged by: the
// requests, however long, and the answers but for those to calls.
func TestLongFrames(t *testing.T) {
	script := world()
	long := strings.Repeat("x", 3<<20)
	script.Tools = append(script.Tools, mockmcp.Tool{Name: "long", Description: long, Input: json.RawMessage(`{"type":"object"}`), Results: []mockmcp.Result{
		{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: long}, nil }},
	}})
	s := newServer(t, script, nil)
	c := dial(t, s)
	c.call("long", `{"text":"`+long+`"}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	c.receive()
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	body := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + long + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	r, err := http.Post(web.URL, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	seen := map[bool]int{}
	for _, f := range s.Frames() {
		if f.Size < len(long) {
			continue
		}
		want := f.Size
		if !f.In && f.Method == "tools/call" {
			want = 1 << 20
		}
		if seen[f.In]++; len(f.Body) != want {
			t.Errorf("%s (in: %v) keeps %d of %d bytes", f.Method, f.In, len(f.Body), f.Size)
		}
	}
	if seen[true] != 2 || seen[false] != 2 {
		t.Errorf("%d long frames came and %d went, want 2 and 2", seen[true], seen[false])
	}
}
