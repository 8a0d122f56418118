// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
)

func TestErrors(t *testing.T) {
	one, two := suite("m", "pf"), suite("m", "pf", "pp")
	twice := Table{Name: "m", Scenarios: []Scenario{one.Scenarios[0], one.Scenarios[0]}}
	odd := Table{Name: "m", Scenarios: []Scenario{{Name: "x", Attempts: []harness.Outcome{"flaky"}}}}
	moved := suite("n", "z:pf", "pp")
	d := Design{Between: .1, WithinA: .1, WithinB: .1}
	rate := func(t Table, e Estimand, o *Options) error { _, err := t.PassRate(e, o); return err }
	pair := func(a, b Table, e Estimand, o *Options) error { _, err := Compare(a, b, e, o); return err }
	for _, tc := range []struct {
		name string
		err  error
		want string
		few  bool
	}{
		{"one scenario", rate(one, ScenariosInGeneral, nil), `pass rate of "m": too few data: 1 independent scenarios, and an interval for scenarios in general needs 2`, true},
		{"no scenario", rate(Table{Name: "m"}, ScenariosInGeneral, nil), "0 independent scenarios", true},
		{"fixed, once", rate(suite("m", "p", "f"), FixedSuite, nil), `no scenario has 2 attempts that count, as an interval for this fixed suite needs`, true},
		{"two of a name", rate(twice, ScenariosInGeneral, nil), `table "m" has two scenarios called "1"`, false},
		{"two of a name, fixed", rate(twice, FixedSuite, nil), "two scenarios", false},
		{"unknown outcome", rate(odd, ScenariosInGeneral, nil), `table "m", scenario "x": unknown outcome "flaky"`, false},
		{"estimand", rate(two, "all", nil), `unknown estimand "all": want "this fixed suite" or "scenarios in general"`, false},
		{"level", rate(two, ScenariosInGeneral, &Options{Level: 95}), "level 95: want a number from 0.5 to 0.999999", false},
		{"level, fixed", rate(two, FixedSuite, &Options{Level: 0.4}), "level 0.4", false},
		{"power", rate(two, ScenariosInGeneral, &Options{Power: math.NaN()}), "power NaN", false},
		{"resamples", pair(two, two, ScenariosInGeneral, &Options{Resamples: 99}), "99 resamples: want at least 100", false},
		{"bootstrap, fixed", pair(two, two, FixedSuite, &Options{Resamples: 100}), "says nothing of this fixed suite", false},
		{"pair, estimand", pair(two, two, "", nil), `comparing "m" with "m": unknown estimand ""`, false},
		{"pair, one scenario", pair(one, two, ScenariosInGeneral, nil), "1 independent scenarios shared", true},
		{"pair, fixed, once", pair(suite("m", "p", "f"), two, FixedSuite, nil), "no scenario has 2 attempts of both that count", true},
		{"pair, moved", pair(two, moved, ScenariosInGeneral, nil), `scenario "1" is in cluster "" of one and "z" of the other`, false},
		{"pair, odd", pair(two, odd, ScenariosInGeneral, nil), "unknown outcome", false},
		{"pair, odd a", pair(odd, two, ScenariosInGeneral, nil), "unknown outcome", false},
		{"Wilson of nothing", second(Wilson(0, 0, .95)), "an interval of 0 trials", true},
		{"Wilson of too many", second(Wilson(3, 2, .95)), "3 of 2 passed: want 0 to 2", false},
		{"Wilson of fewer than none", second(Wilson(-1, 2, .95)), "-1 of 2 passed", false},
		{"Wilson at 1", second(Wilson(1, 2, 1)), "level 1", false},
		{"Newcombe of nothing", second(Pairs{}.Newcombe(.95)), "no pairs", true},
		{"Newcombe below 0", second(Pairs{-1, 2, 3, 4}.Newcombe(.95)), "no number below 0", false},
		{"Newcombe at 0", second(Pairs{1, 2, 3, 4}.Newcombe(0)), "level 0", false},
		{"McNemar of nothing", func() error { _, _, err := Pairs{}.McNemar(); return err }(), "no pairs", true},
		{"pass@6 of 5", second(PassAt(1, 5, 6)), "5 attempts say nothing of 6", true},
		{"pass^6 of 5", second(PassHat(1, 5, 6)), "5 attempts say nothing of 6", true},
		{"pass@0", second(PassAt(1, 5, 0)), "k is 0", false},
		{"pass@1 of 6/5", second(PassAt(6, 5, 1)), "6 of 5 passed", false},
		{"pass@1 of -1/5", second(PassAt(-1, 5, 1)), "-1 of 5 passed", false},
		{"pass@0 of a table", second(two.PassAt(0, nil)), `pass@ of "m": k is 0`, false},
		{"pass^3 of a table", second(two.PassHat(3, nil)), `pass^3 of "m": too few data: 0 independent`, true},
		{"Holm above 1", second(Holm([]float64{.1, 1.1})), "p-value 2 is 1.1", false},
		{"Holm of NaN", second(Holm([]float64{math.NaN()})), "p-value 1 is NaN", false},
		{"variance of one", second(one.Variance()), "1 scenarios have 2 attempts that count", true},
		{"variance, odd", second(odd.Variance()), "unknown outcome", false},
		{"design of one", second(DesignOf(one, one)), "1 scenarios have 2 attempts of both", true},
		{"design, odd", second(DesignOf(one, odd)), "unknown outcome", false},
		{"nobody", second(Rank(nil, ScenariosInGeneral, nil)), "none of 0 tables has a pass rate", true},
		{"everybody twice", second(Rank([]Table{two, two}, ScenariosInGeneral, nil)), `two tables are called "m"`, false},
		{"rank, odd", second(Rank([]Table{odd}, ScenariosInGeneral, nil)), "unknown outcome", false},
		{"rank, moved", second(Rank([]Table{two, moved}, ScenariosInGeneral, nil)), "is in cluster", false},
		{"no difference", second(d.Scenarios(0, 1)), "difference 0: want a number above 0", false},
		{"percent", second(d.Scenarios(5, 1)), "such as 0.05 for 5 points", false},
		{"fewer than no attempts", second(d.Scenarios(.1, -1)), "-1 attempts: want at least 1", false},
		{"a tiny difference", second(d.Scenarios(1e-7, 1)), "are more than anyone has", false},
		{"MDE of none", second(d.MDE(0, 1)), "0 scenarios: want at least 1", false},
		{"MDE without attempts", second(d.MDE(1, 0)), "0 attempts: want at least 1", false},
		{"variance below 0", second(Design{Between: -1}.MDE(1, 1)), "variance between scenarios is -1: want 0 to 1", false},
		{"variance above 1/4", second(Design{WithinA: .3}.MDE(1, 1)), "variance within scenarios of the first model is 0.3: want 0 to 0.25", false},
		{"variance NaN", second(Design{WithinB: math.NaN()}.PowerAt(.1, 1, 1)), "variance within scenarios of the second model is NaN", false},
		{"level of a design", second(Design{Level: 2}.Scenarios(.1, 1)), "level 2", false},
		{"no attempts suffice", second(d.Attempts(.1, 20)), "no number of attempts shows a difference of 0.1 with 20 scenarios", true},
		{"attempts for no scenarios", second(d.Attempts(.1, 0)), "0 scenarios", false},
		{"attempts for no difference", second(d.Attempts(0, 10)), "difference 0", false},
		{"power of no difference", second(d.PowerAt(0, 10, 1)), "difference 0", false},
		{"power of no scenarios", second(d.PowerAt(.1, 0, 1)), "0 scenarios", false},
		{"power of no attempts", second(d.PowerAt(.1, 10, 0)), "0 attempts", false},
		{"no discordant pairs", second(DiscordantDesign{}.MDE(10)), "share of discordant pairs 0", false},
		{"more than all discordant", second(DiscordantDesign{Discordant: 1.1}.Scenarios(.1)), "share of discordant pairs 1.1", false},
		{"larger than discordant", second(DiscordantDesign{Discordant: .1}.Scenarios(.2)), "it cannot be larger", false},
		{"level of discordant", second(DiscordantDesign{Discordant: .1, Level: 3}.PowerAt(.1, 10)), "level 3", false},
		{"discordant MDE of none", second(DiscordantDesign{Discordant: .1}.MDE(0)), "0 scenarios", false},
		{"discordant power of no difference", second(DiscordantDesign{Discordant: .1}.PowerAt(0, 1)), "difference 0", false},
		{"discordant power of none", second(DiscordantDesign{Discordant: .1}.PowerAt(.1, 0)), "0 scenarios", false},
		{"plan for nobody", second(d.Plan(Wish{Difference: .1, Attempts: []int{1}, Models: -1})), "-1 models", false},
		{"plan without attempts", second(d.Plan(Wish{Difference: .1, Attempts: []int{0}})), "0 attempts", false},
		{"plan without difference", second(d.Plan(Wish{Attempts: []int{1}})), "difference 0", false},
		{"plan with a discount", second(d.Plan(Wish{Difference: .1, TrialCost: -1})), "cost -1 a trial", false},
		{"plan beyond price", second(d.Plan(Wish{Difference: .1, ScenarioCost: math.Inf(1)})), "cost 0 a trial and +Inf a scenario", false},
		{"power of a comparison by hand", second(Comparison{}.PowerAt(.1)), "not one that Compare or Rank made", false},
		{"power of a comparison, no difference", second(mustCompare(t, two, two, FixedSuite, nil).PowerAt(0)), "difference 0", false},
	} {
		switch {
		case tc.err == nil:
			t.Errorf("%s: no error", tc.name)
		case !strings.Contains(tc.err.Error(), tc.want):
			t.Errorf("%s: %q, want %q", tc.name, tc.err, tc.want)
		case errors.Is(tc.err, ErrTooFew) != tc.few:
			t.Errorf("%s: %q is ErrTooFew: %v", tc.name, tc.err, !tc.few)
		}
	}
}

func second[T any](_ T, err error) error { return err }
