// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class      string           `xml:"classname,attr"`
	Name       string           `xml:"name,attr"`
	File       string           `xml:"file,attr,omitempty"`
	Line       int              `xml:"line,attr,omitempty"`
	Time       string           `xml:"time,attr"`
	Properties *junitProperties `xml:"properties,omitempty"`
	Failure    *junitText       `xml:"failure,omitempty"`
	Error      *junitText       `xml:"error,omitempty"`
	Skipped    *junitText       `xml:"skipped,omitempty"`
	Output     string           `xml:"system-out,omitempty"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitText struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Body    string `xml:",chardata"`
}

// JUnit writes a run as JUnit XML: a suite a model, a case a scenario. The
// attempts of a case are folded: it fails when any of them failed, is an error
// when any was one and none failed, and is marked flaky when some failed and
// some passed.
func JUnit(w io.Writer, run *Run) error {
	tab := arrange(run)
	all := junitSuites{Name: cmp.Or(oneLine(run.Manifest.Name, 200), "rehearse")}
	var total time.Duration
	for i, c := range tab.Columns {
		suite := junitSuite{Name: c.Label}
		if !run.Manifest.Started.IsZero() {
			suite.Timestamp = run.Manifest.Started.UTC().Format("2006-01-02T15:04:05")
		}
		var sum time.Duration
		for _, s := range tab.Scenarios {
			cell := s.Cells[i]
			if len(cell) == 0 {
				continue
			}
			tc, y := junitFold(s, cell)
			for _, t := range cell {
				sum += t.Duration
			}
			if tab.Rules != nil {
				tc.ruled(tab.ruleOf(s, c), y.Judged())
			}
			suite.add(tc)
		}
		for _, r := range tab.Rules {
			if r.Scenario == "" && keyOf(r.Column) == c.key {
				suite.add(junitRule(r))
			}
		}
		suite.Time = junitSeconds(sum)
		total += sum
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	all.Time = junitSeconds(total)
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

// add counts a case.
func (s *junitSuite) add(tc junitCase) {
	s.Tests++
	switch {
	case tc.Failure != nil:
		s.Failures++
	case tc.Error != nil:
		s.Errors++
	case tc.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, tc)
}

// junitFold makes one case of the attempts of one cell, and counts them.
func junitFold(s *scenario, cell []*Trial) (junitCase, tally) {
	var y tally
	var sum time.Duration
	for _, t := range cell {
		y.add(t)
		sum += t.Duration
	}
	tc := junitCase{
		Class: oneLine(cmp.Or(s.File, "rehearse"), 400),
		Name:  oneLine(s.Name(), 200),
		File:  oneLine(s.File, 400),
		Line:  s.Pos.Line,
		Time:  junitSeconds(sum),
	}
	var props []junitProperty
	if y.Trials() > 1 {
		props = append(props, junitProperty{"trials", y.Words()})
	}
	if y.Flaky() {
		props = append(props, junitProperty{"flaky", "true"})
	}
	props = append(props, junitDrift(cell)...)
	if props != nil {
		tc.Properties = &junitProperties{props}
	}
	switch {
	case y.Failed > 0:
		tc.Failure = junitExplain(cell, harness.OutcomeFailed, y)
	case y.Errors > 0:
		tc.Error = junitExplain(cell, harness.OutcomeError, y)
	case y.Passed == 0:
		tc.Skipped = junitExplain(cell, harness.OutcomeSkipped, y)
	}
	return tc, y
}

// junitExplain says why: the first trial of the outcome in the message, what
// the text report prints of all failing ones in the body.
func junitExplain(cell []*Trial, o harness.Outcome, y tally) *junitText {
	out := &junitText{}
	p := &textPrinter{max: 2000}
	for _, t := range cell {
		known := t.Outcome == o || (o == harness.OutcomeError && failing(t))
		if out.Message == "" && known && t.Cause != nil {
			out.Message = oneLine(t.Cause.Text(), 500)
			out.Type = oneLine(string(t.Cause.Kind), 40)
			if !t.Cause.Pos.IsZero() {
				out.Message = oneLine(t.Cause.Pos.String(), 400) + ": " + out.Message
			}
		}
		if failing(t) {
			p.trial(place{Trial: t, scenario: &scenario{}, attempt: attempt(t, cell)})
		}
	}
	if out.Message == "" {
		out.Message = string(o)
	}
	if y.Trials() > 1 {
		out.Message = y.Words() + ": " + out.Message
	}
	out.Body = strings.TrimRight(p.b.String(), "\n")
	if out.Body != "" {
		out.Body = "\n" + out.Body + "\n"
	}
	return out
}

func junitSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
