// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command plain sends JSON with net/http and prints the answer. The programs
// of the SDKs are measured against it.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	resp, err := http.Post(os.Args[1], "application/json", strings.NewReader("{}"))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	var answer any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	log.Println(answer)
}
