// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/conduct"
	"github.com/rehearse-dev/rehearse/harness/dialect"
)

// maxBody bounds what the proxy keeps of one request or answer. A larger
// request is refused; of a larger answer the rest goes by unread.
const maxBody = 64 << 20

// liveModel is a journaling proxy in front of a real endpoint. It hands on
// bytes as they come and reads them for the journal only.
type liveModel struct {
	base    string // of the endpoint
	key     string
	client  *http.Client
	clock   harness.Clock
	check   func()
	unmount func()
	over    context.Context // ends with the conversation
	end     context.CancelFunc
	busy    sync.WaitGroup // requests under way
	// Of modes record and replay; path is that of base.
	recorder *cassettes.Recorder
	path     string
	left     func() []conduct.Unreached // in replay
	record   string                     // in replay: how to make a recording

	mu   sync.Mutex // guards the rest
	turn int
	list []*harness.Exchange
	last *dialect.Chat // the request before, to tell repetitions
	odd  []string      // misses of what is no model call
}

func (t *trial) openLive() (harness.Endpoint, error) {
	m := &liveModel{
		base: strings.TrimRight(t.opts.BaseURL, "/"), key: t.opts.APIKey, clock: t.clock, check: t.checkLimits,
		client: &http.Client{Transport: t.opts.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect would carry the key away
		}},
	}
	if t.opts.Mode != harness.ModeLive {
		rec, err := t.openCassette()
		if err != nil {
			return harness.Endpoint{}, err
		}
		t.recorder, m.recorder, m.client.Transport = rec, rec, rec
		if t.opts.Mode == harness.ModeReplay {
			m.base, m.key, m.record = replayBase, "", t.howToRecord(t.scenario, t.key)
			if !t.scenario.Cassette.AllowUnused {
				m.left = func() []conduct.Unreached { return append(unused(rec, t.cassette), t.unusedTapes()...) }
			}
		}
		m.path = basePath(m.base)
	}
	m.over, m.end = context.WithCancel(context.Background())
	base, unmount := t.gateway.mount(m)
	m.unmount = unmount
	t.model = m
	return harness.Endpoint{BaseURL: base + "/v1", APIKey: placeholderKey}, nil
}

func (m *liveModel) beginTurn(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn = n
}

func (m *liveModel) outline() []harness.Exchange { return m.journal() }

func (m *liveModel) journal() []harness.Exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]harness.Exchange, len(m.list))
	for i, x := range m.list {
		out[i] = *x
	}
	return out
}

func (m *liveModel) remaining() []conduct.Unreached {
	if m.left == nil {
		return nil
	}
	return m.left()
}

func (m *liveModel) idle() []conduct.IdleFault { return nil }

func (m *liveModel) heldInVain() []string { return nil }

// settle ends what is under way: the subject is done, and the journal must
// not depend on how far an answer has come that nobody reads.
func (m *liveModel) settle() {
	m.mu.Lock()
	m.end()
	m.mu.Unlock()
	m.busy.Wait()
}

func (m *liveModel) close() {
	m.settle()
	m.unmount()
}

// enter admits a request, as long as there is a conversation.
func (m *liveModel) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over.Err() != nil {
		return false
	}
	m.busy.Add(1)
	return true
}

func (m *liveModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.enter() {
		http.Error(w, "the conversation is over", http.StatusGone)
		return
	}
	defer m.busy.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	rc := http.NewResponseController(w)
	defer context.AfterFunc(m.over, func() {
		cancel()
		// A subject that neither sends nor reads must not be waited for. Where
		// the connection knows no deadlines it is its own concern.
		_ = rc.SetReadDeadline(time.Now())
		_ = rc.SetWriteDeadline(time.Now())
	})()
	m.relay(w, r.WithContext(ctx))
}

