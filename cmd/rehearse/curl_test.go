// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

// curl is what the page's script wants of a curl, for machines without one.
func curl() {
	var address, data string
	header := http.Header{}
	for args := os.Args[1:]; len(args) > 0; args = args[1:] {
		switch args[0] {
		case "-s", "--fail":
		case "-H":
			name, v, _ := strings.Cut(args[1], ": ")
			header.Set(name, v)
			args = args[1:]
		case "-d":
			data = args[1]
			args = args[1:]
		default:
			address = args[0]
		}
	}
	if data != "@-" {
		panic("curl: -d " + data)
	}
	req, err := http.NewRequest(http.MethodPost, address, os.Stdin)
	if err != nil {
		panic(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	switch {
	case err != nil:
		os.Exit(7)
	case resp.StatusCode >= 400:
		os.Exit(22)
	}
	_, _ = io.Copy(os.Stdout, resp.Body)
	resp.Body.Close()
}
