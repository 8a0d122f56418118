// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// TestStop lets a request end by itself that is being answered, and cuts one
// that would not end.
func TestStop(t *testing.T) {
	for _, tc := range []struct {
		name  string
		hangs bool
		grace time.Duration
		abort bool
	}{
		{name: "ends by itself", grace: time.Minute},
		{name: "no grace", hangs: true},
		{name: "interrupted again", hangs: true, grace: time.Minute, abort: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked, answer := make(chan bool, 1), make(chan bool)
			script := mockllm.Script{Replies: []mockllm.Reply{{Func: func(*mockllm.Ask) (mockllm.Reply, error) {
				asked <- true
				<-answer
				return mockllm.Reply{Say: "hello"}, nil
			}}}}
			if tc.hangs {
				when := func(*fault.Request) (bool, error) { asked <- true; return true, nil }
				script = says("never")
				script.Faults = []mockllm.Fault{{Kind: fault.Hang, When: when}}
			}
			said := make(chan string, 10)
			s, err := mockserver.New(script, &mockserver.Options{Mock: mockllm.Options{Logf: func(format string, args ...any) { said <- fmt.Sprintf(format, args...) }}})
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			abort, ended := make(chan struct{}), make(chan error, 1)
			go func() { ended <- s.Serve(ctx, l, &mockserver.Listening{Grace: tc.grace, Abort: abort}) }()
			// A connection without a request keeps nobody.
			idle, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer idle.Close()
			got := make(chan string, 1)
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			go func() {
				res, err := client.Post("http://"+l.Addr().String()+"/v1/chat/completions", "application/json", strings.NewReader(chat))
				if err != nil {
					got <- "cut"
					return
				}
				defer res.Body.Close()
				text, _ := io.ReadAll(res.Body)
				got <- string(text)
			}()
			<-asked
			stop()
			if tc.grace > 0 {
				if got := <-said; got != "stopping: requests under way (1) may end within 1m0s; new connections are refused" {
					t.Errorf("said %q", got)
				}
			}
			want := "cut"
			switch {
			case tc.abort:
				close(abort)
			case !tc.hangs:
				want = "hello"
				close(answer)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if text := <-got; !strings.Contains(text, want) {
				t.Errorf("got %q, want %s", text, want)
			}
		})
	}
}
