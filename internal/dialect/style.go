// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	// BlockArgs streams arguments as they come in Anthropic's blocks: after the
	// chunk with the name an empty piece, which is all of {}.
	BlockArgs bool
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
	// Rebuilt says that a proxy makes responses and generateContent out of a
	// reply in another dialect; nil is the provider's way.
	Rebuilt *Rebuilt
	// Fragments cut the tool calls, and the text, of a stream.
	Fragments Fragments
	// Habits are odd ways to spell what is said.
	Habits Habits
}

// Rebuilt is how a proxy writes a reply in another dialect than it got it in.
type Rebuilt struct {
	// TextOnly drops calls, and sends events without a name.
	TextOnly bool
	// Blocks says that the reply was a message of Anthropic's: its blocks end,
	// and its calls begin with an empty piece of arguments.
	Blocks bool
	// Counted counts the items of a response in one row, begins its id with
	// resp_, and says when it was completed. In generateContent it gives calls
	// their ids, and streams their usage. Those before do neither.
	Counted bool
	// Extras tells what the provider says of its cache beside the settings.
	Extras bool
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
	FinishEvery    Finish = "every"     // in every chunk, without one of its own
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
	// Pairs sends two deltas of a call in each chunk, as two entries with the
	// same index.
	Pairs bool `json:"pairs,omitempty"`
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
	UnitByte  Unit = "byte"  // between any two bytes of different characters
	UnitRune  Unit = "rune"  // between any two characters
	UnitToken Unit = "token" // between the tokens of JSON; words of text
	UnitWhole Unit = "whole" // nowhere
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

// Habits are odd ways in which endpoints spell a reply, streamed or whole, in
// every dialect that has the member. What the model says is the same. The zero
// value is none.
type Habits struct {
	// IDs is how the ids of calls are spelled.
	IDs IDForm `json:"ids,omitempty"`
	// Names is what stands around the names of called tools.
	Names NameForm `json:"names,omitempty"`
	// Args is what stands beside the arguments of a call.
	Args ArgsForm `json:"args,omitempty"`
	// FunctionCall puts the member of that name, which chat completions had
	// before tools, beside what is said. Only they have it.
	FunctionCall FunctionForm `json:"function_call,omitempty"`
	// ExtraContent sends extra_content with each call of chat completions, as
	// Google's endpoint does; other dialects have signatures of their own.
	ExtraContent bool `json:"extra_content,omitempty"`
	// ReasoningDetails sends reasoning_details with the thoughts of chat
	// completions, as OpenRouter does.
	ReasoningDetails bool `json:"reasoning_details,omitempty"`
}

// IDForm is how ids of calls are spelled.
type IDForm string

// The forms of ids.
const (
	IDText   IDForm = ""
	IDNumber IDForm = "number" // a JSON number; it comes back as a number or as its text
)

// NameForm is what stands around a name.
type NameForm string

// The forms of names.
const (
	NamePlain   NameForm = ""
	NamePadded  NameForm = "padded"  // a space at both ends
	NameNewline NameForm = "newline" // a newline behind it
)

// ArgsForm is what stands beside arguments.
type ArgsForm string

// The forms of arguments.
const (
	ArgsAlone  ArgsForm = ""
	ArgsQuotes ArgsForm = "quotes" // two quotes behind them: {}""
	ArgsDouble ArgsForm = "object" // an empty object before them: {}{"a":1}
)

// FunctionForm is what function_call holds.
type FunctionForm string

// The forms of function_call.
const (
	FunctionNone   FunctionForm = ""
	FunctionEmpty  FunctionForm = "empty"  // a name and arguments that are empty
	FunctionObject FunctionForm = "object" // {}
	FunctionNull   FunctionForm = "null"
)

// HabitValues returns the words that a knob of [Habits] takes, by the name that
// it has in JSON, the default left out; nil for one that takes no words.
func HabitValues(knob string) []string {
	switch knob {
	case "ids":
		return words(IDNumber)
	case "names":
		return words(NamePadded, NameNewline)
	case "args":
		return words(ArgsQuotes, ArgsDouble)
	case "function_call":
		return words(FunctionEmpty, FunctionObject, FunctionNull)
	}
	return nil
}

// Check says what is wrong with h; nil is nothing.
func (h *Habits) Check() error {
	for _, k := range []struct{ knob, value string }{
		{"ids", string(h.IDs)}, {"names", string(h.Names)}, {"args", string(h.Args)}, {"function_call", string(h.FunctionCall)},
	} {
		if known := HabitValues(k.knob); k.value != "" && !slices.Contains(known, k.value) {
			return fmt.Errorf("habits: %s is %q: want one of %s", k.knob, k.value, strings.Join(known, ", "))
		}
	}
	return nil
}

// FragmentValues returns the words that a knob of [Fragments] takes, by the name that
// it has in JSON, the default left out; nil for one that takes no words.
func FragmentValues(knob string) []string {
	switch knob {
	case "unit":
		return words(UnitByte, UnitRune, UnitToken, UnitWhole)
	case "index":
		return words(IndexMissing, IndexZero, IndexWandering, IndexMixed)
	case "id", "name", "type":
		return words(PlaceRepeated, PlaceLate, PlaceNull, PlaceEmpty, PlaceSplit, PlaceNever)
	case "args":
		return words(ArgsMerged, ArgsWhole, ArgsEmpty, ArgsNull, ArgsObject, ArgsCumulative, ArgsRepeated)
	case "finish":
		return words(FinishLast, FinishEachCall, FinishNever)
	}
	return nil
}

func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// Check says what is wrong with f; nil is nothing.
func (f *Fragments) Check() error {
	for _, k := range []struct{ knob, value string }{
		{"unit", string(f.Unit)},
		{"index", string(f.Index)},
		{"id", string(f.ID)},
		{"name", string(f.Name)},
		{"type", string(f.Type)},
		{"args", string(f.Args)},
		{"finish", string(f.Finish)},
	} {
		if known := FragmentValues(k.knob); k.value != "" && !slices.Contains(known, k.value) {
			return fmt.Errorf("fragments: %s is %q: want one of %s", k.knob, k.value, strings.Join(known, ", "))
		}
	}
	switch {
	case f.Min < 0 || f.Max < 0 || f.Writes < 0:
		return fmt.Errorf("fragments: min, max and writes cannot be negative")
	case f.Max != 0 && f.Max < f.Min:
		return fmt.Errorf("fragments: max %d is below min %d", f.Max, f.Min)
	case f.Unit == "" && (f.Min > 0 || f.Max > 0 || len(f.Cuts) > 0):
		return fmt.Errorf("fragments: min, max and cuts need a unit")
	case !slices.IsSortedFunc(f.Cuts, func(a, b int) int { return cmp.Or(cmp.Compare(a, b), -1) }):
		return fmt.Errorf("fragments: cuts %v do not go up", f.Cuts)
	}
	return nil
}

// IsZero reports whether f cuts nothing in a way of its own.
func (f *Fragments) IsZero() bool {
	g := *f
	g.Seed, g.Cuts = 0, nil
	return len(f.Cuts) == 0 && fmt.Sprint(g) == fmt.Sprint(Fragments{})
}
