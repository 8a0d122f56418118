// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package llmwire writes model replies in the dialects of the providers.
//
// A [Reply] is one reply, whatever the dialect. A renderer turns it and a
// [wire.Style] into a [Body]: the frames of a stream, or one JSON object.
// Nothing here knows of scripts, connections or time:
//
//	body := llmwire.Chat(reply, style, true)
//	for _, f := range body.Frames { w.Write(f.Data) }
//
// Each dialect has a file of its own with one function of the type [Renderer]:
// Chat, Responses, Completions, Messages, Gemini. A file's renderer documents
// the names of its objects for [wire.Style] Keys ("chat.chunk", "chat.delta"),
// and gives every frame a [Kind] and the number of tokens that it takes to
// say, which is what the mock's writer paces by. The faults of a mock change
// a Reply before it is rendered, and the Body after: frames may be dropped,
// doubled, moved, cut at any byte, delayed, and followed by an end of the
// connection ([Then]).
//
// Shared tools for renderers: [Object] writes members by [wire.Keys],
// [Pieces] cuts a text as the style says, [Quote] encodes a string as the
// providers do.
package llmwire
