// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/key"
)

func jsonKey(body string) *key.Key {
	return key.Of("POST", "http://127.0.0.1:8000/v1/chat/completions", http.Header{"Content-Type": {"application/json"}}, []byte(body), nil)
}

func TestSame(t *testing.T) {
	multipart := func(boundary string) *key.Key {
		body := "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--B--\r\n"
		return key.Of("POST", "/v1/files", http.Header{"Content-Type": {"multipart/form-data; boundary=" + boundary}}, []byte(strings.ReplaceAll(body, "B", boundary)), nil)
	}
	form := func(body string) *key.Key {
		return key.Of("POST", "/token", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(body), nil)
	}
	tests := []struct {
		name string
		a, b *key.Key
		same bool
	}{
		{"order of keys", jsonKey(`{"a":1,"b":{"c":2,"d":3}}`), jsonKey(`{"b":{"d":3,"c":2},"a":1}`), true},
		{"blanks", jsonKey(`{"a": 1}`), jsonKey(`{"a":1}` + "\n"), true},
		{"spelling of a number", jsonKey(`{"a":1.0}`), jsonKey(`{"a":1}`), true},
		{"long id", jsonKey(`{"a":12345678901234567890}`), jsonKey(`{"a":12345678901234567891}`), false},
		{"user and seed", jsonKey(`{"a":1,"user":"x","seed":1}`), jsonKey(`{"a":1,"user":"y"}`), true},
		{"seed of Gemini", jsonKey(`{"a":1,"generationConfig":{"seed":1}}`), jsonKey(`{"a":1}`), true},
		{"settings of Gemini", jsonKey(`{"a":1,"generationConfig":{"seed":1,"topK":2}}`), jsonKey(`{"a":1}`), false},
		{"nothing, and an empty object", jsonKey(`{"a":{}}`), jsonKey(`{}`), false},
		{"a user within", jsonKey(`{"a":{"user":"x"}}`), jsonKey(`{"a":{"user":"y"}}`), false},
		{"cache control anywhere", jsonKey(`{"m":[{"cache_control":{"type":"ephemeral"},"t":1}]}`), jsonKey(`{"m":[{"t":1}]}`), true},
		{
			"ids of calls",
			jsonKey(`{"messages":[{"tool_calls":[{"id":"call_a","type":"function","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"call_a"}]}`),
			jsonKey(`{"messages":[{"tool_calls":[{"id":"call_z","type":"function","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"call_z"}]}`), true,
		},
		{
			"ids that are crossed",
			jsonKey(`{"m":[{"id":"a","type":"tool_use"},{"id":"b","type":"tool_use"},{"tool_use_id":"a"},{"tool_use_id":"b"}]}`),
			jsonKey(`{"m":[{"id":"a","type":"tool_use"},{"id":"b","type":"tool_use"},{"tool_use_id":"b"},{"tool_use_id":"a"}]}`), false,
		},
		{"an id that is no call's", jsonKey(`{"m":{"id":"a"}}`), jsonKey(`{"m":{"id":"b"}}`), false},
		{"order of tools", jsonKey(`{"tools":[{"name":"a"},{"name":"b"}]}`), jsonKey(`{"tools":[{"name":"b"},{"name":"a"}]}`), true},
		{"order of messages", jsonKey(`{"messages":[1,2]}`), jsonKey(`{"messages":[2,1]}`), false},
		{"boundary", multipart("abc"), multipart("xyz"), true},
		{"form", form("b=2&a=1"), form("a=1&b=2"), true},
		{"form value", form("a=1"), form("a=2"), false},
		{"query order, host, slash", key.Of("GET", "http://a:1/x/?b=2&a=1", nil, nil, nil), key.Of("get", "http://b:2/x?a=1&b=2", nil, nil, nil), true},
		{"escapes in a path", key.Of("GET", "/x%2fy", nil, nil, nil), key.Of("GET", "/x%2Fy", nil, nil, nil), true},
		{"a slash that is escaped", key.Of("GET", "/x%2Fy", nil, nil, nil), key.Of("GET", "/x/y", nil, nil, nil), false},
		{"query with a semicolon", key.Of("GET", "/x?a=1;b=2", nil, nil, nil), key.Of("GET", "/x?a=1;b=3", nil, nil, nil), false},
		{"query that is escaped wrongly", key.Of("GET", "/x?a=%zz", nil, nil, nil), key.Of("GET", "/x?a=%zy", nil, nil, nil), false},
		{"the same", key.Of("GET", "/x?c=1&a=%zz", nil, nil, nil), key.Of("GET", "/x?a=%zz&c=1", nil, nil, nil), true},
		{"bytes that are no text", jsonKey("{\"a\":\"\xff\"}"), jsonKey("{\"a\":\"\xfe\"}"), false},
		{"the same bytes", jsonKey("{\"b\":1,\"a\":\"\xff\"}"), jsonKey("{\"a\":\"\xff\",\"b\":1}"), true},
		{"half a character", jsonKey(`{"a":"\ud800"}`), jsonKey(`{"a":"\ud801"}`), false},
		{"the same half", jsonKey(`{"a":"\ud80A","user":"x"}`), jsonKey(`{"a":"\uD80a"}`), true},
		{"the other half", jsonKey(`{"a":"\ud83d\ude00\ude00"}`), jsonKey(`{"a":"\ud83d\ude00\ude01"}`), false},
		{"a whole character", jsonKey(`{"a":"\ud83d\ude00"}`), jsonKey(`{"a":"😀"}`), true},
		{"a backslash before letters", jsonKey(`{"a":"\\ud800"}`), jsonKey(`{"a":"\u005cud800"}`), true},
		{"form of bytes", form("a=%ff"), form("a=%fe"), false},
		{"form of the same bytes", form("b=1&a=%ff"), form("a=%FF&b=1"), true},
		{"query", key.Of("GET", "/x?a=1", nil, nil, nil), key.Of("GET", "/x?a=2", nil, nil, nil), false},
		{"method", key.Of("GET", "/x", nil, nil, nil), key.Of("DELETE", "/x", nil, nil, nil), false},
		{"text", key.Of("POST", "/x", nil, []byte("a"), nil), key.Of("POST", "/x", nil, []byte("b"), nil), false},
		{"an empty body and none", key.Of("POST", "/x", nil, []byte(" "), nil), key.Of("POST", "/x", nil, nil, nil), true},
		{"absent and null", jsonKey(`{"a":null}`), jsonKey(`{}`), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if same := test.a.ID == test.b.ID; same != test.same {
				t.Errorf("same = %v, want %v", same, test.same)
			}
			if diff := key.Diff(test.a, test.b); (len(diff) == 0) != test.same {
				t.Errorf("Diff says %v", diff)
			}
		})
	}
}

