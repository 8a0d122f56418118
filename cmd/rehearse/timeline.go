// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/timeline"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func cassetteTimelineCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "timeline FILE...",
		Short: "Print what the model and the MCP servers of a trial said, in one order",
		Long: `timeline merges the recordings of a trial: cassettes, and tapes of MCP servers,
whose names end in .tape. Given one cassette, it also takes the tapes beside it
that begin with its name, as ` + "`rehearse run --mode record`" + ` names them. Each line is
what the client (->) or the other side (<-) said, with the seconds since the
first. Recordings that were not made together are merged by the time of day.`,
		Example: `  rehearse cassette timeline cassettes/weather/forecast.gpt-5.yaml
  rehearse cassette timeline model.yaml weather.tape files.tape`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("cassette timeline needs files\nfor example:\n" + cmd.Example)
			}
			return printTimeline(p, args)
		},
	}
}

func printTimeline(p *process, paths []string) error {
	var tapes, models []string
	for _, path := range paths {
		if strings.HasSuffix(path, ".tape") {
			tapes = append(tapes, path)
		} else {
			models = append(models, path)
		}
	}
	stem, end := "", ".tape"
	if len(models) == 1 {
		stem = strings.TrimSuffix(models[0], filepath.Ext(models[0]))
		if recfile.Fate(models[0]) == recfile.Refused {
			dot := strings.LastIndexByte(stem, '.')
			stem, end = stem[:dot], stem[dot:]+end
		}
		stem += "."
	}
	if len(tapes) == 0 && stem != "" {
		beside, err := filepath.Glob(escapeGlob(stem) + "*" + end)
		if err != nil {
			return err
		}
		// What has more dots is of a model whose name begins like this one's, or was refused:
		// names of servers have none.
		tapes = slices.DeleteFunc(beside, func(path string) bool {
			return strings.Contains(strings.TrimSuffix(strings.TrimPrefix(path, stem), end), ".")
		})
	}
	var recordings [][]timeline.Event
	for _, path := range tapes {
		rec, err := mcptape.Read(path)
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(path, stem)
		if !ok || stem == "" {
			name = filepath.Base(path)
		}
		recordings = append(recordings, timeline.Tape(strings.TrimSuffix(strings.TrimSuffix(name, end), ".tape"), path, rec))
	}
	for _, path := range models {
		f, err := vcr.Read(path)
		if err != nil {
			return err
		}
		events := timeline.Cassette(f)
		if len(events) == 0 {
			return fmt.Errorf("cassette %q does not say when it was recorded", path)
		}
		recordings = append(recordings, events)
	}
	if gap := apart(recordings); gap > time.Minute {
		p.logf("warning: the recordings were not made together: they are %s apart", gap.Round(time.Second))
	}
	return timeline.Write(p.stdout, timeline.Of(recordings...))
}

// apart is the longest time between recordings in which nothing was recorded.
func apart(recordings [][]timeline.Event) time.Duration {
	var gap time.Duration
	for _, one := range recordings {
		near := time.Duration(-1) // the nearest other
		for _, other := range recordings {
			if len(one) == 0 || len(other) == 0 || &one[0] == &other[0] {
				continue
			}
			d := max(one[0].At.Sub(other[len(other)-1].At), other[0].At.Sub(one[len(one)-1].At), 0)
			if near < 0 || d < near {
				near = d
			}
		}
		gap = max(gap, near)
	}
	return gap
}

// escapeGlob has the characters of a path mean themselves.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
