// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// replyReader reads the body of an answer for the journal. It is
// [dialect.ReadAll]; a test puts a worse one in its place.
type replyReader func(*dialect.Dialect, http.Header, []byte, error, dialect.Limits) (dialect.Received, error)

// readAnswer fills in what the endpoint answered, and returns the reply. Broke
// is what ended the body before its end; nil when it ended in order. A reply
// that is not whole was not delivered; why is the exchange's error.
func readAnswer(x *harness.Exchange, read replyReader, header http.Header, body []byte, broke error) dialect.Received {
	limits := dialect.Limits{Body: maxBody, Event: maxBody, Arguments: maxBody}
	if x.Status >= 300 {
		x.RetryAfter = retry.Asked(header, dialect.ErrorBody(body, limits), x.Start)
		x.Error = dialect.ReadError(body, limits)
		return dialect.Received{}
	}
	reply, err := read(dialects.Named(x.Dialect), header, body, broke, limits)
	x.Answer, x.FinishReason, x.Usage = reply.Message, reply.Finish, reply.Usage
	x.Model = cmp.Or(reply.Model, x.Model)
	if x.Delivered = err == nil; err != nil {
		x.Error = err.Error()
		if f := (*dialect.Fault)(nil); errors.As(err, &f) && f.Object != nil { // an error in a reply that had begun
			x.RetryAfter = retry.Asked(header, f.Body, x.Start)
		}
	}
	return reply
}
