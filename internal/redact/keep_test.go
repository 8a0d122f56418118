// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestKeep: places that are to be kept are written as they came, but for what
// is known to be secret, and nothing else is.
func TestKeep(t *testing.T) {
	const pw = "hunter2024"
	for _, tt := range []struct {
		name string
		keep []string
		body string
		want []string // parts that are gone; none: all of it stays
	}{
		{"a name, at any depth", []string{"password"}, `{"password":"` + pw + `","a":[{"password":"` + pw + `"}]}`, nil},
		{"another name", []string{"passphrase"}, `{"password":"` + pw + `"}`, []string{pw}},
		{"a path", []string{"a.token"}, `{"a":{"token":"` + pw + `"},"token":"x` + pw + `"}`, []string{"x" + pw}},
		{"a path as a message says it", []string{"request body a.token"}, `{"a":{"token":"` + pw + `"}}`, nil},
		{"a path of an answer", []string{"response body a.token"}, `{"a":{"token":"` + pw + `"}}`, nil},
		{"an index", []string{"passwords[1]"}, `{"passwords":["x` + pw + `","` + pw + `"]}`, []string{"x" + pw}},
		{"any index", []string{"passwords[*]"}, `{"passwords":["x` + pw + `","` + pw + `"]}`, nil},
		{"all below it", []string{"a"}, `{"a":{"token":"` + pw + `","b":["` + githubKey + `"]},"c":"` + awsKey + `"}`, []string{awsKey}},
		{"an array below a secret name", []string{"passwords[0]"}, `{"passwords":["` + pw + `",{"n":"x` + pw + `"}]}`, []string{"x" + pw}},
		{"numbers in an array below a secret name", []string{"passwords[*]"}, `{"passwords":[48151623,"` + pw + `"]}`, nil},
		{"a literal in it", []string{"note"}, `{"note":"it is Tr0ub4dor/&3 \"quoted\" and ` + githubKey + `"}`, []string{"Tr0ub4dor"}},
		{"a person in it", []string{"note"}, `{"note":"mail rstevens, ` + githubKey + `"}`, []string{"rstevens"}},
		{"a shape", []string{"note"}, `{"note":"` + githubKey + `","other":"` + skKey + `"}`, []string{skKey}},
		{"in events", []string{"note"}, "data: {\"note\":\"" + githubKey + "\"}\n\ndata: {\"other\":\"" + skKey + "\"}\n\n", []string{skKey}},
		{"over lines", []string{"note"}, "{\n \"note\":\n  \"" + githubKey + "\"\n}", nil},
		{"split over events", []string{"delta"}, "data: {\"delta\":\"" + githubKey[:9] + "\"}\n\ndata: {\"delta\":\"" + githubKey[9:] + "\"}\n\n", nil},
		{"split over events, a person", []string{"delta"}, "data: {\"delta\":\"rste\"}\n\ndata: {\"delta\":\"vens \"}\n\n", []string{"vens"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with := rules()
			with.Keep = tt.keep
			r := newRedactor(t, with)
			asked := post(tt.body)
			if strings.HasPrefix(tt.body, "data:") {
				asked.Request.Header.Set("Content-Type", "text/event-stream")
			}
			i := r.Interaction(asked)
			got := string(i.Request.Body)
			if tt.want == nil && got != tt.body {
				t.Errorf("%s\nbecomes\n%s", tt.body, got)
			}
			for _, gone := range tt.want {
				if strings.Contains(got, gone) || strings.Count(got, markStart) < 1 {
					t.Errorf("%s is still in %s", gone, got)
				}
			}
			if kept := strings.Contains(tt.body, githubKey); kept != strings.Contains(got, githubKey) {
				t.Errorf("what was to be kept is gone from %s", got)
			}
			for _, f := range r.Scan((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode()) {
				t.Errorf("found in it: %s", f)
			}
			// The scan of another, who keeps nothing, sees what was kept.
			plain := newRedactor(t, rules()).Scan((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode())
			if found := slices.ContainsFunc(plain, func(f Finding) bool { return !f.Guess }); found != strings.Contains(got, pw) && !strings.Contains(got, githubKey) && !strings.HasPrefix(tt.name, "split") {
				t.Errorf("who keeps nothing finds %v in %s", plain, got)
			}
		})
	}
	if _, err := New(&Rules{Keep: []string{"a[b"}}); err == nil || !strings.HasPrefix(err.Error(), "paths to keep: ") {
		t.Errorf("a path that is none: %v", err)
	}
}

// TestPlaces: a finding is told with its place, as it is to be kept.
func TestPlaces(t *testing.T) {
	for want, i := range map[string]*vcr.Interaction{
		"request body a.b[1]":        post(`{"a":{"b":["x","` + githubKey + `"]}}`),
		`request body ["a.b"].c`:     post(`{"a.b":{"c":"` + githubKey + `"}}`),
		`request body [""]`:          post(`{"":"` + githubKey + `"}`),
		"request body [1]":           post(`["x","` + githubKey + `"]`),
		"request body":               post("text " + githubKey),
		"response body delta":        sse("data: {\"a\":1}\n\ndata: {\"delta\":\"" + githubKey + "\"}\n\n"),
		"request header User-Agent":  header("User-Agent", "x "+githubKey),
		"response header Request-Id": with(func(i *vcr.Interaction) { i.Response.Header["Request-Id"] = []string{"a", githubKey} }),
		"address":                    at("https://h.example/" + githubKey),
		"":                           with(func(i *vcr.Interaction) { i.Meta.Label = githubKey }),
	} {
		_, left := newRedactor(t, rules()).Review([]*vcr.Interaction{post("{}"), i})
		if len(left) == 0 || left[0].Place != want || left[0].Interaction != 2 {
			t.Errorf("%q: got %+v", want, left)
		}
	}
}

// TestMaskInTheSamePlace: what is found is replaced where it stands; what
// cannot be is taken out with all around it.
func TestMaskInTheSamePlace(t *testing.T) {
	finding := func(secret string) []Finding { return []Finding{{Rule: "header", secret: []byte(secret)}} }
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	mark := r.mark("header", odd)
	i := with(func(i *vcr.Interaction) {
		i.Request.URL, i.Request.Header["User-Agent"], i.Request.Body = "https://h/"+odd, []string{"a", odd}, []byte("x "+odd+" y")
		i.Response.Status, i.Response.Header["Etag"], i.Response.Trailer = "200 "+odd, []string{odd}, map[string][]string{"X-T": {odd}}
		i.Response.Body, i.Meta.Error = []byte(odd+"z"), "no "+odd
		i.Meta.Chunks = []vcr.Chunk{{Size: 3}, {Size: len(odd) - 2}}
	})
	got := r.Mask(i, finding(odd))
	want := []string{"https://h/" + mark, mark, "x " + mark + " y", "200 " + mark, mark, mark, mark + "z", "no " + mark}
	have := []string{got.Request.URL, got.Request.Header["User-Agent"][1], string(got.Request.Body), got.Response.Status, got.Response.Header["Etag"][0], got.Response.Trailer["X-T"][0], string(got.Response.Body), got.Meta.Error}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]vcr.Chunk{{Size: len(mark)}, {Size: 1}}, got.Meta.Chunks); d != "" {
		t.Errorf("chunks (-want +got):\n%s", d)
	}
	if i.Request.Header["User-Agent"][1] != odd || string(i.Request.Body) != "x "+odd+" y" {
		t.Error("the exchange itself was changed")
	}
	if same := r.Mask(post("{}"), finding(odd)); string(same.Request.Body) != "{}" {
		t.Errorf("an exchange without it becomes %s", same.Request.Body)
	}
	if one := r.Mask(post("a b"), finding("a")); string(one.Request.Body) != "a b" {
		t.Errorf("a finding of one byte is replaced: %s", one.Request.Body)
	}
	quoted := r.Mask(post(`{"a":"x\"y\\z is it"}`), finding(`x"y\z is it`))
	if got := string(quoted.Request.Body); strings.Contains(got, "is it") {
		t.Errorf("what stands in JSON becomes %s", got)
	}
	// In a form that cannot be replaced.
	hidden := post(`{"a":"` + b64("the key is "+skKey) + `"}`)
	hidden.Response.Body = nil
	masked := r.Mask(hidden, finding(skKey))
	if body := string(masked.Request.Body); !strings.HasPrefix(body, markStart+"whole-") || len(masked.Response.Body) != 0 || masked.Request.URL != hidden.Request.URL {
		t.Errorf("what is hidden becomes %q, %q, %q", masked.Request.URL, body, masked.Response.Body)
	}
}

// TestTellPeople: a text that people are told of a conversation loses keys, and
// no words.
func TestTellPeople(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	for text, want := range map[string]string{
		`{"password":"word","token":"` + "hunter2024" + `"}`: `{"password":"word","token":"` + r.mark("json", "hunter2024") + `"}`,
		`{"otp":48151623}`:          `{"otp":48151623}`,
		"use " + githubKey + " now": "use " + r.mark("github", githubKey) + " now",
		"zq9fK2mXv7LpQ4tRw8YbN3cJ6": "zq9fK2mXv7LpQ4tRw8YbN3cJ6",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%s\nis told as %s\nwant %s", text, got, want)
		}
	}
}
