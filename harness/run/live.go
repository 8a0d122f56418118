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
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redirect"
)

// maxBody bounds what the proxy keeps of one request or answer. A larger
// request is refused; of a larger answer the rest goes by unread.
const maxBody = 64 << 20

// liveModel is a journaling proxy in front of a real endpoint. It hands on
// bytes as they come and reads them for the journal only.
type liveModel struct {
	base   string // of the endpoint
	key    func(e dialects.Endpoint, places map[string]bool) string
	client *http.Client
	clock  harness.Clock
	check  func()
	// enter waits until the endpoint may be asked; nil in replay, which asks none.
	enter func(context.Context) (*request, error)
	// aside reports whether a request of a turn is one beside the conversation; nil: none is.
	aside   func(turn int, r harness.Request) bool
	unmount func()
	over    context.Context // ends with the conversation
	end     context.CancelFunc
	busy    sync.WaitGroup // requests under way
	// Of modes record and replay.
	recorder *cassettes.Recorder
	replay   bool
	left     func() []conduct.Unreached // in replay
	record   string                     // in replay: how to make a recording

	read replyReader

	mu   sync.Mutex // guards the rest
	turn int
	list []*asked
	held dialect.Store
	open []*passing
	odd  []string // misses of anything that is not a model call
}

// asked is a request to a model with its outcome.
type asked struct {
	harness.Exchange
	// request is nil when it could not be read, and so is its chat.
	request dialect.Request
	chat    *dialect.Chat
	broke   breakOff
}

// breakOff says who is behind an exchange that came to nothing.
type breakOff int

const (
	unbroken   breakOff = iota
	left                // the subject did not wait for the end
	unanswered          // no answer came from the endpoint: the status is that of our own to the subject
)

// What is said of a request whose answer the subject did not wait for.
const (
	leftBefore = "the subject closed the connection before the answer began"
	leftWithin = "the subject closed the connection before the answer ended"
)

func (t *trial) openLive() (harness.Endpoint, error) {
	m := &liveModel{
		base: strings.TrimRight(t.entry.BaseURL, "/"), key: t.entry.keys.of, clock: t.clock, check: t.checkLimits,
		read: t.opts.readReply, aside: t.asides(),
		client: &http.Client{Transport: t.opts.Transport, CheckRedirect: redirect.None},
	}
	if m.read == nil {
		m.read = dialect.ReadAll
	}
	if t.opts.Mode != harness.ModeLive {
		rec, err := t.openCassette()
		if err != nil {
			return harness.Endpoint{}, err
		}
		t.recorder, m.recorder, m.client.Transport = rec, rec, rec
		if t.opts.Mode == harness.ModeReplay {
			m.base, m.key, m.record, m.replay = replayBase, noKey, t.howToRecord(t.scenario, t.key), true
			if !t.scenario.Cassette.AllowUnused {
				m.left = func() []conduct.Unreached { return append(unused(rec), t.unusedTapes()...) }
			}
		}
	}
	if throttle := t.entry.throttle; throttle != nil {
		m.enter = func(ctx context.Context) (*request, error) {
			defer t.deadline.hold()()
			return throttle.enter(ctx, t)
		}
	}
	m.over, m.end = context.WithCancel(context.Background())
	base, unmount := t.gateway.mount(t.wires.handler(m))
	m.unmount = unmount
	t.model = m
	return harness.Endpoint{BaseURL: base + "/v1", APIKey: placeholderKey}, nil
}

// noKey is the key in a replay, which asks nobody.
func noKey(dialects.Endpoint, map[string]bool) string { return "" }

func (m *liveModel) beginTurn(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn = n
}

func (m *liveModel) each(f func(*harness.Exchange) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.list {
		if !f(&x.Exchange) {
			return
		}
	}
}

func (m *liveModel) journal() []harness.Exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]harness.Exchange, len(m.list))
	for i, x := range m.list {
		out[i] = x.Exchange
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

// admit lets a request in, as long as there is a conversation.
func (m *liveModel) admit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over.Err() != nil {
		return false
	}
	m.busy.Add(1)
	return true
}

