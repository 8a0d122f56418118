// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// HeaderSecrets are the values of headers that somebody hands over for a server,
// on the command line or in a scenario, which are taken for secrets, whatever the header's name: a server may repeat them. What is plainly
// none is left out: types and languages, names of programs, words.
func HeaderSecrets(h http.Header) []string {
	const least = 6 // what is shorter is found in any text
	var out []string
	for name, values := range h {
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Type", "Content-Encoding", "Host", "Mcp-Protocol-Version", "Origin", "Referer", "User-Agent":
			continue
		}
		for _, v := range values {
			if scheme, word, ok := strings.Cut(v, " "); ok && len(scheme) < 12 && !strings.ContainsAny(word, " ,;") {
				v = word
			}
			if v = strings.TrimSpace(v); len(v) >= least && (!plainWord(v) || name == "Authorization") {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// plainWord reports whether a value is a short word, or a number or a date.
func plainWord(v string) bool {
	const longest = 12
	letters, digits, other := false, false, false
	for _, c := range v {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters = true
		case c >= '0' && c <= '9' || c == '.':
			digits = true
		case c != '-' && c != '_' && c != '/':
			other = true
		}
	}
	return !other && len(v) <= longest && letters != digits
}

// SecretName reports whether the name of a header, of a variable or of a flag says
// that its value is secret.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"AUTHORIZATION", "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	// These are parts of other words.
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if slices.Contains([]string{"PASS", "PAT", "AUTH", "BEARER"}, word) {
			return true
		}
	}
	return false
}

// ServerSecrets are the values that an MCP server is handed in secret: in its
// headers, in the environment of its process (NAME=VALUE) and in the words of its
// command. What is too short for a literal of [Rules] is not among them.
func ServerSecrets(headers map[string]string, env, command []string) []string {
	var out []string
	for name, v := range headers {
		out = append(out, HeaderSecrets(http.Header{name: {v}})...)
		if SecretName(name) {
			if _, bare, found := strings.Cut(v, " "); found { // "Bearer ..."
				v = bare
			}
			out = append(out, v)
		}
	}
	for _, pair := range env {
		if name, v, _ := strings.Cut(pair, "="); handsOver(name, v) {
			out = append(out, v)
		}
	}
	out = append(out, CommandSecrets(command)...)
	return slices.DeleteFunc(out, func(v string) bool { return len(v) < MinLiteral })
}

// CommandSecrets are the values in the words of a command whose flags say that
// they are secret, as --name VALUE or --name=VALUE, or in variables before it,
// as NAME=VALUE.
func CommandSecrets(command []string) []string {
	var out []string
	for i, word := range command {
		name, v, found := strings.Cut(word, "=")
		flag := strings.HasPrefix(name, "-")
		if !found && flag && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
			v = command[i+1]
		}
		if (flag || found && isVariable(name)) && handsOver(name, v) {
			out = append(out, v)
		}
	}
	return out
}

// handsOver reports whether a flag or a variable of that name has a secret as its
// value: not where one is found, a number of tokens, or a word that stands for none.
func handsOver(name, v string) bool {
	name = strings.ToUpper(name)
	for _, of := range []string{"DIR", "ENV", "FILE", "HEADER", "NAME", "PATH", "PROMPT", "TYPE", "URL"} {
		if strings.HasSuffix(name, of) {
			return false
		}
	}
	return SecretName(name) && !trivial([]byte(v)) && !masked([]byte(v)) && (!plainWord(v) || strings.Contains(name, "PASS"))
}

func isVariable(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
