// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// parrot is a model that says what it was told.
type parrot struct{}

func (parrot) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	text := req.Messages[len(req.Messages)-1].Text
	return func(yield func(model.Event, error) bool) {
		if yield(model.TextDelta{Text: text}, nil) {
			yield(model.Done{Message: harness.Message{Role: harness.RoleAssistant, Text: text}, FinishReason: "stop"}, nil)
		}
	}
}

func ExampleModel() {
	var m model.Model = parrot{}
	request := &model.Request{Messages: []harness.Message{{Role: harness.RoleUser, Text: "Hello"}}}
	for event, err := range m.Generate(context.Background(), request) {
		if done, ok := event.(model.Done); ok && err == nil {
			fmt.Println(done.Message.Text)
		}
	}
	// Output: Hello
}

func TestErrorText(t *testing.T) {
	cause := errors.New("connection refused")
	for _, tc := range []struct {
		name string
		err  *model.Error
		want string
	}{
		{"all", &model.Error{Kind: model.KindServer, Status: 502, Message: "busy", Err: cause, Attempts: 3}, "server (HTTP 502): busy: connection refused (after 3 attempts)"},
		{"kind alone", &model.Error{Kind: model.KindEmpty, Attempts: 1}, "empty"},
		{"miss, whole", &model.Error{Kind: model.KindMiss, Status: 422, Message: "want\n  got"}, "miss (HTTP 422): want\n  got"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if !errors.Is(&model.Error{Err: cause}, cause) {
		t.Error("the cause is hidden")
	}
}
