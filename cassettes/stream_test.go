// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

type event struct {
	At   time.Duration
	Text string
}

// read reads a stream and notes when each part came.
func read(t *testing.T, rt http.RoundTripper, ctx context.Context) (events []event, err error) {
	t.Helper()
	start := time.Now()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:1/v1", strings.NewReader("{}"))
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	buf := make([]byte, 1024)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			events = append(events, event{time.Since(start), string(buf[:n])})
		}
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
	}
}

func TestStream(t *testing.T) {
	parts := []string{"data: a\n\n", "data: b\n\n", "data: [DONE]\n\n"}
	tests := []struct {
		name    string
		err     error // of the endpoint's body
		outcome vcr.Outcome
		wantErr string
	}{
		{"complete", nil, vcr.Complete, ""},
		{"reset", errors.New("connection reset by peer"), vcr.Aborted, "connection reset by peer"},
	}
	for _, test := range tests {
		for _, speed := range []float64{0, 1, 2} {
			t.Run(fmt.Sprintf("%s at speed %v", test.name, speed), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a.yaml")
				synctest.Test(t, func(t *testing.T) {
					r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: stream(60*time.Millisecond, parts, test.err)})
					live, err := read(t, r, t.Context())
					if (err != nil) != (test.wantErr != "") {
						t.Fatalf("live: %v", err)
					}
					if len(live) != 3 || live[2].At != 180*time.Millisecond {
						t.Errorf("while recording, events came at %v", live)
					}
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
					f, err := vcr.Read(path)
					if err != nil || f.Interactions[0].Meta.Outcome != test.outcome {
						t.Fatalf("recorded %+v, %v", f, err)
					}
					r = open(t, path, cassettes.Options{Speed: speed})
					played, err := read(t, r, t.Context())
					if test.wantErr == "" && err != nil || test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)) {
						t.Errorf("played: %v", err)
					}
					for i := range live {
						if speed == 0 {
							live[i].At = 0
						} else {
							live[i].At = time.Duration(float64(live[i].At) / speed)
						}
					}
					if diff := cmp.Diff(live, played); diff != "" {
						t.Errorf("(-live +played):\n%s", diff)
					}
					if err := r.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestClientClosed: a client that stops early is recorded as one, and the
// replay says where the recording ends.
func TestClientClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: stream(time.Second, []string{"a", "b"}, nil)})
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:1/v1", strings.NewReader("{}"))
		resp, err := r.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(make([]byte, 9)); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		cancel()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = open(t, path, cassettes.Options{})
		got, err := read(t, r, t.Context())
		if len(got) != 1 || got[0].Text != "a" || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, cassettes.ErrRecorded) {
			t.Errorf("played %v, %v", got, err)
		}
		r.Close()
		synctest.Wait()
	})
}

// TestLeftBehindTheEnd: a client that leaves at the last event has the whole, also
// when its leaving is seen before the end of the body.
func TestLeftBehindTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	synctest.Test(t, func(t *testing.T) {
		upstream := stream(time.Hour, []string{"data: a\n\ndata: [DONE]\n\n", ": kept open\n\n"}, nil)
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: upstream})
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		if _, err := read(t, r, ctx); err == nil {
			t.Fatal("the client left, and read to the end")
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	f, err := vcr.Read(path)
	if err != nil || len(f.Interactions) != 1 || f.Interactions[0].Meta.Outcome != vcr.Complete {
		t.Errorf("recorded %+v, %v, want it complete", f, err)
	}
}

// TestOpenAtStop: what is still streaming when the recording ends is kept as
// far as it came.
func TestOpenAtStop(t *testing.T) {
	for name, end := range map[string]func(*cassettes.Recorder) error{
		"Close":     (*cassettes.Recorder).Close,
		"CloseWith": func(r *cassettes.Recorder) error { return r.CloseWith(nil, false) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			synctest.Test(t, func(t *testing.T) {
				r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: stream(time.Hour, []string{"a", "b"}, nil), Grace: 90 * time.Minute})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = read(t, r, ctx)
				}()
				synctest.Wait()
				if err := end(r); err != nil {
					t.Fatal(err)
				}
				cancel()
				<-done
				f, err := vcr.Read(path)
				if err != nil || len(f.Interactions) != 1 || f.Interactions[0].Meta.Outcome != vcr.Open || string(f.Interactions[0].Response.Body) != "a" {
					t.Errorf("recorded %+v, %v", f, err)
				}
			})
		})
	}
}

// TestReplayHonoursDeadlines: the time of a recording is the client's to give
// up in.
func TestReplayHonoursDeadlines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: stream(time.Minute, []string{"a", "b"}, nil)})
		if _, err := read(t, r, t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = open(t, path, cassettes.Options{Speed: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		start := time.Now()
		got, err := read(t, r, ctx)
		if len(got) != 1 || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 90*time.Second {
			t.Errorf("played %v, %v after %v", got, err, time.Since(start))
		}
	})
}

func TestCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: echo()})
	want(t, r, `1`, `{"n":1,"asked":"1"}`)
	want(t, r, `2`, `{"n":2,"asked":"2"}`)
	// The process dies here, in the middle of a line.
	data, err := os.ReadFile(path + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".journal"); err != nil { // and its lock
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".journal", data[:len(data)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, cassettes.Options{})
	want(t, again, `1`, `{"n":1,"asked":"1"}`)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if notes := again.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "the recording was interrupted; exchanges so far: 1") {
		t.Errorf("notes: %v", notes)
	}
	// A new recording keeps it until it has ended.
	next := open(t, path, cassettes.Options{Mode: cassettes.RecordNew, Upstream: echo()})
	want(t, next, `3`, `{"n":1,"asked":"3"}`)
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := vcr.Read(path)
	if err != nil || len(f.Interactions) != 2 {
		t.Errorf("got %+v, %v", f, err)
	}
	if left, _ := filepath.Glob(path + ".journal*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
