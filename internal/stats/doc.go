// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package stats says what the outcomes of many trials allow to be said: pass
// rates with intervals, models compared, and how large a suite must be.
//
// The smallest use compares two models on the scenarios that both played:
//
//	a := stats.Table{Name: "small", Scenarios: []stats.Scenario{{Name: "refund", Attempts: outcomes}, ...}}
//	b := stats.Table{Name: "large", Scenarios: ...}
//	c, err := stats.Compare(a, b, stats.ScenariosInGeneral, nil)
//	fmt.Println(c.Difference, c.Interval, c.Different)
//
// # Two questions
//
// Every interval answers one of two questions, and every result names which.
// [FixedSuite]: what would this very suite show if each scenario were played
// without end? Only the noise of repeating counts, so each scenario needs two
// attempts at least. [ScenariosInGeneral]: what would further scenarios of this
// kind show? The scenarios are a sample, their differences are noise as well,
// and the interval is wider.
//
// # What counts
//
// Passed and failed attempts count. Errors and skipped attempts are in no
// denominator; they are counted beside it. Each scenario weighs the same,
// however many of its attempts count, so that pass^1, pass@1 and the pass rate
// are one number. A scenario in which nothing counts is left out, and named.
//
// # Units
//
// Rates, differences, standard errors and limits are shares of 1: 0.05 is five
// points of a hundred. Variances are squares of these. Levels and powers are
// probabilities.
//
// # Doubts
//
// What cannot be computed is an error, and [ErrTooFew] tells those that more
// data would cure. What can be computed and be doubted has Warnings. No result
// holds NaN or an infinity.
//
// # Sources
//
// Notation: N scenarios, K attempts at each, p the pass rate, C clusters, z a
// quantile of the normal and t of Student's distribution.
//
//   - Brown, Cai and DasGupta 2001, Statistical Science 16: intervals of a proportion.
//   - Cameron, Gelbach and Miller 2008, Review of Economics and Statistics 90: few clusters.
//   - Chen et al. 2021, arXiv 2107.03374: pass@k.
//   - Connor 1987, Biometrics 43: sample size for paired proportions.
//   - Efron 1979, Annals of Statistics 7: the bootstrap.
//   - Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13: McNemar mid-p.
//   - Holm 1979, Scandinavian Journal of Statistics 6: many tests.
//   - Korn and Graubard 1998, Survey Methodology 24: effective sample size of a proportion.
//   - Miller 2024, arXiv 2411.00640: clustered errors, paired differences and power for evaluations.
//   - Newcombe 1998, Statistics in Medicine 17: differences of proportions, independent and paired.
//   - Satterthwaite 1946, Biometrics Bulletin 2: degrees of freedom of a sum of variances.
//   - Wilson 1927, Journal of the American Statistical Association 22.
//   - Yao et al. 2024, arXiv 2406.12045: pass^k.
package stats
