// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// curl is what the pages and the scripts of the tests want of a curl, which not
// every machine has. It panics at what it does not know.
func curl() {
	var address, out, format string
	var body io.Reader
	fail := false
	method, header := http.MethodGet, http.Header{}
	for args := os.Args[1:]; len(args) > 0; args = args[1:] {
		flag := args[0]
		if strings.HasPrefix(flag, "-") && flag != "-s" && flag != "--fail" {
			args = args[1:]
		}
		switch value := args[0]; flag {
		case "-s":
		case "--fail":
			fail = true
		case "-H":
			name, v, _ := strings.Cut(value, ": ")
			header.Set(name, v)
		case "-d":
			method = http.MethodPost
			if body = strings.NewReader(value); value == "@-" {
				body = os.Stdin
			}
		case "-o":
			out = value
		case "-w":
			format = value
		default:
			if strings.HasPrefix(flag, "-") || address != "" {
				panic("curl: " + flag)
			}
			address = flag
		}
	}
	req, err := http.NewRequest(method, address, body)
	if err != nil {
		panic(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		os.Exit(7)
	}
	defer resp.Body.Close()
	if fail && resp.StatusCode >= 400 {
		os.Exit(22)
	}
	to := os.Stdout
	if out != "" {
		if to, err = os.Create(out); err != nil {
			panic(err)
		}
	}
	_, _ = io.Copy(to, resp.Body)
	fmt.Print(strings.NewReplacer("%{http_code}", fmt.Sprint(resp.StatusCode), `\n`, "\n").Replace(format))
}
