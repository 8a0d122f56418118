// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// looks holds a question about a text to the texts for which it is to be
// answered with yes, and to those with no.
func looks(t *testing.T, what string, is func(string) bool, yes, no []string) {
	t.Helper()
	for _, s := range yes {
		if !is(s) {
			t.Errorf("%q is not %s", s, what)
		}
	}
	for _, s := range no {
		if is(s) {
			t.Errorf("%q is %s", s, what)
		}
	}
}

func ofBytes(f func([]byte) bool) func(string) bool {
	return func(s string) bool { return f([]byte(s)) }
}

// TestLooks is about what tells a secret from a word, one property at a time.
func TestLooks(t *testing.T) {
	mark := Mark("home")
	looks(t, "masked", ofBytes(masked), []string{
		mark, "***", "", "<redacted>", "[HIDDEN]", "xxx", "XXXX", "000", "x x x"[:0], "…", "$masked", "`Undefined`", "xXx", strings.Repeat("x", 24), "none",
	}, []string{
		mark + "x", "xx", "aaa", "0x0", "111", "redacted2", strings.Repeat("x", 25), "hunter2", "xy", "x0",
	})
	looks(t, "trivial", ofBytes(trivial), []string{"", " TRUE ", "no", "0", "1", "Disabled"}, []string{"2", "truely", "01", "nope"})
	looks(t, "wordy", ofBytes(wordy), []string{
		"your-key-here", "YOUR_KEY_HERE", "api-2024-notes", "a-b-c", "configurations-of-it", "fourteenletter-a-b",
	}, []string{
		"your-key", "aB-c-d", "api-20245-notes", "fifteenlettersx-a-b", "a-b", "a1-b-c", "",
	})
	looks(t, "mixed letters and digits", ofBytes(mixes), []string{"a1", "1A", "a-1.2"}, []string{"a", "1", "a 1", "a(1", "a1)", "a,1", "$a1", "a\t1", "a\n1", "<a1>", "[a1", "a1]", "{a1", "a1}", ""})
	looks(t, "strong", ofBytes(strong), []string{"abcdefg1"}, []string{"abcdef1", "abcdefgh", "abcdefg 1"})
	looks(t, "jumbled", ofBytes(jumbled), []string{strings.Repeat("aB", 14), strings.Repeat("aaBB", 10)}, []string{
		strings.Repeat("aB", 13) + "a", strings.Repeat("a", 40), strings.Repeat("aB", 13) + "a-", strings.Repeat("aaaaBBBB", 5),
	})
	looks(t, "mixed of all kinds", ofBytes(mixed), []string{"aA1", "x-Y_2"}, []string{"aA", "a1", "A1", ""})
	looks(t, "varied", ofBytes(varied), []string{"aBcD", "aaBBa"}, []string{"abcd", "aaaaaaBBBBBB", "a1b2", ""})
	looks(t, "digits", ofBytes(digits), []string{"0", "0123456789", ""}, []string{"12a", "1.2"})
	looks(t, "a text", ofBytes(isText), []string{"a", "a b\n\tc\r", "żółć is four of many letters", "eight or more" + "\xe2\x82", "12345678\xe2\x82\xac is a euro"}, []string{
		"", "a\x00b", "a\x7fb", "\xff\xfe", "żółć", "short\xe2\x82", "12345678\xe2\x82", "eight or more\xe2\x82and more", "eight or more\xe2\x82ab", "eight or mor\x1b",
	})
	looks(t, "JSON", ofBytes(looksJSON), []string{"{", "[", " \t\r\n{", "[1"}, []string{"", " ", "x{", "\"{\"", "1"})
	looks(t, "a type", ofBytes(isType), []string{"string", "INT", "two words", "true"}, []string{"strings", "hunter2", ""})
	looks(t, "a login", ofBytes(isLogin), []string{"ann:abc", "a:b:c:d"}, []string{"ann:ab", ":abc", "ann", "an n:abc", "ann:ab c", "{ann:abc", "ann:a\x00bc"})
	looks(t, "escaped", ofBytes(escaped), []string{`a\"b`, `\/`, `\u0041`, `\x41`, `\\`, "\\\n", `\n`, `\t`, `\r`, `\q\n`}, []string{`a`, `\`, `\q`, `a\`, ""})
	looks(t, "of a URL", func(s string) bool { return inURL(s[0]) }, []string{"!", "a", "~", "/", "%"}, []string{" ", "\x7f", "\"", "'", "<", ">", "\\", "`", "{", "}", "|", "^", "\x80"})
	looks(t, "a line of a key", ofBytes(isKeyLine), []string{
		"MIIEvQIBADANBgkq", "abcDEF12", "  MIIE12", "log | MIIEvQIBADANBgkq", "ab=", "abcdefghijklmnop",
	}, []string{"", "  ", "abcdefghijklmno", "a.b12", "word", "MIIE12 word", "ab-12"})
	looks(t, "a plain word", plainWord, []string{"verbose", "2026-07-28", "1.2.3", "abcdefghijkl", "en-us", "123456789012", "AZ_az", "0/9"}, []string{
		"abcdefghijklm", "a1", "", "a b", "k7Qx9z", "---", "1234567890123", "a@b", "z2", "Z9", "ver1.0",
	})
	looks(t, "a path to keep", func(s string) bool { return !isName(s) }, []string{"a.b", "a[0]", "*"}, []string{"a", "progressToken", "a-b"})
	looks(t, "the name of a secret", func(s string) bool { return newRedactor(t, nil).names.is([]byte(s)) }, []string{
		"token", "githubToken", "GITHUB_TOKEN", "x-api-key", "APIKey", "my.password", strings.Repeat("x", 58) + "_token",
	}, []string{
		"githubtoken", "xpassword", "tokens", "token_count", "nextPageToken", "to", "---", strings.Repeat("x", 59) + "_token",
	})
	looks(t, "a role", isRole, []string{"home", "a", "z"}, []string{"", "Home", "a1", "my home"})
	looks(t, "ordinary", func(s string) bool { return newRedactor(t, nil).startOf().ordinary([]byte(s)) }, []string{
		"required", "Wrong", "expired", "being", "readable", "possible", "useful", "useless", "badly", "mandatory", "absent", "redundant", "ok",
	}, []string{"hunter", "expired2", "ed2", "swordfish", "zed-x"})
}

func (r *Redactor) startOf() *pass { return &pass{r: r} }

// TestRandom: what chance has made looks so, at the least lengths and with the
// fewest digits that count.
func TestRandom(t *testing.T) {
	looks(t, "random", ofBytes(random), []string{
		"aB1cD2eF3gH4iJ", "x-aB1cD2eF3gH4iJ", "a1b2c3d4e5fghijklmnopqrstuvw", "a1b2c3d4e5f6g7h8i9j0k1l2m3n4",
	}, []string{
		"aB1cD2eF3gH4i", "aBcDeFgHiJkLm1", "0123456789abcdef0123", "xY1xY1xY1xY1xY1", "aaaaaBBBBB1ccccc2", "a1b2c3d4e5f6g7h8i9j0k1l2m3n", "a1b2c3d4ghijklmnopqrstuvwxyz", "aB1cD2-eF3gH4-iJ5kL6",
	})
}

// TestGuessesAtTheirBounds: what only looks random is told from 20 characters on,
// and up to 128: what is longer is no key.
func TestGuessesAtTheirBounds(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	strange := "a1B2" + chars(rand.New(rand.NewPCG(13, 14)), 200, alnumChars)
	for n, want := range map[int]int{19: 0, 20: 1, 128: 1, 129: 0} {
		found := r.Scan([]byte("it has " + strange[:n] + " in it"))
		if len(found) != want || want > 0 && !found[0].Guess {
			t.Errorf("of %d characters: found %v", n, found)
		}
	}
	// With a sign in it, it is base64 of up to 100 characters, else two texts.
	for n, want := range map[int]string{100: "(100 bytes)", 101: "(90 bytes)"} {
		found := r.Scan([]byte("it has " + strange[:10] + "+" + strange[11:n] + " in it"))
		if len(found) != 1 || !strings.HasSuffix(found[0].Excerpt, want) {
			t.Errorf("of %d characters with a sign: found %v, want one of %s", n, found, want)
		}
	}
}

// TestLoginOfBase64 decodes all kinds of base64, and nothing else.
func TestLoginOfBase64(t *testing.T) {
	for in, want := range map[string]string{
		"YW5uOmFiYw==": "ann:abc", "YW5uOmFiYw": "ann:abc", "YW5u\r\nOm FiYw==": "ann:abc", "Pj4_Pz8-": ">>???>", "Pj4/Pz8+": ">>???>", "": "",
		"YW5uO": "", "YW 5uO": "", "YW5u.OmFi": "", "YW5uO===": "", "Y": "",
	} {
		if got := string(decode64([]byte(in))); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// TestPlaceholders: a placeholder is known by its parts, and is no text to look
// into.
func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]int{
		"REDACTED-sk-12345678": 20, "REDACTED-sk-12345678x": 20, "REDACTED-z-abcdefAB": 19, "REDACTED-sk-1234567": 0, "REDACTED-sk-1234567g": 0, "REDACTED--12345678": 0,
		"REDACTED-s1-12345678": 0, "REDACTED-sk_12345678": 0, "REDACTED-sk": 0, "REDACTED-sk-": 0, "redacted-sk-12345678": 0, "": 0,
	} {
		if got := placeholder([]byte(text)); got != want {
			t.Errorf("%q has a placeholder of %d bytes, want %d", text, got, want)
		}
	}
	const text = "a REDACTED-sk-12345678 b"
	for i := range len(text) {
		if got, want := inPlaceholder([]byte(text), i), i >= 2 && i < 22; got != want {
			t.Errorf("byte %d of %q is in a placeholder: %t", i, text, got)
		}
	}
	for text, want := range map[string]string{
		text: "a REDACTED-sk b", "REDACTED-sk-1234567 x": "REDACTED-sk-1234567 x", "none": "none", "REDACTED-a-00000000REDACTED-b-11111111": "REDACTED-aREDACTED-b",
	} {
		if got := Neutral(text); got != want {
			t.Errorf("%q without hashes is %q, want %q", text, got, want)
		}
	}
	looks(t, "marked", ofBytes(Marked), []string{text, "REDACTED-x REDACTED-sk-12345678"}, []string{"", "REDACTED-", "REDACTED-sk-1234567", "a b"})
}

// TestShapesAtTheirBounds has, for the keys of every issuer, one as short as it
// may be, and what is one character short, or part of a longer word.
func TestShapesAtTheirBounds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	rule := ""
	found := func(text string) string {
		out := r.startOf().shaped([]byte(text), 0, len(text), nil)
		if len(out) == 0 {
			return ""
		}
		rule = out[0].rule
		return text[out[0].start:out[0].end]
	}
	n := 0
	for _, list := range shapes() {
		for _, s := range list {
			if s.rule == "jwt" || s.min < 8 {
				continue
			}
			n++
			tail := chars(rnd, s.min-4, alnumChars) + "aB1z"
			if s.hex {
				tail = chars(rnd, s.min, hexChars)
			}
			if s.class&isAlnum != isAlnum && !s.hex {
				tail = strings.ToLower(tail)
				if s.class&isLower == 0 {
					tail = strings.ToUpper(tail)
				}
			}
			key := s.prefix + tail
			if got := found(key); got != key {
				t.Errorf("%s: %q is found as %q", s.rule, key, got)
				continue
			}
			if got := found(key + "."); got != key {
				t.Errorf("%s: %q at the end of a sentence is found as %q", s.rule, key, got)
			}
			if got := found("-" + key); got != key && s.rule != "mailgun" {
				t.Errorf("%s: -%q is found as %q", s.rule, key, got)
			}
			for _, none := range []string{key[:len(key)-1], "x" + key, "9" + key} {
				if got := found(none); got != "" && rule != s.rule {
					continue // of another issuer, whose keys are shorter
				} else if got == none || got == key || s.hex && strings.HasPrefix(got, s.prefix) && none != key[:len(key)-1] {
					t.Errorf("%s: %q is found as %q", s.rule, none, got)
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d shapes were tried", n)
	}
}

// TestShapesOfWords: what begins as a key and is words is none, and a key ends
// where its characters do.
func TestShapesOfWords(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	letters := strings.Repeat("aB", 14)
	long := strings.Repeat("aB3", 341) + "x"
	for text, want := range map[string]string{
		"sk-your-own-secret-key-1": "", "sk-" + letters: "sk-" + letters, "sk-" + strings.ToLower(letters): "", "sk-" + letters[:26]: "",
		skKey + " x": skKey, skKey + ",": skKey, skKey + "...": skKey, "cache-key-" + strings.Repeat("ab12", 8): "", "key-" + strings.Repeat("ab12", 8): "key-" + strings.Repeat("ab12", 8),
		"x.key-" + strings.Repeat("ab12", 8): "", "key-" + strings.Repeat("ab12", 8) + "c": "", "key-" + strings.Repeat("ab1g", 8): "",
		"sk-" + long: "sk-" + long, "sk-" + strings.Repeat("ab", 600): "", "eyJhbGciOiJ9.eyJzdWIiOiIx.c2lnbmF0dXJl": "", jwtKey: jwtKey, jwtKey[:40]: "", strings.Replace(jwtKey, ".", "..", 1): "",
	} {
		out := r.startOf().shaped([]byte(text), 0, len(text), nil)
		got := ""
		if len(out) > 0 {
			got = text[out[0].start:out[0].end]
		}
		if len(out) > 1 || got != want && !strings.HasPrefix(text, "eyJhbGciOiJ9") {
			t.Errorf("%.80q is found as %.80q, want %.80q", text, got, want)
		}
	}
	// A beginning of a key that chance has put into base64 is none.
	noise := bytes64(rand.New(rand.NewPCG(3, 4)), 66)
	noise = strings.NewReplacer("+", "a", "/", "b").Replace(noise)
	for before, want := range map[string]int{noise[:64] + "/": 0, noise[:60] + "/": 1, "." + noise[:62] + "/": 1, noise[:60] + "." + noise[:10] + "/": 1, strings.Repeat("a", 64) + "/": 1} {
		text := before + githubKey
		if out := r.startOf().shaped([]byte(text), 0, len(text), nil); len(out) != want {
			t.Errorf("behind %q: %d keys are found, want %d", before, len(out), want)
		}
	}
}

// TestInfixShapesAtTheirBounds is the same for keys with their mark inside.
func TestInfixShapesAtTheirBounds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	for _, s := range infixShapes() {
		before, after := "aB1"+chars(rnd, s.before-3, alnumChars), chars(rnd, s.after, alnumChars)
		if s.total > 0 {
			after = chars(rnd, s.total-s.before-len(s.mark), alnumChars)
		}
		key := before + s.mark + after
		find := func(text string) string {
			out := r.startOf().infixed([]byte(text), 0, len(text), nil)
			if len(out) == 0 {
				return ""
			}
			return text[out[0].start:out[0].end]
		}
		if got := find(key); got != key {
			t.Errorf("%q is found as %q", key, got)
		}
		if got := find("x/" + key + "/y"); got != key {
			t.Errorf("%q in a path is found as %q", key, got)
		}
		if got := find(key + "."); s.total > 0 && got != key {
			t.Errorf("%q at the end of a sentence is found as %q", key, got)
		}
		none := []string{key[1:]}
		if s.after > 0 {
			none = append(none, key[:len(key)-1])
		}
		if s.total > 0 {
			none = append(none, key+"a")
		}
		for _, text := range append(none, strings.ToLower(before)+s.mark+strings.ToLower(after)) {
			if got := find(text); got != "" && strings.ToLower(s.mark) == s.mark {
				t.Errorf("%q is found as %q", text, got)
			}
		}
	}
}

// TestLiteralForms: a secret that is named is found in every spelling, and from
// eight bytes on in hex and base64 too.
func TestLiteralForms(t *testing.T) {
	for secret, want := range map[string][]string{
		"a/b&c=":   {"a/b&c=", "a/b&amp;c=", "a%2Fb%26c%3D", "a%2Fb&c=", `a/b\u0026c=`, `a\/b&c=`},
		"abcdefg":  {"abcdefg"},
		"abcdefgh": {"abcdefgh", hex.EncodeToString([]byte("abcdefgh")), "FhYmNkZWZnaA"[1:11]},
	} {
		text := " " + strings.Join(want, " ") + " "
		r := newRedactor(t, &Rules{Literals: []string{secret}, Users: []string{}, Places: []Place{}})
		for _, form := range want {
			if strings.Contains(string(apply([]byte(text), tidy(r.known.find([]byte(text), nil)))), " "+form+" ") {
				t.Errorf("%q is not found as %q", secret, form)
			}
		}
	}
	for _, h := range []string{"6162636465666768", "6162636465666768"} {
		r := newRedactor(t, &Rules{Literals: []string{"abcdefgh"}, Users: []string{}, Places: []Place{}})
		if got := r.known.find([]byte(h), nil); len(got) != 1 {
			t.Errorf("%s has %v", h, got)
		}
	}
	r := newRedactor(t, &Rules{Literals: []string{"abcdefg"}, Users: []string{}, Places: []Place{}})
	if got := r.known.find([]byte("61626364656667"), nil); len(got) != 0 {
		t.Errorf("seven bytes in hex are found as %v", got)
	}
}

// TestBordersOfPlaces: a folder is found where it is one, and not in a longer
// name; a login name as a word, in whatever case.
func TestBordersOfPlaces(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{"Ann-Lo", "me", "root", " bob "}, Places: []Place{{"home", "/home/ann/"}, {"win", `C:\Users\ann`}, {"tiny", "/ab"}, {"work", "/private/w/x"}}})
	home, user, win, work := Mark("home"), Mark("user"), Mark("win"), Mark("work")
	for text, want := range map[string]string{
		"/home/ann": home, "/home/ann/x": home + "/x", "(/home/ann)": "(" + home + ")", "/private/home/ann": home, `\/home\/ann`: home, "/home/ann.": home + ".",
		"/home/anna": "/home/anna", "x/home/ann": "x/home/ann", "_/home/ann": "_/home/ann", "-/home/ann": "-/home/ann", "./home/ann": "./home/ann", "/home/ann_": "/home/ann_", "/home/ann-": "/home/ann-", "/home/ann9": "/home/ann9", "Z/home/ann": "Z/home/ann",
		`C:\Users\ann\x`: win + `\x`, "C:/Users/ann": win, `C:\\Users\\ann`: win, "/ab": "/ab", "/w/x": work, "/private/w/x": work,
		"ann-lo": user, "ANN-LO": user, "(Ann-Lo)": "(" + user + ")", "ann-lo9": "ann-lo9", "xann-lo": "xann-lo", "ann_ann-lo": "ann_" + user, "Bob": user, "me root": "me root", "Aann-lo": "Aann-lo", "0ann-lo": "0ann-lo",
	} {
		if got := string(apply([]byte(text), tidy(r.known.find([]byte(text), nil)))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
