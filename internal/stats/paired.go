// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Pairs are scenarios that two models A and B attempted once each.
type Pairs struct{ Both, OnlyA, OnlyB, Neither int }

// N is the number of pairs.
func (p Pairs) N() int { return p.Both + p.OnlyA + p.OnlyB + p.Neither }

// McNemar returns the exact p-value of the hypothesis that A and B pass equally
// often, and the mid-p value:
//
//	exact = min(1, 2·P(X ≤ min(b, c)))       X ~ Binomial(b+c, 1/2), b = OnlyA, c = OnlyB
//	mid-p = exact - P(X = min(b, c))         and 1 - P(X = b)/2 where b = c
//
// Use mid-p: exact is too cautious at the sizes of suites (McNemar 1947;
// Fagerland, Lydersen and Laake 2013). With no discordant pair both are 1.
func (p Pairs) McNemar() (exact, mid float64, err error) {
	if err := p.check(); err != nil {
		return 0, 0, err
	}
	exact, mid = mcNemar(p.OnlyA, p.OnlyB)
	return exact, mid, nil
}

func (p Pairs) check() error {
	if min(p.Both, p.OnlyA, p.OnlyB, p.Neither) < 0 {
		return fmt.Errorf("pairs %+v: want no number below 0", p)
	}
	if p.N() == 0 {
		return fmt.Errorf("%w: no pairs", ErrTooFew)
	}
	return nil
}

func mcNemar(b, c int) (exact, mid float64) {
	if b+c == 0 {
		return 1, 1
	}
	x := distuv.Binomial{N: float64(b + c), P: 0.5}
	least := float64(min(b, c))
	at := x.Prob(least)
	if b == c {
		return 1, 1 - at/2
	}
	exact = min(1, 2*x.CDF(least))
	return exact, exact - at
}

// Newcombe returns the interval for the difference of the pass rates of A and
// B, by his tenth method for pairs: Wilson's limits l and u of both rates,
// joined by the correlation φ of the pairs, with a correction for continuity.
//
//	low  = d - √((a-l_a)² - 2φ(a-l_a)(u_b-b) + (u_b-b)²)
//	high = d + √((u_a-a)² - 2φ(u_a-a)(b-l_b) + (b-l_b)²)       d = a - b, of rates a and b
//
// (Newcombe 1998, Statistics in Medicine 17, 2635-2650.)
func (p Pairs) Newcombe(level float64) (Interval, error) {
	if err := p.check(); err != nil {
		return Interval{}, err
	}
	if err := checkSure("level", level); err != nil {
		return Interval{}, err
	}
	n, z := float64(p.N()), normal(level)
	a, b := float64(p.Both+p.OnlyA)/n, float64(p.Both+p.OnlyB)/n
	return newcombe(a, b, wilson(a, n, z, level), wilson(b, n, z, level), p.phi()), nil
}

// phi is the correlation of pairs, corrected for continuity when positive.
func (p Pairs) phi() float64 {
	a, b, c, d := float64(p.Both), float64(p.OnlyA), float64(p.OnlyB), float64(p.Neither)
	margins := (a + b) * (c + d) * (a + c) * (b + d)
	if margins == 0 {
		return 0
	}
	cross := a*d - b*c
	if cross > 0 {
		cross = max(0, cross-float64(p.N())/2)
	}
	return cross / math.Sqrt(margins)
}

// newcombe joins the intervals of two rates to that of their difference.
func newcombe(a, b float64, ia, ib Interval, phi float64) Interval {
	join := func(x, y float64) float64 { return math.Sqrt(max(0, x*x-2*phi*x*y+y*y)) }
	d := a - b
	return Interval{
		max(-1, d-join(a-ia.Low, ib.High-b)),
		min(1, d+join(ia.High-a, b-ib.Low)),
		ia.Level,
	}
}
