// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package dialect has what the dialects of model endpoints share. Each dialect
// has a package of its own below this one, which knows all of it: how a request
// is read and refused, how a reply is written and how one is read. Package
// dialects has the table of them.
//
//	req, refusal := chat.Read(body, nil)         // a [Chat], or a [Refusal]
//	b := chat.Write(reply, style, true)          // a [Reply] to a [Body]
//	got, err := dialect.ReadAll(chat.Dialect, header, body, nil, Limits{}) // a [Received]
//
// # Requests
//
// A [Chat] is a request as all dialects see it. An agent sends its whole history
// with every request. A Chat is therefore a lazy view: a message's text is
// decoded only when asked for, and what a request of chat completions has in
// common with the one before it is compared and not read again. A [Refusal] is
// what the provider would answer instead of a reply, with its own status.
//
// # Replies that are written
//
// A [Reply] and a [Style] become a [Body]: the [Frame] values of a stream, or
// one JSON object. Nothing here knows of scripts, connections or time. A frame
// has a [Kind] and the number of tokens that it takes to say, which a mock paces
// by; the faults of a mock change a Reply before it is written, and the Body
// after: frames may be dropped, doubled, moved, cut at any byte, delayed, and
// followed by an end of the connection ([Then]). Each dialect documents the names
// of its objects for the Keys of a style.
//
// # Replies that are read
//
// [Documents] tells the documents of a body apart, [Reader] puts them together,
// and a [Fault] says why a body holds no whole reply. Reading is lenient, because
// endpoints are not strict. The first bytes of a body decide what it is, not its
// content type. A member of another type than the API documents costs that
// member and not the reply. Ids may be numbers, and ids and names of calls may
// come late, in pieces, or never.
package dialect
