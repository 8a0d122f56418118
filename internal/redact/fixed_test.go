// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// chars are n characters by chance.
func chars(r *rand.Rand, n int, of string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = of[r.IntN(len(of))]
	}
	return string(b)
}

const (
	digitChars = "0123456789"
	hexChars   = "0123456789abcdef"
	alnumChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	wordChars  = alnumChars + "-_"
)

func bytes64(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// fixedKeys are keys of issuers whose keys have a shape by their parts, or a
// beginning of few characters.
func fixedKeys(r *rand.Rand) map[string]string {
	some := func(n int) string { return chars(r, n, alnumChars) }
	return map[string]string{
		"telegram":         chars(r, 10, "123456789") + ":AA" + some(33),
		"telegram, short":  chars(r, 8, "123456789") + ":" + some(35),
		"discord":          "M" + some(23) + "." + some(6) + "." + some(27),
		"discord, number":  strings.TrimRight(base64.StdEncoding.EncodeToString([]byte("1"+chars(r, 18, digitChars))), "=") + "." + some(6) + "." + some(38),
		"azure storage":    bytes64(r, 64),
		"azure search":     some(42) + "AzSeB" + some(5),
		"mailgun":          "key-" + chars(r, 32, hexChars),
		"mailgun, new":     chars(r, 32, hexChars) + "-" + chars(r, 8, hexChars) + "-" + chars(r, 8, hexChars),
		"mailchimp":        chars(r, 32, hexChars) + "-us13",
		"asana":            "1/" + chars(r, 16, "123456789") + ":" + chars(r, 32, hexChars),
		"asana, new":       "2/" + chars(r, 16, "123456789") + "/" + chars(r, 16, "123456789") + ":" + chars(r, 32, hexChars),
		"tailscale":        "tskey-auth-" + some(16) + "-" + some(32),
		"tailscale client": "tskey-client-" + some(12) + "CNTRL-" + some(32),
		"google refresh":   "1//0" + some(60),
		"voyage":           "pa-" + some(43),
		"wandb":            "wandb_v1_" + some(60),
		"notion":           "secret_" + some(43),
		"elevenlabs":       "sk_" + chars(r, 48, hexChars),
		"supabase":         "sb_secret_" + some(22) + "_" + some(8),
		"runpod":           "rpa_" + some(42),
		"netlify":          "nfp_" + some(36),
		"docker":           "dckr_oat_" + some(32),
		"bitbucket":        "ATCTT3xFfGN0" + some(160),
	}
}

// TestFixed: a key is taken out wherever it stands, and the scan sees it.
func TestFixed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	r := newRedactor(t, nil)
	for n := range 40 {
		for name, key := range fixedKeys(rnd) {
			quoted, _ := json.Marshal("Use this: " + key + " please")
			for _, text := range []string{
				key, "user:" + key, "Basic data " + b64("user:"+key), "Use this: " + key + " please", "x='" + key + "'", "see " + key + ".", `{"messages":[{"role":"user","content":` + string(quoted) + `}]}`,
				`{"v":"` + key + `"}`, `["` + key + `"]`, "DefaultEndpointsProtocol=https;AccountKey=" + key + ";EndpointSuffix=core.windows.net",
				"https://api.example.com/v1/x/" + url.PathEscape(key) + "/chat", "https://api.example.com/bot?q=" + url.QueryEscape(key),
				"data: {\"delta\":\"" + key[:len(key)/2] + "\"}\n\ndata: {\"delta\":\"" + key[len(key)/2:] + "\"}\n\n",
			} {
				if got := string(r.Interaction(post(text)).Request.Body); strings.Contains(got, key) || strings.Contains(got, url.PathEscape(key)) || strings.Contains(got, key[len(key)-20:]) {
					t.Errorf("%d %s: %s\nbecomes %s", n, name, text, got)
				}
				if strings.HasPrefix(text, "data:") {
					continue
				}
				fresh := newRedactor(t, nil)
				if found := fresh.Scan([]byte(text)); !slices.ContainsFunc(found, func(f Finding) bool { return !f.Guess }) {
					t.Errorf("%d %s: %s: found %v", n, name, text, found)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}

// TestStorageKeysOfSigns: a key may begin with a sign of base64, in which no run
// begins.
func TestStorageKeysOfSigns(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	rest := bytes64(rand.New(rand.NewPCG(9, 10)), 64)[1:]
	for _, sign := range []string{"/", "+"} {
		key := sign + rest
		mark := r.mark("azure", key)
		for text, want := range map[string]string{`{"v":"` + key + `"}`: `{"v":"` + mark + `"}`, "it is " + key + " now": "it is " + mark + " now"} {
			if got := string(r.Interaction(post(text)).Request.Body); got != want {
				t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
			}
		}
	}
}

// TestNearlyFixed: what has nearly the shape of a key stays.
func TestNearlyFixed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	for range 40 {
		md5, key := chars(rnd, 32, hexChars), bytes64(rnd, 64)
		for _, text := range []string{
			"cache-key-" + md5, "my_key-" + md5, "key-" + md5[:30], md5 + "-useast1", md5 + "-us2024", md5,
			"sha512-" + key, `{"signature":"` + key + `"}`, `{"thought_signature":"` + key + `"}`, `{"integrity":"sha512-` + key + `"}`, "digest: " + key,
			`{"state":{"opaque":["` + key + `"]}}`, `{"type":"image","data":"` + key + `"}`, "data:image/png;base64," + key, `{"b64_json":"` + key + `"}`,
			`{"v":"` + bytes64(rnd, 61) + `"}`, `{"v":"` + bytes64(rnd, 65) + `"}`, `{"v":"` + bytes64(rnd, 128) + `"}`, `{"v":"` + bytes64(rnd, 32) + `"}`,
			`{"v":"` + base64.URLEncoding.EncodeToString([]byte(bytes64(rnd, 72))) + `"}`,
			"1700000000:" + md5, "at 12:34:56:" + md5 + "abc", "pa-turnpike-commission-annual-report-v2-2024-final", "secret_santa_of_the_year_2024_is_not_here_today_at_all",
			"http://127.0.0.1:8080/v1/chat/completions", "1/0", "Modules.loader.configuration_of_the_server", "Module_with_long_name_1.parse1.configuration_of_the_server_x",
			"11//0", "cio-2024", "tskey-auth", "0123456789:the_name_of_a_thing_that_has_thirty", "2/3:1a2b", "wandb_v1_api", "mfa.required",
		} {
			if got := string(r.Interaction(post(text)).Request.Body); got != text {
				t.Errorf("%s\nbecomes %s", text, got)
			}
			i := post(text)
			for _, f := range r.Scan((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode()) {
				if !f.Guess {
					t.Errorf("%s: found %s", text, f)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}
