// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MetaHeader is the response header that holds [Meta] in a file.
const MetaHeader = "X-Rehearse-Meta"

const metaVersion = "v1"

// isZero reports whether there is nothing to write.
func (m *Meta) isZero() bool {
	return m.Recorded.IsZero() && (m.Outcome == "" || m.Outcome == Complete) && m.Error == "" && m.Attempt <= 1 &&
		len(m.Chunks) == 0 && m.Coding == "" && m.Base == "" && m.Subject == "" && m.Model == "" && m.Label == "" &&
		m.requestBody == "" && m.responseBody == ""
}

// encode writes m as the value of its header: fields with `;` between, texts
// escaped as in a query, so that there are no blanks.
func (m *Meta) encode(trailer http.Header) string {
	var b strings.Builder
	b.WriteString(metaVersion)
	put := func(key, text string) {
		if text != "" {
			b.WriteString(";" + key + "=" + text)
		}
	}
	if !m.Recorded.IsZero() {
		put("at", m.Recorded.UTC().Format("2006-01-02T15:04:05.999999Z07:00"))
	}
	put("outcome", string(m.Outcome))
	put("error", url.QueryEscape(m.Error))
	if m.Attempt > 1 {
		put("attempt", strconv.Itoa(m.Attempt))
	}
	put("coding", url.QueryEscape(m.Coding))
	put("base", url.QueryEscape(m.Base))
	put("subject", url.QueryEscape(m.Subject))
	put("model", url.QueryEscape(m.Model))
	put("label", url.QueryEscape(m.Label))
	put("request-body", m.requestBody)
	put("body", m.responseBody)
	if len(trailer) > 0 {
		put("trailer", url.QueryEscape(url.Values(trailer).Encode()))
	}
	if len(m.Chunks) > 0 {
		b.WriteString(";chunks=")
		for i, c := range m.Chunks {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(c.Size) + "@" + c.Gap.String())
		}
	}
	return b.String()
}

// decodeMeta reads the value of a header that encode wrote.
func decodeMeta(text string) (Meta, http.Header, error) {
	m := Meta{Outcome: Complete, Attempt: 1}
	var trailer http.Header
	fields := strings.Split(text, ";")
	if fields[0] != metaVersion {
		return m, nil, fmt.Errorf("%s: version %q is unknown; this program knows %s", MetaHeader, fields[0], metaVersion)
	}
	for _, field := range fields[1:] {
		key, v, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "at":
			m.Recorded, err = time.Parse(time.RFC3339, v)
		case "outcome":
			m.Outcome, err = outcome(v)
		case "attempt":
			m.Attempt, err = strconv.Atoi(v)
		case "error":
			m.Error, err = url.QueryUnescape(v)
		case "coding":
			m.Coding, err = url.QueryUnescape(v)
		case "base":
			m.Base, err = url.QueryUnescape(v)
		case "subject":
			m.Subject, err = url.QueryUnescape(v)
		case "model":
			m.Model, err = url.QueryUnescape(v)
		case "label":
			m.Label, err = url.QueryUnescape(v)
		case "request-body":
			m.requestBody = v
		case "body":
			m.responseBody = v
		case "trailer":
			trailer, err = decodeTrailer(v)
		case "chunks":
			m.Chunks, err = decodeChunks(v)
		default:
			err = fmt.Errorf("the field is unknown")
		}
		if err != nil {
			return m, nil, fmt.Errorf("%s: %s: %w", MetaHeader, key, err)
		}
	}
	return m, trailer, nil
}

func outcome(text string) (Outcome, error) {
	switch o := Outcome(text); o {
	case Complete, UpstreamError, Aborted, ClientClosed, Open:
		return o, nil
	}
	return "", fmt.Errorf("%q is not an outcome", text)
}

func decodeTrailer(text string) (http.Header, error) {
	text, err := url.QueryUnescape(text)
	if err != nil {
		return nil, err
	}
	v, err := url.ParseQuery(text)
	return http.Header(v), err
}

func decodeChunks(text string) ([]Chunk, error) {
	chunks := make([]Chunk, 0, strings.Count(text, ",")+1)
	for part := range strings.SplitSeq(text, ",") {
		size, gap, ok := strings.Cut(part, "@")
		n, err := strconv.Atoi(size)
		if err != nil || !ok || n < 0 {
			return nil, fmt.Errorf("%q is not size@gap", part)
		}
		d, err := time.ParseDuration(gap)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q is not size@gap", part)
		}
		chunks = append(chunks, Chunk{n, d})
	}
	return chunks, nil
}