// relay hands one request on, and its answer back.
func (m *liveModel) relay(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	var x *harness.Exchange
	if r.Method == http.MethodPost && path == "/chat/completions" {
		x = m.begin(body)
		defer m.check()
	}
	res, err := m.forward(r, path, body)
	if miss := (*cassettes.MissError)(nil); errors.As(err, &miss) {
		text := fmt.Sprintf("%v\n  if the change is meant, record it anew: %s", miss, m.record)
		m.missed(x, text)
		cassettes.AnswerMiss(w, text)
		return
	}
	if err != nil {
		m.done(x, func(x *harness.Exchange) {
			x.Status = http.StatusBadGateway
			x.Error = err.Error()
			if r.Context().Err() != nil {
				x.Error = hungUp + " before there was an answer"
			}
		})
		writeUpstreamError(w, err)
		return
	}
	defer res.Body.Close()
	for k, v := range res.Header {
		if !hopByHop[k] {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(res.StatusCode)
	kept, err := hand(w, res.Body)
	m.done(x, func(x *harness.Exchange) {
		x.Status = res.StatusCode
		x.Delivered = err == nil && x.Status < 300
		if len(kept) <= maxBody {
			readAnswer(x, res, kept)
		} else {
			x.Error = fmt.Sprintf("the answer is longer than %d bytes", maxBody)
		}
		switch {
		case err != nil && x.Status >= 300: // the reason it gave says more
			x.Error = cmp.Or(x.Error, err.Error())
		case err != nil && r.Context().Err() != nil:
			x.Error = hungUp + " before the answer had ended"
		case err != nil:
			x.Error = err.Error()
		}
	})
	if err != nil {
		panic(http.ErrAbortHandler) // an answer that breaks off breaks off here too
	}
}

// hungUp begins the error of an exchange that the subject did not wait for.
const hungUp = "the subject hung up"

// What begins the error of an exchange in which no answer came from the
// endpoint: the status is then that of our own answer to the subject.
const (
	noConnection = "no connection to "
	noAnswer     = "no answer from "
)

// unanswered says why the endpoint at base gave no answer, in words that do
// not repeat the address.
func unanswered(base string, err error) error {
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err
	}
	op := (*net.OpError)(nil)
	if !errors.As(err, &op) || op.Op != "dial" {
		return fmt.Errorf("%s%s: %w", noAnswer, redacted(base), err)
	}
	err = op.Err
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		err = call.Err
	}
	return fmt.Errorf("%s%s: %w", noConnection, redacted(base), err)
}

// errRedirect is met when the endpoint sends the request elsewhere.
var errRedirect = errors.New("the endpoint redirects")

// hopByHop are the headers that belong to one connection only.
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Proxy-Authenticate": true, "Proxy-Authorization": true, "Accept-Encoding": true, "Host": true, "Content-Length": true,
}

func (m *liveModel) forward(r *http.Request, path string, body []byte) (*http.Response, error) {
	target := m.base + path
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	ctx := r.Context()
	if m.recorder != nil {
		ctx = cassettes.WithBase(ctx, m.path)
	}
	out, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range r.Header {
		if !hopByHop[k] {
			out.Header[k] = v
		}
	}
	out.Header.Del("Authorization") // the placeholder
	if m.key != "" {
		out.Header.Set("Authorization", "Bearer "+m.key)
	}
	res, err := m.client.Do(out)
	if err != nil {
		return nil, unanswered(m.base, err)
	}
	if res.StatusCode/100 == 3 {
		res.Body.Close()
		return nil, fmt.Errorf("%w to %q (HTTP %d): give its own address", errRedirect, redacted(res.Header.Get("Location")), res.StatusCode)
	}
	return res, nil
}

// hand copies an answer as it comes, and keeps it; of an answer that is too
// long, one byte more than maxBody.
func hand(w http.ResponseWriter, body io.Reader) ([]byte, error) {
	rc := http.NewResponseController(w)
	var kept bytes.Buffer
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		kept.Write(buf[:min(n, maxBody+1-kept.Len())])
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return kept.Bytes(), fmt.Errorf("%s: %w", hungUp, err)
			}
			if err := rc.Flush(); err != nil {
				return kept.Bytes(), fmt.Errorf("%s: %w", hungUp, err)
			}
		}
		switch {
		case err == io.EOF:
			return kept.Bytes(), nil
		case err != nil:
			return kept.Bytes(), fmt.Errorf("the endpoint's answer broke off: %w", err)
		}
	}
}

