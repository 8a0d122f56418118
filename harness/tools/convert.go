// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/value"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Offerable returns a server's tool as it is offered to a model, under its own
// name. The error says why it cannot be: a schema that OpenAI would refuse, or
// a tool that can only be run as a task.
func Offerable(t mcppool.Tool) (harness.Tool, error) {
	schema, err := offerable(t.Schema)
	if err == nil && needsTask(t.Raw) {
		err = errors.New("it can only be run as a task")
	}
	return harness.Tool{Name: t.Name, Description: t.Description, Schema: schema}, err
}

// offerable returns the schema of a tool's arguments as OpenAI accepts it for
// a function: unchanged, but for an object without properties, which must say
// that it has none. A schema that OpenAI would refuse is an error, for one
// such tool makes it refuse the whole request.
func offerable(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 || string(schema) == "null" {
		return nil, errors.New("it has no input schema")
	}
	root, err := value.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("its input schema cannot be read: %w", err)
	}
	if root.Kind() != value.Object {
		return nil, fmt.Errorf("its input schema is no object but %s", mcpwire.Excerpt(schema, 60))
	}
	if typ, _ := root.Get("type"); typ.Str() != "object" {
		return nil, fmt.Errorf("its input schema does not say type: object at its root but %v", typ)
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if _, ok := root.Get(keyword); ok {
			return nil, fmt.Errorf("its input schema has %s at its root, which OpenAI refuses", keyword)
		}
	}
	if where := arrayWithoutItems(root, ""); where != "" {
		return nil, fmt.Errorf("its input schema has an array without items, which OpenAI refuses: %s", where)
	}
	if props, ok := root.Get("properties"); !ok {
		members := append(slices.Clone(root.Members()), value.Member{Key: "properties", Value: value.ObjectOf()})
		return value.ObjectOf(members...).Append(nil), nil
	} else if props.Kind() != value.Object {
		return nil, fmt.Errorf("the properties of its input schema are no object but %v", props)
	}
	return schema, nil
}

// arrayWithoutItems finds a schema of type array without items below v, and
// returns its path.
func arrayWithoutItems(v value.Value, path string) string {
	if typ, _ := v.Get("type"); typ.Str() == "array" {
		_, items := v.Get("items")
		_, prefix := v.Get("prefixItems")
		if !items && !prefix {
			return path
		}
	}
	for _, m := range v.Members() {
		switch m.Key {
		case "properties", "$defs", "definitions", "patternProperties":
			for _, p := range m.Value.Members() {
				if found := arrayWithoutItems(p.Value, path+"/"+m.Key+"/"+p.Key); found != "" {
					return found
				}
			}
		case "items", "additionalProperties", "contains":
			if found := arrayWithoutItems(m.Value, path+"/"+m.Key); found != "" {
				return found
			}
		case "anyOf", "oneOf", "allOf":
			for i, item := range m.Value.Items() {
				if found := arrayWithoutItems(item, fmt.Sprintf("%s/%s/%d", path, m.Key, i)); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// errorMark stands before the text of a failure: a tool message has no flag
// for one.
const errorMark = "Error: "

// messageText makes the text of a tool message of a result: what it says, and
// a mark before a failure.
func messageText(r *mcppool.Result) string {
	text := Text(r)
	if r.IsError {
		text = errorMark + text
	}
	return text
}

// Text is what a result says: text as it is, other content described.
// Structured content is shown where there is nothing else: beside it, servers
// say the same in text.
func Text(r *mcppool.Result) string {
	var parts []string
	for _, block := range r.Content {
		parts = append(parts, blockText(block))
	}
	if len(parts) == 0 && r.Structured != nil {
		parts = append(parts, string(mcpwire.Marshal(r.Structured)))
	}
	return strings.Join(parts, "\n")
}

// needsTask reports whether a tool can be called only as a task, of which the
// client library knows too little.
func needsTask(raw json.RawMessage) bool {
	var t struct {
		Execution struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	return json.Unmarshal(raw, &t) == nil && t.Execution.TaskSupport == "required"
}

// contentBlock is a content block of any type of the protocol.
type contentBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"` // base64
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"` // base64
	} `json:"resource"`
}

func blockText(raw json.RawMessage) string {
	var b contentBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		return fmt.Sprintf("[content that cannot be read: %s]", mcpwire.Excerpt(raw, 200))
	}
	switch b.Type {
	case "text":
		return b.Text
	case "image", "audio":
		return fmt.Sprintf("[%s, %s, %d bytes]", b.Type, orUnknown(b.MIMEType), decodedLen(b.Data))
	case "resource_link":
		return fmt.Sprintf("[resource link %q, %s: %s]", b.Name, orUnknown(b.MIMEType), b.URI)
	case "resource":
		if b.Resource.Text != nil {
			return fmt.Sprintf("[resource %s]\n%s", b.Resource.URI, *b.Resource.Text)
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes]", b.Resource.URI, orUnknown(b.Resource.MIMEType), decodedLen(b.Resource.Blob))
	default:
		var compact bytes.Buffer
		_ = json.Compact(&compact, raw) // it was valid above
		return fmt.Sprintf("[content of type %q: %s]", b.Type, mcpwire.Excerpt(compact.Bytes(), 2000))
	}
}

func orUnknown(mimeType string) string {
	if mimeType == "" {
		return "of unknown type"
	}
	return mimeType
}

func decodedLen(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}
