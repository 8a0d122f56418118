// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Stops expects the subject to stop, for a reason, without an answer.
type Stops struct {
	Reason harness.StopReason
	Pos    harness.Position
}

// Score reads the transcript. When the subject gives no reason for an error,
// the last answer of the endpoint decides whether it is such a stop.
func (s Stops) Score(e *Evidence) trials.Verdict {
	v := e.verdict("stops", s.Pos)
	t := e.turn()
	switch {
	case e.Transcript == nil:
		s.silent(&v, e)
	case t == nil:
		fail(&v, "want a stop (%s), but the turn was not reached", s.Reason)
	case t.Stop == s.Reason:
	case s.Reason == harness.StopAnyError && (t.Stop != "" || t.Error != ""):
	case t.Stop != "":
		fail(&v, "want a stop (%s), got a stop (%s): %s", s.Reason, t.Stop, t.Error)
	case t.Error != "":
		if why := s.unsaid(e.last()); why != "" {
			fail(&v, "want a stop (%s), got the error %q, which gives no reason; %s", s.Reason, t.Error, why)
		}
	default:
		fail(&v, "want a stop (%s), got the answer %q", s.Reason, prose.Shorten(t.Answer, 300))
	}
	return v
}

// silent judges a subject that reports nothing by the journal: whether it was left
// without an answer, and whether the endpoint's last one brings the stop about.
func (s Stops) silent(v *trials.Verdict, e *Evidence) {
	answers := e.journal().Answers
	switch {
	case s.Reason != harness.StopAnyError && s.Reason != harness.StopLength && !s.Reason.OfEndpoint():
		v.State = trials.Skipped
		v.Message = "the subject reports no stops"
	case len(answers) > 0:
		fail(v, "want a stop (%s), got the answer %q", s.Reason, prose.Shorten(answers[len(answers)-1], 300))
	case s.Reason != harness.StopAnyError:
		if why := s.unsaid(e.last()); why != "" {
			fail(v, "want a stop (%s), and no answer reached the subject, which reports nothing; %s", s.Reason, why)
		}
	}
}

// Excuses reports whether the expectation covers a turn that ended with an
// error: an error with a stop, or one without a reason when the endpoint causes
// the stop. Any other error is the subject's fault.
func (s Stops) Excuses(stop harness.StopReason) bool {
	return stop != "" || s.Reason == harness.StopAnyError || s.Reason == harness.StopLength || s.Reason.OfEndpoint()
}

// unsaid says why x, the endpoint's last answer, does not explain an error
// without a reason. It is empty when x does.
func (s Stops) unsaid(x *harness.Exchange) string {
	switch {
	case slices.Contains(stopsOf(x), s.Reason):
		return ""
	case !s.Reason.OfEndpoint():
		return "no answer of an endpoint causes this stop"
	case x == nil:
		return "the endpoint was not asked"
	case x.Status < http.StatusBadRequest && x.Fault == "":
		return "the endpoint's last answer was valid"
	case x.Status < http.StatusBadRequest:
		return "the endpoint's last answer had no error status"
	}
	return fmt.Sprintf("the endpoint's last answer was HTTP %d", x.Status)
}

// stopsOf are the reasons for which x, the endpoint's last answer, may end a turn:
// none for a valid answer.
func stopsOf(x *harness.Exchange) (out []harness.StopReason) {
	if x == nil {
		return nil
	}
	if x.FinishReason == "length" {
		out = append(out, harness.StopLength)
	}
	if x.Status >= http.StatusBadRequest || x.Fault != "" {
		out = append(out, stopsAfter(x.Status)...)
	}
	return out
}

// stopsAfter are the reasons for which an answer of that status may end a turn.
// Where a fault struck inside a reply, clients differ in what they call it.
func stopsAfter(status int) []harness.StopReason {
	switch {
	case status < http.StatusBadRequest:
		return []harness.StopReason{
			harness.StopServer, harness.StopConnection, harness.StopTimeout, harness.StopReset,
			harness.StopCutStream, harness.StopMalformed, harness.StopEmpty, harness.StopTooLarge,
		}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return []harness.StopReason{harness.StopAuth}
	case status == http.StatusNotFound:
		return []harness.StopReason{harness.StopNotFound}
	case status == http.StatusTooManyRequests:
		return []harness.StopReason{harness.StopRateLimit, harness.StopQuota}
	case status == http.StatusRequestTimeout:
		return []harness.StopReason{harness.StopTimeout, harness.StopServer}
	case status >= http.StatusInternalServerError:
		return []harness.StopReason{harness.StopServer}
	}
	return []harness.StopReason{harness.StopBadRequest}
}

// last returns the last model request of what is judged, of the main
// conversation if there is one, or nil.
func (e *Evidence) last() *harness.Exchange {
	var last *harness.Exchange
	for i := range e.Exchanges {
		if x := &e.Exchanges[i]; e.in(x.Turn) && !x.Kind.Outside() && (x.Lane == "" || last == nil || last.Lane != "") {
			last = x
		}
	}
	return last
}