func (m *liveModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.admit() {
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
	e := dialects.EndpointOf(r.URL.Path)
	arrived := m.clock.Now()
	turn, waiting := m.ask(r.Context())
	defer turn.leave()
	var x *asked
	if r.Method == http.MethodPost && e.Dialect != nil {
		x = m.begin(r, e, body)
		defer m.check()
	}
	if waiting != nil {
		err := fmt.Errorf("the request was held back for %s, by the rate or because the endpoint had too many, and the subject did not wait longer", rounded(m.clock.Now().Sub(arrived)))
		m.done(x, func(x *asked) { x.Status, x.Error, x.broke = http.StatusBadGateway, err.Error(), unanswered })
		writeUpstreamError(w, err)
		return
	}
	res, err := m.forward(r, e, body)
	if miss := (*cassettes.MissError)(nil); errors.As(err, &miss) {
		text := fmt.Sprintf("%v\n  if the change is intended, record it again: %s", miss, m.record)
		m.missed(x, text)
		cassettes.AnswerMiss(w, text)
		return
	}
	if err != nil {
		m.done(x, func(x *asked) {
			x.Status = http.StatusBadGateway
			x.Error, x.broke = err.Error(), unanswered
			if r.Context().Err() != nil {
				x.Error, x.broke = leftBefore, left
			}
		})
		writeUpstreamError(w, err)
		return
	}
	turn.answered(res.StatusCode, res.Header)
	defer res.Body.Close()
	for k, v := range res.Header {
		if !hopByHop[k] {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(res.StatusCode)
	p := m.pass(&passing{r: r, endpoint: e, sent: body, x: x, status: res.StatusCode, header: res.Header})
	gone, err := hand(w, res.Body, func(b []byte) { m.keep(p, b) })
	hungUp := err != nil && r.Context().Err() != nil
	if hungUp {
		err = errors.New(leftWithin)
	}
	m.done(x, func(x *asked) {
		x.Status = res.StatusCode
		m.passed(p, err)
		said := x.Error
		switch {
		case err != nil && x.Status >= 300: // the reason it gave says more
			x.Error = cmp.Or(x.Error, err.Error())
		case hungUp:
			x.Error = err.Error() // also when all that matters had come
		}
		if answered := x.Status < 300; hungUp && answered || gone && answered && said != "" || (gone || hungUp) && !answered && said == "" {
			x.broke = left
		}
	})
	if x == nil {
		m.mu.Lock()
		m.passed(p, err)
		m.mu.Unlock()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // an answer that breaks off breaks off here too
	}
}

// ask waits until the endpoint may be asked.
func (m *liveModel) ask(ctx context.Context) (*request, error) {
	if m.enter == nil {
		return nil, nil
	}
	return m.enter(ctx)
}

// withoutAnswer says why the endpoint at base gave no answer, in words that do
// not repeat the address.
func withoutAnswer(base string, err error) error {
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err
	}
	op := (*net.OpError)(nil)
	if !errors.As(err, &op) || op.Op != "dial" {
		return fmt.Errorf("no answer from %s: %w", prose.Address(base), err)
	}
	err = op.Err
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		err = call.Err
	}
	return fmt.Errorf("no connection to %s: %w", prose.Address(base), err)
}

// errRedirect is met when the endpoint sends the request elsewhere.
var errRedirect = errors.New("the endpoint redirects")

// hopByHop are the headers that belong to one connection only.
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Proxy-Authenticate": true, "Proxy-Authorization": true, "Accept-Encoding": true, "Host": true, "Content-Length": true,
}

func (m *liveModel) forward(r *http.Request, e dialects.Endpoint, body []byte) (*http.Response, error) {
	base := m.base
	if !m.replay {
		base = upstream(base, e)
	}
	header, query, places := withoutKeys(r.Header, r.URL.RawQuery)
	if m.replay {
		query = r.URL.RawQuery // a key in it counts as the recorded one
	}
	query = setKey(header, query, e.Dialect, m.key(e, places), places)
	target := base + dialects.EndpointOf(r.URL.EscapedPath()).Rest
	if query != "" {
		target += "?" + query
	}
	ctx := r.Context()
	if m.recorder != nil {
		ctx = cassettes.WithBase(ctx, basePath(base))
	}
	out, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = header
	res, err := m.client.Do(out)
	if err != nil {
		return nil, withoutAnswer(m.base, err)
	}
	if res.StatusCode/100 == 3 {
		res.Body.Close()
		return nil, fmt.Errorf("%w to %q (HTTP %d): use that address", errRedirect, prose.Address(res.Header.Get("Location")), res.StatusCode)
	}
	return res, nil
}

