// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// httpSession is one conversation with an agent behind an API.
type httpSession struct {
	def     *Definition
	place   *place
	env     *harness.Env
	client  *http.Client
	server  *mcpwire.Process // that was started for the trial; nil for none
	url     string
	turn    int
	session string
}

// openHTTP starts the server of an agent, where it is to be started.
func openHTTP(ctx context.Context, d *Definition, p *place, env *harness.Env) (harness.Session, error) {
	s := &httpSession{
		def: d, place: p, env: env,
		// Of its own, so that nothing stays behind; and by no proxy.
		client: &http.Client{Transport: &http.Transport{}, CheckRedirect: redirect.None},
	}
	values := maps.Clone(p.values)
	if strings.Contains(d.HTTP.URL, "{port}") || has(d.HTTP.Start, "port") {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		values["port"] = port
	}
	s.url = filled(d.HTTP.URL, values)
	if u, err := url.Parse(s.url); err == nil && u.Host != "" && strings.Trim(u.Path, "/") == "" && d.HTTP.Send == nil && d.HTTP.Answer == nil {
		s.url = u.JoinPath("agent", "execute_task").String() // where our own API is asked
	}
	if len(d.HTTP.Start) == 0 {
		return s, nil
	}
	var err error
	if s.server, err = d.start(p, d.HTTP.Start, values); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		_ = s.server.Close()
		if !errors.Is(err, harness.ErrGaveUp) {
			err = fmt.Errorf("%w: %w", harness.ErrUnavailable, err)
		}
		return nil, err
	}
	return s, nil
}

// freePort is a port of loopback that nobody listens on at the moment.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// ready waits until the server that was started can be asked: until it says its
// address, or takes connections at the one that is known.
func (s *httpSession) ready(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.server.Close() })()
	out := bufio.NewReader(s.server)
	drain := func() { _, _ = io.Copy(io.Discard, out) } // it must not wait for a reader
	gone := func() error {
		err := fmt.Errorf("the server of the agent is not ready: %w", ended(s.server))
		if s.server.Ending() == "" || ctx.Err() != nil {
			return err // it was not its own doing
		}
		if <-s.server.Exited(); s.server.ExitCode() != 0 {
			err = fmt.Errorf("%w: %w", harness.ErrGaveUp, err)
		}
		return err
	}
	if s.url == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			return gone()
		}
		go drain()
		var told struct {
			URL string `json:"url"`
		}
		if json.Unmarshal([]byte(line), &told) != nil || told.URL == "" {
			told.URL = strings.TrimSpace(line)
		}
		if s.url = told.URL; !strings.HasPrefix(s.url, "http") {
			return fmt.Errorf(`the first line of the server of the agent is %q: want its address, alone or as {"url": ...}, or give url`, prose.Shorten(line, 200))
		}
	} else {
		go drain()
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	host := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	var dialer net.Dialer
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		conn, err := dialer.DialContext(ctx, "tcp", host)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.server.Exited():
			return gone()
		case <-ctx.Done():
			return fmt.Errorf("the server of the agent does not take connections at %s: %w", host, err)
		case <-time.After(wait):
		}
	}
}

// Send implements [harness.Session].
func (s *httpSession) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	s.turn++
	if s.turn > 1 && s.def.HTTP.Session == nil {
		return nil, fmt.Errorf("%w: its API knows no second turn", harness.ErrUnable)
	}
	ctx, stop := limited(ctx, s.env)
	defer stop()
	report, err := s.play(ctx, text)
	if err != nil {
		err = stopped(ctx, s.env, err, "the request was ended")
	}
	return report, err
}

// play asks for the answer of a turn and reads it.
func (s *httpSession) play(ctx context.Context, text string) (*harness.TurnReport, error) {
	res, err := s.ask(ctx, text)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body := http.MaxBytesReader(nil, res.Body, maxOutput)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode >= 300 {
		data, _ := io.ReadAll(body)
		if s.def.HTTP.Answer == nil && s.def.HTTP.Stream == nil {
			if report, err := ours(data); report != nil {
				return report, err
			}
		}
		return nil, fmt.Errorf("the agent answered HTTP %d: %s", res.StatusCode, prose.Shorten(strings.TrimSpace(string(data)), 600))
	}
	if s.def.HTTP.Stream != nil {
		report, err := s.streamed(body, kind)
		return report, tooMuch(err)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, tooMuch(fmt.Errorf("reading the answer of the agent: %w", err))
	}
	return s.whole(data)
}

