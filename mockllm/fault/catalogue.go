// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"slices"

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
	// Stream and Plain say whether it strikes requests for a stream and
	// others.
	Stream bool   `json:"stream"`
	Plain  bool   `json:"plain"`
	Forms  []Form `json:"forms,omitempty"`
	// Uses are the settings that it has a use for: status, body,
	// retry_after, delay, size, and at for a place inside the reply.
	Uses []string `json:"uses,omitempty"`
	// Calls says that there is something to go wrong only where the reply
	// calls tools; a reply without calls is given as it is.
	Calls bool `json:"calls,omitempty"`
}

// Form is one spelling of a kind.
type Form struct {
	Name string `json:"name"`
	What string `json:"what"`
	// StreamOnly says that the form passes plain requests by.
	StreamOnly bool `json:"stream_only,omitempty"`
	// PlainOnly says that it passes requests for a stream by.
	PlainOnly bool `json:"plain_only,omitempty"`
}

// Groups returns the groups of kinds, in order, with a heading each.
func Groups() [][2]string {
	return [][2]string{
		{"status", "An HTTP answer instead of the reply"},
		{"time", "Slow and silent"},
		{"connection", "The connection and the body"},
		{"stream", "The framing of a stream, and its chunks"},
		{"error", "An error inside a 200"},
		{"calls", "Tool calls"},
		{"reply", "What the reply says"},
	}
}

// Kinds returns every kind, by group.
func Kinds() []Info {
	return slices.Concat(
		statusKinds(), serverKinds(), bodyKinds(), timeKinds(), connectionKinds(), streamKinds(), framingKinds(), chunkKinds(), errorKinds(), callKinds(), finishKinds(), replyKinds(),
	)
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

// String is the name of the form.
func (f Form) String() string { return f.Name }

// formFits reports whether a form strikes a request of that sort. Empty is
// the first that does.
func (i *Info) formFits(name string, stream bool) bool {
	if name == "" {
		return true
	}
	for _, f := range i.Forms {
		if f.Name == name {
			return !(stream && f.PlainOnly || !stream && f.StreamOnly)
		}
	}
	return true
}

// FormFor returns the form that f has for a request of that sort: its own, or
// the first of the kind that strikes such requests.
func (f *Fault) FormFor(stream bool) string {
	if f.Form != "" {
		return f.Form
	}
	info, _ := Describe(f.Kind)
	for _, form := range info.Forms {
		if info.formFits(form.Name, stream) {
			return form.Name
		}
	}
	return ""
}
