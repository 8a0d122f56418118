// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package dialect reads model requests as a server sees them: it turns one
// into the common vocabulary of package harness, and says what the provider
// would refuse about it, with the provider's own status and error.
//
//	chat, refusal := dialect.DecodeChat(body, nil)
//	if refusal != nil {
//		http.Error(w, string(refusal.Body()), refusal.Status)
//		return
//	}
//	chat.Request().Messages
//
// An agent sends its whole history with every request. A [Chat] is therefore
// a lazy view: the JSON is checked in one pass, but a message's text is
// decoded only when asked for, and what a request has in common with the one
// before it is compared and not read again.
//
// The other dialects (OpenAI's responses, older completions and embeddings,
// Anthropic's messages, Gemini's generateContent) are read at once and become
// a [Chat] too, beside what only they have.
package dialect
