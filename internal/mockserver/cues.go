// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// heldTimeout is how long a request waits for something to be held.
const heldTimeout = 30 * time.Second

// cued is a mock that waits for cues.
type cued interface {
	Cue(name string)
	AwaitHeld(ctx context.Context, name string) error
	// Cues are those that the script waits for; all is false when it may wait
	// for others.
	Cues() (names []string, all bool)
}

// cueAdmin takes a name of the admin API apart that is about a cue: cue/ or
// held/, and the cue. Any other is left as it is.
func cueAdmin(name string) (rest, cue string) {
	if verb, cue, _ := strings.Cut(name, "/"); cue != "" && (verb == "cue" || verb == "held") {
		return verb + "/", cue
	}
	return name, ""
}

// knownCue answers with 404 where the script waits for no such cue.
func knownCue(w http.ResponseWriter, m cued, cue string) bool {
	names, all := m.Cues()
	if !all || slices.Contains(names, cue) {
		return true
	}
	hint := "; it waits for none"
	if best := harness.Suggest(cue, names); best != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", best)
	} else if len(names) > 0 {
		hint = "; there are " + strings.Join(names, ", ")
	}
	writeError(w, http.StatusNotFound, fmt.Errorf("the script waits for no cue %q%s", cue, hint))
	return false
}

// serveCue gives a cue to a conversation that has begun.
func serveCue(w http.ResponseWriter, m cued, cue string) {
	if knownCue(w, m, cue) {
		m.Cue(cue)
		w.WriteHeader(http.StatusNoContent)
	}
}

// noConversation refuses to give a cue to a conversation that has not begun:
// its name is mistyped, or nobody would hear.
func noConversation(w http.ResponseWriter, id string, ids []string) {
	hint := ""
	if best := harness.Suggest(id, ids); best != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", best)
	}
	writeError(w, http.StatusNotFound, fmt.Errorf("no conversation %q has begun%s: a request below /t/%s begins one, and so does GET /t/%s/rehearse/held/CUE", id, hint, id, id))
}

// serveHeld answers once something is held until a cue.
func serveHeld(w http.ResponseWriter, r *http.Request, m cued, cue string) {
	if !knownCue(w, m, cue) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), heldTimeout)
	defer cancel()
	if err := m.AwaitHeld(ctx, cue); err != nil {
		writeError(w, http.StatusGatewayTimeout, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
