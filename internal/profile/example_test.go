// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/profile"
)

func Example() {
	p, _ := profile.Lookup("argo-proxy-3.3")
	known, _ := p.Resolve(profile.Chat, "argo:claude-opus-4.5", true)
	fmt.Println(known.Internal, known.Echo, known.Family)
	typo, _ := p.Resolve(profile.Chat, "argo:gtp-4o", true)
	fmt.Println(typo.Internal)
	_, instead := p.Resolve(profile.Messages, "argo:gtp-4o", true)
	fmt.Println(instead.Status)
	// Output:
	// claudeopus45 claude-opus-4-5-20251101 claude
	// gpt54nano
	// 404
}
