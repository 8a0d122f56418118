// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/http"
	"strings"
)

// secretNames are the names of secrets, in lower case without separators. A
// name fits as the last words of a longer one.
const secretNames = `apikey apikeys apitoken apisecret appkey appsecret token authtoken accesstoken refreshtoken idtoken sessiontoken
	bearertoken csrftoken xsrftoken securitytoken devicetoken logintoken usertoken secret secrets clientsecret secretkey
	secretaccesskey accesskey accesskeyid privatekey signingkey encryptionkey subscriptionkey functionskey masterkey accountkey
	sharedkey sharedsecret storagekey servicekey licensekey deploykey sshkey webhooksecret password passwords passwd pwd passphrase passcode otp
	onetimepassword totp pincode cvv cvc credential credentials authorization xauth cookie cookies setcookie jwt clientassertion
	assertion samlresponse samlrequest connectionstring sessioncookie pgpassword`

// queryNames are secrets as names of query parameters and form fields alone;
// elsewhere they are common words.
const queryNames = `key sig signature auth sid sessionid sessid session pass xamzsignature xamzcredential xgoogsignature xgoogcredential codeverifier devicecode`

// headerNames are secrets as names of headers alone.
const headerNames = `mcpsessionid sessionid key auth`

// plainNames look like secrets and are none: places in a list, marks of a
// tokenizer.
const plainNames = `progresstoken nextpagetoken pagetoken nexttoken continuationtoken paginationtoken synctoken eostoken bostoken padtoken
	unktoken stoptoken septoken masktoken starttoken endtoken maxtoken lasttoken firsttoken pertoken specialtoken canceltoken cancellationtoken
	imagetoken inputtoken outputtoken textpertoken`

const requestHeaders = `Accept Accept-Encoding Accept-Language Anthropic-Beta Anthropic-Version Content-Encoding Content-Type If-None-Match
	Last-Event-Id Mcp-Method Mcp-Name Mcp-Protocol-Version Mcp-Session-Id Openai-Beta Prefer Range User-Agent X-Github-Api-Version X-Rehearse-*`

const responseHeaders = `Accept Allow Anthropic-Ratelimit-* Cache-Control Content-Disposition Content-Encoding Content-Language
	Content-Range Content-Type Etag Last-Modified Link Location Mcp-Protocol-Version Mcp-Session-Id Openai-Model Openai-Processing-Ms
	Openai-Version Ratelimit-* Request-Id Retry-After Retry-After-Ms Trailer Vary Warning Www-Authenticate X-Accel-Buffering X-Ratelimit-*
	X-Rehearse-* X-Request-Id X-Should-Retry`

// names tells the names of secrets from others.
type names struct {
	secret, query, header, plain map[string]bool
}

func newNames(rules *Rules) *names {
	n := &names{secret: set(secretNames), query: set(queryNames), header: set(headerNames), plain: set(plainNames)}
	for _, name := range rules.Names {
		n.secret[squeeze(name)] = true
		delete(n.plain, squeeze(name))
	}
	for _, name := range rules.Keep {
		if isName(name) {
			n.plain[squeeze(name)] = true
		}
	}
	return n
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// squeeze is a name in lower case without separators.
func squeeze(name string) string {
	return string(squeezed(make([]byte, 0, 64), []byte(name), nil))
}

// squeezed appends the squeezed name to dst and notes in borders where its
// words begin.
func squeezed(dst, name []byte, borders *[]int) []byte {
	border := true
	for i, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			// A hump begins a word: apiKey, and the K of APIKey.
			if i > 0 && (name[i-1] >= 'a' && name[i-1] <= 'z' || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z') {
				border = true
			}
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80:
		default:
			border = true
			continue
		}
		if border && borders != nil {
			*borders = append(*borders, len(dst))
		}
		border = false
		dst = append(dst, c)
	}
	return dst
}

// is reports whether name, or its last words, are the name of a secret. The
// further lists hold whole names.
func (n *names) is(name []byte, further ...map[string]bool) bool {
	if len(name) < 3 || len(name) > 64 {
		return false
	}
	var space [64]byte
	var at [16]int
	borders := at[:0]
	word := squeezed(space[:0], name, &borders)
	if len(word) == 0 {
		return false
	}
	fits := false
	for _, b := range borders {
		if n.plain[string(word[b:])] {
			return false
		}
		fits = fits || n.secret[string(word[b:])]
	}
	for _, f := range further {
		fits = fits || f[string(word)]
	}
	return fits
}

// headerList is a list of header names, some of which end in `*`.
type headerList struct {
	names  map[string]bool
	prefix []string
}

func newHeaderList(list []string, otherwise string) headerList {
	if list == nil {
		list = strings.Fields(otherwise)
	}
	h := headerList{names: map[string]bool{}}
	for _, name := range list {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			h.prefix = append(h.prefix, http.CanonicalHeaderKey(prefix))
			continue
		}
		h.names[http.CanonicalHeaderKey(name)] = true
	}
	return h
}

func (h *headerList) has(name string) bool {
	name = http.CanonicalHeaderKey(name)
	if h.names[name] {
		return true
	}
	for _, p := range h.prefix {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
