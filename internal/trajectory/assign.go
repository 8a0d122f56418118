// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trajectory

import "math"

// Assign pairs rows with columns, one to one, at the least total cost. It
// returns the column of each row, or -1. A cost of +Inf forbids a pair;
// otherwise as many rows as possible get a column.
func Assign(cost [][]float64) []int {
	rows := len(cost)
	if rows == 0 {
		return nil
	}
	cols := len(cost[0])
	n := max(rows, cols)
	// A forbidden pair costs more than all allowed ones together, and so
	// does a padding cell, which stands for "unpaired".
	forbidden := 1.0
	for _, row := range cost {
		for _, c := range row {
			if !math.IsInf(c, 1) {
				forbidden += math.Abs(c)
			}
		}
	}
	at := func(r, c int) float64 {
		if r >= rows || c >= cols || math.IsInf(cost[r][c], 1) {
			return forbidden
		}
		return cost[r][c]
	}
	row := hungarian(n, at)
	out := make([]int, rows)
	for r := range out {
		out[r] = -1
	}
	for c := range cols {
		if r := row[c]; r < rows && !math.IsInf(cost[r][c], 1) {
			out[r] = c
		}
	}
	return out
}

// hungarian solves the square assignment problem by shortest augmenting
// paths in O(n^3), and returns the row of each column. Rows and columns count
// from 1 inside, with 0 as the root of each path.
func hungarian(n int, cost func(r, c int) float64) []int {
	rowPotential := make([]float64, n+1)
	colPotential := make([]float64, n+1)
	rowOf := make([]int, n+1)
	for r := 1; r <= n; r++ {
		rowOf[0] = r
		slack := make([]float64, n+1)
		prev := make([]int, n+1)
		done := make([]bool, n+1)
		for c := range slack {
			slack[c] = math.Inf(1)
		}
		c0 := 0
		for rowOf[c0] != 0 {
			done[c0] = true
			delta, next := math.Inf(1), 0
			for c := 1; c <= n; c++ {
				if done[c] {
					continue
				}
				reduced := cost(rowOf[c0]-1, c-1) - rowPotential[rowOf[c0]] - colPotential[c]
				if reduced < slack[c] {
					slack[c], prev[c] = reduced, c0
				}
				if slack[c] < delta {
					delta, next = slack[c], c
				}
			}
			for c := range done {
				if done[c] {
					rowPotential[rowOf[c]] += delta
					colPotential[c] -= delta
				} else {
					slack[c] -= delta
				}
			}
			c0 = next
		}
		for c0 != 0 {
			rowOf[c0] = rowOf[prev[c0]]
			c0 = prev[c0]
		}
	}
	out := make([]int, n)
	for c := range out {
		out[c] = rowOf[c+1] - 1
	}
	return out
}
