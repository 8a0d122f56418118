// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

// TestMarkupEscapes holds markup to what html/template writes, in the two places
// where markup has texts.
func TestMarkupEscapes(t *testing.T) {
	tmpl := template.Must(template.New("").Parse(`<p title="{{.}}">{{.}}</p>`))
	texts := append(samplerun.Hostile(), hostile, "", "{}", "{{}}", "a\u2028b\ufeff\U0010ffff", "\xff\xfe <")
	for r := range rune(0x300) {
		texts = append(texts, string(r)+"a"+string(r))
	}
	for _, text := range texts {
		var want strings.Builder
		if err := tmpl.Execute(&want, text); err != nil {
			t.Fatal(err)
		}
		got := made(func(m *markup) { m.put(`<p title="{}">{}</p>`, text, text) })
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%q (-template +markup):\n%s", text, diff)
		}
	}
}

func TestMarkupPlaces(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		put        func(m *markup)
	}{
		{"too few texts", "a place without a text in {}{}", func(m *markup) { m.put("{}{}", "a") }},
		{"too many texts", "a text without a place in {}", func(m *markup) { m.put("{}", "a", "b") }},
		{"a place in a text", "<nil>", func(m *markup) { m.put("{}-{}", "{}", "{}") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); got != tt.want {
					t.Errorf("panic %q, want %q", got, tt.want)
				}
			}()
			made(tt.put)
		})
	}
}

// TestMarkupStands: whatever the texts of the views, elements and attributes are
// the same, and every text is read as it was.
func TestMarkupStands(t *testing.T) {
	views := map[string]func(m *markup, text string){
		"body": func(m *markup, text string) { m.body(filled[trialBody](text)) },
		"row":  func(m *markup, text string) { m.row(filled[trialView](text)) },
		"cell": func(m *markup, text string) { m.cell(filled[cellView](text)) },
	}
	for name, write := range views {
		t.Run(name, func(t *testing.T) {
			page := func(text string) (shape, texts []string) {
				return taken(t, string(made(func(m *markup) { write(m, text) })), text)
			}
			want, n := page("a text")
			for _, text := range append(samplerun.Hostile(), hostile) {
				text = clean(text) // as the views have it
				got, texts := page(text)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%q is more than a text (-want +got):\n%s", text, diff)
				}
				if len(texts) != len(n) {
					t.Errorf("%q is found in %d places, a plain text in %d", text, len(texts), len(n))
				}
			}
			if len(n) == 0 {
				t.Error("no text is shown")
			}
		})
	}
}

// filled is a view with one text in every place, one item in every list, and
// true for every question.
func filled[T any](text string) *T {
	var out T
	fill(reflect.ValueOf(&out).Elem(), text)
	return &out
}

func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[template.HTML]() {
			text = "" // it is markup already
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	default:
		panic("a view has a " + v.Kind().String())
	}
}

// taken reads markup: its elements with the names of their attributes, and the
// places where the text stands.
func taken(t *testing.T, page, text string) (shape, places []string) {
	note := func(place, s string) {
		if strings.Contains(s, text) {
			places = append(places, place)
		}
	}
	var open []string
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) || len(open) > 0 {
				t.Fatalf("%v; open: %q", z.Err(), open)
			}
			return shape, places
		case html.TextToken:
			note("text", z.Token().Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			line := tok.Data
			for _, a := range tok.Attr {
				line += " " + a.Key
				note(a.Key, a.Val)
			}
			shape = append(shape, line)
			if tok.Type == html.StartTagToken && !slices.Contains(voids, tok.Data) {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			name := z.Token().Data
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("</%s> closes %q", name, open)
			}
			open = open[:len(open)-1]
		default:
			t.Fatalf("%q in the page", z.Token())
		}
	}
}
