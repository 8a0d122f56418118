// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes"
)

func Example() {
	dir, err := os.MkdirTemp("", "cassettes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weather.yaml")

	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"weather":"sunny"}`)
	}))
	ask := func(mode cassettes.Mode, body string) {
		rec, err := cassettes.Open(path, &cassettes.Options{Mode: mode, LookupEnv: func(string) (string, bool) { return "", false }})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer rec.Close()
		client := &http.Client{Transport: rec}
		resp, err := client.Post(endpoint.URL+"/v1", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println("no answer")
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		fmt.Printf("%s\n", text)
	}
	ask(cassettes.Record, `{"city": "Paris"}`)
	endpoint.Close()
	ask(cassettes.Replay, `{"city":"Paris"}`)
	ask(cassettes.Replay, `{"city":"Rome"}`)
	// Output:
	// {"weather":"sunny"}
	// {"weather":"sunny"}
	// no answer
}
