// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Bootstrap is the percentile interval of the mean difference when clusters of
// scenarios are drawn again and again, with the attempts of both models kept
// together (Efron 1979). The same seed gives the same interval.
type Bootstrap struct {
	Interval  Interval
	Resamples int
	Seed      uint64
}

// fewForBootstrap is the number of clusters from which on it can be trusted.
const fewForBootstrap = 50

func bootstrap(d []float64, of []int, n int, o Options) *Bootstrap {
	sums, sizes := make([]float64, n), make([]float64, n)
	for i, x := range d {
		sums[of[i]] += x
		sizes[of[i]]++
	}
	r := rand.New(rand.NewPCG(o.Seed, 0))
	means := make([]float64, o.Resamples)
	for i := range means {
		var sum, size float64
		for range n {
			g := r.IntN(n)
			sum += sums[g]
			size += sizes[g]
		}
		means[i] = sum / size
	}
	slices.Sort(means)
	at := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, means, nil) }
	return &Bootstrap{Interval{at((1 - o.Level) / 2), at((1 + o.Level) / 2), o.Level}, o.Resamples, o.Seed}
}
