// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// replacer takes out of a text what is not to be told.
type replacer interface{ Replace(s string) string }

// shapeless takes what has the known shape of a key out of texts. Requests say
// again what those before them said, and trials what other trials did: texts
// that have no key in them are known again.
type shapeless struct {
	secrets *redact.Redactor

	mu    sync.Mutex
	clean map[string]bool
	bytes int // of those texts
}

// What is kept of texts without a key: a long one is not likely to come again.
const (
	maxClean     = 1 << 20
	longestClean = 16 << 10
)

func newShapeless() (*shapeless, error) {
	r, err := redact.New(&redact.Rules{Users: []string{}, Places: []redact.Place{}})
	return &shapeless{secrets: r, clean: map[string]bool{}}, err
}

// Replace takes known shapes of keys out of a text.
func (s *shapeless) Replace(text string) string {
	const shortest = 8 // a password in a sentence is shorter than that, the sentence is not
	if len(text) < shortest || s.isClean(text) {
		return text
	}
	out := s.secrets.Text(text)
	if out == text {
		s.keep(text)
	}
	return out
}

func (s *shapeless) isClean(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean[text]
}

func (s *shapeless) keep(text string) {
	if len(text) > longestClean {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes += len(text); s.bytes > maxClean {
		clear(s.clean)
		s.bytes = len(text)
	}
	s.clean[strings.Clone(text)] = true
}

// keyless takes the keys of the endpoint out of texts.
type keyless []*withoutKey

// Replace takes the keys out of a text.
func (k keyless) Replace(s string) string {
	for _, one := range k {
		s = one.Replace(s)
	}
	return s
}

// findSecrets notes what is taken out of all that is told of a run: the keys of its
// endpoints, and what subjects and servers of scenarios are handed in secret.
func (r *runner) findSecrets(list []*scenarios.Scenario) (err error) {
	for _, s := range list {
		for _, subject := range r.subjectsOf(s) {
			r.handed = append(r.handed, subject.Secrets...)
		}
		r.handed = append(r.handed, serverSecrets(s, "")...)
	}
	slices.Sort(r.handed)
	r.handed = slices.Compact(r.handed)
	r.keyless, err = newKeyless(slices.Concat(r.allKeys(), r.handed)...)
	return err
}

// newKeyless returns what takes keys out of texts; nil where there is none to
// take out.
func newKeyless(keys ...string) (keyless, error) {
	var out keyless
	for _, key := range keys {
		one, err := newWithoutKey(key)
		if err != nil {
			return nil, err
		}
		if one != nil {
			out = append(out, one)
		}
	}
	return out, nil
}

// withoutKey takes one key out of texts.
type withoutKey struct {
	key, mark string
	whole     *strings.Replacer
	secrets   *redact.Redactor
}

// Replace takes the key out of a text, also where the text was cut inside it.
func (k *withoutKey) Replace(s string) string {
	s = k.secrets.Spread(k.whole.Replace(s))
	const cut = "…"
	parts := strings.Split(s, cut)
	for i := range len(parts) - 1 {
		head, tail := strings.TrimRight(parts[i], " "), strings.TrimLeft(parts[i+1], " ")
		for n := len(k.key) - 1; n >= redact.MinLiteral; n-- {
			if rest, ok := strings.CutSuffix(head, k.key[:n]); ok {
				parts[i] = rest + k.mark + parts[i][len(head):]
				break
			}
		}
		for n := len(k.key) - 1; n >= redact.MinLiteral; n-- {
			if rest, ok := strings.CutPrefix(tail, k.key[len(k.key)-n:]); ok {
				parts[i+1] = parts[i+1][:len(parts[i+1])-len(tail)] + k.mark + rest
				break
			}
		}
	}
	return strings.Join(parts, cut)
}

// newWithoutKey returns what takes a key out of texts; nil for one that is too
// short to look for.
func newWithoutKey(apiKey string) (*withoutKey, error) {
	if len(apiKey) < redact.MinLiteral {
		return nil, nil
	}
	r, err := redact.New(&redact.Rules{Literals: []string{apiKey}, Users: []string{}, Places: []redact.Place{}})
	if err != nil {
		return nil, err
	}
	mark := string(r.Request(vcr.Request{Body: []byte(apiKey)}).Body)
	forms := redact.Forms(apiKey)
	for _, html := range []bool{false, true} {
		text := apiKey
		for range maxQuoted {
			if text, err = inJSON(text, html); err != nil {
				return nil, err
			}
			forms = append(forms, text, strings.ReplaceAll(text, "/", `\/`))
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, mark)
	}
	return &withoutKey{apiKey, mark, strings.NewReplacer(pairs...), r}, nil
}

// maxQuoted is how often JSON may be in a string of JSON: a tool's result in
// its text in an exchange.
const maxQuoted = 4

// inJSON is a text as it stands in a string of JSON.
func inJSON(text string, html bool) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(html)
	err := enc.Encode(text)
	quoted := strings.TrimSuffix(out.String(), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`), err
}

// withoutKeys takes the API key out of what is told of a trial: an endpoint, a
// model and a tool may repeat it. So it does with what has the known shape of a
// key, unless that is to be seen. Names of trials and files stay.
func (t *trial) withoutKeys(rec trials.Record, detail trials.Detail) (trials.Record, trials.Detail) {
	cassette, changed := rec.Cassette, false
	take := func(r replacer) {
		rec, _ = replaced(r, rec)
		var did bool
		detail, did = replaced(r, detail)
		changed = changed || did
	}
	if t.keyless != nil {
		take(t.keyless)
	}
	if !t.opts.ShowSecrets && t.project(t.scenario).Redact.Runs {
		take(t.shapeless)
	}
	rec.Cassette = cassette
	if changed && detail.Played != nil {
		played := *detail.Played
		played.Redacted, detail.Played = true, &played
	}
	return rec, detail
}

func replaced[T any](r replacer, v T) (_ T, changed bool) {
	out, changed := replaceIn(r, reflect.ValueOf(&v).Elem())
	return out.Interface().(T), changed
}

// replaceIn returns v with each text in it replaced, and whether that changed
// anything. v itself stays as it is.
func replaceIn(r replacer, v reflect.Value) (_ reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		switch v.Type() {
		case reflect.TypeFor[string](), reflect.TypeFor[harness.Role](), reflect.TypeFor[harness.StopReason]():
		default:
			return v, false // our own word, such as an outcome, which a key may be too
		}
		if s := r.Replace(v.String()); s != v.String() {
			return reflect.ValueOf(s).Convert(v.Type()), true
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		item, ok := replaceIn(r, v.Elem())
		if !ok || v.Kind() == reflect.Interface {
			return item, ok
		}
		out := reflect.New(item.Type())
		out.Elem().Set(item)
		return out, true
	case reflect.Struct:
		return replaceInStruct(r, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if s := r.Replace(string(v.Bytes())); s != string(v.Bytes()) {
				return reflect.ValueOf([]byte(s)).Convert(v.Type()), true
			}
			return v, false
		}
		out := v
		for i := range v.Len() {
			if item, ok := replaceIn(r, v.Index(i)); ok {
				if !changed {
					out, changed = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
					reflect.Copy(out, v)
				}
				out.Index(i).Set(item)
			}
		}
		return out, changed
	case reflect.Map:
		if v.IsNil() {
			return v, false
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, item := range v.Seq2() {
			k, inKey := replaceIn(r, k)
			item, inItem := replaceIn(r, item)
			out.SetMapIndex(k, item)
			changed = changed || inKey || inItem
		}
		if changed {
			return out, true
		}
	}
	return v, false
}

func replaceInStruct(r replacer, v reflect.Value) (_ reflect.Value, changed bool) {
	switch v.Type() {
	case reflect.TypeFor[trials.Key](), reflect.TypeFor[harness.Position]():
		return v, false
	}
	out := v
	for i := range v.NumField() {
		if !v.Field(i).CanInterface() {
			continue
		}
		if field, ok := replaceIn(r, v.Field(i)); ok {
			if !changed {
				out, changed = reflect.New(v.Type()).Elem(), true
				out.Set(v)
			}
			out.Field(i).Set(field)
		}
	}
	return out, changed
}
