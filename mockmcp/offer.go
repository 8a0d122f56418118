// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// offer is what a server offers at a time. It is replaced and never changed,
// so that a request is answered by what was there when it came.
type offer struct {
	tools     shelf[*offered]
	resources shelf[*Resource]
	templates shelf[*pattern]
	prompts   shelf[*Prompt]
}

// offered is a tool as it is offered.
type offered struct {
	*Tool
	schema *argsSchema
	asks   []bool // by result: whether it asks the client something
	// headers is set for a tool whose arguments are repeated in headers.
	headers *mcp.Tool
}

// pattern is a template of resources as it is offered.
type pattern struct {
	*ResourceTemplate
	uris *uritemplate.Template
}

// shelf holds what is offered of one kind, in order.
type shelf[T any] struct {
	items   []T
	names   []string
	entries []json.RawMessage // as listed
	byName  map[string]T
	all     json.RawMessage // the array of all entries
}

// put adds an item, or replaces the one of that name.
func (s *shelf[T]) put(name string, item T, entry any) {
	raw := mcpwire.Marshal(entry)
	if s.byName == nil {
		s.byName = make(map[string]T)
	}
	if i := slices.Index(s.names, name); i >= 0 {
		s.items[i], s.entries[i] = item, raw
	} else {
		s.items, s.names, s.entries = append(s.items, item), append(s.names, name), append(s.entries, raw)
	}
	s.byName[name] = item
}

func (s *shelf[T]) remove(name string) {
	if i := slices.Index(s.names, name); i >= 0 {
		s.items, s.names, s.entries = slices.Delete(s.items, i, i+1), slices.Delete(s.names, i, i+1), slices.Delete(s.entries, i, i+1)
		delete(s.byName, name)
	}
}

// seal is called when all is put.
func (s *shelf[T]) seal() {
	s.all = array(s.entries)
}

func (s *shelf[T]) clone() shelf[T] {
	return shelf[T]{items: slices.Clone(s.items), names: slices.Clone(s.names), entries: slices.Clone(s.entries), byName: maps.Clone(s.byName)}
}

func (o *offer) clone() *offer {
	return &offer{o.tools.clone(), o.resources.clone(), o.templates.clone(), o.prompts.clone()}
}

// listed are the entries of the lists. Members come in the order of the
// fields, and Extra behind them.
type (
	listedTool struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  json.RawMessage `json:"annotations,omitempty"`
	}
	listedResource struct {
		URI         string `json:"uri,omitempty"`
		URITemplate string `json:"uriTemplate,omitempty"`
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		MIMEType    string `json:"mimeType,omitempty"`
	}
	listedPrompt struct {
		Name        string           `json:"name"`
		Title       string           `json:"title,omitempty"`
		Description string           `json:"description,omitempty"`
		Arguments   []PromptArgument `json:"arguments,omitempty"`
	}
)

// withExtra adds the members of extra, an object or null, to an entry.
func withExtra(entry any, extra json.RawMessage) json.RawMessage {
	raw := json.RawMessage(mcpwire.Marshal(entry))
	if len(extra) == 0 {
		return raw
	}
	more := mcpwire.Marshal(extra)
	if string(more) == "{}" {
		return raw
	}
	return slices.Concat(raw[:len(raw)-1], []byte(","), more[1:])
}

// loader reads scripts into an offer and collects what is wrong with them.
type loader struct {
	offer *offer
	errs  []error
}

func (l *loader) problem(pos harness.Position, what, name, format string, args ...any) {
	where := ""
	if !pos.IsZero() {
		where = pos.String() + ": "
	}
	l.errs = append(l.errs, fmt.Errorf("%s%s %q: "+format, append([]any{where, what, name}, args...)...))
}

// script loads all that a script offers at first. A duplicate name is a
// mistake.
func (l *loader) script(script *Script) {
	for i := range script.Tools {
		t := &script.Tools[i]
		if _, twice := l.offer.tools.byName[t.Name]; twice {
			l.problem(t.Pos, "tool", t.Name, "is duplicated")
		}
		l.tool(t)
	}
	for i := range script.Resources {
		r := &script.Resources[i]
		if _, twice := l.offer.resources.byName[r.URI]; twice {
			l.problem(r.Pos, "resource", r.URI, "is duplicated")
		}
		l.resource(r)
	}
	for i := range script.Templates {
		l.template(&script.Templates[i])
	}
	for i := range script.Prompts {
		p := &script.Prompts[i]
		if _, twice := l.offer.prompts.byName[p.Name]; twice {
			l.problem(p.Pos, "prompt", p.Name, "is duplicated")
		}
		l.prompt(p)
	}
}

