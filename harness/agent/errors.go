// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// ErrorType is the error_type of a failed call, see [Config.ErrorObjects].
type ErrorType string

// The types of errors.
const (
	ErrorTool        ErrorType = "tool_error"    // the tool itself reports failure
	ErrorNoTool      ErrorType = "no_such_tool"  // the model was not offered it
	ErrorNotRun      ErrorType = "not_run"       // the turn ended before
	ErrorBrokenOff   ErrorType = "broken_off"    // the turn ended during the call
	ErrorDenied      ErrorType = "not_permitted" // the agent may not use its server
	ErrorNotApproved ErrorType = "not_approved"  // Config.Approve denied it
	ErrorArguments   ErrorType = "bad_arguments" // they are not JSON, or do not fit the schema
	ErrorTimeout     ErrorType = "timeout"       // no answer in time
	ErrorConnection  ErrorType = "connection"    // the server cannot be reached, disconnected, or is left alone
	ErrorProtocol    ErrorType = "protocol"      // the server refused the request, or its answer cannot be used
	ErrorFailed      ErrorType = "failed"        // anything else
)

// typeOf sorts the cause of a call without a result.
func typeOf(err error) ErrorType {
	var e *mcppool.Error
	if !errors.As(err, &e) {
		return ErrorArguments // the toolbox has not asked a server
	}
	switch e.Kind {
	case mcppool.ErrTimeout:
		return ErrorTimeout
	case mcppool.ErrClosed, mcppool.ErrTransport, mcppool.ErrOpen:
		return ErrorConnection
	case mcppool.ErrRPC, mcppool.ErrMalformed:
		return ErrorProtocol
	}
	return ErrorFailed
}

// errorObject is a failure as a JSON object. One that a tool wrote is kept.
func errorObject(kind ErrorType, text string) string {
	text = strings.TrimPrefix(text, mcpwire.ErrorMark)
	if mcpwire.IsObject([]byte(text)) {
		return text
	}
	raw, err := json.Marshal(struct {
		Status  string    `json:"status"`
		Message string    `json:"message"`
		Type    ErrorType `json:"error_type"`
	}{"error", text, kind})
	if err != nil {
		return text // it cannot happen: all three are texts
	}
	return string(raw)
}
