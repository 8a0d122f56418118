// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		m          measurement
		want       []figure
	}{
		{
			"shares of another version", `There are no rows for aimock.
  32 connections  req/s  CPU us  CPU, of bare  CPU, of before         aims
      text, bare  10606      55          1.00               -
      text, mock  10606      55          1.35            1.04  0.80 of bare
`, measurement{name: "m", columns: ratio}, []figure{{"m, text, mock, CPU, of before", 1.04}},
		},
		{
			"memory, and an aim in MiB", `  median of 9 starts  ms to the first 200  idle RSS MiB  of it not in files           aims
       embeds it                  9.2          11.3                4.2  15 ms, 15 MiB
RSS after 500 requests with the journal on: 15 MiB, at most 16 MiB
`, measurement{name: "m", columns: memory}, []figure{{"m, embeds it, idle RSS MiB", 11.3}, {"m, embeds it, of it not in files", 4.2}, {"m, MiB after many requests", 15}},
		},
		{
			"controls, one digit, and a column twice", `
  a file of 40 MB        by    ms  CPU ms  CPU ms
             load    go-vcr  2138     714
             load  rehearse   261      99    0.14
             peek  rehearse   261       9    0.14
`, measurement{name: "c", columns: cpu}, []figure{{"c, load, rehearse, CPU ms", 99}},
		},
		{
			"loops", "agent loop / go-openai and mcp-go       1.11 times the time of a conversation, plain (aim: 1.10 or less)\n",
			measurement{name: "l", columns: noColumn},
			[]figure{{"l, plain, of a loop by hand", 1.11}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.m.read(tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPairs leaves out what only one version has.
func TestPairs(t *testing.T) {
	var pairs table
	pairs.add([]figure{{"a", 3}, {"b", 1}}, []figure{{"a", 2}, {"c", 1}})
	pairs.add([]figure{{"a", 1}}, []figure{{"a", 2}})
	if !slices.Equal(pairs.names, []string{"a"}) || !slices.Equal(pairs.rows["a"].ratios, []float64{1.5, 0.5}) {
		t.Errorf("got %v", pairs.rows)
	}
}

func TestChoose(t *testing.T) {
	all := measurements("base", "runs")
	if list, err := choose(all, regexp.MustCompile("^cassettes$|loop")); err != nil || len(list) != 2 {
		t.Errorf("%d measurements (%v), want 2", len(list), err)
	}
	if list, err := choose(all, regexp.MustCompile("casettes")); err == nil || !strings.Contains(err.Error(), "cassettes, agent loop") {
		t.Errorf("%d measurements, %v; want an error with their names", len(list), err)
	}
}
