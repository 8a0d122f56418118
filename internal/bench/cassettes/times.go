// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// times prints how far the events of a replay are from those of the live
// stream that it recorded, each counted from its own request. A second live
// stream tells what the machine does to the same events anyway.
func (b *bench) times(out io.Writer) error {
	s, err := startServer()
	if err != nil {
		return err
	}
	defer s.stop()
	var again, paced, atOnce []time.Duration
	var sums [3]time.Duration
	for range b.rounds {
		var live, second, replay, quick streamed
		path := filepath.Join(b.dir, "times.yaml")
		record := func(into *streamed) error {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			return b.through(into, path, s.base, &cassettes.Options{Mode: cassettes.Record, Upstream: transport, LookupEnv: noCI})
		}
		for _, step := range []func() error{
			func() error { return record(&second) },
			func() error { return record(&live) },
			func() error { return b.through(&replay, path, s.base, &cassettes.Options{Speed: 1}) },
			func() error { return b.through(&quick, path, s.base, nil) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		for i, at := range live.parts {
			again = append(again, (second.parts[i] - at).Abs())
			paced = append(paced, (replay.parts[i] - at).Abs())
		}
		atOnce = append(atOnce, quick.parts...)
		for i, s := range []streamed{live, replay, quick} {
			sums[i] += s.end
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\ntimes of events, one every %v\tp50 ms\tp99 ms\tmax ms\tms to the end\taims\t\n", b.gap)
	row := func(name string, list []time.Duration, end time.Duration, aim string) {
		slices.Sort(list)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.1f\t%s\t\n", name, milliseconds(quantile(list, 0.5)), milliseconds(quantile(list, 0.99)),
			milliseconds(list[len(list)-1]), milliseconds(end)/float64(b.rounds), aim)
	}
	row("a live stream, from another", again, sums[0], "")
	row("replayed at speed 1, from live", paced, sums[1], "p99 of a few ms")
	row("replayed at speed 0, from the request", atOnce, sums[2], "p99 of a few ms")
	return w.Flush()
}

// through reads a stream through a recorder of its own.
func (b *bench) through(into *streamed, path, base string, opts *cassettes.Options) error {
	rec, err := cassettes.Open(path, opts)
	if err != nil {
		return err
	}
	*into, err = read(&http.Client{Transport: rec}, base, b.events, b.gap)
	if closeErr := rec.Close(); err == nil {
		err = closeErr
	}
	return err
}

// quantile is one of a sorted list.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
