// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

func timeKinds() []Info {
	return []Info{
		{
			Kind: SlowHeaders, Group: "time", What: "a silence of 30s (or delay) before the status; then the whole reply",
			For:  "is a slow model mistaken for a dead one",
			Seen: []string{"argo-proxy 3.0 to 3.2 hold headers back until the first bytes of the gateway"}, Stream: true, Plain: true, Uses: []string{"delay"},
		},
		{
			Kind: SlowStream, Group: "time", What: "5s, or delay, pass before each chunk",
			For:  "does a time limit end a reply that is only slow",
			Seen: []string{"https://github.com/shiaho777/web-to-app/pull/438"}, Stream: true, Uses: []string{"delay"},
		},
		{
			Kind: Stall, Group: "time", What: "the reply pauses in the middle for 2m (or delay), and then continues",
			For:  "is a pause distinguished from the end, and is the rest read",
			Seen: []string{"https://github.com/HKUDS/nanobot/issues/4013", "https://github.com/G-Research/bobbit/pull/536"}, Stream: true, Plain: true, Uses: []string{"delay", "at"},
		},
		{
			Kind: Hang, Group: "time", What: "nothing more arrives, and the connection stays open until the client gives up",
			For:  "does the client give up on its own",
			Seen: []string{"https://github.com/earendil-works/pi/issues/8331", "https://github.com/agent0ai/agent-zero/issues/1882"},
			Forms: []Form{
				{Name: "headers", What: "not even a status"},
				{Name: "body", What: "in the middle of the reply"},
				{Name: "end", What: "after the last event, https://github.com/cohere-ai/cohere-python/issues/756", StreamOnly: true},
			},
			Stream: true, Plain: true, Uses: []string{"at"},
		},
	}
}

func connectionKinds() []Info {
	const group = "connection"
	return []Info{
		{
			Kind: Reset, Group: group, What: "the connection is reset (RST)",
			For:  "is a broken reply requested again, and its beginning discarded",
			Seen: []string{"https://github.com/RayBytes/ChatMock/pull/57", "argo-proxy 3.3 when the gateway resets"},
			Forms: []Form{
				{Name: "before", What: "before the status"},
				{Name: "during", What: "in the middle of the reply"},
				{Name: "after", What: "after the last byte of the reply, before the body's end mark", StreamOnly: true},
			},
			Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: Cut, Group: group, What: "the connection is closed in the middle of the reply, without the body's end mark",
			For:  "is the reply recognised as broken (incomplete chunked read)",
			Seen: []string{"https://github.com/bytedance/deer-flow/issues/1923", "https://github.com/openai/openai-python/issues/873"}, Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: Truncated, Group: group, What: "the body ends properly but too early, at any byte",
			For:  "is a reply that is complete for HTTP, but not for the protocol, taken for a whole one",
			Seen: []string{"https://github.com/2389-research/tracker/issues/544", "https://github.com/GCWing/OpenBitFun/pull/2038"}, Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: CutDone, Group: group, What: "the reply breaks off, and then data: [DONE] and a body that ends in order: no finish_reason, no usage, no error",
			For:  "does the end mark turn half an answer into a whole one",
			Seen: []string{"argo-proxy 3.3 when the gateway closes early", "https://github.com/RayBytes/ChatMock/pull/57"}, Stream: true, Uses: []string{"at"},
		},
		{
			Kind: RawStatus, Group: group, What: "a status line and headers of a second response stand in the middle of the chunked body, without a chunk size, then its JSON error",
			For:  "is a body that is no longer HTTP recognised as broken",
			Seen: []string{"argo-proxy 2.8.9 (503) and 3.0 to 3.2 (502, 500) when the gateway drops a stream"}, Stream: true, Uses: []string{"status", "at"},
		},
		{
			Kind: ConnectionClose, Group: group, What: "the answer says Connection: close and the connection is closed after it",
			For:  "does the next request open another",
			Seen: []string{"argo-proxy 3.3 on every answer"}, Stream: true, Plain: true,
		},
		{
			Kind: WrongLength, Group: group, What: "Content-Length is not the length of the body",
			For:  "is a body of another length recognised as broken",
			Seen: []string{"https://github.com/mhdzumair/mediaflow-proxy/issues/69"},
			Forms: []Form{
				{Name: "short", What: "the body is shorter than announced"},
				{Name: "long", What: "the announced length cuts the body off"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: Gzip, Group: group, What: "the body is compressed, whether or not that was requested",
			For:  "is it decompressed before it is parsed",
			Seen: []string{"https://github.com/epam/ai-dial-core/pull/1646", "https://github.com/gadievron/raptor/pull/547"},
			Forms: []Form{
				{Name: "said", What: "Content-Encoding: gzip"},
				{Name: "unsaid", What: "no such header, https://github.com/ai-ecoverse/slicc/pull/3041"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: WrongType, Group: group, What: "the Content-Type is not that of the body",
			For:  "does the client trust the header or the body",
			Seen: []string{"https://github.com/decolua/9router/issues/3492", "argo-proxy 3.x labels HTML errors application/json"},
			Forms: []Form{
				{Name: "html", What: "text/html"},
				{Name: "text", What: "text/plain, https://github.com/ollama/ollama/issues/294"},
				{Name: "other", What: "application/json for a stream, text/event-stream for JSON"},
				{Name: "none", What: "application/octet-stream"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: JSONForStream, Group: group, What: "a request for a stream is answered with one JSON document",
			For:  "is it read, or mistaken for an empty stream",
			Seen: []string{"https://github.com/ChatGPTNextWeb/NextChat/pull/1585", "argo-proxy 3.0 forwards a body that is not a stream"}, Stream: true,
		},
		{
			Kind: SSEForPlain, Group: group, What: "a request for one document is answered with a stream",
			For:  "is it read, or a JSON error",
			Seen: []string{"argo-proxy 3.3 for Claude, modes force and retry", "https://github.com/stacklok/codegate/pull/149"}, Plain: true,
		},
	}
}
