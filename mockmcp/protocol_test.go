// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

func TestProtocolDefaults(t *testing.T) {
	var s Protocol
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(Versions(), append(s.modernVersions(), s.legacyVersions()...)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if s.modernMode() != ModernOn || s.sessionMode() != SessionsRequired || s.settleTime() != 20*time.Millisecond {
		t.Errorf("defaults: %v %v %v", s.modernMode(), s.sessionMode(), s.settleTime())
	}
}

func TestProtocolCheck(t *testing.T) {
	negative := -time.Second
	for _, tt := range []struct {
		name string
		s    Protocol
		want string
	}{
		{"version", Protocol{Versions: []string{"latest"}}, `version "latest" is not a date`},
		{"modern", Protocol{Modern: "rejct"}, `modern "rejct" is none of on, off, reject, silent (did you mean "reject"?)`},
		{"sessions", Protocol{Sessions: "never"}, `sessions "never"`},
		{"replies", Protocol{Replies: "xml"}, `replies "xml"`},
		{"page", Protocol{PageSize: -1}, "page size -1 is negative"},
		{"settle", Protocol{Settle: &negative}, "settle -1s is negative"},
		{"retry", Protocol{Retry: -1}, "retry -1ns is negative"},
		{"token", Protocol{Auth: &Auth{}}, "auth has no token"},
		{"nothing left", Protocol{Versions: []string{mcpwire.FirstModern}, Modern: ModernOff}, "no version is left to serve"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.s.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check() = %v, want an error with %q", err, tt.want)
			}
		})
	}
}
