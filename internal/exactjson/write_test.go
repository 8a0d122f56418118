// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package exactjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

func TestMarshal(t *testing.T) {
	v := map[string]any{"a": "<b> & \u2028\n", "c": []int{1}, "d": json.RawMessage(`{"e":">"}`)}
	const line = `{"a":"<b> & \u2028\n","c":[1],"d":{"e":">"}}`
	if b, err := exactjson.Marshal(v); string(b) != line || err != nil {
		t.Errorf("Marshal: %s, %v", b, err)
	}
	var w bytes.Buffer
	if err := exactjson.Write(&w, v); w.String() != line+"\n" || err != nil {
		t.Errorf("Write: %q, %v", w.String(), err)
	}
	if b, err := exactjson.MarshalIndent(map[string]any{"a": "<", "b": []int{1}}, " "); string(b) != "{\n \"a\": \"<\",\n \"b\": [\n  1\n ]\n}\n" || err != nil {
		t.Errorf("MarshalIndent: %q, %v", b, err)
	}
	if b := exactjson.Quote("<\"\xff>"); string(b) != `"<\"\ufffd>"` {
		t.Errorf("Quote: %s", b)
	}
}

// What cannot be encoded is not written in part.
func TestMarshalFails(t *testing.T) {
	v := []any{1, make(chan int)}
	if _, err := exactjson.Marshal(v); err == nil {
		t.Error("Marshal: no error")
	}
	var w bytes.Buffer
	if err := exactjson.Write(&w, v); err == nil || w.Len() > 0 {
		t.Errorf("Write: %q, %v", w.String(), err)
	}
	if err := exactjson.Write(refusing{}, 1); !errors.Is(err, errRefused) {
		t.Errorf("Write: %v", err)
	}
}

var errRefused = errors.New("refused")

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errRefused }
