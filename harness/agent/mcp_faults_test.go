// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpmatrix"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// shop is a conversation of our agent with a shop that has one fault.
type shop struct {
	c       mcpmatrix.Case
	limit   time.Duration // of each request to the shop
	outcome mcpmatrix.Outcome
	answers [2]string // of the two turns
	errs    [2]error
	notes   []string
	took    time.Duration
	virtual bool // the time
	struck  bool // as far as is known
}

// visit holds the conversation: the model has an order charged, and in the
// next turn looks at it.
func (s *shop) visit(ctx context.Context, t testing.TB, server harness.Server, dial func(context.Context, string, string) (net.Conn, error)) {
	began := time.Now()
	defer func() { s.took = time.Since(began) }()
	step := func(name string, err error) {
		x := mcpmatrix.Step{Step: name}
		if err != nil {
			x.Error = err.Error()
		}
		s.outcome.Steps = append(s.outcome.Steps, x)
	}
	opts := &mcppool.Options{CallTimeout: s.limit, ConnectTimeout: s.limit, CloseGrace: s.limit / 10, DialContext: dial, Era: mcppool.EraLegacy}
	if s.c.Probes() {
		opts.Era = mcppool.EraAuto
	}
	session, err := mcppool.Open(ctx, server, opts)
	step("open", err)
	if err != nil {
		return
	}
	router, err := tools.NewRouter(ctx, []*mcppool.Session{session}, nil)
	if err != nil {
		step("list", err)
		step("close", session.Close())
		return
	}
	mock := newMock(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: "Charge order A-1.", Replies: []mockllm.Reply{
			{Calls: []mockllm.Call{{Tool: "charge", Unoffered: true, Args: map[string]any{"order": "A-1", "amount": 30}}}}, {Say: "The first is done."},
		}},
		{User: "How is it?", Replies: []mockllm.Reply{
			{Calls: []mockllm.Call{{Tool: "look", Args: map[string]any{"order": "A-1"}}}}, {Say: "The second is done."},
		}},
	}}, nil)
	defer mock.Close()
	conversation := agent.New(agent.Config{
		Model: model.NewOpenAI(model.Config{BaseURL: "http://model.invalid/v1", Transport: mock.Transport()}),
		Name:  "gpt-4o", Tools: router, ToolTimeout: 3 * s.limit,
	}).Conversation()
	for turn, say := range []string{"Charge order A-1.", "How is it?"} {
		mock.BeginTurn(turn + 1)
		x := mcpmatrix.Step{Step: []string{"charge", "look"}[turn]}
		for event, err := range conversation.Send(ctx, say) {
			if err != nil {
				s.errs[turn] = err
				x.Error = err.Error()
			}
			switch e := event.(type) {
			case agent.Answer:
				s.answers[turn] = e.Text
			case agent.ToolFinished:
				text, failed := strings.CutPrefix(e.Call.Result, "Error: ")
				switch {
				case !failed:
					x.Text = text
				case strings.Contains(text, `server "shop"`) || strings.HasPrefix(text, "there is no tool"):
					x.Error = text
				default:
					x.Text, x.IsError = text, true
				}
			}
		}
		if turn == 0 {
			list := mcpmatrix.Step{Step: "list"}
			for _, t := range mock.Journal()[0].Request.Tools {
				list.Tools = append(list.Tools, t.Name)
			}
			slices.Sort(list.Tools)
			s.outcome.Steps = append(s.outcome.Steps, list)
		}
		s.outcome.Steps = append(s.outcome.Steps, x)
	}
	s.notes = router.Warnings()
	step("close", router.Close())
}

// inMemory is a network of pipes to one server.
type inMemory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex // guards what follows
	ends []*buffered
}

func newInMemory() *inMemory {
	return &inMemory{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *inMemory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	ours, theirs := newBuffered(a), newBuffered(b)
	n.mu.Lock()
	n.ends = append(n.ends, ours, theirs)
	n.mu.Unlock()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.closed:
	case <-ctx.Done():
	}
	ours.kill()
	theirs.kill()
	return nil, errors.New("connection refused")
}

// buffered is a pipe that takes what is written at once, as a socket does:
// who waits in a write holds locks, and time stands still meanwhile.
type buffered struct {
	net.Conn
	mu     sync.Mutex // guards what follows
	change *sync.Cond
	queue  [][]byte
	closed bool
}

func newBuffered(c net.Conn) *buffered {
	b := &buffered{Conn: c}
	b.change = sync.NewCond(&b.mu)
	go b.pump()
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	b.queue = append(b.queue, slices.Clone(p))
	b.change.Signal()
	return len(p), nil
}

// pump writes what is queued, and then closes if that was asked.
func (b *buffered) pump() {
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.closed {
			b.change.Wait()
		}
		if len(b.queue) == 0 {
			b.mu.Unlock()
			b.Conn.Close()
			return
		}
		next := b.queue[0]
		b.queue = b.queue[1:]
		b.mu.Unlock()
		if _, err := b.Conn.Write(next); err != nil {
			b.kill()
			return
		}
	}
}

func (b *buffered) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.change.Signal()
	// Nobody reads here any more, and the peer hears of it when all is sent.
	return b.Conn.SetReadDeadline(time.Now().Add(-time.Second))
}

// kill closes without sending what is queued.
func (b *buffered) kill() {
	_ = b.Close()
	b.Conn.Close()
}

