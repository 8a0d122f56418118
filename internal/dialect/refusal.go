// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Refusal is what a provider answers instead of a reply.
type Refusal struct {
	Status  int    // HTTP status
	Type    string // invalid_request_error and the like
	Code    string // empty is sent as null
	Param   string // empty is sent as null
	Message string
	// Window is how many tokens fit, and Tokens how many were sent, of a request
	// that is too long; 0 where the provider does not say.
	Window, Tokens int
	// Details are what a provider's error has beside its message, as a JSON object
	// or list of its own; nil is none.
	Details json.RawMessage
}

func (r *Refusal) Error() string {
	if r.Param == "" {
		return fmt.Sprintf("%d %s: %s", r.Status, r.Type, r.Message)
	}
	return fmt.Sprintf("%d %s: %s (%s)", r.Status, r.Type, r.Message, r.Param)
}

// Body returns the error as the provider writes it.
func (r *Refusal) Body() []byte {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	o := object{Message: r.Message, Type: r.Type}
	if r.Param != "" {
		o.Param = &r.Param
	}
	if r.Code != "" {
		o.Code = &r.Code
	}
	// Strings always marshal.
	b, _ := json.MarshalIndent(map[string]object{"error": o}, "", "  ")
	return append(b, '\n')
}

// Invalid is a refusal with status 400.
func Invalid(param, code, format string, args ...any) *Refusal {
	return &Refusal{
		Status: http.StatusBadRequest, Type: "invalid_request_error",
		Param: param, Code: code, Message: fmt.Sprintf(format, args...),
	}
}

func Missing(param string) *Refusal {
	return Invalid(param, "missing_required_parameter", "Missing required parameter: '%s'.", param)
}

func WrongType(param, want string, got []byte) *Refusal {
	return Invalid(param, "invalid_type", "Invalid type for '%s': expected %s, but got %s instead.", param, want, kindOf(got))
}

func EmptyArray(param string) *Refusal {
	return Invalid(param, "empty_array", "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", param)
}

func BadPattern(param string) *Refusal {
	return Invalid(param, "invalid_value", "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", param)
}

func TooLongString(param string, limit, got int) *Refusal {
	return Invalid(param, "string_above_max_length",
		"Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", param, limit, got)
}

// NotJSON says more than the provider does, since a person will read it.
func NotJSON(err error) *Refusal {
	return Invalid("", "", "We could not parse the JSON body of your request: %s. The OpenAI API expects a JSON payload.", err)
}
