// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value

import (
	"math/big"
	"strconv"
	"strings"
)

// ValidNumber reports whether s is a JSON number.
func ValidNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole := digits(s)
	if whole == 0 || (whole > 1 && s[0] == '0') {
		return false
	}
	s = s[whole:]
	if rest, ok := strings.CutPrefix(s, "."); ok {
		n := digits(rest)
		if n == 0 {
			return false
		}
		s = rest[n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		n := digits(s)
		return n > 0 && n == len(s)
	}
	return s == ""
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// IsInteger reports whether v is a number spelled without point and
// exponent: 5, not 5.0.
func (v Value) IsInteger() bool {
	return v.kind == Number && !strings.ContainsAny(v.text, ".eE")
}

// Int returns the number when it is spelled as an integer and fits.
func (v Value) Int() (int64, bool) {
	if !v.IsInteger() {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil
}

// Float returns the nearest float64. It returns false when v is no number or
// too large for one.
func (v Value) Float() (float64, bool) {
	if v.kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// maxExponent bounds the exponents that [Value.Rat] expands: 1e999999999
// would otherwise take all memory.
const maxExponent = 5000

// Rat returns the exact number. It returns false when v is no number, or one
// with more digits or a larger exponent than anybody means.
func (v Value) Rat() (*big.Rat, bool) {
	if v.kind != Number || len(v.text) > 2*maxExponent {
		return nil, false
	}
	if d := decimalOf(v.text); d.exp > maxExponent || d.exp < -maxExponent || d.raw != "" {
		return nil, false
	}
	return new(big.Rat).SetString(v.text)
}

// decimal is the canonical form of a number: sign, digits without zeros at
// either end, and a power of ten. Equal numbers have equal forms, however
// large their exponents are, without any big arithmetic.
type decimal struct {
	neg    bool
	digits string // 0.digits; empty for zero
	exp    int64
	raw    string // the spelling, when its exponent has more digits than any number can mean
}

func decimalOf(s string) decimal {
	var d decimal
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		exp, err := strconv.ParseInt(s[i+1:], 10, 62)
		if err != nil {
			d.raw = s
		}
		d.exp = exp
	}
	mantissa, d.neg = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	d.digits = strings.TrimLeft(all, "0")
	d.exp += int64(len(whole) - (len(all) - len(d.digits)))
	d.digits = strings.TrimRight(d.digits, "0")
	switch {
	case d.digits == "":
		return decimal{}
	case d.raw != "":
		return decimal{raw: d.raw}
	}
	return d
}

// Exact returns the one spelling that all spellings of a number share: 1.0 and
// 1 are 1, and 1e2 is 100. Of a value that is no number it is v itself.
func (v Value) Exact() Value {
	if v.kind != Number {
		return v
	}
	d := decimalOf(v.text)
	if d.raw != "" {
		return v
	}
	n := int64(len(d.digits))
	text := d.digits
	switch {
	case n == 0:
		return Value{kind: Number, text: "0"}
	case d.exp >= n && d.exp <= maxPlain:
		text += strings.Repeat("0", int(d.exp-n))
	case d.exp > 0 && d.exp < n:
		text = text[:d.exp] + "." + text[d.exp:]
	case d.exp <= 0 && d.exp > -maxPlain:
		text = "0." + strings.Repeat("0", int(-d.exp)) + text
	default:
		if n > 1 {
			text = text[:1] + "." + text[1:]
		}
		text += "e" + strconv.FormatInt(d.exp-1, 10)
	}
	if d.neg {
		text = "-" + text
	}
	return Value{kind: Number, text: text}
}

// maxPlain is how many digits a power of ten is written out for.
const maxPlain = 30
