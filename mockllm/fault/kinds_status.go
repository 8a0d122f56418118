// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

// statusKind is a kind that strikes every reply.
func statusKind(i Info) Info {
	i.Group, i.Stream, i.Plain = "status", true, true
	return i
}

// statusKinds are errors that a provider blames on the request.
func statusKinds() []Info {
	return []Info{
		statusKind(Info{
			Kind: RateLimit, What: "429 with the provider's error, and the wait in headers when retry_after is given",
			For:  "is the request repeated after the requested wait; `times: 5` is a burst",
			Seen: []string{"https://github.com/Azure/azure-sdk-for-js/issues/30984", "https://github.com/llm-d/llm-d-inference-sim/issues/506"},
			Forms: []Form{
				{Name: "both", What: "Retry-After in whole seconds, rounded up, and Retry-After-Ms"},
				{Name: "seconds", What: "Retry-After in seconds"},
				{Name: "decimal", What: "Retry-After in seconds with a fraction, as in 1.5"},
				{Name: "date", What: "Retry-After as an HTTP date, https://github.com/microsoft/kiota/issues/596"},
				{Name: "ms", What: "Retry-After-Ms alone, https://github.com/Azure/azure-sdk-for-python/issues/9092"},
			},
			Uses: []string{"retry_after", "body"},
		}),
		statusKind(Info{
			Kind: Quota, What: "429 with code insufficient_quota: the account is empty",
			For:  "is it distinguished from a rate limit, and not retried",
			Seen: []string{"https://github.com/langchain-ai/langchainjs/issues/1929", "https://github.com/2389-research/tracker/issues/547"},
			Uses: []string{"body"},
		}),
		statusKind(Info{
			Kind: Unauthorized, What: "401 with code invalid_api_key",
			For:  "does the client stop at once and name the key",
			Seen: []string{"https://github.com/OpenHands/OpenHands/issues/483", "https://github.com/mindsdb/anton/issues/178"},
			Uses: []string{"body"},
		}),
		statusKind(Info{
			Kind: Forbidden, What: "403 with the provider's error",
			For:  "does the client stop at once",
			Seen: []string{"https://github.com/enricoros/big-AGI/issues/176", "argo-proxy 3.0.0b8 and later, for a user without registration"},
			Uses: []string{"body"},
		}),
		statusKind(Info{
			Kind: ModelNotFound, What: "404 with code model_not_found",
			For:  "is the model named in the message",
			Seen: []string{"argo-proxy 3.3, POST /v1/messages with an unknown name", "argo-proxy 3.0.4: gpt4olatest is listed and then refused"},
			Uses: []string{"body"},
		}),
		statusKind(Info{
			Kind: BadRequest, What: "400 with type invalid_request_error",
			For:  "is the endpoint's reason shown, and the request not repeated",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/109"},
			Uses: []string{"status", "body"},
		}),
		statusKind(Info{
			Kind: RequestTimeout, What: "408 with code user_request_timeout",
			For:  "is it retried, unlike other 4xx",
			Seen: []string{"https://github.com/microsoft/vscode/issues/246192", "https://github.com/NousResearch/hermes-agent/pull/59489"},
			Uses: []string{"body"},
		}),
		statusKind(Info{
			Kind: TooLarge, What: "413 in JSON",
			For:  "does a long history end in a clear message and not in a loop",
			Seen: []string{"https://github.com/microsoft/vscode/issues/263331", "https://github.com/NousResearch/hermes-agent/pull/153"},
			Uses: []string{"body"},
		}),
	}
}

