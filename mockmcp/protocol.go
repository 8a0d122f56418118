// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Versions returns the versions of the protocol that a mock serves by default,
// newest first.
func Versions() []string { return mcpwire.Versions() }

// Modern says how a server treats clients of 2026-07-28.
type Modern string

// What a server does with modern clients.
const (
	ModernOn     Modern = "on"     // serves them
	ModernOff    Modern = "off"    // knows nothing of them: server/discover is an unknown method
	ModernReject Modern = "reject" // knows of them and refuses their versions with -32022
	ModernSilent Modern = "silent" // never answers server/discover, and is as ModernOff otherwise
)

// Sessions says what becomes of legacy HTTP clients without a session.
type Sessions string

// The rules for sessions.
const (
	SessionsRequired Sessions = "required" // initialize opens one, and a request without it is refused with 400
	SessionsOptional Sessions = "optional" // initialize opens one, and requests without it are served too
	SessionsNone     Sessions = "none"     // there are none, and so no GET and no DELETE
)

// Replies says in which form a POST is answered.
type Replies string

// The forms of replies.
const (
	RepliesAuto Replies = "auto" // JSON, and a stream once something comes before the reply
	RepliesSSE  Replies = "sse"  // always a stream
)

// Protocol is how a server speaks: versions, sessions, pages, timing, auth. The
// zero value serves all that is known, to everybody.
type Protocol struct {
	// Versions are offered, in any order. nil means [Versions].
	Versions []string
	// Modern is what modern clients meet. "" means ModernOn when Versions
	// has a modern version or is empty, and ModernOff otherwise.
	Modern Modern
	// Sessions is the rule for legacy HTTP clients. "" means
	// SessionsRequired.
	Sessions Sessions
	// Replies is the form of replies over streamable HTTP. "" means
	// RepliesAuto.
	Replies Replies
	// Retry, when set, has each stream of a legacy session begin with an
	// event that has an id, no data, and this time to reconnect after.
	Retry time.Duration
	// PageSize is the number of entries on a page of a list. 0 means that
	// lists have one page.
	PageSize int
	// ListChanged announces notifications about changed lists.
	ListChanged bool
	// Settle passes between the last notification about a request and its
	// reply. nil means 20 ms, which clients need that lose a notification which
	// comes with the reply.
	Settle *time.Duration
	// Shuffle, when not 0, is the seed by which lists are shuffled, anew for
	// each list.
	Shuffle int64
	// Auth is nil for a server that everybody may use.
	Auth *Auth
}

// Auth has an HTTP server demand a bearer token.
type Auth struct {
	// Token is the token that is accepted.
	Token string
	// Servers are the authorization servers that the metadata of the resource
	// names. nil means none.
	Servers []string
	// Scopes are the scopes that the metadata and the challenge name. nil
	// means none.
	Scopes []string
}

// settleTime is the time of Settle, or its default.
func (s *Protocol) settleTime() time.Duration {
	if s.Settle == nil {
		return 20 * time.Millisecond
	}
	return *s.Settle
}

// legacyVersions returns the legacy versions that are offered, newest first.
func (s *Protocol) legacyVersions() []string {
	return s.offered(func(v string) bool { return !mcpwire.IsModern(v) })
}

// modernVersions returns the modern versions that are served, newest first.
func (s *Protocol) modernVersions() []string {
	if s.modernMode() != ModernOn {
		return nil
	}
	if modern := s.offered(mcpwire.IsModern); len(modern) > 0 {
		return modern
	}
	return []string{mcpwire.FirstModern}
}

// modernMode is Modern with its default.
func (s *Protocol) modernMode() Modern {
	switch {
	case s.Modern != "":
		return s.Modern
	case len(s.offered(mcpwire.IsModern)) > 0:
		return ModernOn
	}
	return ModernOff
}

// sessionMode is Sessions with its default.
func (s *Protocol) sessionMode() Sessions {
	if s.Sessions == "" {
		return SessionsRequired
	}
	return s.Sessions
}

func (s *Protocol) offered(keep func(string) bool) []string {
	all := s.Versions
	if len(all) == 0 {
		all = mcpwire.Versions()
	}
	var versions []string
	for _, v := range all {
		if keep(v) {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return strings.Compare(b, a) })
	return slices.Compact(versions)
}

// Check reports everything that is wrong with the settings.
func (s *Protocol) Check() error {
	var errs []error
	for _, v := range s.Versions {
		if _, err := time.Parse(time.DateOnly, v); err != nil {
			errs = append(errs, fmt.Errorf("version %q is not a date", v))
		}
	}
	oneOf := func(what, got string, names ...string) {
		if got != "" && !slices.Contains(names, got) {
			errs = append(errs, fmt.Errorf("%s %q is none of %s%s", what, got, strings.Join(names, ", "), prose.DidYouMean(got, names)))
		}
	}
	oneOf("modern", string(s.Modern), string(ModernOn), string(ModernOff), string(ModernReject), string(ModernSilent))
	oneOf("sessions", string(s.Sessions), string(SessionsRequired), string(SessionsOptional), string(SessionsNone))
	oneOf("replies", string(s.Replies), string(RepliesAuto), string(RepliesSSE))
	if s.PageSize < 0 {
		errs = append(errs, fmt.Errorf("page size %d is negative", s.PageSize))
	}
	if s.Settle != nil && *s.Settle < 0 {
		errs = append(errs, fmt.Errorf("settle %v is negative", *s.Settle))
	}
	if s.Retry < 0 {
		errs = append(errs, fmt.Errorf("retry %v is negative", s.Retry))
	}
	if s.Auth != nil && s.Auth.Token == "" {
		errs = append(errs, errors.New("auth has no token"))
	}
	if len(errs) == 0 && s.modernMode() != ModernOn && len(s.legacyVersions()) == 0 {
		errs = append(errs, errors.New("no version is left to serve: modern is not on, and versions has no legacy one"))
	}
	return errors.Join(errs...)
}