func (n *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *inMemory) Close() error {
	n.once.Do(func() { close(n.closed) })
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, end := range n.ends {
		end.kill()
	}
	return nil
}

func (n *inMemory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// limitInMemory is how long a request may take where time is virtual.
const limitInMemory = 20 * time.Second

// inBubble holds the conversation in virtual time.
func inBubble(t *testing.T, c mcpmatrix.Case) *shop {
	t.Helper()
	s := &shop{c: c, limit: limitInMemory, virtual: true}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var charges atomic.Int64
		mock, err := mockmcp.New(mcpmatrix.Script(c, func() { charges.Add(1) }), nil)
		if err != nil {
			t.Fatal(err)
		}
		network := newInMemory()
		mux := http.NewServeMux()
		mux.Handle("/mcp", mock.Handler())
		mux.Handle("/sse", mock.SSEHandler())
		mux.Handle("/message", mock.SSEHandler())
		mux.Handle("/ws", mock.WSHandler())
		h := &http.Server{Handler: mux}
		var served sync.WaitGroup
		served.Go(func() { _ = h.Serve(network) })
		server := harness.Server{Name: "shop"}
		switch c.Column.Transport {
		case fault.Pipe:
			server.Dial = mock.Dial
		case fault.SSE:
			server.URL, server.Transport = "http://127.0.0.1/sse", "sse"
		case fault.WS:
			server.URL = "ws://127.0.0.1/ws"
		default:
			server.URL = "http://127.0.0.1/mcp"
		}
		s.visit(ctx, t, server, network.dial)
		if ctx.Err() != nil {
			s.outcome.Hangs = true
		}
		s.outcome.Charges, s.outcome.Lists = int(charges.Load()), mock.Lists()
		s.struck = len(mock.Unstruck()) == 0
		mock.Close()
		h.Close()
		served.Wait()
		network.Close()
	})
	return s
}

// asProcess holds the conversation with a child process, in the time of the
// machine.
func asProcess(t *testing.T, c mcpmatrix.Case) *shop {
	t.Helper()
	s := &shop{c: c, limit: 30 * time.Second, struck: true}
	if c.Silent() {
		s.limit = 3 * time.Second
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tally := filepath.Join(t.TempDir(), "tally")
	ctx, cancel := context.WithTimeout(t.Context(), 10*s.limit)
	defer cancel()
	s.visit(ctx, t, harness.Server{Name: "shop", Command: []string{self}, Env: mcpmatrix.Env(c, tally)}, nil)
	if ctx.Err() != nil {
		s.outcome.Hangs = true
	}
	s.outcome.Charges, s.outcome.Lists = mcpmatrix.Tally(tally)
	return s
}

// TestMCPFaults has our agent meet every fault on every transport, and writes
// docs/mcp-faults.md.
func TestMCPFaults(t *testing.T) {
	cases := mcpmatrix.Cases(slices.Concat(mcpmatrix.Columns(), mcpmatrix.OtherColumns()))
	visits := make([]*shop, len(cases))
	var processes sync.WaitGroup
	slots := make(chan struct{}, 8) // most of them only wait for a time limit
	for i, c := range cases {
		if c.Column.Transport == fault.Stdio {
			processes.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				visits[i] = asProcess(t, c)
			})
		}
	}
	for i, c := range cases {
		if c.Column.Transport != fault.Stdio {
			visits[i] = inBubble(t, c)
		}
	}
	processes.Wait()
	cells := make(map[string]map[string]string) // by fault, by column
	for i, c := range cases {
		name := c.Fault.String()
		if cells[name] == nil {
			cells[name] = make(map[string]string)
		}
		cells[name][c.Column.Name] = visits[i].outcome.Cell()
		t.Run(strings.ReplaceAll(c.String(), "/", "."), visits[i].check)
	}
	checkMCPPage(t, cells)
}

// check holds what was seen against what our agent owes its user.
func (s *shop) check(t *testing.T) {
	t.Logf("%s | %v | %v", s.outcome.Cell(), s.took, s.notes)
	if !s.struck {
		t.Error("the fault has not struck")
	}
	if s.outcome.Hangs {
		t.Fatal("hangs")
	}
	if s.outcome.Charges > 1 {
		t.Errorf("charged %d times", s.outcome.Charges)
	}
	if most := 3*s.limit + 10*time.Second; s.virtual && s.took > most { // the machine's time says how busy it is
		t.Errorf("took %v, more than %v", s.took, most)
	}
	for _, x := range s.outcome.Steps {
		switch {
		case x.Error == "" || strings.HasPrefix(x.Error, `there is no tool "charge"`):
		case !strings.Contains(x.Error, `server "shop"`), x.Step == "charge" && !strings.Contains(x.Error, `calling "charge" on server "shop": `):
			t.Errorf("at %s the error does not name the server and the tool: %s", x.Step, x.Error)
		case x.Step == "look":
			t.Errorf("the next call fails as well: %s", x.Error)
		case x.Step == "close":
			t.Errorf("closing: %s", x.Error)
		}
	}
	if s.outcome.Steps[0].Error != "" {
		return // it did not connect
	}
	for turn, want := range []string{"The first is done.", "The second is done."} {
		if s.errs[turn] != nil || s.answers[turn] != want {
			t.Errorf("turn %d ended with %q, %v", turn+1, s.answers[turn], s.errs[turn])
		}
	}
}