// tooMuch is an error of reading a response, which is another one where that is
// longer than is read.
func tooMuch(err error) error {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return fmt.Errorf("the agent answered with more than %d MiB", maxOutput>>20)
	}
	return err
}

// ask sends the request of a turn.
func (s *httpSession) ask(ctx context.Context, text string) (*http.Response, error) {
	values := maps.Clone(s.place.values)
	values["prompt"], values["session"] = text, s.session
	send := value.ObjectOf(value.Member{Key: "goal", Value: value.StringOf("{prompt}")})
	if s.def.HTTP.Send != nil {
		send = *s.def.HTTP.Send
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(filledJSON(send, values).Append(nil)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, v := range s.def.HTTP.Headers {
		req.Header.Set(name, filled(v, values))
	}
	res, err := s.client.Do(req)
	var refused *net.OpError
	switch {
	case err == nil:
		return res, nil
	case s.server != nil && ctx.Err() == nil:
		// It was ready, so that this is the agent's doing. Its end is seen a moment
		// later than that of its connection.
		select {
		case <-s.server.Exited():
			return nil, fmt.Errorf("%w; its server has ended: %w", err, ended(s.server))
		case <-time.After(5 * grace):
		}
	case errors.As(err, &refused) && refused.Op == "dial":
		return nil, fmt.Errorf("%w: the agent cannot be reached: %w", harness.ErrUnavailable, err)
	}
	return nil, err
}

// filledJSON puts values in the place of placeholders of texts. A text that is
// {servers} or {settings} alone becomes their JSON.
func filledJSON(v value.Value, values map[string]string) value.Value {
	switch v.Kind() {
	case value.String:
		if text := v.Str(); text == "{servers}" || text == "{settings}" {
			if parsed, err := value.Parse([]byte(values[strings.Trim(text, "{}")])); err == nil {
				return parsed
			}
		}
		return value.StringOf(filled(v.Str(), values))
	case value.Array:
		items := make([]value.Value, 0, v.Len())
		for _, item := range v.Items() {
			items = append(items, filledJSON(item, values))
		}
		return value.ArrayOf(items...)
	case value.Object:
		members := make([]value.Member, 0, v.Len())
		for _, m := range v.Members() {
			members = append(members, value.Member{Key: m.Key, Value: filledJSON(m.Value, values)})
		}
		return value.ObjectOf(members...)
	}
	return v
}

// whole reads a response.
func (s *httpSession) whole(data []byte) (*harness.TurnReport, error) {
	v, err := value.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the answer of the agent is not JSON: %s", prose.Shorten(strings.TrimSpace(string(data)), 300))
	}
	if s.def.HTTP.Answer == nil {
		report, err := ours(data)
		if err == nil {
			err = s.goesOn(v)
		}
		return report, err
	}
	return s.read(v)
}

// read reads answer and session of a response.
func (s *httpSession) read(v value.Value) (*harness.TurnReport, error) {
	answer, err := textOf(s.def.HTTP.Answer, v)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the agent: %w", err)
	}
	return &harness.TurnReport{Answer: answer}, s.goesOn(v)
}

func (s *httpSession) goesOn(v value.Value) (err error) {
	if s.def.HTTP.Session != nil {
		if s.session, err = textOf(s.def.HTTP.Session, v); err != nil {
			return fmt.Errorf("reading the session of the agent: %w", err)
		}
	}
	return nil
}

// streamed reads a response of events: server-sent ones, or lines of JSON.
func (s *httpSession) streamed(body io.Reader, kind string) (*harness.TurnReport, error) {
	c := collector{def: s.def.HTTP}
	in := bufio.NewReader(body)
	read := c.lines
	if kind == "text/event-stream" {
		read = c.events
	}
	if err := read(in); err != nil {
		return nil, fmt.Errorf("reading the stream of the agent: %w", err)
	}
	report, err := c.report()
	if err == nil {
		s.session = c.session.text
	}
	return report, err
}

// collector puts together what the events of a stream say. Of an event, expressions
// read value.event and value.data.
type collector struct {
	def             *HTTP
	text            strings.Builder // of the parts
	found           bool            // a part
	why             error           // an event could not be read
	answer, session lastOf
}

