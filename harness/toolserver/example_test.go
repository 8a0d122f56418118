// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/toolserver"
)

// A model switches a toolset on, and has its tool from the next list on.
func ExampleClient() {
	ctx := context.Background()
	upper := toolserver.Tool{Name: "upper", Run: func(_ context.Context, args json.RawMessage) (any, error) {
		var in struct{ Text string }
		err := json.Unmarshal(args, &in)
		return strings.ToUpper(in.Text), err
	}}
	s, err := toolserver.New(ctx, &toolserver.Registry{Toolsets: []toolserver.Toolset{{ID: "text_tools", Tools: []toolserver.Tool{upper}}}},
		&toolserver.Options{AdminToken: "sesame"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	h := httptest.NewServer(s)
	defer h.Close()

	box := &toolserver.Client{URL: h.URL, View: "task-1", AdminToken: "sesame", HTTP: h.Client()}
	for range 2 {
		tools, err := box.Tools(ctx)
		if err != nil {
			log.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		fmt.Println(strings.Join(names, " "))
		if _, err := box.Call(ctx, toolserver.ManageTool, `{"action": "ACTIVATE", "toolset_ids": ["text_tools"]}`); err != nil {
			log.Fatal(err)
		}
	}
	result, err := box.Call(ctx, "upper", `{"text": "lima"}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)

	// Output:
	// manage_toolsets
	// manage_toolsets upper
	// LIMA
}
