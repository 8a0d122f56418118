// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cues_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/internal/cues"
)

func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cues.New()
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- b.Hold(t.Context(), "go") }()
		}
		if err := b.AwaitHeld(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		b.Give("other")
		synctest.Wait()
		if len(done) > 0 {
			t.Error("another cue let it go")
		}
		b.Give("go")
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := b.Hold(t.Context(), "go"); err != nil { // given stays given
			t.Error(err)
		}
		if vain := b.InVain(); vain != nil {
			t.Errorf("%q was waited for in vain", vain)
		}
		b.Reset()
		if vain := b.InVain(); vain != nil {
			t.Errorf("after a reset, %q was waited for in vain", vain)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if err := b.Hold(ctx, "go"); !errors.Is(err, why) {
			t.Errorf("after a reset: %v", err)
		}
		if vain := b.InVain(); !slices.Equal(vain, []string{"go"}) {
			t.Errorf("%q was waited for in vain", vain)
		}
		if err := b.AwaitHeld(ctx, "go"); !errors.Is(err, why) {
			t.Errorf("nothing waits any more: %v", err)
		}
	})
}

func Example() {
	b := cues.New()
	b.Give("go")
	fmt.Println(b.Hold(context.Background(), "go"))
	// Output: <nil>
}
