// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import "github.com/rehearse-dev/rehearse/internal/dialect"

// The settings of [Fragments] and [Habits].
type (
	// Args says how the arguments of a call are cut and repeated.
	Args = dialect.Args
	// ArgsForm says how the arguments of a call are spelled.
	ArgsForm = dialect.ArgsForm
	// Finish says which chunks say that a reply is finished.
	Finish = dialect.Finish
	// FunctionForm says what stands for the function of a call.
	FunctionForm = dialect.FunctionForm
	// IDForm says how the id of a call is spelled.
	IDForm = dialect.IDForm
	// Index says how calls are numbered.
	Index = dialect.Index
	// NameForm says how the name of a tool is spelled.
	NameForm = dialect.NameForm
	// Place says in which chunks a member of a call stands.
	Place = dialect.Place
	// Unit says what a text is cut into.
	Unit = dialect.Unit
)

// Fragments are ways to cut a streamed reply into deltas. All are seen in the
// wild; the zero value is OpenAI's way. The fields:
//
//	Seed        goes into the random choices
//	Unit        where text and arguments may be cut; empty: as the profile does
//	Min, Max    units of a piece; 0 means 1, and Min
//	Cuts        places, in units, where every argument text is cut instead
//	Escape      write what is beyond ASCII as \u escapes, which may be cut
//	Interleave  send the pieces of parallel calls in turns
//	Together    send parallel calls in the same chunks
//	Pairs       send two deltas of a call in each chunk
//	Index       how the deltas of a call are numbered
//	ID, Name    where the id and the name of a call are
//	Type        where its type is: first, repeated or never
//	Args        how arguments are told
//	Finish      where the reason to end is; empty: as the profile does
//	Writes      cut what goes to the network into pieces of 1 to so many bytes
type Fragments = dialect.Fragments

// Habits are odd ways in which endpoints spell a reply, streamed or whole. What
// the model says is the same. The zero value is none. The fields:
//
//	IDs               how the ids of calls are spelled
//	Names             what stands around the names of called tools
//	Args              what stands beside the arguments of a call
//	FunctionCall      what function_call of chat completions holds
//	ExtraContent      send extra_content with the calls of chat completions
//	ReasoningDetails  send reasoning_details with thoughts of chat completions
type Habits = dialect.Habits

// The values of the fields of [Fragments], but for the zero values.
const (
	UnitByte  = dialect.UnitByte  // between any two bytes of different characters
	UnitRune  = dialect.UnitRune  // between any two characters
	UnitToken = dialect.UnitToken // between the tokens of JSON; words of text
	UnitWhole = dialect.UnitWhole // nowhere

	IndexMissing   = dialect.IndexMissing
	IndexZero      = dialect.IndexZero      // always 0
	IndexWandering = dialect.IndexWandering // another number in each delta
	IndexMixed     = dialect.IndexMixed     // missing in some deltas

	PlaceRepeated = dialect.PlaceRepeated // in every delta
	PlaceLate     = dialect.PlaceLate     // in the last delta
	PlaceNull     = dialect.PlaceNull     // in the first, and null in the others
	PlaceEmpty    = dialect.PlaceEmpty    // in the first, and "" in the others
	PlaceSplit    = dialect.PlaceSplit    // in pieces over the first two deltas
	PlaceNever    = dialect.PlaceNever

	ArgsMerged     = dialect.ArgsMerged     // the first piece in the first delta
	ArgsWhole      = dialect.ArgsWhole      // in the first delta, in one piece
	ArgsEmpty      = dialect.ArgsEmpty      // "" in place of {}
	ArgsNull       = dialect.ArgsNull       // null in the first delta, then pieces
	ArgsObject     = dialect.ArgsObject     // an object and not a text
	ArgsCumulative = dialect.ArgsCumulative // each delta repeats all so far
	ArgsRepeated   = dialect.ArgsRepeated   // pieces, and then the whole once more

	FinishLast     = dialect.FinishLast     // in the last delta
	FinishEachCall = dialect.FinishEachCall // in every chunk with calls
	FinishNever    = dialect.FinishNever
)

// The values of the fields of [Habits], but for the zero values.
const (
	IDNumber       = dialect.IDNumber       // a JSON number
	NamePadded     = dialect.NamePadded     // a space at both ends
	NameNewline    = dialect.NameNewline    // a newline behind it
	ArgsQuotes     = dialect.ArgsQuotes     // two quotes behind them: {}""
	ArgsDouble     = dialect.ArgsDouble     // an empty object before them: {}{"a":1}
	FunctionEmpty  = dialect.FunctionEmpty  // a name and arguments that are empty
	FunctionObject = dialect.FunctionObject // {}
	FunctionNull   = dialect.FunctionNull
)
