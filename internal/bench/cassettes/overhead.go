// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// way is how a stream comes to its client.
type way struct {
	name    string
	proxied bool
	records bool
}

func ways() []way {
	return []way{
		{"transport, bare", false, false},
		{"transport, recorded", false, true},
		{"proxy, bare", true, false},
		{"proxy, recorded", true, true},
	}
}

// taken is what streams took by one way, in one round.
type taken struct{ last, cpu, save float64 } // milliseconds to the last byte, microseconds an event, milliseconds after

// overhead prints what it costs a stream to be recorded.
func (b *bench) overhead(out io.Writer) error {
	s, err := startServer()
	if err != nil {
		return err
	}
	defer s.stop()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nrecording a stream of %d events\tms to its end\tCPU us/event\tend, of bare\tCPU, of bare\tms to save\taims\t\n", b.events)
	for _, gap := range []time.Duration{b.gap, 0} {
		results := make([][]taken, len(ways()))
		for round := range b.rounds + 1 {
			for k := range ways() {
				i := (k + round) % len(ways()) // they take turns in going first
				r, err := b.stream(s.base, ways()[i], gap)
				if err != nil {
					return fmt.Errorf("streaming by %s: %w", ways()[i].name, err)
				}
				if round > 0 { // the first is to warm up
					results[i] = append(results[i], r)
				}
			}
		}
		pace := "at once"
		if gap > 0 {
			pace = fmt.Sprintf("one every %v", gap)
		}
		for i, way := range ways() {
			bare := results[i/2*2]
			end := func(t taken) float64 { return t.last }
			cpu := func(t taken) float64 { return t.cpu }
			fmt.Fprintf(w, "%s, %s\t%.1f\t%.1f\t", pace, way.name, median(results[i], end), median(results[i], cpu))
			if !way.records {
				fmt.Fprint(w, "1\t1\t-\t\t\n")
				continue
			}
			aim := ""
			if gap > 0 {
				aim = "end 1.03 of bare"
			}
			fmt.Fprintf(w, "%.3f\t%.2f\t%.1f\t%s\t\n", medianRatio(results[i], bare, end), medianRatio(results[i], bare, cpu),
				median(results[i], func(t taken) float64 { return t.save }), aim)
		}
	}
	return w.Flush()
}

// stream reads one stream.
func (b *bench) stream(endpoint string, way way, gap time.Duration) (t taken, err error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var through http.RoundTripper = transport
	base := endpoint
	to, err := url.Parse(endpoint)
	if err != nil {
		return t, err
	}
	var handler http.Handler = &httputil.ReverseProxy{FlushInterval: -1, Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		// An answer that begins before the end of the body was seen breaks
		// the connection otherwise.
		body, _ := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
	}}
	if way.records {
		rec, err := cassettes.Open(filepath.Join(b.dir, "stream.yaml"), &cassettes.Options{Mode: cassettes.Record, Upstream: transport, LookupEnv: noCI})
		if err != nil {
			return t, err
		}
		defer func() {
			begin := time.Now()
			if closeErr := rec.Close(); err == nil {
				err = closeErr
			}
			t.save = milliseconds(time.Since(begin))
		}()
		through, handler = rec, rec.Proxy(to)
	}
	if way.proxied {
		proxy := httptest.NewServer(handler)
		defer proxy.Close()
		through, base = &http.Transport{}, proxy.URL
		defer through.(*http.Transport).CloseIdleConnections()
	}
	cpu := processorTime()
	got, err := read(&http.Client{Transport: through}, base, b.events, gap)
	if err != nil {
		return t, err
	}
	t.last = milliseconds(got.end)
	t.cpu = milliseconds(processorTime()-cpu) * 1e3 / float64(b.events)
	return t, nil
}

func noCI(string) (string, bool) { return "", false }

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
