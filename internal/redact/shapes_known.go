// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"cmp"
	"slices"
	"strings"
)

// shapes are the known shapes by their first byte, longer prefixes first.
func shapes() [256][]shape {
	var by [256][]shape
	for _, s := range issuers() {
		for prefix := range strings.FieldsSeq(s.prefix) {
			s.prefix = prefix
			by[prefix[0]] = append(by[prefix[0]], s)
		}
	}
	for c := range by {
		slices.SortStableFunc(by[c], func(a, b shape) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	}
	return by
}

// issuers are the shapes of keys as those who issue them publish them; here a
// shape has all prefixes, with blanks between. Those of few fixed characters
// want what follows to be as chance has it: see [chance].
func issuers() []shape {
	return []shape{
		{"aio_", "adafruit", 28, isAlnum, false},
		{"p8e-", "adobe", 32, isAlnum, false},
		{"AGE-SECRET-KEY-1", "age", 40, isUpper | isDigit, false},
		{"pat", "airtable", 79, isAlnum | isDot, false},
		{"LTAI", "alibaba", 16, isAlnum, false},
		{"sk-ant-", "anthropic", 16, isWord, false},
		{"esecret_", "anyscale", 20, isAlnum, false},
		{"apify_api_", "apify", 30, isAlnum, false},
		{"AKCp", "artifactory", 60, isAlnum, false},
		{"cmVmd", "artifactory", 55, isAlnum, false},
		{"ATATT3 ATCTT3", "atlassian", 40, isWord | isBase, false},
		{"ATBB", "atlassian", 28, isAlnum, false},
		{"BBDC-", "atlassian", 40, isAlnum | isBase, false},
		{"authress_", "authress", 40, isWord | isDot | isBase, false},
		{"ABSK", "aws", 100, isAlnum | isBase, false},
		{"AKIA ASIA ABIA ACCA", "aws", 16, isUpper | isDigit, false},
		{"bedrock-api-key-", "aws", 24, isWord | isBase, false},
		{"bb_live_", "browserbase", 20, isWord, false},
		{"csk-", "cerebras", 32, isAlnum, false},
		{"4b1d", "clickhouse", 38, isAlnum, false},
		{"CLOJARS_ clojars_", "clojars", 50, isAlnum, false},
		{"cfut_ cfat_ cfk_", "cloudflare", 40, isAlnum, false},
		{"v1.0-", "cloudflare", 140, isLower | isDigit | isDash, false},
		{"ctx7sk-", "context7", 20, isWord, false},
		{"cio", "cratesio", 32, isAlnum, false},
		{"dapi", "databricks", 32, isLower | isDigit, false},
		{"dop_v1_ doo_v1_ dor_v1_", "digitalocean", 40, isAlnum, false},
		{"mfa.", "discord", 80, isWord, false},
		{"dckr_pat_ dckr_oat_", "docker", 20, isWord, false},
		{"dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", "doppler", 40, isAlnum, false},
		{"dp.st.", "doppler", 40, isWord | isDot, false},
		{"sl.", "dropbox", 120, isWord | isBase, false},
		{"duffel_test_ duffel_live_", "duffel", 40, isWord | isBase, false},
		{"dt0c01.", "dynatrace", 80, isAlnum | isDot, false},
		{"e2b_", "e2b", 40, isAlnum, true},
		{"EZAK EZTK", "easypost", 54, isAlnum, false},
		{"sk_", "elevenlabs", 48, isAlnum, true},
		{"EAAM EAAC", "facebook", 100, isAlnum, false},
		{"figd_", "figma", 30, isWord, false},
		{"fw_", "fireworks", 20, isAlnum, false},
		{"FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-", "flutterwave", 12, isAlnum | isDash, false},
		{"fm1r_ fm2_", "flyio", 60, isWord | isBase, false},
		{"fo1_", "flyio", 40, isWord, false},
		{"fio-u-", "frameio", 50, isWord | isBase, false},
		{"ghp_ gho_ ghu_ ghs_ ghr_ GHSAT0", "github", 30, isAlnum, false},
		{"github_pat_", "github", 22, isAlnum | isDash, false},
		{"_gitlab_session=", "gitlab", 30, isAlnum, false},
		{"glagent- gloas-", "gitlab", 40, isWord, false},
		{"gldt- glrt- glptt- glcbt- glffct- glft- glimt- glsoat- GR1348941 glrtr-", "gitlab", 18, isWord, false},
		{"glpat-", "gitlab", 18, isWord | isDot, false},
		{"1//0", "google", 38, isWord, false},
		{"4/0A", "google", 60, isWord, false},
		{"AIza AQ.Ab", "google", 30, isWord, false},
		{"GOCSPX-", "google", 20, isWord, false},
		{"ya29.", "google", 20, isWord | isDot, false},
		{"eyJrIjoi", "grafana", 60, isAlnum | isBase, false},
		{"glc_", "grafana", 32, isWord | isBase, false},
		{"glsa_", "grafana", 30, isWord, false},
		{"gsk_", "groq", 40, isAlnum, false},
		{"pat. sat.", "harness", 60, isWord | isDot, false},
		{"HRKU-AA", "heroku", 50, isWord, false},
		{"hf_ api_org_", "huggingface", 28, isAlnum, false},
		{"ico-", "infracost", 32, isAlnum, false},
		{"s-s4t2af-", "intra", 60, isAlnum, false},
		{"s-s4t2ud-", "intra", 60, isLower | isDigit, false},
		{"jina_", "jina", 40, isWord, false},
		{"ZXlK", "jwt", 60, isAlnum | isBase, false},
		{"eyJ", "jwt", 30, isWord | isDot, false},
		{"ls__", "langsmith", 32, isAlnum, false},
		{"lsv2_", "langsmith", 32, isWord, false},
		{"lin_api_", "linear", 30, isAlnum, false},
		{"lin_oauth_", "linear", 40, isAlnum, false},
		{"key-", "mailgun", 32, isAlnum, true},
		{"mdb_sa_sk_", "mongodb", 30, isWord, false},
		{"napi_", "neon", 40, isAlnum, false},
		{"nfp_ nfo_ nfc_ nfu_", "netlify", 34, isAlnum, false},
		{"NRAK-", "newrelic", 25, isAlnum, false},
		{"NRII- nrii- NRIQ-", "newrelic", 30, isWord, false},
		{"NRJS-", "newrelic", 18, isAlnum, false},
		{"NRRA-", "newrelic", 30, isAlnum, false},
		{"ntn_", "notion", 30, isAlnum, false},
		{"secret_", "notion", 43, isAlnum, false},
		{"npm_", "npm", 30, isAlnum, false},
		{"oy2", "nuget", 43, isLower | isDigit, false},
		{"nvapi-", "nvidia", 40, isWord, false},
		{"API-", "octopus", 26, isUpper | isDigit, false},
		{"A3-", "onepassword", 34, isUpper | isDigit | isDash, false},
		{"ops_eyJ", "onepassword", 60, isAlnum | isBase, false},
		{"sha256~", "openshift", 40, isWord, false},
		{"pplx-", "perplexity", 32, isAlnum, false},
		{"pcsk_", "pinecone", 40, isWord, false},
		{"pscale_tkn_ pscale_oauth_ pscale_pw_", "planetscale", 32, isWord | isDot | isBase, false},
		{"phx_", "posthog", 30, isWord, false},
		{"PMAK-", "postman", 40, isWord, false},
		{"pnu_", "prefect", 36, isAlnum, false},
		{"pul-", "pulumi", 40, isLower | isDigit, false},
		{"pypi-", "pypi", 50, isWord, false},
		{"rdme_", "readme", 60, isLower | isDigit, false},
		{"r8_", "replicate", 32, isAlnum, false},
		{"RGAPI-", "riot", 36, isWord, false},
		{"rubygems_", "rubygems", 40, isAlnum, false},
		{"rpa_", "runpod", 40, isAlnum, false},
		{"tk-us-", "scalingo", 40, isWord, false},
		{"SG.", "sendgrid", 40, isWord | isDot | isBase, false},
		{"xkeysib-", "sendinblue", 70, isLower | isDigit | isDash | isUpper, false},
		{"xsmtpsib-", "sendinblue", 70, isWord, false},
		{"sntrys_", "sentry", 30, isWord | isBase, false},
		{"sntryu_", "sentry", 30, isWord, false},
		{"sm_aat_ sm_pat_ sm_sat_", "settlemint", 16, isAlnum, false},
		{"shippo_live_ shippo_test_", "shippo", 40, isAlnum, false},
		{"shpat_ shpss_ shpca_ shppa_ shptka_", "shopify", 32, isAlnum, false},
		{"sk-", "sk", 18, isWord, false},
		{"xapp- xwfp-", "slack", 16, isWord, false},
		{"xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxo- xoxc- xoxd-", "slack", 10, isWord, false},
		{"sgp_", "sourcegraph", 30, isWord, false},
		{"slk_", "sourcegraph", 64, isAlnum, true},
		{"EAAA", "square", 22, isWord | isBase, false},
		{"sq0atp- sq0csp-", "square", 20, isWord, false},
		{"sk_live_ sk_test_ rk_live_ rk_test_", "stripe", 16, isAlnum, false},
		{"sk_prod_ rk_prod_", "stripe", 10, isAlnum, false},
		{"whsec_", "stripe", 24, isAlnum | isBase, false},
		{"sb_secret_", "supabase", 20, isWord, false},
		{"sbp_", "supabase", 32, isAlnum, false},
		{"tskey-", "tailscale", 16, isWord, false},
		{"tvly-", "tavily", 20, isWord, false},
		{"tgp_v", "together", 30, isWord, false},
		{"AC SK", "twilio", 32, isAlnum, true},
		{"tfp_", "typeform", 40, isWord | isDot | isBase, false},
		{"hvs. hvb. hvr.", "vault", 24, isWord, false},
		{"vcp_ vck_ vca_ vcr_", "vercel", 40, isAlnum, false},
		{"vk1.a.", "vk", 100, isWord, false},
		{"pa-", "voyage", 40, isWord, false},
		{"waka_", "wakatime", 36, isWord, false},
		{"wandb_v1_", "wandb", 40, isWord, false},
		{"xai-", "xai", 40, isAlnum, false},
		{"AQVN", "yandex", 35, isWord, false},
		{"y0_", "yandex", 50, isWord, false},
	}
}

// chance says of which issuers a key is one only where it is [varied]: what
// marks them begins words, too.
func chance(rule string) bool {
	switch rule {
	case "voyage", "cratesio", "yandex", "notion":
		return true
	}
	return false
}
