// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// narrow is a page that shows another as wide as a telephone is, opens all that
// can be opened in it, and says how wide it has become.
const narrow = `<!doctype html><iframe id=f width=%d height=800 style="border:0" srcdoc="%s"></iframe><p id=o></p>
<script>
const f = document.getElementById("f");
f.onload = () => {
  f.contentDocument.querySelectorAll("details").forEach(d => d.open = true);
  const e = f.contentDocument.documentElement;
  document.getElementById("o").textContent = "width " + e.scrollWidth + " of " + e.clientWidth;
};
</script>`

// TestReportOnANarrowScreen holds that no report scrolls sideways; what is wide
// in it scrolls by itself.
func TestReportOnANarrowScreen(t *testing.T) {
	pages, err := filepath.Glob("../reports/testdata/*.html")
	if err != nil || len(pages) < 5 {
		t.Fatalf("found the pages %q (%v)", pages, err)
	}
	for _, name := range pages {
		for _, width := range []int{400, 320} {
			t.Run(fmt.Sprintf("%s at %d", filepath.Base(name), width), func(t *testing.T) {
				page, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "narrow.html")
				if err := os.WriteFile(file, fmt.Appendf(nil, narrow, width, html.EscapeString(string(page))), 0o644); err != nil {
					t.Fatal(err)
				}
				m := regexp.MustCompile(`width (\d+) of (\d+)`).FindStringSubmatch(dom(t, file, "--virtual-time-budget=5000"))
				if m == nil {
					t.Fatal("the page has said nothing of its width")
				}
				if m[1] != m[2] {
					t.Errorf("the page is %s wide, of which %s are seen", m[1], m[2])
				}
			})
		}
	}
}
