// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
)

// echo is the smallest session: it repeats what it is told.
type echo struct{}

func (echo) Send(_ context.Context, text string) (*harness.TurnReport, error) {
	if text == "" {
		return nil, &harness.StopError{Reason: harness.StopEmptyReply, Detail: "nothing was said"}
	}
	return &harness.TurnReport{User: text, Answer: text}, nil
}

func (echo) Close() error { return nil }

func ExampleSubject() {
	var subject harness.Subject = harness.SubjectFunc(func(context.Context, *harness.Env) (harness.Session, error) {
		return echo{}, nil
	})
	ctx := context.Background()
	session, err := subject.Open(ctx, &harness.Env{Mode: harness.ModeMock})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	report, err := session.Send(ctx, "hello")
	fmt.Println(report.Answer, err)
	_, err = session.Send(ctx, "")
	fmt.Println(err)
	// Output:
	// hello <nil>
	// stopped (empty_reply): nothing was said
}
