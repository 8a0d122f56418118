// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
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

	mu   sync.Mutex // guards the rest
	turn int
	list []*harness.Exchange
	last *dialect.Chat // the request before, to tell repetitions
}

func (t *trial) openLive() harness.Endpoint {
	transport := t.opts.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	m := &liveModel{
		base: strings.TrimRight(t.opts.BaseURL, "/"), key: t.opts.APIKey, clock: t.clock, check: t.checkLimits,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect would carry the key away
		}},
	}
	base, unmount := t.gateway.mount(m)
	m.unmount = unmount
	t.model = m
	return harness.Endpoint{BaseURL: base + "/v1", APIKey: placeholderKey}
}

func (m *liveModel) beginTurn(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn = n
}

func (m *liveModel) journal() []harness.Exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]harness.Exchange, len(m.list))
	for i, x := range m.list {
		out[i] = *x
	}
	return out
}

func (m *liveModel) remaining() []harness.Position { return nil }
func (m *liveModel) close()                        { m.unmount() }

func (m *liveModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if err != nil {
		m.end(x, func(x *harness.Exchange) {
			x.Status = http.StatusBadGateway
			x.Error = err.Error()
			if r.Context().Err() != nil {
				x.Error = "the subject gave up: " + context.Cause(r.Context()).Error()
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
	m.end(x, func(x *harness.Exchange) {
		x.Status = res.StatusCode
		readAnswer(x, res, kept)
		x.Delivered = err == nil && x.Status < 300
		if err != nil {
			x.Error = cmp.Or(x.Error, err.Error())
		}
	})
}

// hopByHop are the headers that belong to one connection only.
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Proxy-Authenticate": true, "Proxy-Authorization": true, "Accept-Encoding": true, "Host": true, "Content-Length": true,
}

func (m *liveModel) forward(r *http.Request, path string, body []byte) (*http.Response, error) {
	url := m.base + path
	if r.URL.RawQuery != "" {
		url += "?" + r.URL.RawQuery
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(body))
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
	if err == nil && res.StatusCode/100 == 3 {
		res.Body.Close()
		return nil, fmt.Errorf("the endpoint redirects to %q (HTTP %d): give its own address", redacted(res.Header.Get("Location")), res.StatusCode)
	}
	return res, err
}

// hand copies an answer as it comes, and keeps it.
func hand(w http.ResponseWriter, body io.Reader) ([]byte, error) {
	rc := http.NewResponseController(w)
	var kept []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if len(kept)+n <= maxBody {
			kept = append(kept, buf[:n]...)
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return kept, fmt.Errorf("the subject hung up: %w", err)
			}
			if err := rc.Flush(); err != nil {
				return kept, err
			}
		}
		switch {
		case err == io.EOF:
			return kept, nil
		case err != nil:
			return kept, fmt.Errorf("the endpoint's answer broke off: %w", err)
		}
	}
}

func writeUpstreamError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
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

// end completes an exchange; x is nil for what is no model call.
func (m *liveModel) end(x *harness.Exchange, fill func(*harness.Exchange)) {
	if x == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x.Duration = m.clock.Now().Sub(x.Start)
	fill(x)
}

// endpointCause says what is wrong with the endpoint, when a trial came to
// nothing because of it: the last request of a turn got no answer that can
// be used, and the subject did not choose to stop. Nil when the endpoint is
// not to blame.
func endpointCause(exchanges []harness.Exchange, turns []harness.TurnReport, broke error) *harness.Cause {
	for turn := 1; turn <= len(turns); turn++ {
		if turns[turn-1].Stop != "" {
			continue
		}
		for _, x := range slices.Backward(exchanges) {
			if x.Turn != turn {
				continue
			}
			if x.Status == 0 || x.Status >= 300 || x.Error != "" { // 0: it has not answered yet
				return &harness.Cause{
					Kind:    harness.CauseEndpoint,
					Message: fmt.Sprintf("the endpoint answered request %d with HTTP %d: %s", x.Seq, x.Status, cmp.Or(x.Error, "no reason given")),
				}
			}
			break
		}
	}
	if endpoint := (*harness.EndpointError)(nil); errors.As(broke, &endpoint) {
		return &harness.Cause{Kind: harness.CauseEndpoint, Message: fmt.Sprintf("the endpoint: %v", endpoint)}
	}
	return nil
}
