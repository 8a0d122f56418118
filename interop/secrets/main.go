// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command secrets prints a secret for each rule of gitleaks, which says what the
// keys of many issuers look like: a line of JSON with the rule's name, a text
// that the rule finds, and the part of it that is the secret. Chance is seeded.
//
//	go run . -seed 7
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
)

func main() {
	seed := flag.Uint64("seed", 7, "where chance begins")
	flag.Parse()
	if err := write(*seed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(seed uint64) error {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return err
	}
	var raw config.ViperConfig
	if err := v.Unmarshal(&raw); err != nil {
		return err
	}
	rules, err := raw.Translate()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, id := range rules.OrderedRules {
		rule := rules.Rules[id]
		if rule.Regex == nil {
			continue
		}
		g := &generator{r: rand.New(rand.NewPCG(seed, uint64(len(id))))}
		text, ok := g.of(rule.Regex.String())
		if !ok {
			continue
		}
		match := rule.Regex.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		secret := match[0]
		group := rule.SecretGroup
		if group == 0 && len(match) > 1 {
			group = 1
		}
		for n := group; n < len(match) && n > 0; n++ {
			if match[n] != "" {
				secret = match[n]
				break
			}
		}
		if err := out.Encode(map[string]string{"rule": id, "text": text, "secret": secret}); err != nil {
			return err
		}
	}
	return nil
}

// generator makes texts that a regular expression fits.
type generator struct {
	r *rand.Rand
	b strings.Builder
}

func (g *generator) of(expr string) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	g.add(re)
	return g.b.String(), true
}

func (g *generator) add(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 { // as issuers write it
				r = unicode.ToLower(r)
			}
			g.b.WriteRune(r)
		}
	case syntax.OpCharClass:
		g.b.WriteRune(g.one(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		g.b.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789"[g.r.IntN(36)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			g.add(sub)
		}
	case syntax.OpAlternate:
		g.add(re.Sub[g.r.IntN(len(re.Sub))])
	case syntax.OpQuest, syntax.OpStar: // what need not be there is not
	case syntax.OpPlus:
		g.add(re.Sub[0])
	case syntax.OpRepeat:
		n := re.Min
		if re.Min > 4 && re.Max > re.Min {
			n += g.r.IntN(min(re.Max-re.Min, 8) + 1)
		}
		for range n {
			g.add(re.Sub[0])
		}
	}
}

// one is a character of a class: one that can be printed, where there is one.
func (g *generator) one(ranges []rune) rune {
	var list []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := max(ranges[i], '!'); r <= min(ranges[i+1], '~'); r++ {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return ranges[0]
	}
	return list[g.r.IntN(len(list))]
}
