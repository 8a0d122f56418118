// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// fixture is traffic that is recorded: how the nth request looks. Its answer
// tells n, so that a wrong one is found out.
type fixture struct {
	name    string
	request func(n int) vcr.Request
}

const (
	chats  = "one address"         // what clients of models do
	places = "an address for each" // what clients of REST do
)

const events = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n"

// fixtures are by name.
func fixtures() map[string]fixture {
	tools := strings.Repeat(`{"type":"function","function":{"name":"search","description":"Find a compound by its name","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}},`, 4)
	chat := `{"model":"m","messages":[{"role":"system","content":"You help with metabolic models. Be brief."},{"role":"user","content":"What is compound %d?"},` +
		`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"search","arguments":"{\"q\":\"cpd%05d\"}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":"ATP"}],"tools":[` + strings.TrimSuffix(tools, ",") + `],"stream":true,"temperature":0}`
	return map[string]fixture{
		chats: {chats, func(n int) vcr.Request {
			return vcr.Request{
				Method: http.MethodPost, URL: "http://127.0.0.1:1/v1/chat/completions", Header: http.Header{"Content-Type": {"application/json"}},
				Body: fmt.Appendf(nil, chat, n, n),
			}
		}},
		places: {places, func(n int) vcr.Request {
			return vcr.Request{Method: http.MethodGet, URL: fmt.Sprintf("http://127.0.0.1:1/v1/compounds/cpd%05d", n), Header: http.Header{}}
		}},
	}
}

// answer is the body of the nth answer.
func answer(n, size int) []byte {
	body := fmt.Appendf(nil, "data: {\"n\":%d}\n\n", n)
	for len(body) < size {
		body = append(body, events...)
	}
	return body
}

// file is a cassette of so many interactions.
func (f fixture) file(interactions, size int) *vcr.File {
	file := &vcr.File{}
	for n := range interactions {
		file.Interactions = append(file.Interactions, &vcr.Interaction{
			Request:  f.request(n),
			Response: vcr.Response{Status: "200 OK", Code: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: answer(n, size)},
			Meta:     vcr.Meta{Outcome: vcr.Complete, Attempt: 1},
		})
	}
	return file
}

// How requests come.
const (
	inOrder   = "in order"
	shuffled  = "in any order"
	respelled = "in order, with another seed" // which does not count
)

// requests are those of a file.
func (f fixture) requests(count int, asked string) (list []*http.Request, numbers []int, err error) {
	numbers = make([]int, count)
	for n := range numbers {
		numbers[n] = n
	}
	if asked == shuffled {
		rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, k int) { numbers[i], numbers[k] = numbers[k], numbers[i] })
	}
	for _, n := range numbers {
		r := f.request(n)
		if asked == respelled {
			r.Body = append(fmt.Appendf(nil, `{"seed":%d,`, n), r.Body[1:]...)
		}
		var body io.Reader
		if len(r.Body) > 0 {
			body = bytes.NewReader(r.Body)
		}
		req, err := http.NewRequest(r.Method, r.URL, body)
		if err != nil {
			return nil, nil, err
		}
		req.Header = r.Header
		list = append(list, req)
	}
	return list, numbers, nil
}
