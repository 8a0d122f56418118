// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package filepos has errors that know where in a file they belong, so that
// nobody reads the place back out of a message.
//
//	err := filepos.Errorf(harness.Position{File: "a.yaml", Line: 3}, "no such key")
//	fmt.Println(err)             // a.yaml:3: no such key
//	fmt.Println(filepos.Of(err)) // a.yaml:3
package filepos

import (
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
)

// Error is what is wrong at a place in a file. Its message begins with the
// place.
type Error struct {
	Pos harness.Position
	Err error
}

// Errorf is [fmt.Errorf] for an error at a place.
func Errorf(pos harness.Position, format string, args ...any) error {
	return &Error{pos, fmt.Errorf(format, args...)}
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// marked is an error whose message leaves its place to others.
type marked struct {
	pos harness.Position
	error
}

func (e *marked) Unwrap() error { return e.error }

// Mark is err, of which [Of] knows the place. The message does not name it.
func Mark(pos harness.Position, err error) error {
	if pos.IsZero() {
		return err
	}
	return &marked{pos, err}
}

// Of returns the place that an error is about; zero when it is not known.
func Of(err error) harness.Position {
	if at := (*Error)(nil); errors.As(err, &at) {
		return at.Pos
	}
	if at := (*marked)(nil); errors.As(err, &at) {
		return at.pos
	}
	return harness.Position{}
}

// Bare returns the message of an error without the place that it begins with.
func Bare(err error) string {
	if at, ok := err.(*Error); ok { //nolint:errorlint // the message of another begins otherwise
		err = at.Err
	}
	return err.Error()
}

// Told is a message with its place before it, where that is known.
func Told(pos harness.Position, msg string) string {
	if pos.IsZero() {
		return msg
	}
	return pos.String() + ": " + msg
}

// joined is what [errors.Join] makes.
type joined interface{ Unwrap() []error }

// All returns the errors that one was joined of, or the one.
func All(err error) []error {
	if list, ok := err.(joined); ok {
		return list.Unwrap()
	}
	return []error{err}
}
