// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package wire holds the knobs of what a mock model puts on the wire: how an
// endpoint spells its replies, and into what pieces a stream cuts them.
//
// A profile is a table of [Style], one for each model family. A script sets
// [Fragments] to cut a stream in ways that are allowed and rare:
//
//	mockllm.Script{Fragments: &wire.Fragments{Seed: 7, Unit: wire.Byte, Index: wire.IndexZero}}
//
// The zero value of every knob is what OpenAI's chat completions do.
package wire

import "time"

// Style is how an endpoint writes its replies.
type Style struct {
	// Keys are the members of the JSON objects, by the object's name in the
	// dialect's renderer, which documents them. An object without an entry
	// has those of the provider.
	Keys map[string]Keys
	// Preflight are the data of events sent before the first one of a stream.
	Preflight []string
	// ID and CallID are how ids are made.
	ID, CallID IDs
	// ChunkIDs gives every chunk of a stream an id of its own.
	ChunkIDs bool
	// CreatedZero sends 0 for created in a stream.
	CreatedZero bool
	// Role is where a stream says the role.
	Role Role
	// EmptyContent sends "" where a message has calls and no text; null is
	// sent otherwise.
	EmptyContent bool
	// CallsFirst streams the calls before the text.
	CallsFirst bool
	// WholeCalls streams each call in one chunk.
	WholeCalls bool
	// Finish is where a stream says why it ended.
	Finish Finish
	// Usage is when a stream ends in the usage.
	Usage When
	// NoDone leaves out the last event, [DONE]. For dialects without one, Done
	// adds it.
	NoDone, Done bool
	// PieceRunes is the number of characters of a piece of text. 0 cuts
	// pieces of about a token.
	PieceRunes int
	// PiecePause is waited after each piece, whatever the pace.
	PiecePause time.Duration
	// EarlyHead sends the head of a stream at once, and not with its first
	// event.
	EarlyHead bool
	// Fragments cut the tool calls, and the text, of a stream.
	Fragments Fragments
}

// Keys are the members of a JSON object, in order. An entry is one of
//
//	name        always there; null when there is nothing to say
//	name?       there when there is something to say
//	name=value  there with this JSON value
type Keys []string

// IDs is how ids are made. The zero value is the provider's way.
type IDs struct {
	Prefix string
	// Len is the number of letters and digits after the prefix.
	Len int
	// Alphabet are the letters; empty means A-Z, a-z and 0-9.
	Alphabet string
	// Counted numbers the calls of a reply in place of letters: call_0,
	// call_1, the same in each reply.
	Counted bool
}

// Role is where a stream says the role.
type Role string

// Where the role is.
const (
	RoleOwn    Role = ""       // in a chunk of its own, with empty content
	RoleMerged Role = "merged" // in the first chunk that says something
	RoleEvery  Role = "every"  // in every chunk
	RoleNever  Role = "never"
)

// Finish is where a stream says why it ended.
type Finish string

// Where finish_reason is.
const (
	FinishOwn      Finish = ""          // in a chunk of its own, with an empty delta
	FinishLast     Finish = "last"      // in the last delta
	FinishEachCall Finish = "each_call" // in every chunk with calls, and the last of the text
	FinishNever    Finish = "never"
)

// When is when something is sent.
type When string

// When the usage is sent.
const (
	WhenAsked  When = "" // when the client asks for it
	WhenAlways When = "always"
	WhenNever  When = "never"
)

// Fragments are ways to cut a streamed reply into deltas. All are seen in the
// wild; the zero value is OpenAI's way.
type Fragments struct {
	// Seed goes into the random choices below.
	Seed int64 `json:"seed,omitempty"`
	// Unit is where arguments and text may be cut. Empty cuts as the profile
	// does.
	Unit Unit `json:"unit,omitempty"`
	// Min and Max are the units of a piece, chosen by the seed. 0 means 1,
	// and Min.
	Min int `json:"min,omitempty"`
	Max int `json:"max,omitempty"`
	// Cuts are the places, in units, where every argument text is cut, in
	// place of Min and Max.
	Cuts []int `json:"cuts,omitempty"`
	// Escape writes the characters of arguments beyond ASCII as \u escapes,
	// so that cuts fall within escapes and between surrogates.
	Escape bool `json:"escape,omitempty"`
	// Interleave sends the pieces of parallel calls in turns.
	Interleave bool `json:"interleave,omitempty"`
	// Together sends parallel calls in the same chunks.
	Together bool `json:"together,omitempty"`
	// Index is how the deltas of a call are numbered.
	Index Index `json:"index,omitempty"`
	// ID is where the id of a call is.
	ID Place `json:"id,omitempty"`
	// Name is where the name of a call is.
	Name Place `json:"name,omitempty"`
	// Type is where the type of a call is: first, repeated or never.
	Type Place `json:"type,omitempty"`
	// Args is how the arguments are told.
	Args Args `json:"args,omitempty"`
	// Finish, when not empty, stands for that of the style.
	Finish Finish `json:"finish,omitempty"`
	// Writes cuts what is sent to the network into pieces of 1 to so many
	// bytes, wherever events begin and end. 0 writes whole events.
	Writes int `json:"writes,omitempty"`
}

// Unit is where a text may be cut.
type Unit string

// The units.
const (
	Byte  Unit = "byte"  // between any two bytes of different characters
	Rune  Unit = "rune"  // between any two characters
	Token Unit = "token" // between the tokens of JSON; words of text
	Whole Unit = "whole" // nowhere
)

// Index is how the deltas of a call are numbered.
type Index string

// The ways to number.
const (
	IndexRight     Index = ""
	IndexMissing   Index = "missing"
	IndexZero      Index = "zero"      // always 0
	IndexWandering Index = "wandering" // another number, from 1 on, in each delta
	IndexMixed     Index = "mixed"     // missing in some deltas
)

// Place is where a member of a streamed call is.
type Place string

// The places.
const (
	PlaceFirst    Place = ""         // in the first delta of the call
	PlaceRepeated Place = "repeated" // in every delta
	PlaceLate     Place = "late"     // in the last delta
	PlaceNull     Place = "null"     // in the first, and null in the others
	PlaceEmpty    Place = "empty"    // in the first, and "" in the others
	PlaceSplit    Place = "split"    // in pieces over the first two deltas
	PlaceNever    Place = "never"
)

// Args is how the arguments of a streamed call are told.
type Args string

// The ways to tell the arguments.
const (
	ArgsPieces     Args = ""           // "" in the first delta, then pieces
	ArgsMerged     Args = "merged"     // the first piece in the first delta
	ArgsWhole      Args = "whole"      // in the first delta, in one piece
	ArgsEmpty      Args = "empty"      // "" in place of {}
	ArgsNull       Args = "null"       // null in the first delta, then pieces
	ArgsObject     Args = "object"     // an object and not a text
	ArgsCumulative Args = "cumulative" // each delta repeats all so far
	ArgsRepeated   Args = "repeated"   // pieces, and then the whole once more
)
