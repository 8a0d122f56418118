// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]trials.Budget{
		"5usd":                 {Dollars: 5},
		"0.25usd":              {Dollars: 0.25},
		"200000tokens":         {Tokens: 200000},
		"5usd,200000tokens":    {Dollars: 5, Tokens: 200000},
		"2e5 tokens , 0.5 usd": {Dollars: 0.5, Tokens: 200000},
	} {
		got, err := trials.ParseBudget(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
		if again, err := trials.ParseBudget(got.String()); err != nil || again != got {
			t.Errorf("%q: written as %q, which is %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "5", "5eur", "$5", "0usd", "-1usd", "1.5tokens", "5usd,6usd", "5usd,", "NaNusd", "infusd", "1e99usd", "usd"} {
		if got, err := trials.ParseBudget(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		budget trials.Budget
		spent  trials.Spend
		want   bool
	}{
		{"no bound", trials.Budget{}, trials.Spend{Dollars: 99, Tokens: 99}, true},
		{"dollars left", trials.Budget{Dollars: 1}, trials.Spend{Dollars: 0.99, Tokens: 99}, true},
		{"dollars spent", trials.Budget{Dollars: 1}, trials.Spend{Dollars: 1}, false},
		{"tokens left", trials.Budget{Tokens: 10}, trials.Spend{Dollars: 9, Tokens: 9}, true},
		{"tokens spent", trials.Budget{Dollars: 10, Tokens: 10}, trials.Spend{Tokens: 10}, false},
	} {
		if got := tc.budget.Covers(tc.spent); got != tc.want {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
}

func TestRate(t *testing.T) {
	for text, gap := range map[string]time.Duration{"60/min": time.Second, "2/s": 500 * time.Millisecond, "1000/h": 3600 * time.Millisecond} {
		r, err := trials.ParseRate(text)
		if err != nil || r.Gap() != gap || r.String() != text {
			t.Errorf("%q: got %s with a gap of %s, %v", text, r, r.Gap(), err)
		}
		m := trials.Model{Label: "m", Rate: r}
		data, err := json.Marshal(m)
		var back trials.Model
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || back.Rate != m.Rate {
			t.Errorf("%s became %+v, %v", data, back, err)
		}
	}
	for _, text := range []string{"", "60", "60/m", "0/s", "-1/s", "1.5/s", "x/s", "60/min/s"} {
		if r, err := trials.ParseRate(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, r)
		}
	}
	if data, err := json.Marshal(trials.Model{Label: "m"}); err != nil || string(data) != `{"label":"m","name":""}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestPart(t *testing.T) {
	for _, tc := range []struct {
		rate string
		n    int
		want string
	}{
		{"60/min", 4, "15/min"},
		{"2/s", 4, "30/min"},
		{"2/s", 2, "1/s"},
		{"1/s", 7, "514/h"},
		{"100/h", 3, "33/h"},
		{"1/h", 2, ""},
	} {
		r, err := trials.ParseRate(tc.rate)
		if err != nil {
			t.Fatal(err)
		}
		if part, ok := r.Part(tc.n); part.String() != tc.want || ok != (tc.want != "") {
			t.Errorf("%s of %d: got %s, %v", tc.rate, tc.n, part, ok)
		}
	}
	for _, tc := range []struct {
		budget string
		n      int
		want   string
	}{
		{"5usd", 4, "1.25usd"},
		{"5usd,100tokens", 3, "1.66usd,33tokens"},
		{"1usd", 4, "0.25usd"},
		{"2tokens", 4, "1tokens"},
	} {
		b, err := trials.ParseBudget(tc.budget)
		if err != nil {
			t.Fatal(err)
		}
		if part := b.Part(tc.n).String(); part != tc.want {
			t.Errorf("%s of %d: got %s", tc.budget, tc.n, part)
		}
	}
}