// hand copies an answer as it comes. Keep is given each piece before the
// subject is. It tells whether it was the subject that broke off.
func hand(w http.ResponseWriter, body io.Reader, keep func([]byte)) (gone bool, err error) {
	rc := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			keep(buf[:n])
			if _, err := w.Write(buf[:n]); err != nil {
				return true, fmt.Errorf("the subject hung up: %w", err)
			}
			if err := rc.Flush(); err != nil {
				return true, fmt.Errorf("the subject hung up: %w", err)
			}
		}
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, fmt.Errorf("the endpoint's answer broke off: %w", err)
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

// begin enters a request to a model. One that is equal to an earlier one of
// the turn repeats it: it has the same position in the conversation.
func (m *liveModel) begin(r *http.Request, e dialects.Endpoint, body []byte) *asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	var last asked
	if n := len(m.list); n > 0 {
		last = *m.list[n-1]
	}
	x := &asked{Exchange: harness.Exchange{
		Seq: len(m.list) + 1, Kind: harness.KindLive, Turn: m.turn, Reply: 1, Attempt: 1, Start: m.clock.Now(),
		Path: r.URL.Path, Dialect: e.Name(), Headers: dialect.Headers(r.Header, last.Headers),
	}}
	m.catchUp()
	if x.request = e.Read(body, last.chat, &m.held); x.request != nil {
		x.chat = x.request.AsChat()
		x.Request = x.chat.Request()
	}
	if x.chat != nil && m.aside != nil && m.aside(m.turn, x.Request) {
		x.Kind, x.Turn, x.Reply = harness.KindAside, 0, 0
	}
	for _, before := range slices.Backward(m.list) {
		if x.Kind == harness.KindAside || before.Turn != m.turn && before.Kind != harness.KindAside {
			break
		}
		if before.Kind == harness.KindAside {
			continue
		}
		if x.chat != nil && before.chat != nil && x.Dialect == before.Dialect && x.chat.SameMessages(before.chat) {
			x.Attempt, x.Reply = before.Attempt+1, before.Reply
			break
		}
		x.Reply = max(x.Reply, before.Reply+1)
	}
	m.list = append(m.list, x)
	return x
}

// done completes an exchange; x is nil for anything that is not a model call.
func (m *liveModel) done(x *asked, fill func(*asked)) {
	if x == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x.Duration = m.clock.Now().Sub(x.Start)
	fill(x)
}

// missed notes a request that is not in the cassette; x is nil for anything
// that is not a model call.
func (m *liveModel) missed(x *asked, text string) {
	m.done(x, func(x *asked) {
		x.Kind, x.Status, x.Error = harness.KindMiss, http.StatusUnprocessableEntity, text
	})
	if x == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.odd = append(m.odd, text)
	}
}

// brokeOff says who is behind an exchange that came to nothing.
func (m *liveModel) brokeOff(seq int) breakOff {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list[seq-1].broke
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
func endpointCause(exchanges []harness.Exchange, brokeOff func(seq int) breakOff, turns []harness.TurnReport, broke error, stopped func(turn int) bool) *trials.Cause {
	cause := func(format string, args ...any) *trials.Cause {
		return &trials.Cause{Kind: trials.CauseEndpoint, Message: fmt.Sprintf(format, args...)}
	}
	var endpoint *harness.EndpointError
	errors.As(broke, &endpoint)
	for turn := 1; turn <= len(turns); turn++ {
		report := turns[turn-1]
		last := lastOf(exchanges, turn)
		if last == nil || report.Stop != "" && !report.Stop.OfEndpoint() || report.Answer != "" && report.Error == "" {
			continue
		}
		switch broken := brokeOff(last.Seq); {
		case broken == unbroken && stopped(turn):
			continue
		case broken == left && endpoint != nil, last.Error == "" && last.Status < 300 && endpoint != nil && turn == len(turns):
			return cause("the endpoint's answer to request %d is unusable: %v", last.Seq, endpoint)
		case broken == left:
			return nil // its own decision
		case broken == unanswered:
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
