// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
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
// a function: unchanged, but for keywords that are null, which are as if absent,
// and for an object without properties, which must say that it has none. A
// schema that OpenAI would refuse is an error, for one such tool makes it refuse
// the whole request.
func offerable(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 || string(schema) == "null" {
		return nil, errors.New("it has no input schema")
	}
	root, err := value.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("its input schema is unreadable: %w", err)
	}
	if root.Kind() != value.Object {
		return nil, fmt.Errorf("its input schema must be an object, not %s", prose.Excerpt(schema, 60))
	}
	root, changed := withoutNulls(root)
	if changed {
		schema = root.Append(nil)
	}
	if typ, _ := root.Get("type"); typ.Str() != "object" {
		return nil, fmt.Errorf("its input schema does not say type: object at its root, but %v", typ)
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
		schema = value.ObjectOf(members...).Append(nil)
	} else if props.Kind() != value.Object {
		return nil, fmt.Errorf("the properties of its input schema must be an object, not %v", props)
	}
	if problem := dialect.SchemaProblem(schema); problem != "" {
		return nil, fmt.Errorf("OpenAI refuses its input schema: %s", problem)
	}
	return schema, nil
}

// withoutNulls leaves out of a schema the keywords that are null, as languages
// write what is not set, and reports whether there were any. An argument whose
// schema is null may be anything. What null means something for stays.
func withoutNulls(schema value.Value) (value.Value, bool) {
	if schema.Kind() != value.Object {
		return schema, false
	}
	members := make([]value.Member, 0, schema.Len())
	changed := false
	for _, m := range schema.Members() {
		some := false
		switch m.Key {
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			m.Value, some = eachWithoutNulls(m.Value)
		case "anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
			"additionalItems", "unevaluatedItems", "unevaluatedProperties":
			if m.Value.Kind() == value.Array {
				items := slices.Clone(m.Value.Items())
				for i := range items {
					item, is := withoutNulls(items[i])
					items[i], some = item, some || is
				}
				m.Value = value.ArrayOf(items...)
			} else {
				m.Value, some = withoutNulls(m.Value)
			}
		}
		if m.Value.IsNull() && m.Key != "default" && m.Key != "const" {
			changed = true
			continue
		}
		changed = changed || some
		members = append(members, m)
	}
	if !changed {
		return schema, false
	}
	return value.ObjectOf(members...), true
}

// eachWithoutNulls is withoutNulls for schemas by name.
func eachWithoutNulls(schemas value.Value) (value.Value, bool) {
	members := slices.Clone(schemas.Members())
	changed := false
	for i := range members {
		if members[i].Value.IsNull() {
			members[i].Value, changed = value.ObjectOf(), true
			continue
		}
		v, some := withoutNulls(members[i].Value)
		members[i].Value, changed = v, changed || some
	}
	if !changed {
		return schemas, false
	}
	return value.ObjectOf(members...), true
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

// messageText makes the text of a tool message of a result: what it says, and
// a mark before a failure.
func messageText(r *mcppool.Result) string {
	text := Text(r)
	if r.IsError {
		text = mcpwire.ErrorMark + text
	}
	return text
}

// Text is what a result says: text as it is, other content described, and
// structured content behind it unless the text repeats it.
func Text(r *mcppool.Result) string {
	var parts []string
	for _, block := range r.Content {
		parts = append(parts, blockText(block))
	}
	if r.Structured != nil && !repeats(parts, r.Structured) {
		parts = append(parts, string(mcpwire.Marshal(r.Structured)))
	}
	return strings.Join(parts, "\n")
}

// repeats reports whether content says all of a result's structured content: it
// has that as JSON, or the one member in which servers wrap anything that is
// not an object, as JSON, as text, or item by item.
func repeats(parts []string, structured json.RawMessage) bool {
	want, err := value.Parse(structured)
	if err != nil {
		return slices.Contains(parts, string(structured)) // nested too deep to be compared
	}
	if says(parts, want) {
		return true
	}
	if want.Kind() != value.Object || want.Len() != 1 {
		return want.Len() == 0 && len(parts) > 0 && (want.Kind() == value.Object || want.Kind() == value.Array)
	}
	wrapped := want.Members()[0].Value
	if says(parts, wrapped) {
		return true
	}
	items := wrapped.Items()
	for i, item := range items {
		if i >= len(parts) || !says(parts[i:i+1], item) {
			return false
		}
	}
	return len(items) > 0
}

// says reports whether one of some texts is a value, or has it in it as JSON.
func says(texts []string, want value.Value) bool {
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if want.Kind() == value.String && text == strings.TrimSpace(want.Str()) {
			return true
		}
		if got, err := value.Parse([]byte(text)); err == nil && value.Equal(got, want) {
			return true
		}
		for _, p := range value.Embedded(text) {
			if value.Equal(p.Value, want) {
				return true
			}
		}
	}
	return false
}

// needsTask reports whether a tool can be called only as a task, of which the
// client library knows too little.
func needsTask(raw json.RawMessage) bool {
	var t struct {
		Execution struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	return exactjson.Unmarshal(raw, &t) == nil && t.Execution.TaskSupport == "required"
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
	if err := exactjson.Unmarshal(raw, &b); err != nil {
		return fmt.Sprintf("[unreadable content: %s]", prose.Excerpt(raw, 200))
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
		if text, ok := textOf(b.Resource.Blob, b.Resource.MIMEType); ok {
			return fmt.Sprintf("[resource %s]\n%s", b.Resource.URI, text)
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes]", b.Resource.URI, orUnknown(b.Resource.MIMEType), decodedLen(b.Resource.Blob))
	default:
		var compact bytes.Buffer
		_ = json.Compact(&compact, raw) // it was valid above
		return fmt.Sprintf("[content of type %q: %s]", b.Type, prose.Excerpt(compact.Bytes(), 2000))
	}
}

// textOf is the text that a blob holds, if its type says that it is text, or
// says nothing and it is: UTF-8 without control characters.
func textOf(blob, mimeType string) (string, bool) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plainBase64.Replace(blob), "="))
	if err != nil || len(data) == 0 || !utf8.Valid(data) {
		return "", false
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	kind, _, err := mime.ParseMediaType(mimeType)
	switch main, sub, _ := strings.Cut(kind, "/"); {
	case mimeType != "" && err != nil:
		return "", false
	case main == "text", strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"), strings.HasSuffix(sub, "+yaml"):
		return text, main != "image"
	case main == "application" && slices.Contains(textTypes(), strings.TrimPrefix(sub, "x-")):
		return text, true
	case mimeType == "":
		return text, !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
	}
	return "", false
}

// plainBase64 makes the usual alphabet of the one of URLs, and takes line ends
// out.
var plainBase64 = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "")

// textTypes are the types of applications that are text.
func textTypes() []string {
	return []string{"json", "xml", "yaml", "toml", "javascript", "ecmascript", "typescript", "sql", "graphql", "sh", "ndjson", "jsonl", "csv", "httpd-php", "latex", "tex", "rtf"}
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
