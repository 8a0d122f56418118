// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package protocol has the settings of a mock MCP server that concern the
// protocol and not what the server offers: versions, sessions, pages, timing.
//
//	script.Protocol = protocol.Settings{Modern: protocol.Off, Sessions: protocol.Optional}
//
// A version is legacy when it opens with initialize and has sessions, and
// modern when each request stands for itself (2026-07-28 and later).
package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// FirstModern is the first version without a handshake.
const FirstModern = "2026-07-28"

// Known returns the versions that a mock serves by default, newest first.
func Known() []string {
	return []string{FirstModern, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

// IsModern reports whether version, a date, has no handshake.
func IsModern(version string) bool { return version >= FirstModern }

// Modern says how a server treats clients of 2026-07-28.
type Modern string

// What a server does with modern clients.
const (
	On     Modern = "on"     // serves them
	Off    Modern = "off"    // knows nothing of them: server/discover is an unknown method
	Reject Modern = "reject" // knows of them and refuses their versions with -32022
	Silent Modern = "silent" // never answers server/discover, and is as Off otherwise
)

// Sessions says what becomes of legacy HTTP clients without a session.
type Sessions string

// The rules for sessions.
const (
	Required Sessions = "required" // initialize opens one, and a request without it is refused with 400
	Optional Sessions = "optional" // initialize opens one, and requests without it are served too
	None     Sessions = "none"     // there are none, and so no GET and no DELETE
)

// Replies says in which form a POST is answered.
type Replies string

// The forms of replies.
const (
	Auto Replies = "auto" // JSON, and a stream once something comes before the reply
	SSE  Replies = "sse"  // always a stream
)

// Settings are the protocol of a server. The zero value serves all that is
// known, to everybody.
type Settings struct {
	// Versions are offered, in any order. nil means [Known].
	Versions []string
	// Modern is what modern clients meet. "" means On when Versions has a
	// modern version or is empty, and Off otherwise.
	Modern Modern
	// Sessions is the rule for legacy HTTP clients. "" means Required.
	Sessions Sessions
	// Replies is the form of replies over streamable HTTP. "" means Auto.
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
	// reply. nil means 20 ms; see [Settings.SettleTime].
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

// SettleTime is the time of Settle, or its default.
func (s *Settings) SettleTime() time.Duration {
	if s.Settle == nil {
		return 20 * time.Millisecond
	}
	return *s.Settle
}

// Legacy returns the legacy versions that are offered, newest first.
func (s *Settings) Legacy() []string {
	return s.offered(func(v string) bool { return !IsModern(v) })
}

// ModernVersions returns the modern versions that are served, newest first.
func (s *Settings) ModernVersions() []string {
	if s.ModernMode() != On {
		return nil
	}
	if modern := s.offered(IsModern); len(modern) > 0 {
		return modern
	}
	return []string{FirstModern}
}

// ModernMode is Modern with its default.
func (s *Settings) ModernMode() Modern {
	switch {
	case s.Modern != "":
		return s.Modern
	case len(s.offered(IsModern)) > 0:
		return On
	}
	return Off
}

// SessionMode is Sessions with its default.
func (s *Settings) SessionMode() Sessions {
	if s.Sessions == "" {
		return Required
	}
	return s.Sessions
}

func (s *Settings) offered(keep func(string) bool) []string {
	all := s.Versions
	if len(all) == 0 {
		all = Known()
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
func (s *Settings) Check() error {
	var errs []error
	for _, v := range s.Versions {
		if _, err := time.Parse(time.DateOnly, v); err != nil {
			errs = append(errs, fmt.Errorf("version %q is no date", v))
		}
	}
	oneOf := func(what, got string, names ...string) {
		if got != "" && !slices.Contains(names, got) {
			err := fmt.Errorf("%s %q is none of %s", what, got, strings.Join(names, ", "))
			if meant := harness.Suggest(got, names); meant != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, meant)
			}
			errs = append(errs, err)
		}
	}
	oneOf("modern", string(s.Modern), string(On), string(Off), string(Reject), string(Silent))
	oneOf("sessions", string(s.Sessions), string(Required), string(Optional), string(None))
	oneOf("replies", string(s.Replies), string(Auto), string(SSE))
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
	if len(errs) == 0 && s.ModernMode() != On && len(s.Legacy()) == 0 {
		errs = append(errs, errors.New("no version is left to serve: modern is not on, and versions has no legacy one"))
	}
	return errors.Join(errs...)
}
