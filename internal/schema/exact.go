// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// The validator reads the numbers of a schema as floats. 19.99 is no multiple of
// 0.01 then, and 2^53+1 equals 2^53. So values and schemas with numbers for which
// that matters are checked in a form of theirs that floats hold: each distinct
// number has a small one in its place, a whole one for a whole one, and the
// keywords that compare numbers are lists of the numbers that they refuse.

// bound is a keyword that compares numbers.
type bound struct {
	fits  func(n, limit *big.Rat) bool
	words string // for a number that does not fit
}

var bounds = map[string]bound{
	"minimum":          {func(n, limit *big.Rat) bool { return n.Cmp(limit) >= 0 }, "less than"},
	"maximum":          {func(n, limit *big.Rat) bool { return n.Cmp(limit) <= 0 }, "greater than"},
	"exclusiveMinimum": {func(n, limit *big.Rat) bool { return n.Cmp(limit) > 0 }, "less than or equal to"},
	"exclusiveMaximum": {func(n, limit *big.Rat) bool { return n.Cmp(limit) < 0 }, "greater than or equal to"},
	"multipleOf": {func(n, limit *big.Rat) bool {
		return limit.Sign() != 0 && new(big.Rat).Quo(n, limit).IsInt()
	}, "not a multiple of"},
}

// maxExact is the largest number up to which floats hold all whole ones.
const maxExact = 1 << 53

// numbers reports whether there are numbers in v, and whether floats hold all of
// them and compute with them.
func numbers(v value.Value) (some, plain bool) {
	plain = true
	value.Walk(v, func(_ value.Path, v value.Value) bool {
		if v.Kind() == value.Number {
			n, whole := v.Int()
			some, plain = true, plain && whole && -maxExact <= n && n <= maxExact
		}
		return plain
	})
	return some, plain
}

// stand has the numbers that stand for others.
type stand struct {
	ins map[string]value.Value // by exact spelling
	of  []number               // those of the value
	why string                 // what the first bound would have to say that floats pass by
}

type number struct {
	value.Value
	exact *big.Rat
	in    value.Value
}

// in returns the number that stands for one.
func (s *stand) in(v value.Value) value.Value {
	key := v.Exact().Num()
	in, ok := s.ins[key]
	if ok {
		return in
	}
	if spelling := fmt.Sprint(len(s.ins)); rat(v).IsInt() {
		in = value.NumberOf(spelling)
	} else {
		in = value.NumberOf(spelling + ".5")
	}
	s.ins[key] = in
	return in
}

// rat is the exact number; of one that is larger than anybody means, the largest
// float.
func rat(v value.Value) *big.Rat {
	if r, ok := v.Rat(); ok {
		return r
	}
	f, _ := v.Float()
	return new(big.Rat).SetFloat64(min(max(f, -math.MaxFloat64), math.MaxFloat64))
}

// value gives a value its numbers.
func (s *stand) value(v value.Value) value.Value {
	return value.Map(v, func(_ value.Path, v value.Value) (value.Value, bool) {
		if v.Kind() != value.Number {
			return v, true
		}
		in := s.in(v)
		if !slices.ContainsFunc(s.of, func(n number) bool { return n.in.Num() == in.Num() }) {
			s.of = append(s.of, number{v, rat(v), in})
		}
		return in, false
	})
}

// schema gives a schema the numbers of a value, which must have them already.
func (s *stand) schema(v value.Value) value.Value {
	if v.Kind() == value.Array {
		items := make([]value.Value, v.Len())
		for i, item := range v.Items() {
			items[i] = s.schema(item)
		}
		return value.ArrayOf(items...)
	}
	if v.Kind() != value.Object {
		return v
	}
	var members []value.Member
	var all, refused []value.Value
	for _, m := range v.Members() {
		bound, ok := bounds[m.Key]
		switch {
		case ok && m.Value.Kind() == value.Number:
			refused = append(refused, s.refused(m, bound)...)
			continue
		case m.Key == "allOf":
			all = m.Value.Items()
			continue
		case m.Key == "const", m.Key == "enum" && m.Value.Kind() == value.Array:
			m.Value = value.Map(m.Value, func(_ value.Path, v value.Value) (value.Value, bool) {
				if v.Kind() == value.Number {
					return s.in(v), false
				}
				return v, true
			})
		case m.Key == "properties", m.Key == "patternProperties", m.Key == "$defs", m.Key == "definitions", m.Key == "dependentSchemas", m.Key == "dependencies":
			named := slices.Clone(m.Value.Members())
			for i := range named {
				named[i].Value = s.schema(named[i].Value)
			}
			m.Value = value.ObjectOf(named...)
		default:
			m.Value = s.schema(m.Value)
		}
		members = append(members, m)
	}
	below := s.schema(value.ArrayOf(all...)).Items()
	if refused != nil {
		below = append(below, value.ObjectOf(value.Member{Key: "not", Value: value.ObjectOf(value.Member{Key: "enum", Value: value.ArrayOf(refused...)})}))
	}
	if len(below) > 0 {
		members = append(members, value.Member{Key: "allOf", Value: value.ArrayOf(below...)})
	}
	return value.ObjectOf(members...)
}

// refused lists the numbers of the value that a bound refuses, as what stands for
// them.
func (s *stand) refused(m value.Member, b bound) (refused []value.Value) {
	limit := rat(m.Value)
	for _, n := range s.of {
		if b.fits(n.exact, limit) {
			continue
		}
		refused = append(refused, n.in)
		if s.why == "" && b.fits(rounded(n.exact), rounded(limit)) {
			s.why = fmt.Sprintf("%s: %s is %s %s", m.Key, n.Num(), b.words, m.Value.Num())
		}
	}
	return refused
}

// rounded is the number that a float makes of one.
func rounded(r *big.Rat) *big.Rat {
	f, _ := r.Float64()
	return new(big.Rat).SetFloat64(min(max(f, -math.MaxFloat64), math.MaxFloat64))
}

// validateExactly checks a value with all of its numbers exact. said is what the
// validator finds with floats.
func (s *Schema) validateExactly(v value.Value, said error) error {
	st := stand{ins: make(map[string]value.Value)}
	in := st.value(v)
	exact, err := resolve(st.schema(s.source))
	if err != nil {
		return said
	}
	switch err := exact.Validate(in.Any()); {
	case err == nil:
		return nil
	case said != nil:
		return said
	case st.why != "":
		return errors.New(st.why)
	}
	return errors.New("the value holds a number that the schema does not allow when all of its digits count")
}
