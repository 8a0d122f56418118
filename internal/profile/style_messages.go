// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Anthropic's messages, as endpoints that are not Anthropic's write them.

func messagesStyle(a Ask, keys map[string]dialect.Keys) *dialect.Style {
	s := &dialect.Style{Keys: keys}
	s.ID, s.CallID = idsOf(a.Model.Family)
	s.Keys["messages.ping"] = dialect.Keys{}
	return s
}

// messages30 hands Claude on as the gateway says it, and converts others.
// [run]
func messages30(a Ask) *dialect.Style {
	if a.Model.Family != Claude {
		return messages31(a)
	}
	message := dialect.Keys{"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
	usage := dialect.Keys{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"}
	return messagesStyle(a, map[string]dialect.Keys{
		"messages": message, "messages.start": message, "messages.usage": usage, "messages.usage.start": usage,
		"messages.usage.delta": {"output_tokens"}, "messages.delta": {"stop_reason", "stop_sequence"},
		"messages.ping.early": {"type"},
	})
}

// messages31 makes every message anew: no ping, no tokens at the start.
// [run]
func messages31(a Ask) *dialect.Style {
	usage := dialect.Keys{"input_tokens", "output_tokens", "cache_read_input_tokens"}
	if a.Model.Family == Claude {
		usage = append(usage, "cache_creation_input_tokens")
	}
	return messagesStyle(a, map[string]dialect.Keys{
		"messages":             {"id", "type", "model", "content", "role", "stop_reason", "usage"},
		"messages.start":       {"id", "type", "role", "model", "content", "stop_reason", "usage"},
		"messages.usage":       usage,
		"messages.usage.start": {"input_tokens=0", "output_tokens=0"},
		"messages.usage.delta": {"output_tokens"},
		"messages.delta":       {"stop_reason"},
	})
}

// messages32 has null where 3.1 has no key, and Claude's pings. [run]
func messages32(a Ask) *dialect.Style {
	usage := func(input, output string) dialect.Keys {
		return dialect.Keys{
			input, output, "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation=null",
			"output_tokens_details=null", "service_tier=null", "inference_geo=null", "server_tool_use=null",
		}
	}
	s := messagesStyle(a, map[string]dialect.Keys{
		"messages": {
			"id", "type", "model", "content", "role", "stop_reason", "stop_sequence=null", "stop_details=null", "container=null", "usage",
		},
		"messages.start": {
			"id", "type", "role", "model", "content", "stop_reason", "stop_sequence=null", "stop_details=null", "container=null", "usage",
		},
		"messages.text":        {"type", "text", "citations=null"},
		"messages.tool_use":    {"type", "id", "name", "input", `caller={"type":"direct"}`},
		"messages.usage":       usage("input_tokens", "output_tokens"),
		"messages.usage.start": usage("input_tokens", "output_tokens=0"),
		"messages.usage.delta": {
			"output_tokens", "input_tokens", "cache_creation_input_tokens=null", "cache_read_input_tokens=null",
			"output_tokens_details=null", "server_tool_use=null",
		},
		"messages.delta": {"stop_reason", "stop_sequence=null", "stop_details=null", "container=null"},
	})
	if a.Model.Family == Claude {
		s.Keys["messages.ping.early"] = dialect.Keys{"type"}
		return s
	}
	s.ID.Prefix = "msg_" + s.ID.Prefix
	s.Keys["messages.usage.start"] = usage("input_tokens=0", "output_tokens=0")
	return s
}

// messagesGateway is the gateway as captured on 2026-04-17.
// [data/argo-captures]
func messagesGateway(a Ask) *dialect.Style {
	usage := dialect.Keys{
		"cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "input_tokens", "output_tokens",
		"server_tool_use=null", "service_tier=null",
	}
	return messagesStyle(a, map[string]dialect.Keys{
		"messages":             {"content", "id", "model", "role", "stop_details=null", "stop_reason", "stop_sequence", "type", "usage"},
		"messages.start":       {"id", "content", "model", "role", "stop_reason", "stop_sequence", "type", "usage", "stop_details=null"},
		"messages.text":        {"citations=null", "text", "type"},
		"messages.text.start":  {"citations=null", "text", "type"},
		"messages.tool_use":    {"id", "input", "name", "type"},
		"messages.usage":       usage,
		"messages.usage.start": usage,
		"messages.usage.delta": {"cache_creation_input_tokens", "cache_read_input_tokens", "input_tokens", "output_tokens", "server_tool_use=null"},
		"messages.delta":       {"stop_reason", "stop_sequence", "stop_details=null"},
	})
}
