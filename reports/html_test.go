// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	checks "github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/look"
)

// voids are the elements without an end tag.
var voids = []string{"meta", "input", "br", "hr", "link", "img"}

// checkHTML is strict: every tag is closed in order, every id is there once,
// every link leads to an id of the page, and nothing is loaded from anywhere.
func checkHTML(page []byte) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var stack []string
	ids, links := map[string]bool{}, map[string]bool{}
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if !errors.Is(z.Err(), io.EOF) {
				errs = append(errs, z.Err())
			}
			break
		}
		tok := z.Token()
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			checkTag(tok, stack, ids, links, fail)
			if kind == html.StartTagToken && !slices.Contains(voids, tok.Data) {
				stack = append(stack, tok.Data)
			}
		case html.EndTagToken:
			if len(stack) == 0 || stack[len(stack)-1] != tok.Data {
				fail("</%s> closes %q", tok.Data, stack)
				return errors.Join(errs...)
			}
			stack = stack[:len(stack)-1]
		case html.CommentToken:
			fail("comment %q", tok.Data)
		}
	}
	if len(stack) > 0 {
		fail("left open: %q", stack)
	}
	for id := range links {
		if !ids[id] {
			fail("a link leads to #%s, which is not there", id)
		}
	}
	return errors.Join(errs...)
}

func checkTag(tok html.Token, stack []string, ids, links map[string]bool, fail func(string, ...any)) {
	// What a browser would move or close by itself is an error here.
	parent := ""
	if len(stack) > 0 {
		parent = stack[len(stack)-1]
	}
	if parent == "p" && slices.Contains([]string{"p", "div", "pre", "table", "ul", "ol", "dl", "details", "section", "h2", "h3", "h4", "h5"}, tok.Data) {
		fail("<%s> inside <p>", tok.Data)
	}
	want := map[string][]string{
		"li": {"ol", "ul"}, "tr": {"thead", "tbody", "tfoot"}, "td": {"tr"}, "th": {"tr"}, "summary": {"details"},
		"thead": {"table"}, "tbody": {"table"}, "tfoot": {"table"}, "dt": {"div"}, "dd": {"div"},
	}[tok.Data]
	if want != nil && !slices.Contains(want, parent) {
		fail("<%s> inside <%s>", tok.Data, parent)
	}
	if slices.Contains([]string{"img", "link", "iframe", "object", "embed", "base", "form", "audio", "video"}, tok.Data) {
		fail("<%s> in the page", tok.Data)
	}
	for _, a := range tok.Attr {
		switch {
		case a.Key == "id":
			if ids[a.Val] {
				fail("id %q twice", a.Val)
			}
			ids[a.Val] = true
		case a.Key == "href":
			id, ok := strings.CutPrefix(a.Val, "#")
			if !ok {
				fail("href %q leaves the page", a.Val)
			}
			links[id] = true
		case a.Key == "src", a.Key == "srcset", a.Key == "style", a.Key == "action", strings.HasPrefix(a.Key, "on"):
			fail("attribute %s=%q", a.Key, a.Val)
		}
	}
}

// chunkHead begins what stands compressed in a page.
var chunkHead = regexp.MustCompile(`<script type="application/octet-stream" id="(chunk-\d+)">([^<]*)</script>`)

// unpacked is a page followed by all that stands compressed in it.
func unpacked(t *testing.T, page []byte) string {
	t.Helper()
	var out bytes.Buffer
	out.Write(page)
	for _, m := range chunkHead.FindAllSubmatch(page, -1) {
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(m[2])))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.ReadFrom(z); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// readable is a page with all that is compressed in it as text: a golden that
// tells what changed, whatever the version of the compressor.
func readable(t *testing.T, page []byte) []byte {
	t.Helper()
	return chunkHead.ReplaceAll([]byte(unpacked(t, page)), []byte(`<script type="application/octet-stream" id="$1">(compressed: see the end)</script>`))
}

func TestHTMLIsValid(t *testing.T) {
	for name, run := range runs() {
		t.Run(name, func(t *testing.T) {
			page := write(t, "html", run)
			if err := checkHTML(page); err != nil {
				t.Error(err)
			}
			// What is compressed stands in the page once it is opened.
			whole := unpacked(t, page)
			if err := checkHTML([]byte(whole)); err != nil {
				t.Errorf("with its details: %v", err)
			}
			packed := strings.Count(whole, `<div class="body" data-trial="`)
			if want := strings.Count(string(page), " data-chunk="); packed != want {
				t.Errorf("%d trials stand compressed, and the page names %d", packed, want)
			}
		})
	}
}

