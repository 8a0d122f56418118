// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// infixShape is what the keys of an issuer look like that have their mark not at
// the front: characters before it, and after.
type infixShape struct {
	mark, rule    string
	before, after int // at least
	total         int // exactly, unless 0
}

func infixShapes() []infixShape {
	return []infixShape{
		{"Q~", "azure", 4, 28, 0},
		{".atlasv1.", "hashicorp", 14, 50, 0},
		{"_mmk", "maxmind", 30, 0, 0},
		{"AzSe", "azure", 42, 6, 52},
		{"AZDO", "azure", 70, 4, 84},
		{"JQQJ99", "azure", 50, 20, 84},
	}
}

// infixed finds keys whose mark is not at the front, in the run b[start:end].
func (p *pass) infixed(b []byte, start, end int, out []edit) []edit {
	run := b[start:end]
	for _, s := range p.r.infixes {
		i := bytes.Index(run, []byte(s.mark))
		if i < s.before || len(run)-i-len(s.mark) < s.after || !mixed(run[:min(len(run), i+len(s.mark)+s.after)]) {
			continue
		}
		from, to := i, i+len(s.mark)
		for from > 0 && p.r.classes[run[from-1]]&(isWord|isDot) != 0 || from > 0 && run[from-1] == '~' {
			from--
		}
		for to < len(run) && (p.r.classes[run[to]]&(isWord|isDot) != 0 || run[to] == '~') {
			to++
		}
		for to > from && s.total > 0 && run[to-1] == '.' { // of a sentence
			to--
		}
		if i-from >= s.before && to-i-len(s.mark) >= s.after && (s.total == 0 || to-from == s.total) {
			out = append(out, p.edit(s.rule, b, start+from, start+to))
		}
	}
	return out
}

// webhooks finds the addresses that let whoever knows them write: what is
// behind the host is the secret.
func (p *pass) webhooks(b []byte, out []edit) []edit {
	for _, host := range []string{"hooks.slack.com/", ".webhook.office.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "hooks.zapier.com/hooks/", "api.telegram.org/bot"} {
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(host))
			if i < 0 {
				break
			}
			start := at + i + len(host)
			end := start
			for end < len(b) && b[end] != '?' && !ends(b[end]) {
				end++
			}
			if at = end; end-start >= 20 && mixes(b[start:end]) && !bytes.Contains(b[start:end], []byte(markStart)) {
				out = append(out, p.edit("webhook", b, start, end))
			}
		}
	}
	return out
}
