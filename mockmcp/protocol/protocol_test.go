// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package protocol_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockmcp/protocol"
)

func Example() {
	old := protocol.Settings{Versions: []string{"2025-03-26", "2025-06-18"}}
	fmt.Println(old.Legacy(), old.ModernMode())
	// Output: [2025-06-18 2025-03-26] off
}

func TestDefaults(t *testing.T) {
	var s protocol.Settings
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(protocol.Known(), append(s.ModernVersions(), s.Legacy()...)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if s.ModernMode() != protocol.On || s.SessionMode() != protocol.Required || s.SettleTime() != 20*time.Millisecond {
		t.Errorf("defaults: %v %v %v", s.ModernMode(), s.SessionMode(), s.SettleTime())
	}
}

func TestCheck(t *testing.T) {
	negative := -time.Second
	for _, tt := range []struct {
		name string
		s    protocol.Settings
		want string
	}{
		{"version", protocol.Settings{Versions: []string{"latest"}}, `version "latest" is no date`},
		{"modern", protocol.Settings{Modern: "rejct"}, `modern "rejct" is none of on, off, reject, silent; did you mean reject?`},
		{"sessions", protocol.Settings{Sessions: "never"}, `sessions "never"`},
		{"replies", protocol.Settings{Replies: "xml"}, `replies "xml"`},
		{"page", protocol.Settings{PageSize: -1}, "page size -1 is negative"},
		{"settle", protocol.Settings{Settle: &negative}, "settle -1s is negative"},
		{"retry", protocol.Settings{Retry: -1}, "retry -1ns is negative"},
		{"token", protocol.Settings{Auth: &protocol.Auth{}}, "auth has no token"},
		{"nothing left", protocol.Settings{Versions: []string{protocol.FirstModern}, Modern: protocol.Off}, "no version is left to serve"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.s.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check() = %v, want an error with %q", err, tt.want)
			}
		})
	}
}