// The check itself is checked: it must not hold for everything.
func TestCheckHTML(t *testing.T) {
	tests := []struct{ name, page, want string }{
		{"open", "<div>", "left open"},
		{"crossed", "<b><i></b></i>", "closes"},
		{"outside", `<a href="http://x">a</a>`, "leaves the page"},
		{"nowhere", `<a href="#x">a</a>`, "not there"},
		{"image", `<img src="x">`, "<img>"},
		{"handler", `<b onclick="x">b</b>`, "onclick"},
		{"block in paragraph", `<p><pre></pre></p>`, "inside <p>"},
		{"twice", `<b id="a"></b><b id="a"></b>`, "twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := checkHTML([]byte(tt.page)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// Style and script name nothing outside, and are what the policy admits.
func TestHTMLAsksNobody(t *testing.T) {
	outside := regexp.MustCompile(`(?i)https?:|//[a-z]|url\(|@import|fetch\(|XMLHttp|import\(`)
	for _, name := range []string{"../internal/look/page.css", "../internal/look/icons.tmpl", "web/report.js", "web/page.tmpl", "web/views.tmpl", "web/parts.tmpl", "web/compare.tmpl"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := outside.Find(data); m != nil {
			t.Errorf("%s has %q", name, m)
		}
	}
	page := write(t, "html", hostileRun())
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	policy, texts := "", map[string]string{}
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.ElementNode && (n.Data == "style" || n.Data == "script" && len(n.Attr) == 0):
			if texts[n.Data] != "" {
				t.Errorf("a second <%s>", n.Data)
			}
			texts[n.Data] = n.FirstChild.Data
		case n.Type == html.ElementNode && n.Data == "meta":
			for _, a := range n.Attr {
				if a.Key == "content" && strings.HasPrefix(a.Val, "default-src 'none'") {
					policy = a.Val
				}
			}
		}
	}
	for _, name := range []string{"style", "script"} {
		if want := name + "-src " + look.Digest([]byte(texts[name])); !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
}

func TestHTMLBudget(t *testing.T) {
	var whole, small bytes.Buffer
	if err := errors.Join(HTML(&whole, fullRun(), nil), HTML(&small, fullRun(), &HTMLOptions{MaxBytes: 20_000, MaxText: 60, Title: "small"})); err != nil {
		t.Fatal(err)
	}
	if err := checkHTML(small.Bytes()); err != nil {
		t.Error(err)
	}
	if small.Len() >= whole.Len() {
		t.Errorf("%d bytes with a budget, %d without", small.Len(), whole.Len())
	}
	for _, want := range []string{"details of", "left out to keep this page small", "Cut here:", "<h1>small</h1>", "are cut, and say so"} {
		if !strings.Contains(small.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	// A failing trial keeps its transcript longest.
	if !strings.Contains(small.String(), "How fast does it grow?") {
		t.Error("the first failing trial has lost its transcript")
	}
}

// Many causes do not bury the matrix, and many trials not their cause.
func TestHTMLManyCauses(t *testing.T) {
	run := &Run{}
	for i := range 40 {
		tr := trial(fmt.Sprint("s", i), "f.yaml", i, "m", 1)
		tr.Outcome = harness.OutcomeFailed
		tr.Cause = &trials.Cause{Kind: trials.CauseSubject, Message: fmt.Sprintf("panic %d", max(i, 25))}
		run.Trials = append(run.Trials, tr)
	}
	page := write(t, "html", run)
	if err := checkHTML(page); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"7 more causes", "and 14 more"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHTMLShowsEverything(t *testing.T) {
	page := unpacked(t, write(t, "html", fullRun()))
	for _, want := range []string{
		`href="#trial-2-1-1"`, `id="trial-2-1-1"`, // dots lead to trials
		"matched", "mismatched", "missing", "extra", "out of order", "forbidden",
		"args.media_id", "$integer", "could not be judged",
		"fault: rate_limit", "HTTP 429", "asks to wait 2.0 s", "attempt 2", "not delivered", "answered by a rule", "outside the conversation",
		"not scripted", "executed more than once", "arguments are not JSON", "no answer above explains them",
		"offered as", "reply cut at the length limit", "State of gemflux", "System prompt", "2 tools offered",
		"critical", "flaky", "No transcript was recorded.", "Provenance", "gpt-4o-2024-11-20",
		"stable_prefix", "The answer above, unchanged.", "as reported",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestHiddenTextsStayInside: what only screen readers are told (.sr) is placed
// absolutely, and would stand beside the page where it is inside of something
// that scrolls and has no place of its own.
func TestHiddenTextsStayInside(t *testing.T) {
	css, err := os.ReadFile("../internal/look/page.css")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(css), "@media print")
	placed := regexp.MustCompile(`(?m)^([^{}\n]+) \{ position: relative; \}$`).FindStringSubmatch(text)
	if placed == nil {
		t.Fatal("no rule gives places")
	}
	has := strings.Split(placed[1], ", ")
	for _, rule := range regexp.MustCompile(`(?m)^([^{}\n]+) \{([^}]*overflow(?:-[xy])?: auto[^}]*)\}`).FindAllStringSubmatch(text, -1) {
		for _, selector := range strings.Split(rule[1], ", ") {
			if !slices.Contains(has, selector) {
				t.Errorf("%s scrolls (%s) and is not among those with a place: %q", selector, strings.TrimSpace(rule[2]), has)
			}
		}
	}
}

// TestWordsExplainConduct: the page says what each conduct check is about.
func TestWordsExplainConduct(t *testing.T) {
	words, err := os.ReadFile("web/views.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range checks.Names() {
		if !strings.Contains(string(words), "<li><code>"+name+"</code>: ") {
			t.Errorf("no word on %s", name)
		}
	}
}
