// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// findSubjects completes the subjects of the options.
func (o *Options) findSubjects() error {
	given := map[string]bool{}
	o.Subjects = slices.Clone(o.Subjects)
	for i := range o.Subjects {
		s := &o.Subjects[i]
		s.Name = cmp.Or(s.Name, o.SubjectName)
		if given[s.Name] {
			return fmt.Errorf("subject %q is given twice; to play each scenario more than once, set the number of trials (--trials)", s.Name)
		}
		given[s.Name] = true
	}
	if len(o.Subjects) > 1 && o.Mode == harness.ModeRecord {
		return errors.New("a recording is of one subject: record each by itself, in a folder of its own (--cassettes)")
	}
	if o.Subject == nil && (len(o.Subjects) == 0 || slices.ContainsFunc(o.Subjects, func(s scenarios.Subject) bool { return s.Subject == nil })) {
		return errNoSubject
	}
	return nil
}

// subjectsOf are the subjects that play a scenario.
func (r *runner) subjectsOf(s *scenarios.Scenario) []*scenarios.Subject {
	o := &r.opts
	list := o.Subjects
	switch {
	case len(list) > 0:
	case o.FromScenarios && s.Subject != nil:
		list = []scenarios.Subject{*s.Subject}
	default:
		list = []scenarios.Subject{{Name: o.SubjectName}}
	}
	out := make([]*scenarios.Subject, len(list))
	for i, of := range list {
		if of.Subject == nil {
			of.Subject, of.Foreign = o.Subject, o.Foreign
		}
		out[i] = &of
	}
	return out
}

// subjectNames are those of the subjects of trials, in their order.
func subjectNames(jobs []job, none string) string {
	var names []string
	for _, j := range jobs {
		if !slices.Contains(names, j.key.Subject) {
			names = append(names, j.key.Subject)
		}
	}
	return cmp.Or(strings.Join(names, " and "), none)
}

// withSubject are settings with those of a subject over them.
func withSubject(s, own harness.Settings) harness.Settings {
	s.MaxModelCalls = cmp.Or(own.MaxModelCalls, s.MaxModelCalls)
	s.TokenLimit = cmp.Or(own.TokenLimit, s.TokenLimit)
	s.TimeLimit = cmp.Or(own.TimeLimit, s.TimeLimit)
	if len(own.Extra) > 0 {
		extra := maps.Clone(s.Extra)
		if extra == nil {
			extra = map[string]any{}
		}
		maps.Copy(extra, own.Extra)
		s.Extra = extra
	}
	return s
}

// plainName matches the names of servers and tools that clients put into their
// own without a change.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// maxName is how long an offered name may be everywhere; a client shortens one
// that is longer in its own way.
const maxName = 63

// names are the names under which the subject offers tools, by server.tool: the
// scenario's own, and what the style of the subject makes of the others.
func (t *trial) names(listed map[string][]harness.Tool) map[string]string {
	style := t.subject.ToolNames
	if style == "" {
		return t.scenario.Names
	}
	out := map[string]string{}
	for server, tools := range listed {
		for _, tool := range tools {
			if name := strings.NewReplacer("{server}", server, "{tool}", tool.Name).Replace(style); len(name) <= maxName && plainName.MatchString(server+tool.Name) {
				out[server+"."+tool.Name] = name
			}
		}
	}
	maps.Copy(out, t.scenario.Names)
	return out
}

// cannot notes what an error of the subject says of the trial, beside that the
// conversation is over: that the subject cannot play the scenario, or that there
// is none. It reports whether it is such an error.
func (t *trial) cannot(err error) bool {
	switch {
	case errors.Is(err, harness.ErrUnable):
		t.unable = &trials.Cause{Kind: trials.CauseScenario, Pos: t.turnPos(len(t.reports)), Message: fmt.Sprintf("subject %q: %v", t.key.Subject, err)}
	case errors.Is(err, harness.ErrUnavailable):
		t.infra = &trials.Cause{Kind: trials.CauseEndpoint, Pos: t.scenario.Pos, Message: fmt.Sprintf("subject %q: %v", t.key.Subject, err)}
	default:
		return false
	}
	return true
}