func writeUpstreamError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	if errors.Is(err, errRedirect) {
		w.Header().Set("X-Should-Retry", "false")
	}
	w.WriteHeader(http.StatusBadGateway)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"rehearse_upstream"}}`, err.Error())
}

func (m *liveModel) begin(body []byte) *harness.Exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	chat, _ := dialect.DecodeChat(body, m.last)
	x := &harness.Exchange{
		Seq: len(m.list) + 1, Kind: harness.KindLive, Turn: m.turn, Attempt: 1, Start: m.clock.Now(),
	}
	if chat != nil {
		x.Request = chat.Request()
		if n := len(m.list); m.last != nil && n > 0 && m.list[n-1].Turn == m.turn && chat.SameMessages(m.last) {
			x.Attempt = m.list[n-1].Attempt + 1
		}
	}
	m.last = chat
	m.list = append(m.list, x)
	return x
}

// done completes an exchange; x is nil for what is no model call.
func (m *liveModel) done(x *harness.Exchange, fill func(*harness.Exchange)) {
	if x == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x.Duration = m.clock.Now().Sub(x.Start)
	fill(x)
}

// missed notes a request that is not in the cassette; x is nil for what is no
// model call.
func (m *liveModel) missed(x *harness.Exchange, text string) {
	m.done(x, func(x *harness.Exchange) {
		x.Kind, x.Status, x.Error = harness.KindMiss, http.StatusUnprocessableEntity, text
	})
	if x == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.odd = append(m.odd, text)
	}
}

// strays are the misses of requests that are no model calls.
func (m *liveModel) strays() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.odd)
}

// endpointCause says what is wrong with the endpoint, when a trial came to
// nothing because of it: the last request of a turn got no answer that can
// be used, and the subject did not choose to stop. Nil when the endpoint is
// not to blame.
//
// A turn that stopped as the scenario expects is no such case: the endpoint
// was asked, and said no.
func endpointCause(exchanges []harness.Exchange, turns []harness.TurnReport, broke error, stopped func(turn int) bool) *harness.Cause {
	cause := func(format string, args ...any) *harness.Cause {
		return &harness.Cause{Kind: harness.CauseEndpoint, Message: fmt.Sprintf(format, args...)}
	}
	var endpoint *harness.EndpointError
	errors.As(broke, &endpoint)
	for turn := 1; turn <= len(turns); turn++ {
		report := turns[turn-1]
		last := lastOf(exchanges, turn)
		if last == nil || report.Stop != "" && !report.Stop.OfEndpoint() || report.Answer != "" && report.Error == "" {
			continue
		}
		left := strings.HasPrefix(last.Error, hungUp)
		unreached := strings.HasPrefix(last.Error, noConnection) || strings.HasPrefix(last.Error, noAnswer) || strings.HasPrefix(last.Error, errRedirect.Error())
		switch {
		case !unreached && !left && stopped(turn):
			continue
		case left && errors.Is(broke, errHang):
			return cause("the endpoint did not answer request %d in time: %v", last.Seq, broke)
		case left && endpoint != nil, last.Error == "" && last.Status < 300 && endpoint != nil && turn == len(turns):
			return cause("the endpoint's answer to request %d cannot be used: %v", last.Seq, endpoint)
		case left:
			return nil // its own decision
		case unreached:
			return cause("%s (request %d)", last.Error, last.Seq)
		case last.Status >= 300 || last.Error != "":
			return cause("the endpoint answered request %d with HTTP %d: %s", last.Seq, last.Status, cmp.Or(last.Error, "no reason given"))
		}
	}
	if endpoint != nil {
		return cause("the endpoint: %v", endpoint)
	}
	return nil
}

// lastOf returns the last exchange of a turn, or nil.
func lastOf(exchanges []harness.Exchange, turn int) *harness.Exchange {
	for i := range slices.Backward(exchanges) {
		if exchanges[i].Turn == turn {
			return &exchanges[i]
		}
	}
	return nil
}
