// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import "slices"

// median is the median of a field.
func median[T any](list []T, field func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = field(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// medianRatio is the median of how a field is to that of another list, round
// by round.
func medianRatio[T any](list, of []T, field func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = field(v) / field(of[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
