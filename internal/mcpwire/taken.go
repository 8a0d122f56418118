// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import "context"

// OnTaken has f called when [Taken] is, with the context that is returned or with
// one of it. Whoever makes several calls at once begins the next one then, so that
// the server has them in that order.
func OnTaken(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, takenKey{}, f)
}

// Taken says that a request has its place in the order of the server, or that
// nobody need wait for that. It may be said several times.
func Taken(ctx context.Context) {
	if f, ok := ctx.Value(takenKey{}).(func()); ok {
		f()
	}
}

// AwaitsTaken reports whether anybody wants to know when a request is taken.
func AwaitsTaken(ctx context.Context) bool { return ctx.Value(takenKey{}) != nil }

type takenKey struct{}
