// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// riddles are phrases that hide who does what to whom, with a plain way to say
// it. They are kept out of documentation, help, messages and comments.
var riddles = []struct {
	phrase *regexp.Regexp
	say    string
}{
	{regexp.MustCompile(`(?i)\bwhat is no\b`), `"anything that is not", or the field's word`},
	{regexp.MustCompile(`(?i)\bthe (least|most) is\b`), `"the minimum is", "the maximum is"`},
	{regexp.MustCompile(`(?i)\bin ever other\b`), `"different each time"`},
	{regexp.MustCompile(`(?i)\b(comes?|came|becomes?|became|told|makes?|all) of (it|that one)\.`), `what happens, or the noun itself`},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) there (already|twice)\b`), `"already exists", "is duplicated"`},
	{regexp.MustCompile(`(?i)\bis there twice\b`), `"is duplicated"`},
	{regexp.MustCompile(`(?i)\btells? of\b`), `"reports"`},
	{regexp.MustCompile(`(?i)\bdoes not (heed|get over)\b`), `"ignores", "keeps failing"`},
	{regexp.MustCompile(`(?i)\bwithout a word\b`), `what happened`},
	{regexp.MustCompile(`(?i)\bmakes none\b`), `"does not create it"`},
	{regexp.MustCompile(`(?i)\bnothing else (is|was) different\b`), `"only ... differs"`},
	{regexp.MustCompile(`(?i)\bas it came to\b|\bwhere it came to\b`), `"when it happens"`},
	{regexp.MustCompile(`(?i)\b(two|three|ten|which) of both\b|\bare of both\b`), `"apply to both"`},
	{regexp.MustCompile(`\[facts? [0-9]`), `the public source: a specification's URL, a paper, an issue`},
}

// noSuch finds what a thing "is no": a message says that it is not a thing of
// that kind. What there is none of, and what is so no longer, is said so.
var noSuch = regexp.MustCompile(`(?i)(\bthere )?\b(is|are|was|were) no (longer|more|\w+)\b`)

// TestWords keeps riddles out of pages, and out of the comments and texts of
// the product.
func TestWords(t *testing.T) {
	files(t, func(path string, data []byte) {
		path = strings.TrimPrefix(filepath.ToSlash(path), "../../")
		switch {
		case filepath.Ext(path) == ".md":
			for _, bad := range append(wordsOf(string(data)), noSuchOf(string(data))...) {
				t.Errorf("%s: %s", path, bad)
			}
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			for _, bad := range append(wordsOf(prose(data, scanner.ScanComments)), noSuchOf(prose(data, 0))...) {
				t.Errorf("%s: %s", path, bad)
			}
		}
	})
}

// TestWordsFail makes sure that a riddle is found, also over two lines.
func TestWordsFail(t *testing.T) {
	for _, text := range []string{
		"what is no boolean is false", "A few kinds\n// are of both.", "reports what comes\n// of it.", "[fact 2.3]",
	} {
		code := "package p\n\n// " + text + "\nconst c = 1\n"
		if len(wordsOf(prose([]byte(code), scanner.ScanComments))) == 0 {
			t.Errorf("%q was not found", text)
		}
	}
	if bad := wordsOf(prose([]byte("package p\n\nvar what, is, no = 1, 2, 3\n"), scanner.ScanComments)); len(bad) > 0 {
		t.Errorf("found in code: %q", bad)
	}
}

// TestNoSuchFails makes sure that it is found in texts, and what is like it is not.
func TestNoSuchFails(t *testing.T) {
	for text, want := range map[string]int{
		"%q is no budget": 1, "the arguments are no JSON": 1, "there is no tool %q": 0, "it is no longer HTTP": 0, "it is not a budget": 0,
	} {
		code := "package p\n\n// This is no budget.\nconst c = `" + text + "`\n"
		if got := noSuchOf(prose([]byte(code), 0)); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}

func noSuchOf(text string) (bad []string) {
	for _, m := range noSuch.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		if m[1] == "" && m[3] != "longer" && m[3] != "more" {
			bad = append(bad, `"... `+m[0]+` ...": say "`+m[2]+` not a ..."`)
		}
	}
	return bad
}

func wordsOf(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var bad []string
	for _, r := range riddles {
		for _, at := range r.phrase.FindAllStringIndex(text, -1) {
			bad = append(bad, `"...`+text[max(0, at[0]-40):min(len(text), at[1]+20)]+`...": say `+r.say)
		}
	}
	return bad
}

// prose returns the texts of a Go file, and its comments where the mode has them.
// A comment behind code stands for itself; other comments may go on in the next
// line.
func prose(code []byte, mode scanner.Mode) string {
	var out strings.Builder
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(code))
	var s scanner.Scanner
	s.Init(file, code, nil, mode)
	for {
		pos, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return out.String()
		case token.COMMENT:
			at := file.Offset(pos)
			if before := code[bytes.LastIndexByte(code[:at], '\n')+1 : at]; len(bytes.TrimSpace(before)) > 0 {
				out.WriteString("| ")
				text += " |"
			}
			out.WriteString(strings.TrimPrefix(text, "//") + "\n")
		case token.STRING:
			out.WriteString(text + " \n")
		}
	}
}

// TestGuideIsShort holds the guide at what a newcomer reads in one sitting.
// What grows beyond it belongs to a page of reference.
func TestGuideIsShort(t *testing.T) {
	const most = 3000
	files(t, func(path string, data []byte) {
		if n := len(bytes.Fields(data)); strings.HasSuffix(filepath.ToSlash(path), "docs/guide.md") && n > most {
			t.Errorf("docs/guide.md has %d words, at most %d; move what is reference to a page of its own", n, most)
		}
	})
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks follows the links between the pages of the repository.
func TestLinks(t *testing.T) {
	pages := map[string]map[string]bool{} // path to its anchors
	texts := map[string]string{}
	files(t, func(path string, data []byte) {
		path = filepath.ToSlash(path)
		if filepath.Ext(path) != ".md" {
			pages[path] = nil
			return
		}
		anchors := map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(string(data), -1) {
			anchors[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
		}
		for _, m := range anchor.FindAllStringSubmatch(string(data), -1) {
			anchors[m[1]] = true
		}
		pages[path], texts[path] = anchors, string(data)
	})
	followed := 0
	for page, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			to, fragment, _ := strings.Cut(m[1], "#")
			target := page
			if to != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), to))
			}
			anchors, ok := pages[target]
			switch {
			case !ok:
				t.Errorf("%s: link to %q: there is no such file", page, m[1])
			case fragment != "" && !anchors[fragment]:
				t.Errorf("%s: link to %q: there is no such heading", page, m[1])
			}
		}
	}
	if followed < 50 {
		t.Errorf("%d links were followed: are they written differently now?", followed)
	}
}