// serverKinds are errors that a provider takes upon itself, and refusals of
// what was asked.
func serverKinds() []Info {
	return []Info{
		statusKind(Info{
			Kind: ServerError, What: "500, or another status from 500 to 529, with the provider's error",
			For:  "is it retried, with growing waits, and a limit",
			Seen: []string{"https://github.com/nearai/ironclaw/issues/1994", "https://github.com/Oaklight/argo-proxy/issues/112"},
			Uses: []string{"status", "body", "retry_after"},
		}),
		statusKind(Info{
			Kind: Overloaded, What: "529 with Anthropic's overloaded_error, as gateways hand it on",
			For:  "is an unregistered status, in another provider's envelope, understood",
			Seen: []string{"https://github.com/anthropics/claude-code/issues/75184", "https://github.com/anthropics/claude-code/issues/5184"},
			Uses: []string{"body", "retry_after"},
		}),
		statusKind(Info{
			Kind: ContentFilter, What: "400 with code content_filter, as Azure refuses a prompt",
			For:  "is it distinguished from a mistake in the request",
			Seen: []string{"Azure OpenAI, documentation of content filtering"},
			Uses: []string{"body"},
		}),
		statusKind(Info{
			Kind: ContextOverflow, What: "the history is too long for the model",
			For:  "is it recognised in each of its forms, and not retried unchanged",
			Seen: []string{"https://github.com/crmne/ruby_llm/pull/642", "https://github.com/ardanlabs/kronk/issues/862"},
			Forms: []Form{
				{Name: "openai_400", What: "400 with code context_length_exceeded"},
				{Name: "rate_429", What: "429 that says the request is too large, https://github.com/archi-physics/archi/issues/497"},
				{Name: "in_stream", What: "200 with an error event, https://github.com/sgl-project/sglang/issues/12081"},
				{Name: "empty_200", What: "200 with an empty reply and no error"},
			},
		}),
	}
}

// bodyKinds are statuses with a body that is no provider's error.
func bodyKinds() []Info {
	return []Info{
		statusKind(Info{
			Kind: HTTPStatus, What: "any status, 500 unless given, with any body, sent as text/plain unless it is JSON",
			For:  "does the client handle an answer that no other kind has",
			Seen: []string{"https://github.com/deeplethe/utopia/pull/538", "argo-proxy 3.0: text/plain `500 Internal Server Error`"},
			Uses: []string{"status", "body", "retry_after"},
		}),
		statusKind(Info{
			Kind: HTMLPage, What: "502, or another status, 200 too, with an HTML page of a reverse proxy",
			For:  "does the message name the status and the page, and not a JSON decoder",
			Seen: []string{"https://github.com/opensoar-hq/opensoar-core/issues/105", "https://github.com/lynote-ai/humanize-text/issues/55"},
			Uses: []string{"status", "body"},
		}),
		statusKind(Info{
			Kind: EmptyBody, What: "200, or another status, with nothing",
			For:  "is it an error and not an empty answer",
			Seen: []string{"https://github.com/sourcegraph/cody/pull/3479", "Oaklight/llm-rosetta#345: an empty body for /v1/responses"},
			Uses: []string{"status"},
		}),
		statusKind(Info{
			Kind: StringError, What: "400, or another status, with {\"error\":\"text\"}: a text where an object belongs",
			For:  "is the text shown",
			Seen: []string{"argo-proxy 2.8.9 to 3.2, any upstream error on a stream", "https://github.com/Oaklight/argo-proxy/issues/107"},
			Uses: []string{"status", "body"},
		}),
		statusKind(Info{
			Kind: DetailError, What: "422, or another status, with {\"detail\":[…]} as FastAPI makes it",
			For:  "is the detail shown",
			Seen: []string{"servers on FastAPI; go-openai v1.43 prints it as %!s(<nil>)"},
			Uses: []string{"status", "body"},
		}),
		statusKind(Info{
			Kind: ErrorCompletion, What: "400, or another status, whose body is an ordinary completion with an empty message",
			For:  "does the status count, although the body looks valid",
			Seen: []string{"argo-proxy 2.7.7 to 2.8.1, fixed in 2.8.2"},
			Uses: []string{"status"},
		}),
	}
}
