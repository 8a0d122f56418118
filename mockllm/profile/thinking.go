// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"net/http"
)

// Refusal is why an endpoint refuses a request.
type Refusal struct {
	Status                     int
	Type, Code, Param, Message string
}

// thinking is what an endpoint wants of the thoughts in a history.
type thinking struct {
	turn    bool // of the current turn only
	refusal func(index int) Refusal
}

// deepseek wants the thoughts of the current turn's calls back.
// [https://github.com/lobehub/lobehub/issues/11288]
func deepseek() *Profile {
	return &Profile{
		Name: "deepseek", About: "DeepSeek's chat completions: the reasoning_content of calls is to come back within the turn", checked: true,
		thinking: &thinking{turn: true, refusal: func(i int) Refusal {
			return Refusal{
				Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_request_error",
				Message: fmt.Sprintf("Missing `reasoning_content` field in the assistant message at message index %d. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls", i),
			}
		}},
	}
}

// kimi wants the thoughts of all calls back.
// [https://github.com/bytedance/deer-flow/issues/3043]
func kimi() *Profile {
	return &Profile{
		Name: "kimi", About: "Moonshot's chat completions: the reasoning_content of all calls is to come back", checked: true,
		thinking: &thinking{refusal: func(i int) Refusal {
			return Refusal{
				Status: http.StatusBadRequest, Type: "invalid_request_error",
				Message: fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i),
			}
		}},
	}
}

// Echoes reports whether the endpoint refuses a history in which calls that
// it sent with reasoning_content come without; turn limits that to the messages
// after the last of the user.
func (p *Profile) Echoes() (calls, turn bool) {
	return p.thinking != nil, p.thinking != nil && p.thinking.turn
}

// Unechoed is how the endpoint refuses the message at index, from 0, that
// lacks its reasoning_content.
func (p *Profile) Unechoed(index int) Refusal {
	if p.thinking != nil {
		return p.thinking.refusal(index)
	}
	param := fmt.Sprintf("messages[%d].reasoning_content", index)
	return Refusal{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "missing_required_parameter", Param: param,
		Message: fmt.Sprintf("Missing required parameter: '%s'. The reasoning_content of an assistant message must be passed back as it was sent.", param),
	}
}
