// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/faults"
)

// Info says what a kind is.
type Info struct {
	Kind  Kind   `json:"kind"`
	Group string `json:"group"`
	// What happens on the wire.
	What string `json:"what"`
	// For is what a test with it finds out about a client.
	For string `json:"for"`
	// Seen are the threads and documents that report it.
	Seen []string `json:"seen"`
	// On are the events that it can strike: methods, [Start], [End]. Empty is
	// any request, a call of a tool where the fault does not say.
	On []string `json:"on,omitempty"`
	// Transports are those that it strikes.
	Transports []string `json:"transports"`
	// InProcess is what happens in process, where there is no child process
	// that it could happen to. Empty: the same.
	InProcess string `json:"in_process,omitempty"`
	// Lasts says that the fault strikes without end unless it says how often.
	Lasts bool `json:"lasts,omitempty"`
	// Era is [Legacy] or [Modern] for a kind that the other has no place for.
	Era   string `json:"era,omitempty"`
	Forms []Form `json:"forms,omitempty"`
	// Uses are the settings that it has a use for, as a file spells them:
	// code, message, data, status, headers, body, delay, size, count, bytes,
	// exit_code, stderr.
	Uses []string `json:"uses,omitempty"`
}

// The eras of the protocol.
const (
	Legacy = "legacy" // up to 2025-11-25, with sessions
	Modern = "modern" // 2026-07-28
)

// Form is one spelling of a kind.
type Form struct {
	Name string `json:"name"`
	What string `json:"what"`
}

const (
	methodCall       = "tools/call"
	methodList       = "tools/list"
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
)

// Groups returns the groups of kinds, in order, with a heading each.
func Groups() [][2]string {
	return [][2]string{
		{"answer", "What a tool answers"},
		{"time", "Slow and silent"},
		{"process", "The process"},
		{"frame", "Frames and ids"},
		{"http", "HTTP and its streams"},
		{"list", "The list of tools"},
		{"notify", "Notifications and requests of the server"},
		{"probe", "Finding the era of a server"},
	}
}

// Kinds returns every kind, by group.
func Kinds() []Info {
	return slices.Concat(answerKinds(), timeKinds(), processKinds(), frameKinds(), spellingKinds(), httpKinds(), listKinds(), notifyKinds(), probeKinds())
}

// Names returns the names of the kinds and of the presets.
func Names() []string { return slices.Concat(faults.Names(Kinds()), faults.Names(Presets())) }

// String is the name of the kind.
func (i Info) String() string { return string(i.Kind) }

// String is the name of the preset.
func (p Preset) String() string { return p.Name }

// Lookup returns the fault that name stands for, a kind or a preset. The
// error says what was meant.
func Lookup(name string) (Fault, error) {
	if _, ok := Describe(Kind(name)); ok {
		return Fault{Kind: Kind(name)}, nil
	}
	if p, ok := faults.Find(Presets(), name); ok {
		return p.Fault, nil
	}
	return Fault{}, faults.Unknown(name, Names())
}

// Describe returns what is known of a kind.
func Describe(kind Kind) (Info, bool) { return faults.Find(Kinds(), string(kind)) }

// FormOf returns the form that f has: its own, or the first of the kind.
func (f *Fault) FormOf() string {
	if f.Form != "" {
		return f.Form
	}
	if info, _ := Describe(f.Kind); len(info.Forms) > 0 {
		return info.Forms[0].Name
	}
	return ""
}

// Where says what the kind strikes, for messages: "tools/list", "the start of
// a connection".
func (i *Info) Where() string {
	if len(i.On) == 0 {
		return "any request, tools/call by default"
	}
	words := make([]string, len(i.On))
	for j, on := range i.On {
		switch on {
		case Start:
			on = "the start of a connection"
		case End:
			on = "the end of the input"
		}
		words[j] = on
	}
	return strings.Join(words, ", ")
}

// aboutList reports whether a tool that is matched is one of the list.
func (i *Info) aboutList() bool { return slices.Contains(i.On, methodList) && i.Group == "list" }

// String is the name of the form.
func (f Form) String() string { return f.Name }

// Preset is a fault with its own name, as one server was seen to have
// it.
type Preset struct {
	Name  string `json:"name"`
	Fault Fault  `json:"-"`
	// Ref is the thread where it was seen.
	Ref string `json:"ref"`
	// What the user of such a server sees.
	What string `json:"what"`
}
