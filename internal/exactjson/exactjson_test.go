// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package exactjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	Task string          `json:"task"` // with a k and an s, which have odd letters beside them
}

type base struct {
	ID int `json:"id"`
}

type reply struct {
	base
	Calls []call          `json:"calls"`
	One   *call           `json:"one"`
	Named map[string]call `json:"named"`
	Any   any             `json:"any"`
	Plain string
	Next  *reply `json:"next"`
}

func ExampleUnmarshal() {
	var c struct {
		Name string `json:"name"`
	}
	_ = exactjson.Unmarshal([]byte(`{"name": "delete", "Name": "safe"}`), &c)
	fmt.Println(c.Name)
	// Output: delete
}

func TestUnmarshal(t *testing.T) {
	for _, tt := range []struct{ name, in, same string }{
		{"nothing odd", `{"calls":[{"name":"a","args":{"Name":"x"}}]}`, `{"calls":[{"name":"a","args":{"Name":"x"}}]}`},
		{"another case behind", `{"calls":[{"name":"a"}],"Calls":[{"name":"b"}]}`, `{"calls":[{"name":"a"}]}`},
		{"another case alone", `{"CALLS":[{"name":"b"}],"ID":5}`, `{}`},
		{"another case inside", `{"calls":[{"name":"a","NAME":"b"}]}`, `{"calls":[{"name":"a"}]}`},
		{"in a map", `{"named":{"Name":{"name":"a","Name":"b"}}}`, `{"named":{"Name":{"name":"a"}}}`},
		{"in a pointer", `{"one":{"Name":"b","name":"a"}}`, `{"one":{"name":"a"}}`},
		{"embedded", `{"id":1,"Id":2}`, `{"id":1}`},
		{"in itself", `{"next":{"next":{"id":1,"ID":2}}}`, `{"next":{"next":{"id":1}}}`},
		{"without a tag", `{"Plain":"a","plain":"b"}`, `{"Plain":"a"}`},
		{"odd letters", `{"calls":[{"task":"a","taſk":"b","tas\u212a":"c"}]}`, `{"calls":[{"task":"a"}]}`},
		{"escaped and exact", `{"c\u0061lls":[{"name":"a"}]}`, `{"calls":[{"name":"a"}]}`},
		{"escaped and not", `{"calls":[{"name":"a"}],"\u0043alls":[]}`, `{"calls":[{"name":"a"}]}`},
		{"objects are not merged", `{"one":{"name":"a"},"one":{"args":1}}`, `{"one":{"args":1}}`},
		{"lists are not merged", `{"calls":[{"name":"a"}],"calls":[{"args":1}]}`, `{"calls":[{"args":1}]}`},
		{"the last is null", `{"Plain":"a","Plain":null}`, `{}`},
		{"raw parts as they are", `{"calls":[{"args": {"Calls" : 1, "calls":2} ,"Args":1}]}`, `{"calls":[{"args": {"Calls" : 1, "calls":2} }]}`},
		{"any parts as they are", `{"any":{"Calls":1,"calls":2}}`, `{"any":{"Calls":1,"calls":2}}`},
		{"empty names", `{"":1,"calls":[]}`, `{"calls":[]}`},
		{"quotes and brackets in texts", `{"Plain":"}]\"\\","plain":"{\\"}`, `{"Plain":"}]\"\\"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got, want reply
			before := strings.Clone(tt.in)
			data := []byte(tt.in)
			if err := exactjson.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if string(data) != before {
				t.Errorf("what was read has changed: %s", data)
			}
			if err := json.Unmarshal([]byte(tt.same), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzUnmarshal reads a call in another way, over a map of its members.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{`{"name":"a","Name":"b","args":[1,{"x":"}"}],"TASK":null}`, `{"name":"a","name":5}`, `[]`, `null`, `{"na\u006de":"x"}`, `{"name":"\\\"","NAME":1}`, `{`, `{"a":1,}`, `{"name":"a"}}`, "{\"n\xffame\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want call
		err := exactjson.Unmarshal(data, &got)
		if !json.Valid(data) {
			if err == nil {
				t.Fatalf("%q is no JSON and was read", data)
			}
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			if err == nil {
				t.Fatalf("%q is no object and was read", data)
			}
			return
		}
		failed := false
		for name, to := range map[string]any{"name": &want.Name, "args": &want.Args, "task": &want.Task} {
			if raw, ok := members[name]; ok && json.Unmarshal(raw, to) != nil {
				failed = true
			}
		}
		if failed != (err != nil) {
			t.Fatalf("%q: error %v, want one: %v", data, err, failed)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatalf("%q (-want +got):\n%s", data, diff)
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	data := []byte(`{"id":17,"object":"x","Plain":"` + strings.Repeat("a word ", 100) + `","calls":[{"name":"get_weather","args":{"city":"Paris"}}]}`)
	for name, read := range map[string]func([]byte, any) error{"exact": exactjson.Unmarshal, "json": json.Unmarshal} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var r reply
				if err := read(data, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