// lastOf is what the last event says that has it. One for which when holds goes
// over the others.
type lastOf struct {
	text string
	as   fit
}

// fit is how well an event is the one to read something of.
type fit int

const (
	missing fit = iota // there is none
	other              // one for which when does not hold
	chosen
)

func (l *lastOf) read(p *expr.Program, event value.Value, as fit) {
	if p == nil || as < l.as {
		return
	}
	if text, err := textOf(p, event); err == nil {
		l.text, l.as = text, as
	}
}

// events takes server-sent events.
func (c *collector) events(in *bufio.Reader) error {
	events := sse.NewReader(in, maxOutput)
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = c.take(ev.Name, ev.Data)
		}
		if err != nil {
			return err
		}
	}
}

// lines takes lines of JSON.
func (c *collector) lines(in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := c.take("", line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take takes an event.
func (c *collector) take(name string, data []byte) error {
	v, err := value.Parse(data)
	if err != nil {
		v = value.StringOf(string(data))
	}
	event := value.ObjectOf(value.Member{Key: "event", Value: value.StringOf(name)}, value.Member{Key: "data", Value: v})
	part, ok, err := c.def.Stream.in(event)
	as := other
	if ok {
		c.text.WriteString(part)
		c.found, as = true, chosen
	}
	if !ok && name == "error" {
		return fmt.Errorf("it has the event error: %s", prose.Shorten(string(data), 300))
	}
	if err != nil {
		c.why = err
	}
	c.answer.read(c.def.Answer, event, as)
	c.session.read(c.def.Session, event, as)
	return nil
}

// report is what the stream comes to.
func (c *collector) report() (*harness.TurnReport, error) {
	switch {
	case c.def.Answer != nil && c.answer.as == missing:
		return nil, fmt.Errorf("no event in the agent's stream matches answer: %s", c.def.Answer)
	case c.def.Answer == nil && !c.found && c.why != nil:
		return nil, fmt.Errorf("reading the stream of the agent: %w", c.why)
	case c.def.Answer == nil && !c.found:
		return nil, errors.New("no event in the agent's stream matches stream: when")
	case c.def.Session != nil && c.session.as == missing:
		return nil, fmt.Errorf("no event in the agent's stream matches session: %s", c.def.Session)
	case c.def.Answer == nil:
		return &harness.TurnReport{Answer: c.text.String()}, nil
	}
	return &harness.TurnReport{Answer: c.answer.text}, nil
}

// ours reads a response as agents behind `rehearse serve agent` give it.
func ours(data []byte) (*harness.TurnReport, error) {
	var r struct {
		Status      string             `json:"status"`
		FinalAnswer *string            `json:"final_answer"`
		StopReason  harness.StopReason `json:"stop_reason"`
		Error       string             `json:"error"`
		ModelCalls  int                `json:"model_calls"`
		Usage       harness.Usage      `json:"usage"`
		Calls       []struct {
			ID        string `json:"id"`
			Tool      string `json:"tool"`
			Arguments string `json:"arguments"`
			Result    string `json:"result"`
			Error     string `json:"error"`
		} `json:"calls"`
	}
	if err := json.Unmarshal(data, &r); err != nil || r.FinalAnswer == nil {
		return nil, fmt.Errorf(`the answer of the agent has no final_answer: %s; answer: names another place, such as value.output`, prose.Shorten(strings.TrimSpace(string(data)), 300))
	}
	report := &harness.TurnReport{Answer: *r.FinalAnswer, ModelCalls: r.ModelCalls, Usage: r.Usage, Stop: r.StopReason, Error: r.Error}
	for _, c := range r.Calls {
		report.Calls = append(report.Calls, harness.ReportedCall{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments, Result: c.Result, Error: c.Error})
	}
	switch r.Status {
	case "", "completed":
		return report, nil
	case "stopped":
		return report, &harness.StopError{Reason: r.StopReason, Detail: r.Error}
	}
	return report, fmt.Errorf("the task ended %s: %s", r.Status, r.Error)
}

// Close implements [harness.Session].
func (s *httpSession) Close() error {
	defer s.place.remove()
	s.client.CloseIdleConnections()
	if s.server == nil {
		return nil
	}
	s.server.Terminate() // a server does not look at its standard input
	return s.server.Close()
}
