// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// shape is what the keys of one issuer look like: a prefix and the characters
// after it.
type shape struct {
	prefix, rule string
	min          int   // characters after the prefix
	class        class // of these
}

// class is a set of bytes as bits.
type class uint8

const (
	isLower class = 1 << iota
	isUpper
	isDigit
	isDash // - _
	isDot  // .
	isBase // + / = ~

	isAlnum = isLower | isUpper | isDigit
	isWord  = isAlnum | isDash
	isRun   = isWord | isDot | isBase
)

func classOf(c byte) class {
	switch {
	case c >= 'a' && c <= 'z':
		return isLower
	case c >= 'A' && c <= 'Z':
		return isUpper
	case c >= '0' && c <= '9':
		return isDigit
	case c == '-' || c == '_':
		return isDash
	case c == '.':
		return isDot
	case c == '+' || c == '/' || c == '=' || c == '~':
		return isBase
	}
	return 0
}

// shapes are the known shapes by their first byte, longer prefixes first.
func shapes() [256][]shape {
	var by [256][]shape
	for _, s := range []shape{
		{"sk-ant-", "anthropic", 16, isWord},
		{"sk-", "sk", 18, isWord},
		{"sk_live_", "stripe", 16, isAlnum},
		{"sk_test_", "stripe", 16, isAlnum},
		{"rk_live_", "stripe", 16, isAlnum},
		{"rk_test_", "stripe", 16, isAlnum},
		{"whsec_", "stripe", 24, isAlnum | isBase},
		{"AIza", "google", 30, isWord},
		{"AQ.Ab", "google", 30, isWord},
		{"ya29.", "google", 20, isWord | isDot},
		{"GOCSPX-", "google", 20, isWord},
		{"ghp_", "github", 30, isAlnum},
		{"gho_", "github", 30, isAlnum},
		{"ghu_", "github", 30, isAlnum},
		{"ghs_", "github", 30, isAlnum},
		{"ghr_", "github", 30, isAlnum},
		{"github_pat_", "github", 22, isAlnum | isDash},
		{"glpat-", "gitlab", 18, isWord | isDot},
		{"gldt-", "gitlab", 18, isWord},
		{"glrt-", "gitlab", 18, isWord},
		{"glptt-", "gitlab", 18, isWord},
		{"npm_", "npm", 30, isAlnum},
		{"pypi-", "pypi", 50, isWord},
		{"rubygems_", "rubygems", 40, isAlnum},
		{"dckr_pat_", "docker", 20, isWord},
		{"hf_", "huggingface", 28, isAlnum},
		{"gsk_", "groq", 40, isAlnum},
		{"xai-", "xai", 40, isAlnum},
		{"pplx-", "perplexity", 32, isAlnum},
		{"nvapi-", "nvidia", 40, isWord},
		{"tgp_v", "together", 30, isWord},
		{"fw_", "fireworks", 20, isAlnum},
		{"csk-", "cerebras", 32, isAlnum},
		{"tvly-", "tavily", 20, isWord},
		{"pcsk_", "pinecone", 40, isWord},
		{"jina_", "jina", 40, isWord},
		{"lsv2_", "langsmith", 32, isWord},
		{"r8_", "replicate", 32, isAlnum},
		{"xoxb-", "slack", 10, isWord},
		{"xoxp-", "slack", 10, isWord},
		{"xoxa-", "slack", 10, isWord},
		{"xoxr-", "slack", 10, isWord},
		{"xoxs-", "slack", 10, isWord},
		{"xoxe-", "slack", 10, isWord},
		{"xoxo-", "slack", 10, isWord},
		{"xoxc-", "slack", 10, isWord},
		{"xoxd-", "slack", 10, isWord},
		{"xapp-", "slack", 16, isWord},
		{"AKIA", "aws", 16, isUpper | isDigit},
		{"ASIA", "aws", 16, isUpper | isDigit},
		{"ABIA", "aws", 16, isUpper | isDigit},
		{"ACCA", "aws", 16, isUpper | isDigit},
		{"LTAI", "alibaba", 16, isAlnum},
		{"SG.", "sendgrid", 40, isWord | isDot},
		{"shpat_", "shopify", 32, isAlnum},
		{"shpss_", "shopify", 32, isAlnum},
		{"sq0atp-", "square", 20, isWord},
		{"sq0csp-", "square", 20, isWord},
		{"dop_v1_", "digitalocean", 40, isAlnum},
		{"hvs.", "vault", 24, isWord},
		{"hvb.", "vault", 24, isWord},
		{"sbp_", "supabase", 32, isAlnum},
		{"dapi", "databricks", 32, isLower | isDigit},
		{"ATATT3", "atlassian", 40, isWord | isBase},
		{"PMAK-", "postman", 40, isWord},
		{"figd_", "figma", 30, isWord},
		{"glsa_", "grafana", 30, isWord},
		{"glc_", "grafana", 32, isWord | isBase},
		{"lin_api_", "linear", 30, isAlnum},
		{"ntn_", "notion", 30, isAlnum},
		{"sntrys_", "sentry", 30, isWord | isBase},
		{"sntryu_", "sentry", 30, isWord},
		{"phx_", "posthog", 30, isWord},
		{"sgp_", "sourcegraph", 30, isWord},
		{"AGE-SECRET-KEY-1", "age", 40, isUpper | isDigit},
		{"eyJ", "jwt", 30, isWord | isDot},
	} {
		by[s.prefix[0]] = append(by[s.prefix[0]], s)
	}
	for c := range by {
		slices.SortStableFunc(by[c], func(a, b shape) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	}
	return by
}

// shaped appends the edits for known shapes in the run b[start:end].
func (p *pass) shaped(b []byte, start, end int, out []edit) []edit {
	for i := start; i < end; i++ {
		list := p.r.shapes[b[i]]
		if list == nil || i > 0 && classOf(b[i-1])&isAlnum != 0 {
			continue
		}
		for _, s := range list {
			if n := s.length(b[i:end]); n > 0 {
				out = append(out, p.edit(s.rule, b, i, i+n))
				i += n - 1
				break
			}
		}
	}
	return out
}

// farEnough is where a text that might be a key is given up: a text of many
// beginnings of keys must not be read to its end from each of them.
const farEnough = 1024

// length returns the length of the key that b begins with, or 0.
func (s *shape) length(b []byte) int {
	if len(b) < len(s.prefix)+s.min || string(b[:len(s.prefix)]) != s.prefix {
		return 0
	}
	n := len(s.prefix)
	digits := 0
	dots := 0
	for n < len(b) && s.class&classOf(b[n]) != 0 {
		switch classOf(b[n]) {
		case isDigit:
			digits++
		case isDot:
			dots++
		}
		if n++; n == farEnough && (s.rule == "jwt" && dots == 0 || digits == 0) {
			return 0
		}
	}
	for n > 0 && b[n-1] == '.' {
		n--
	}
	if n-len(s.prefix) < s.min {
		return 0
	}
	if s.rule == "jwt" {
		if bytes.Count(b[:n], []byte{'.'}) != 2 || bytes.Contains(b[:n], []byte("..")) {
			return 0
		}
	} else if digits == 0 { // sk-your-key-goes-here
		return 0
	}
	return n
}

// strong reports whether a value after a name of a secret is likely one,
// where the name stands in prose or code.
func strong(v []byte) bool { return len(v) >= 8 && mixes(v) }

// mixes reports whether a word has both letters and digits.
func mixes(v []byte) bool {
	var all class
	for _, c := range v {
		switch c {
		case '(', ')', '[', ']', '{', '}', '<', '>', '$', ' ', '\t', '\n', ',':
			return false
		}
		all |= classOf(c)
	}
	return all&isDigit != 0 && all&(isLower|isUpper) != 0
}

// masked reports whether a value is what people put in place of a secret.
func masked(v []byte) bool {
	if n := placeholder(v); n > 0 && n == len(v) {
		return true
	}
	v = bytes.Trim(v, " \t\r\n<>[](){}*#\"'`.…-_=:")
	if len(v) == 0 {
		return true
	}
	if len(v) > 24 {
		return false
	}
	same := true
	for _, c := range v {
		same = same && c|0x20 == v[0]|0x20
	}
	switch string(bytes.ToLower(v)) {
	case "redacted", "masked", "hidden", "filtered", "placeholder", "removed", "censored", "sanitized", "scrubbed", "none", "null", "undefined":
		return true
	}
	return same && (v[0]|0x20 == 'x' || v[0] == '0') && len(v) > 2
}