// TestEqualCalls has the results of two calls under each other's ids, in the
// words of each dialect: that is the same request where the calls are equal.
func TestEqualCalls(t *testing.T) {
	bodies := map[string]string{
		"chat": `{"messages":[{"role":"assistant","tool_calls":[
			{"id":"x","type":"function","function":{"name":"f","arguments":"A"}},{"id":"y","index":1,"type":"function","function":{"name":"f","arguments":"B"}}]},
			{"role":"tool","tool_call_id":"x","content":"one"},{"role":"tool","tool_call_id":"y","content":"two"}]}`,
		"messages": `{"messages":[{"role":"assistant","content":[{"type":"text","text":"Hm"},{"type":"tool_use","id":"x","name":"f","input":A},{"type":"tool_use","id":"y","name":"f","input":B}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"one"},{"type":"tool_result","tool_use_id":"y","content":"two"}]}]}`,
		"responses": `{"input":[{"type":"function_call","id":"fc_x","call_id":"x","name":"f","arguments":"A"},{"type":"function_call","id":"fc_y","call_id":"y","name":"f","arguments":"B"},
			{"type":"function_call_output","call_id":"x","output":"one"},{"type":"function_call_output","call_id":"y","output":"two"}]}`,
		"gemini": `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":A},"thoughtSignature":"s"},{"functionCall":{"name":"f","args":B}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":"one"}}},{"functionResponse":{"name":"f","response":{"r":"two"}}}]}]}`,
		"gemini with ids": `{"contents":[{"role":"model","parts":[{"functionCall":{"id":"x","name":"f","args":A}},{"functionCall":{"id":"y","name":"f","args":B}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"x","name":"f","response":{"r":"one"}}},{"functionResponse":{"id":"y","name":"f","response":{"r":"two"}}}]}]}`,
	}
	for name, body := range bodies {
		with := func(a, b string) *key.Key {
			args := strings.NewReplacer(`"A"`, fmt.Sprintf("%q", a), `"B"`, fmt.Sprintf("%q", b), "A", a, "B", b)
			return jsonKey(args.Replace(body))
		}
		crossed := func(a, b string) *key.Key {
			args := strings.NewReplacer(`"A"`, fmt.Sprintf("%q", a), `"B"`, fmt.Sprintf("%q", b), "A", a, "B", b, "one", "two", "two", "one")
			return jsonKey(args.Replace(body))
		}
		if with(`{"k":1}`, `{"k": 1}`).ID != crossed(`{"k":1}`, `{"k": 1}`).ID {
			t.Errorf("%s: equal calls with crossed results count as another request", name)
		}
		if with(`{"k":1}`, `{"k":2}`).ID == crossed(`{"k":1}`, `{"k":2}`).ID {
			t.Errorf("%s: different calls with crossed results count as the same request", name)
		}
		if with(`{"k":1}`, `{"k":1}`).ID == with(`{"k":1}`, `{"k":2}`).ID {
			t.Errorf("%s: other arguments count as the same request", name)
		}
	}
	// The order of the ids counts, as results go back in the order of the calls.
	chat := strings.NewReplacer("A", "{}", "B", "{}").Replace(bodies["chat"])
	turned := strings.NewReplacer(`"tool_call_id":"x"`, `"tool_call_id":"y"`, `"tool_call_id":"y"`, `"tool_call_id":"x"`)
	if jsonKey(chat).ID == jsonKey(turned.Replace(chat)).ID {
		t.Error("results in another order of the calls count as the same request")
	}
	// An endpoint that counts its calls anew in each reply.
	again := func(one, two string) *key.Key {
		return jsonKey(`{"messages":[{"tool_calls":[{"id":"0","function":{"name":"f","arguments":"{}"}},{"id":"1","function":{"name":"f","arguments":"{}"}}]},
			{"tool_call_id":"0","content":"a"},{"tool_call_id":"1","content":"b"},
			{"tool_calls":[{"id":"0","function":{"name":"f","arguments":"{}"}},{"id":"1","function":{"name":"g","arguments":"{}"}}]},
			{"tool_call_id":"0","content":"` + one + `"},{"tool_call_id":"1","content":"` + two + `"}]}`)
	}
	if again("c", "d").ID == again("d", "c").ID {
		t.Error("different calls count as equal where the ids were those of equal ones")
	}
}