// loadOffer reads what the script offers, and its changes.
func (s *Server) loadOffer() []error {
	sc := &s.script
	sc.Tools, sc.Resources, sc.Templates, sc.Prompts = slices.Clone(sc.Tools), slices.Clone(sc.Resources), slices.Clone(sc.Templates), slices.Clone(sc.Prompts)
	l := &loader{offer: &offer{}}
	l.script(sc)
	s.first = l.seal()
	s.offer.Store(s.first)
	return append(l.errs, s.loadChanges()...)
}

// seal ends the loading.
func (l *loader) seal() *offer {
	l.offer.tools.seal()
	l.offer.resources.seal()
	l.offer.templates.seal()
	l.offer.prompts.seal()
	return l.offer
}

func (l *loader) tool(of *Tool) {
	copied := *of // which others may be reading
	t := &copied
	before := len(l.errs)
	problem := func(format string, args ...any) { l.problem(t.Pos, "tool", t.Name, format, args...) }
	if strings.TrimSpace(t.Name) == "" {
		problem("has no name")
	}
	if t.Handler != nil && t.Results != nil {
		problem("has both a handler and results")
	}
	if len(t.Input) == 0 {
		t.Input = anyObject()
	}
	compile := t.compile
	if t.compiled != nil {
		compile = t.compiled
	}
	compiled, err := compile()
	if err != nil {
		problem("input schema: %w", err)
	}
	for _, part := range []struct {
		what string
		raw  json.RawMessage
	}{{"output schema is", t.Output}, {"annotations are", t.Annotations}, {"extra members are", t.Extra}} {
		if len(part.raw) > 0 && !mcpwire.IsObject(part.raw) {
			problem("%s not a JSON object: %s", part.what, prose.Excerpt(part.raw, 60))
		}
	}
	o := &offered{Tool: t, schema: compiled}
	for i := range t.Results {
		r := &t.Results[i]
		o.asks = append(o.asks, r.Plan != nil || asks(r.Before))
		if err := checkSteps(r.Before); err != nil {
			l.problem(r.Pos, "tool", t.Name, "result %d: %w", i+1, err)
		}
		if r.Answer != nil && r.File != "" {
			l.problem(r.Pos, "tool", t.Name, "result %d has both an answer and a file", i+1)
		}
	}
	if len(l.errs) > before {
		return
	}
	t.Input = mcpwire.Marshal(t.Input)
	if strings.Contains(string(t.Input), "x-mcp-header") {
		o.headers = &mcp.Tool{Name: t.Name, RawInputSchema: t.Input}
	}
	l.offer.tools.put(t.Name, o, withExtra(listedTool{t.Name, t.Title, t.Description, t.Input, t.Output, t.Annotations}, t.Extra))
}

func (l *loader) resource(r *Resource) {
	before := len(l.errs)
	if r.URI == "" {
		l.problem(r.Pos, "resource", r.Name, "has no URI")
	}
	l.check("resource", r.URI, r.Pos, r.Extra, r.Before)
	if len(l.errs) > before {
		return
	}
	name := r.Name
	if name == "" {
		name = r.URI
	}
	l.offer.resources.put(r.URI, r, withExtra(listedResource{URI: r.URI, Name: name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}, r.Extra))
}

func (l *loader) template(t *ResourceTemplate) {
	before := len(l.errs)
	uris, err := uritemplate.New(t.URITemplate)
	if err != nil {
		l.problem(t.Pos, "resource template", t.URITemplate, "%w", err)
	}
	l.check("resource template", t.URITemplate, t.Pos, t.Extra, t.Before)
	if len(l.errs) > before {
		return
	}
	name := t.Name
	if name == "" {
		name = t.URITemplate
	}
	l.offer.templates.put(t.URITemplate, &pattern{t, uris}, withExtra(listedResource{URITemplate: t.URITemplate, Name: name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType}, t.Extra))
}

func (l *loader) prompt(p *Prompt) {
	before := len(l.errs)
	if p.Name == "" {
		l.problem(p.Pos, "prompt", p.Name, "has no name")
	}
	for i, m := range p.Messages {
		if len(m.Content) > 0 && !mcpwire.IsObject(m.Content) {
			l.problem(p.Pos, "prompt", p.Name, "the content of message %d is not a JSON object: %s", i+1, prose.Excerpt(m.Content, 60))
		}
	}
	l.check("prompt", p.Name, p.Pos, p.Extra, p.Before)
	if len(l.errs) > before {
		return
	}
	l.offer.prompts.put(p.Name, p, withExtra(listedPrompt{p.Name, p.Title, p.Description, p.Arguments}, p.Extra))
}

// check checks what all but tools have.
func (l *loader) check(what, name string, pos harness.Position, extra json.RawMessage, before []Step) {
	if len(extra) > 0 && !mcpwire.IsObject(extra) {
		l.problem(pos, what, name, "extra members are not a JSON object: %s", prose.Excerpt(extra, 60))
	}
	if err := checkSteps(before); err != nil {
		l.problem(pos, what, name, "%w", err)
	}
}
