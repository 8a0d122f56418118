// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// taping is the recording of a real server in a trial: one that is made, or
// one that is replayed in the server's place. A nil one is none.
type taping struct {
	server *scenarios.Server
	path   string
	rec    *mcptape.Recorder  // in mode record
	before *mcptape.Recording // that is made anew; nil for none
	part   string             // the file of a recording that ended, before it has its name
	tape   *mcptape.Tape      // in mode replay; nil for a server that was not there
}

// openTape begins the recording of a server, or its replay. It is nil in the
// modes that have neither.
func (t *trial) openTape(s *scenarios.Server) (*taping, error) {
	tp := &taping{server: s, path: scenarios.TapePath(t.cassette, s.Name)}
	c := t.scenario.Cassette
	var err error
	switch t.opts.Mode {
	case harness.ModeRecord:
		if before, err := mcptape.Read(tp.path); err == nil && !before.Cut {
			tp.before = before
		}
		tp.rec, err = mcptape.NewRecorder(tp.path, &mcptape.RecordOptions{
			Server: s.Name, Secrets: t.secretRules(), Clock: t.clock, Start: t.start, LookupEnv: t.opts.LookupEnv, Force: true, Logf: t.logf, // the cassette tells
		})
	case harness.ModeReplay:
		if _, err := os.Stat(tp.path); errors.Is(err, os.ErrNotExist) {
			if _, err := os.Stat(t.cassette); err != nil {
				return nil, errors.New(t.notThere(t.job))
			}
			if !s.Required {
				break
			}
			return nil, fmt.Errorf("server %q is not recorded (%s); record the scenario again with %s", s.Name, tp.path, t.howToRecord(t.scenario, t.key))
		}
		var rec *mcptape.Recording
		if rec, err = mcptape.Read(tp.path); err != nil {
			break
		}
		t.restore(rec)
		tp.tape, err = mcptape.New(tp.path, rec, &mcptape.Options{
			Speed: c.Speed, Ignore: c.Ignore, AllowUnused: c.AllowUnused, MaxAge: c.MaxAge, Stale: c.Stale, Secrets: t.secretRules(), Logf: t.doubt,
		})
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.Name, err)
	}
	t.tapes = append(t.tapes, tp)
	return tp, nil
}

// restore puts the trial's own places back into what a server says.
func (t *trial) restore(rec *mcptape.Recording) {
	for _, place := range t.restored() {
		mark, path := []byte(redact.Mark(place.Name)), []byte(place.Path)
		for i := range rec.Frames {
			if f := &rec.Frames[i]; f.Dir == mcptape.Out {
				f.Frame = bytes.ReplaceAll(f.Frame, mark, path)
			}
		}
	}
}

// doubt notes what a report must say about a tape.
func (t *trial) doubt(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubts = append(t.doubts, fmt.Sprintf(format, args...))
}

// instead is how to reach what is replayed in place of a server.
func (tp *taping) instead(t *trial) (reach harness.Server, end func() error) {
	reach = harness.Server{Name: tp.server.Name}
	switch {
	case tp.tape == nil:
		reach.Dial = func(context.Context) (io.ReadWriteCloser, error) {
			return nil, errors.New("it did not exist when the scenario was recorded")
		}
	case tp.tape.OverHTTP(), t.byURL():
		base, unmount := t.gateway.mount(tp.tape.Handler())
		reach.URL, reach.Transport = base+"/mcp", "http"
		return reach, func() error { unmount(); return nil }
	default:
		reach.Dial = tp.tape.Dial
	}
	return reach, nil
}

// dialer records the connections that a function opens.
func (tp *taping) dialer(dial func(context.Context) (io.ReadWriteCloser, error)) func(context.Context) (io.ReadWriteCloser, error) {
	if tp == nil || tp.rec == nil {
		return dial
	}
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return tp.rec.Wrap(c), nil
	}
}

// transport records a server that is reached by URL; nil is the default.
func (tp *taping) transport() http.RoundTripper {
	if tp == nil || tp.rec == nil {
		return nil
	}
	return tp.rec.Transport(nil)
}

// tapeMisses are the requests to servers that fit nothing recorded.
func (t *trial) tapeMisses() []trials.Cause {
	var out []trials.Cause
	for _, tp := range t.tapes {
		if tp.tape == nil {
			continue
		}
		for _, miss := range tp.tape.Misses() {
			out = append(out, trials.Cause{
				Kind: trials.CauseMiss, Pos: tp.server.Pos,
				Message: fmt.Sprintf("%v\n  if the change is intended, record it again: %s", miss, t.howToRecord(t.scenario, t.key)),
			})
		}
	}
	return out
}

// unusedTapes are the recorded requests to servers that were not sent.
func (t *trial) unusedTapes() []conduct.Unreached {
	var out []conduct.Unreached
	for _, tp := range t.tapes {
		if tp.tape == nil {
			continue
		}
		for _, left := range tp.tape.Unused() {
			out = append(out, conduct.Unreached{Name: fmt.Sprintf("server %q %v", tp.server.Name, left), Pos: filepos.Of(left)})
		}
	}
	return out
}

// stageTapes ends the recordings of servers, and returns those that say
// something else than the ones before. The error says why one of them cannot be
// kept.
func (t *trial) stageTapes() ([]*taping, error) {
	var out []*taping
	var errs []error
	for _, tp := range t.tapes {
		if tp.rec == nil {
			continue
		}
		var err error
		tp.part, err = tp.rec.Stage()
		if tp.rec.Empty() {
			if err != nil && tp.server.Required {
				errs = append(errs, err)
			}
			continue // closeTapes drops it
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !tp.unchanged() {
			out = append(out, tp)
		}
	}
	return out, errors.Join(errs...)
}

// unchanged reports whether a recording says the same as the one before.
func (tp *taping) unchanged() bool {
	if tp.before == nil {
		return false
	}
	now, err := tp.rec.Recording()
	return err == nil && mcptape.Same(tp.before, now)
}

// closeTapes leaves nothing of what is not kept by now.
func (t *trial) closeTapes() {
	for _, tp := range t.tapes {
		if tp.rec != nil {
			_ = tp.rec.Discard() // it is of no use
		}
		if tp.tape != nil {
			_ = tp.tape.Close() // what it has to say has been judged
		}
	}
}

// serverSecrets are the secrets that a scenario hands to its real servers.
func serverSecrets(of *scenarios.Scenario, workdir string) []string {
	var out []string
	for _, s := range of.Servers {
		if s.Mock != nil {
			continue
		}
		reach := s.Real(workdir)
		out = append(out, redact.ServerSecrets(reach.Headers, reach.Env, reach.Command)...)
	}
	return out
}