func TestDiff(t *testing.T) {
	long := strings.Repeat("x", 300)
	a := jsonKey(`{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"user","content":"` + long + `a"}],"temperature":0}`)
	b := jsonKey(`{"model":"m","messages":[{"role":"user","content":"Hello"},{"role":"user","content":"` + long + `b"}],"top_p":1}`)
	var got []string
	for _, d := range key.Diff(a, b) {
		got = append(got, d.String())
	}
	want := []string{
		`body.messages[0].content: recorded "Hi", now "Hello"`,
		`body.messages[1].content: recorded …` + strings.Repeat("x", 20) + `a", now …` + strings.Repeat("x", 20) + `b"`,
		`body.temperature: recorded 0, now absent`,
		`body.top_p: not recorded, now 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReordered(t *testing.T) {
	got := key.Reordered(jsonKey(`{"tools":[{"type":"function","function":{"name":"a"}},{"name":"b"}]}`), jsonKey(`{"tools":[{"name":"b"},{"type":"function","function":{"name":"a"}}]}`))
	if want := "the tools come in another order: recorded a, b, now b, a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRules(t *testing.T) {
	rules := &key.Rules{Ignore: []string{"messages.0", "*.volatile"}, Also: []string{"**.date"}, IgnoreQuery: []string{"t"}}
	of := func(address, body string) *key.Key { return key.Of("POST", address, nil, []byte(body), rules) }
	a := of("/x?t=1", `{"messages":[1,2],"a":{"volatile":1,"deep":{"date":1}},"user":"x"}`)
	if b := of("/x?t=2", `{"messages":[9,2],"a":{"volatile":2,"deep":{"date":2}},"user":"x"}`); a.ID != b.ID {
		t.Errorf("differ: %v", key.Diff(a, b))
	}
	if b := of("/x", `{"messages":[1,2],"a":{"volatile":1,"deep":{"date":1}},"user":"y"}`); a.ID == b.ID {
		t.Error("the defaults count beside Ignore")
	}
}

func FuzzOf(f *testing.F) {
	f.Add("application/json", []byte(`{"messages":[{"tool_calls":[{"id":"a"}]}]}`))
	f.Add("multipart/form-data; boundary=b", []byte("--b\r\n\r\nx\r\n--b--"))
	f.Add("application/x-www-form-urlencoded", []byte("a=%zz"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		a := key.Of("POST", "http://x/y?z", http.Header{"Content-Type": {kind}}, body, nil)
		b := key.Of("POST", "http://x/y?z", http.Header{"Content-Type": {kind}}, body, nil)
		if a.ID != b.ID || key.Diff(a, b) != nil {
			t.Error("a request differs from itself")
		}
	})
}

func Example() {
	recorded := jsonKey(`{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "user": "ann"}`)
	now := jsonKey(`{"messages": [{"content": "Hello", "role": "user"}], "model": "gpt-4o"}`)
	for _, d := range key.Diff(recorded, now) {
		fmt.Println(d)
	}
	// Output: body.messages[0].content: recorded "Hi", now "Hello"
}

// TestPack: a packed key tells what it told before.
func TestPack(t *testing.T) {
	for _, body := range []string{`{"model":"m","messages":[{"role":"system","content":"Be brief."}],"n":1.50,"z":null}`, `[1,"a"]`, `text`, ``} {
		plain, packed := jsonKey(body), jsonKey(body)
		packed.Pack()
		other := jsonKey(`{"model":"m2"}`)
		if diff := key.Diff(plain, packed); len(diff) > 0 || packed.ID != plain.ID {
			t.Errorf("%s: it differs from itself: %v", body, diff)
		}
		if diff := cmp.Diff(key.Diff(plain, other), key.Diff(packed, other)); diff != "" {
			t.Errorf("%s (-plain +packed):\n%s", body, diff)
		}
		wantChat, wantOK := plain.Chat()
		if chat, ok := packed.Chat(); chat != wantChat || ok != wantOK {
			t.Errorf("%s: chat %v, %v, want %v, %v", body, chat, ok, wantChat, wantOK)
		}
	}
}
