// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import "fmt"

// PassAt estimates pass@k without bias from passed of n attempts: the chance
// that at least one of k attempts passes.
//
//	1 - C(n-passed, k) / C(n, k)
//
// (Chen et al. 2021.)
func PassAt(passed, n, k int) (float64, error) {
	if err := checkK(passed, n, k); err != nil {
		return 0, err
	}
	return 1 - passHat(n-passed, n, k), nil
}

// PassHat estimates pass^k without bias from passed of n attempts: the chance
// that all of k attempts pass.
//
//	C(passed, k) / C(n, k)
//
// (Yao et al. 2024.)
func PassHat(passed, n, k int) (float64, error) {
	if err := checkK(passed, n, k); err != nil {
		return 0, err
	}
	return passHat(passed, n, k), nil
}

func checkK(passed, n, k int) error {
	switch {
	case k < 1:
		return fmt.Errorf("k is %d: want at least 1", k)
	case passed < 0 || passed > n:
		return fmt.Errorf("%d of %d passed: want 0 to %d", passed, n, n)
	case k > n:
		return fmt.Errorf("%w: %d attempts say nothing of %d", ErrTooFew, n, k)
	}
	return nil
}

// passHat takes the quotient of the binomial coefficients factor by factor:
// each of them overflows where their quotient is an ordinary number.
func passHat(passed, n, k int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(max(0, passed-i)) / float64(n-i)
	}
	return p
}

// PassAt estimates pass@k as the mean over scenarios, for [ScenariosInGeneral].
// Scenarios with fewer than k valid attempts are left out. The interval is that
// of [Table.PassRate].
func (t Table) PassAt(k int, o *Options) (Rate, error) {
	return t.passK("pass@", k, func(r row) float64 { return 1 - passHat(r.Failed, r.Valid(), k) }, o)
}

// PassHat estimates pass^k, the reliability, as [Table.PassAt] does pass@k.
func (t Table) PassHat(k int, o *Options) (Rate, error) {
	return t.passK("pass^", k, func(r row) float64 { return passHat(r.Passed, r.Valid(), k) }, o)
}

func (t Table) passK(name string, k int, value func(row) float64, o *Options) (Rate, error) {
	if k < 1 {
		return Rate{}, fmt.Errorf("%s of %q: k is %d: want at least 1", name, t.Name, k)
	}
	return t.sampledRate(fmt.Sprint(name, k), k, value, o)
}
