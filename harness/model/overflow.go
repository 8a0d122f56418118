// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"net/http"
	"regexp"
	"sync"
)

// overflows recognises a request that is too long by what endpoints say of it
// when they have no code for it. Of statuses that ask for patience, only a
// request that is larger than what a whole minute allows is one.
func overflows(status int, message string) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
		return tooLarge().MatchString(message)
	}
	return tooLong().MatchString(message) || tooLarge().MatchString(message) ||
		tooManyTokens().MatchString(message) && !throttled().MatchString(message) ||
		tooMuch().MatchString(message) && !rationed().MatchString(message) && !otherSize().MatchString(message)
}

// pattern compiles an expression when something goes wrong for the first time:
// all of them together are a good part of the start of a program that only may
// ask an endpoint.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	// tooLong are the words of OpenAI and those who follow it, Anthropic, Google,
	// xAI, Groq, Mistral, Moonshot and Zhipu, of vLLM, llama.cpp, Ollama, LM Studio
	// and text-generation-inference (Together).
	tooLong = pattern(`(?i)maximum (context|prompt|model) length|` +
		`(context|prompt)[ _](length|window|size|limit)[^.]{0,40}exceed|exceed[^.]{0,40}(context|prompt|model token)[ _](length|window|size|limit)|exceed[^.]{0,20}model token limit|` +
		`context (the )?overflow|context length of (only )?\d+ tokens|greater than the context length|` +
		`(prompt|input) is too long|prompt exceeds max|range of input length should be|(input|prompt) token count[^.]{0,40}exceeds|too many input tokens|` +
		`\binputs\b[^.]{0,40}(must be <=|must have less than)[^.]{0,20}\d|context ?window ?exceed|context (length|window|size) is (only )?\d`)

	// tooLarge is what OpenAI says of a request above the limit of a minute.
	tooLarge = pattern(`(?i)request too large for|tokens must be reduced`)

	// tooMuch is the rule of it: what is put in (the input, the prompt, their
	// tokens) is too long, exceeds, or is more than is supported; or something
	// exceeds a limit of what may be put in. The length of a reply is not put in.
	tooMuch = pattern(`(?i)` +
		`\b(inputs?|prompts?|chat history|conversation|(input|prompt|request|message|total|number of)[ _]tokens?|prompt_tokens|token count)\b(?:[^.]|\.\d){0,80}?` +
		`(\bexceed|\bis over\b|\btoo (long|large|big)\b|\bis (longer|larger|greater|bigger|more) than\b|\bonly supports?\b|\bsupports (only|up to|at most)\b|\bmust (be|have) (<|less|fewer|at most|no more|shorter)|\b(should|can|may|must) ?not exceed)` +
		`|\bexceed(?:[^.]|\.\d){0,60}\b(input|prompt|context)[ _](length|size|window|limit|tokens?|capacity)\b` +
		`|\bmax(imum)?( allowed| supported| number of)? (input|prompt|context)[ _](length|size|window|tokens?)\b`)

	// rationed is said where tokens of a while are counted, or of all that an
	// endpoint has in hand, not those of the request.
	rationed = pattern(`(?i)throttl|please wait|(again|retry|retrying)( your request)? (after|in|later)\b|[ _-](per|a|each)[ _-](second|sec|minute|min|hour|day|month)(\b|_)|\brate\b|rate[ _-]?limit|too many requests|quota|\btpm\b|\btpd\b|overloaded|\bbusy\b|in flight|\bbudget\b`)

	// otherSize is said of pictures and files, of single fields, and of the
	// bounds of a parameter.
	otherSize = pattern(`(?i)\d ?([kmg]i?b|bytes|pixels|px)\b|\b(string|array|object) (is )?too (long|large)|\b(output|completion) tokens (is|are) too|input should be`)

	// tooManyTokens is said of a request that is too long, and of too many in a
	// while.
	tooManyTokens = pattern(`(?i)too many tokens`)

	// throttled is said of what may be asked again later.
	throttled = pattern(`(?i)throttl|please wait|(try|retry|retrying)( your request)? (again|after|in|later)|(per|a|each) (second|sec|minute|min|hour|day)\b|rate[ _-]?limit|too many requests`)
)
