// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Standing is several tables compared, without ranks: a small suite cannot tell
// good models apart, and ranks would say that it does.
type Standing struct {
	Estimand Estimand
	// Best is the table with the highest pass rate. Tied are the others that
	// are not shown to differ from it, in the order given.
	Best string
	Tied []string
	// Pairs are all comparisons, in the order of the tables given, with p-values
	// adjusted over all of them.
	Pairs []Comparison
	// Uncompared are pairs that share too few data. They count as tied.
	Uncompared []Uncompared
	// LeftOut are tables of which nothing can be said.
	LeftOut []LeftOut
}

// Uncompared is a pair of tables that cannot be compared.
type Uncompared struct {
	A, B   string
	Reason string
}

// Rank compares each table with each other one, corrects the p-values by
// [Holm], and tells which are tied with the best.
func Rank(tables []Table, e Estimand, o *Options) (Standing, error) {
	s := Standing{Estimand: e}
	var in []Table
	var best float64
	names := map[string]bool{}
	for _, t := range tables {
		if names[t.Name] {
			return Standing{}, fmt.Errorf("two tables are called %q", t.Name)
		}
		names[t.Name] = true
		rate, err := t.PassRate(e, o)
		if errors.Is(err, ErrTooFew) {
			s.LeftOut = append(s.LeftOut, LeftOut{t.Name, err.Error()})
			continue
		}
		if err != nil {
			return Standing{}, err
		}
		if in = append(in, t); len(in) == 1 || rate.Value > best {
			s.Best, best = t.Name, rate.Value
		}
	}
	if len(in) == 0 {
		return Standing{}, fmt.Errorf("%w: none of %d tables has a pass rate for %s", ErrTooFew, len(tables), e)
	}
	for i, a := range in {
		for _, b := range in[i+1:] {
			c, err := Compare(a, b, e, o)
			if errors.Is(err, ErrTooFew) {
				s.Uncompared = append(s.Uncompared, Uncompared{a.Name, b.Name, err.Error()})
				continue
			}
			if err != nil {
				return Standing{}, err
			}
			s.Pairs = append(s.Pairs, c)
		}
	}
	Adjust(s.Pairs)
	worse := map[string]bool{}
	for _, c := range s.Pairs {
		switch {
		case c.Different && c.A == s.Best:
			worse[c.B] = true
		case c.Different && c.B == s.Best:
			worse[c.A] = true
		}
	}
	for _, t := range in {
		if t.Name != s.Best && !worse[t.Name] {
			s.Tied = append(s.Tied, t.Name)
		}
	}
	return s, nil
}

// Adjust corrects comparisons that are shown together, by [Holm]: it sets their
// Adjusted and Different.
func Adjust(pairs []Comparison) {
	p := make([]float64, len(pairs))
	for i, c := range pairs {
		p[i] = c.P
	}
	for i, adjusted := range holm(p) {
		pairs[i].Adjusted = adjusted
		pairs[i].decide()
	}
}

// Holm adjusts p-values of tests made together, so that the chance of any false
// alarm among them stays below the level: in ascending order the i-th of m is
// multiplied by m-i+1, and none is below one before it (Holm 1979). The result
// has the order given.
func Holm(p []float64) ([]float64, error) {
	for i, x := range p {
		if !(x >= 0 && x <= 1) {
			return nil, fmt.Errorf("p-value %d is %v: want 0 to 1", i+1, x)
		}
	}
	return holm(p), nil
}

func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	floor := 0.0
	for i, at := range order {
		floor = max(floor, min(1, p[at]*float64(len(p)-i)))
		out[at] = floor
	}
	return out
}
