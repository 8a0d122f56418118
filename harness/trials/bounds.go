// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Budget is what a run may use. The zero Budget has no bounds.
type Budget struct {
	// Dollars by the prices of the model entries; 0 is no bound.
	Dollars float64 `json:"usd,omitempty"`
	// Tokens of all classes together; 0 is no bound.
	Tokens int `json:"tokens,omitempty"`
}

// ParseBudget reads a budget as it is written: 5usd, 200000tokens, or both with
// a comma between them.
func ParseBudget(text string) (Budget, error) {
	var b Budget
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		digits := strings.TrimRight(part, "abcdefghijklmnopqrstuvwxyz ")
		n, err := strconv.ParseFloat(digits, 64)
		unit := strings.TrimSpace(part[len(digits):])
		switch ok := err == nil && n > 0 && n <= 1e12; {
		case ok && unit == "usd" && b.Dollars == 0:
			b.Dollars = n
		case ok && unit == "tokens" && b.Tokens == 0 && n == math.Trunc(n):
			b.Tokens = int(n)
		default:
			return Budget{}, fmt.Errorf("%q is not a budget: want dollars or tokens, or both: 5usd, 200000tokens, or 5usd,200000tokens", text)
		}
	}
	return b, nil
}

func (b Budget) String() string {
	var parts []string
	if b.Dollars > 0 {
		parts = append(parts, strconv.FormatFloat(b.Dollars, 'f', -1, 64)+"usd")
	}
	if b.Tokens > 0 {
		parts = append(parts, strconv.Itoa(b.Tokens)+"tokens")
	}
	return strings.Join(parts, ",")
}

// Part is the budget of one of n runs that share one, rounded down.
func (b Budget) Part(n int) Budget {
	if d := b.Dollars / float64(n); d >= 1 {
		b.Dollars = math.Floor(d*100) / 100
	} else {
		b.Dollars = d
	}
	if b.Tokens > 0 {
		b.Tokens = max(b.Tokens/n, 1)
	}
	return b
}

// Covers reports whether a budget leaves anything of each bound after what was
// spent.
func (b Budget) Covers(s Spend) bool {
	return (b.Dollars == 0 || s.Dollars < b.Dollars) && (b.Tokens == 0 || s.Tokens < b.Tokens)
}

// Spend is what trials have used.
type Spend struct {
	Dollars float64
	Tokens  int
	// Unpriced counts those whose tokens have no price, and Uncounted those of
	// whose tokens the endpoint said nothing.
	Unpriced, Uncounted int
}

// SpendOf is what one trial has used, that of its judges included.
func SpendOf(r *Record) Spend {
	s := Spend{Tokens: r.Tokens.Total()}
	switch {
	case r.Uncounted():
		s.Uncounted = 1
	case r.Cost != nil:
		s.Dollars = *r.Cost
	case s.Tokens > 0:
		s.Unpriced = 1
	}
	if judges := r.Judges; judges != nil {
		s.Tokens += judges.Tokens.Total()
		if judges.Cost != nil {
			s.Dollars += *judges.Cost
		} else {
			s.Unpriced = 1
		}
	}
	return s
}

// Add returns the sum of two.
func (s Spend) Add(o Spend) Spend {
	return Spend{s.Dollars + o.Dollars, s.Tokens + o.Tokens, s.Unpriced + o.Unpriced, s.Uncounted + o.Uncounted}
}

// Rate is how many requests are sent to an endpoint at most. The zero Rate has
// no bound.
type Rate struct {
	Requests int
	Per      time.Duration // a second, a minute or an hour
}

// rateUnits are what rates are per.
func rateUnits() map[string]time.Duration {
	return map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}
}

// ParseRate reads a rate as it is written: 60/min, 2/s, 1000/h.
func ParseRate(text string) (Rate, error) {
	n, unit, _ := strings.Cut(text, "/")
	requests, err := strconv.Atoi(n)
	per := rateUnits()[unit]
	if err != nil || requests < 1 || requests > 1e9 || per == 0 {
		return Rate{}, fmt.Errorf("%q is not a rate: want requests per second, minute or hour, such as 2/s, 60/min or 1000/h", text)
	}
	return Rate{requests, per}, nil
}

func (r Rate) String() string {
	for unit, per := range rateUnits() {
		if r.Per == per {
			return strconv.Itoa(r.Requests) + "/" + unit
		}
	}
	return ""
}

// Part is the rate of one of n runs that share one, rounded down: per a longer
// time where needed. It is not ok when that is less than one an hour.
func (r Rate) Part(n int) (part Rate, ok bool) {
	for _, per := range []time.Duration{r.Per, time.Minute, time.Hour} {
		whole := time.Duration(r.Requests) * (per / max(r.Per, 1)) / time.Duration(n)
		if per >= r.Per && whole > 0 && (whole*time.Duration(n) == time.Duration(r.Requests)*(per/max(r.Per, 1)) || per == time.Hour) {
			return Rate{int(whole), per}, true
		}
	}
	return Rate{}, r == Rate{}
}

// Gap is the time between two requests.
func (r Rate) Gap() time.Duration {
	if r.Requests == 0 {
		return 0
	}
	return r.Per / time.Duration(r.Requests)
}

// MarshalText writes a rate as [ParseRate] reads it.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rate; an empty text is the zero Rate.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	if *r = (Rate{}); len(text) > 0 {
		*r, err = ParseRate(string(text))
	}
	return err
}
