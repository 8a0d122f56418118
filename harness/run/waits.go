// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// slowPart is the part of a time limit from which on an answer counts as waited
// for. A loop of quick calls passes a limit too, and is the subject's doing: its
// calls take less, however many there are.
const slowPart = 20

// waitedFor is how much of the time from start to the limit a real endpoint was
// waited for: while an answer was slow to come, and while a request was to be
// sent again that the endpoint had put off.
func waitedFor(exchanges []harness.Exchange, start time.Time, limit time.Duration) time.Duration {
	end := start.Add(limit)
	type span struct{ from, to time.Time }
	var spans []span
	for i, x := range exchanges {
		s := span{x.Start, x.Start.Add(x.Duration)}
		if putsOff(x) {
			s.to = end
			for _, next := range exchanges[i+1:] {
				if next.Lane == x.Lane {
					s.to = next.Start
					break
				}
			}
		} else if x.Duration < limit/slowPart {
			continue
		}
		if s.from.Before(start) {
			s.from = start
		}
		if s.to.After(end) {
			s.to = end
		}
		if s.from.Before(s.to) {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	last := start
	for _, s := range spans { // several may be under way at once
		if s.from.Before(last) {
			s.from = last
		}
		if s.from.Before(s.to) {
			sum += s.to.Sub(s.from)
			last = s.to
		}
	}
	return sum
}

// putsOff reports whether an endpoint said that the request may be sent again
// later.
func putsOff(x harness.Exchange) bool {
	return x.Status == http.StatusTooManyRequests || x.Status == http.StatusRequestTimeout ||
		x.Status >= http.StatusInternalServerError && x.Error != leftBefore
}

const subjectTimeLimit = "subject.time_limit"

// late is the time limit that ended a trial or a turn, and when it began to
// run; zero for none.
func (t *trial) late() (what string, start time.Time, limit time.Duration) {
	stop := (*harness.StopError)(nil)
	switch l := t.passed(); {
	case l != nil && l.key == limitTime:
		return "limits.time", t.start, t.scenario.Limits.Time
	case l != nil:
	case errors.Is(t.broke, errHang), errors.Is(t.broke, errAbandoned):
		return "the time limit of the run", t.start, t.opts.Timeout
	case errors.As(t.broke, &stop) && stop.Reason == harness.StopTime && t.scenario.Settings.TimeLimit > 0:
		return subjectTimeLimit, t.turnStart, t.scenario.Settings.TimeLimit
	}
	return "", time.Time{}, 0
}

// slowEndpoint is the cause of a trial that ran out of time for the endpoint:
// at least half of the time went by waiting for it.
func (t *trial) slowEndpoint(exchanges []harness.Exchange) *trials.Cause {
	what, start, limit := t.late()
	if limit == 0 {
		return nil
	}
	held := t.deadline.held() // the limits of the trial do not count it
	waited := waitedFor(exchanges, start, limit+held)
	if what == subjectTimeLimit {
		waited = min(waitedFor(exchanges, start, limit)+held, limit)
	}
	if waited < limit/2 {
		return nil
	}
	message := fmt.Sprintf("the endpoint was waited for during %s of the %s that %s allows, in %d model calls", rounded(waited), rounded(limit), what, len(exchanges))
	if last := exchanges[len(exchanges)-1]; last.Error == leftBefore || last.Error == leftWithin {
		message = fmt.Sprintf("the endpoint did not answer request %d in time: it was waited for during %s of the %s that %s allows", last.Seq, rounded(waited), rounded(limit), what)
	}
	return &trials.Cause{Kind: trials.CauseEndpoint, Pos: t.scenario.Limits.Pos[limitTime], Message: message + "; allow more time, or play fewer trials at a time (--parallel)"}
}

func rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second / 10)
}
