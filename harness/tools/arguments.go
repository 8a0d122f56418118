// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// checkArguments refuses anything that is not JSON object, in words that help a
// model to write it again.
func checkArguments(args string) error {
	if mcpwire.IsObject([]byte(args)) {
		return nil
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(args), &object)
	switch {
	case err != nil && !json.Valid([]byte(args)):
		return fmt.Errorf("the arguments are not valid JSON (%w): %s", err, prose.Excerpt(args, 200))
	case err != nil || object == nil:
		return fmt.Errorf("the arguments must be a JSON object, not %s", prose.Excerpt(args, 200))
	}
	return nil
}

// compile makes the check of a tool's arguments.
func compile(raw json.RawMessage) (*schema.Schema, error) {
	v, err := value.Parse(raw)
	if err != nil {
		return nil, err
	}
	return schema.Compile(v)
}

// fits says what is wrong with arguments; nil checks nothing.
func fits(check *schema.Schema, args string) error {
	if check == nil {
		return nil
	}
	v, err := value.Parse([]byte(args))
	if err != nil {
		return err
	}
	return check.Validate(v)
}

// withoutPrivate leaves out the arguments whose names begin with _, but those
// that a tool's schema has.
func withoutPrivate(args string, of json.RawMessage) string {
	v, err := value.Parse([]byte(args))
	if err != nil {
		return args // nested too deep to be looked into
	}
	listed, _ := value.Parse(of) // an unreadable one has no properties
	properties, _ := listed.Get("properties")
	var kept []value.Member
	for _, m := range v.Members() {
		if _, known := properties.Get(m.Key); known || !strings.HasPrefix(m.Key, "_") {
			kept = append(kept, m)
		}
	}
	if len(kept) == v.Len() {
		return args
	}
	return string(value.ObjectOf(kept...).Append(nil))
}
