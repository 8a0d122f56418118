// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// offerScript is what a mock server offers beside its tools, and how it
// speaks.
type offerScript struct {
	protocol    mockmcp.Protocol
	resources   []resourceScript
	templates   []templateScript
	prompts     []promptScript
	completions []completionScript
	changes     []changeScript
	faults      []serverFault
}

// offer compiles the wire's keys of a server file or an entry.
func (l *loader) offer(n *strictyaml.Node, tools []toolScript) offerScript {
	o := offerScript{
		resources: l.resources(n.Get("resources")),
		prompts:   l.prompts(n.Get("prompts")),
		changes:   l.changes(n.Get("changes"), tools),
	}
	for _, t := range itemsOf(n.Get("templates")) {
		if usable(t) && usable(t.Get("uri_template")) {
			o.templates = append(o.templates, l.resourceTemplate(t))
		}
	}
	for _, c := range itemsOf(n.Get("completions")) {
		if usable(c) {
			o.completions = append(o.completions, l.completion(c, n))
		}
	}
	o.protocol = l.protocol(n.Get("protocol"), n.Get("changes"))
	o.faults = l.serverFaults(n.Get("faults"))
	return o
}

// bind puts the offer into a script.
func (o *offerScript) bind(script *mockmcp.Script, vars value.Value) {
	script.Protocol = o.protocol
	for _, r := range o.resources {
		script.Resources = append(script.Resources, r.bind(vars))
	}
	for _, t := range o.templates {
		script.Templates = append(script.Templates, t.bind(vars))
	}
	for _, p := range o.prompts {
		script.Prompts = append(script.Prompts, p.bind(vars))
	}
	for _, c := range o.completions {
		script.Completions = append(script.Completions, c.bind(vars))
	}
	for _, c := range o.changes {
		script.Changes = append(script.Changes, c.bind(vars))
	}
	script.Faults = bindServerFaults(o.faults, vars)
}

// protocol compiles the settings of the protocol.
func (l *loader) protocol(n, changes *strictyaml.Node) mockmcp.Protocol {
	s := mockmcp.Protocol{ListChanged: usable(changes) && len(changes.Items) > 0}
	if !usable(n) {
		return s
	}
	s.Versions = textsOf(n.Get("versions"))
	switch modern := textOf(n.Get("modern")); modern {
	case "true":
		s.Modern = mockmcp.ModernOn
	case "false":
		s.Modern = mockmcp.ModernOff
	default:
		s.Modern = mockmcp.Modern(modern)
	}
	s.Sessions, s.Replies = mockmcp.Sessions(textOf(n.Get("sessions"))), mockmcp.Replies(textOf(n.Get("replies")))
	s.Retry, s.PageSize, s.Shuffle = durationOf(n.Get("retry")), intOf(n.Get("page_size")), int64(intOf(n.Get("shuffle")))
	if told := n.Get("list_changed"); usable(told) {
		s.ListChanged = boolOf(told)
	}
	if settle := n.Get("settle"); usable(settle) {
		d := durationOf(settle)
		s.Settle = &d
	}
	if auth := n.Get("auth"); usable(auth) {
		s.Auth = &mockmcp.Auth{Token: textOf(auth.Get("bearer")), Servers: textsOf(auth.Get("servers")), Scopes: textsOf(auth.Get("scopes"))}
	}
	if usable(n.Get("versions")) && len(s.Versions) == 0 {
		l.problems.add(n.Get("versions").Pos, "an empty list: leave the key out to offer every version")
		return s
	}
	if err := s.Check(); err != nil && !broken(n) && (s.Auth == nil || s.Auth.Token != "") {
		for _, one := range filepos.All(err) {
			l.problems.add(n.Pos, "%s", one)
		}
	}
	if s.Modern == mockmcp.ModernOn && len(s.Versions) > 0 && !slices.ContainsFunc(s.Versions, mcpwire.IsModern) {
		l.problems.add(n.Get("modern").Pos, "modern: on, but none of the versions is modern: add %s, or leave one of the two keys out", mcpwire.FirstModern)
	}
	if s.Modern == mockmcp.ModernOff && slices.ContainsFunc(s.Versions, mcpwire.IsModern) {
		l.problems.add(n.Get("modern").Pos, "modern: off, but versions has %s", mcpwire.FirstModern)
	}
	return s
}

// broken reports whether something inside of n was refused.
func broken(n *strictyaml.Node) bool {
	if n == nil {
		return false
	}
	return n.Kind == strictyaml.Invalid || slices.ContainsFunc(n.Items, broken) ||
		slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return broken(p.Value) })
}

// source is a text that may be computed from what was asked for.
type source struct {
	text *expr.Template
	when *expr.Program
}

func (s source) fixed() (string, bool) {
	if s.when != nil || s.text == nil || !plain(s.text) {
		return "", false
	}
	text, err := s.text.Render(&expr.Vars{})
	return text, err == nil
}

// queryVars are what expressions of the offer read.
func queryVars(q *mockmcp.Query, vars value.Value) (*expr.Vars, error) {
	args := map[string]any{}
	for k, v := range q.Vars {
		args[k] = v
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return toolVars(&mockmcp.Call{Tool: q.URI, Args: raw, State: q.State, Turn: q.Turn, User: q.User, Asked: q.Asked}, vars, nil)
}

// resourceScript is a resource whose text may be computed.
type resourceScript struct {
	resource mockmcp.Resource
	source
}

func (l *loader) resources(list *strictyaml.Node) []resourceScript {
	var out []resourceScript
	first := map[string]harness.Position{}
	for _, n := range itemsOf(list) {
		if !usable(n) || !usable(n.Get("uri")) {
			continue
		}
		r := resourceScript{resource: mockmcp.Resource{
			URI: textOf(n.Get("uri")), Name: textOf(n.Get("name")), Title: textOf(n.Get("title")), Description: textOf(n.Get("description")),
			MIMEType: textOf(n.Get("mime_type")), Before: l.fixedSteps(n.Get("before")), Extra: rawOf(n.Get("extra")), Pos: n.Pos,
		}}
		if pos, twice := first[r.resource.URI]; twice {
			l.problems.add(n.Get("uri").Pos, "the resource %q already exists, at %s", r.resource.URI, pos)
			continue
		}
		first[r.resource.URI] = n.Get("uri").Pos
		r.text = l.template(n.Get("text"), expr.Tool)
		switch {
		case usable(n.Get("blob")):
			r.resource.Blob, _ = base64.StdEncoding.DecodeString(textOf(n.Get("blob"))) // shapes have checked it
		case usable(n.Get("file")):
			r.resource.Text, r.resource.Blob = l.contentOf(n.Get("file"))
		}
		if text, ok := r.fixed(); ok {
			r.resource.Text, r.text = text, nil
		}
		out = append(out, r)
	}
	return out
}

func (r resourceScript) bind(vars value.Value) mockmcp.Resource {
	out := r.resource
	if r.text != nil {
		out.Func = func(q *mockmcp.Query) (*mockmcp.ResourceContent, error) { return r.content(q, vars) }
	}
	return out
}

// content is the computed content; nil where there is none.
func (s source) content(q *mockmcp.Query, vars value.Value) (*mockmcp.ResourceContent, error) {
	v, err := queryVars(q, vars)
	if err != nil {
		return nil, err
	}
	if s.when != nil {
		if ok, err := s.when.Holds(v); !ok || err != nil {
			return nil, err
		}
	}
	text, err := render(s.text, v)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	return &mockmcp.ResourceContent{Text: text}, nil
}

// near is the path of a file that n names, from the folder of the file in
// which n stands; empty when it is not there.
func (l *loader) near(n *strictyaml.Node) string {
	path := filepath.FromSlash(n.Text)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(filepath.FromSlash(n.Pos.File)), path)
	}
	if !l.readable(n, path, plainfile.MaxResult) {
		return ""
	}
	return path
}

// readable reports whether the file at path, which n names, can be read, and
// says why not where n stands.
func (l *loader) readable(n *strictyaml.Node, path string, most int64) bool {
	if hint, ok := missing(path); !ok {
		l.problems.add(n.Pos, "there is no file %q%s", n.Text, hint)
		return false
	}
	f, err := plainfile.Open(path)
	if err == nil {
		defer f.Close()
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.Size() <= most {
			return true
		}
	}
	switch info, isFolder := os.Stat(path); {
	case isFolder == nil && info.IsDir():
		l.problems.add(n.Pos, "%q is a folder", n.Text)
	case err != nil:
		l.problems.add(n.Pos, "%q: %s", n.Text, reason(err))
	default:
		l.problems.add(n.Pos, "%q has more than %d bytes, and no more are read", n.Text, most)
	}
	return false
}

// content reads a file: a text, or bytes.
func (l *loader) content(n *strictyaml.Node) (string, []byte) {
	path := l.near(n)
	if path == "" {
		return "", nil
	}
	data, err := plainfile.ReadResult(path)
	if err != nil {
		l.problems.add(n.Pos, "%q: %s", n.Text, reason(err))
		return "", nil
	}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		return string(data), nil
	}
	return "", data
}

// templateScript is a pattern of resources.
type templateScript struct {
	template mockmcp.ResourceTemplate
	source
}

func (l *loader) resourceTemplate(n *strictyaml.Node) templateScript {
	t := templateScript{
		template: mockmcp.ResourceTemplate{
			URITemplate: textOf(n.Get("uri_template")), Name: textOf(n.Get("name")), Title: textOf(n.Get("title")), Description: textOf(n.Get("description")),
			MIMEType: textOf(n.Get("mime_type")), Before: l.fixedSteps(n.Get("before")), Extra: rawOf(n.Get("extra")), Pos: n.Pos,
		},
		source: source{text: l.template(n.Get("text"), expr.Tool), when: l.condition(n.Get("when"), expr.Tool)},
	}
	if _, err := uritemplate.New(t.template.URITemplate); err != nil {
		l.problems.add(n.Get("uri_template").Pos, "not a URI template: %v", err)
	}
	if text, ok := t.fixed(); ok {
		t.template.Text, t.text = text, nil
	}
	return t
}

func (t templateScript) bind(vars value.Value) mockmcp.ResourceTemplate {
	out := t.template
	if t.text != nil {
		out.Func = func(q *mockmcp.Query) (*mockmcp.ResourceContent, error) { return t.content(q, vars) }
	}
	return out
}

// promptScript is a prompt whose messages may be computed.
type promptScript struct {
	prompt   mockmcp.Prompt
	messages []messageScript
	fixed    bool
}

type messageScript struct {
	role    string
	text    *expr.Template
	content *expr.Tree
}

func (l *loader) prompts(list *strictyaml.Node) []promptScript {
	var out []promptScript
	first := map[string]harness.Position{}
	for _, n := range itemsOf(list) {
		if !usable(n) || !usable(n.Get("name")) {
			continue
		}
		p := promptScript{prompt: mockmcp.Prompt{
			Name: textOf(n.Get("name")), Title: textOf(n.Get("title")), Description: textOf(n.Get("description")),
			Before: l.fixedSteps(n.Get("before")), Extra: rawOf(n.Get("extra")), Pos: n.Pos,
		}, fixed: true}
		if pos, twice := first[p.prompt.Name]; twice {
			l.problems.add(n.Get("name").Pos, "the prompt %q already exists, at %s", p.prompt.Name, pos)
			continue
		}
		first[p.prompt.Name] = n.Get("name").Pos
		for _, a := range itemsOf(n.Get("arguments")) {
			if usable(a) && usable(a.Get("name")) {
				p.prompt.Arguments = append(p.prompt.Arguments, mockmcp.PromptArgument{
					Name: textOf(a.Get("name")), Title: textOf(a.Get("title")), Description: textOf(a.Get("description")), Required: boolOf(a.Get("required")),
				})
			}
		}
		items := itemsOf(n.Get("messages"))
		if usable(n.Get("text")) {
			items = []*strictyaml.Node{n} // one message, written short
		}
		from := len(l.exprs)
		for _, m := range items {
			if usable(m) {
				s := messageScript{role: textOf(m.Get("role")), text: l.template(m.Get("text"), expr.Tool), content: l.tree(m.Get("content"), expr.Tool)}
				p.fixed = p.fixed && plain(s.text) && constant(s.content)
				p.messages = append(p.messages, s)
			}
		}
		l.promptArguments(l.exprs[from:], p.prompt.Arguments)
		out = append(out, p)
	}
	return out
}

// promptArguments refuses expressions that read an argument which the prompt
// does not take.
func (l *loader) promptArguments(exprs []placed, takes []mockmcp.PromptArgument) {
	var known []string
	for _, a := range takes {
		known = append(known, a.Name)
	}
	for _, e := range exprs {
		for _, key := range e.prog.Keys("args") {
			if !slices.Contains(known, key) {
				l.problems.add(e.pos, "the prompt has no argument %q%s", key, didYouMean(key, known))
			}
		}
	}
}

func (p promptScript) bind(vars value.Value) mockmcp.Prompt {
	out := p.prompt
	compute := func(q *mockmcp.Query) ([]mockmcp.PromptMessage, error) {
		v, err := queryVars(q, vars)
		if err != nil {
			return nil, err
		}
		return p.compute(v)
	}
	if p.fixed {
		if messages, err := p.compute(&expr.Vars{}); err == nil {
			out.Messages = messages
			return out
		}
	}
	out.Func = compute
	return out
}

func (p promptScript) compute(v *expr.Vars) ([]mockmcp.PromptMessage, error) {
	messages := []mockmcp.PromptMessage{}
	for i, m := range p.messages {
		text, err := render(m.text, v)
		var content json.RawMessage
		if err == nil {
			content, err = expand(m.content, v)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		messages = append(messages, mockmcp.PromptMessage{Role: m.role, Text: text, Content: content})
	}
	return messages, nil
}

// completionScript is a list of values that may be computed.
type completionScript struct {
	completion mockmcp.Completion
	values     *expr.Tree
}

// completion compiles a completion; server is the map that has the prompts
// and templates.
func (l *loader) completion(n, server *strictyaml.Node) completionScript {
	c := completionScript{completion: mockmcp.Completion{
		Prompt: textOf(n.Get("prompt")), Template: textOf(n.Get("template")), Argument: textOf(n.Get("argument")), Pos: n.Pos,
	}, values: l.tree(n.Get("values"), expr.Tool)}
	l.completes(n, server)
	if c.values != nil && constant(c.values) {
		if v, err := c.values.Expand(&expr.Vars{}); err == nil && v.Kind() == value.Array {
			c.completion.Values, c.values = texts(v), nil
		} else if err == nil {
			l.problems.add(n.Get("values").Pos, `"values" needs a list of texts, or {$cel: ...} that computes one`)
		}
	}
	return c
}

// completes refuses a completion of what is not offered.
func (l *loader) completes(n, server *strictyaml.Node) {
	find := func(list, by, name string) (*strictyaml.Node, []string) {
		var known []string
		for _, item := range itemsOf(server.Get(list)) {
			if textOf(item.Get(by)) == name {
				return item, nil
			}
			known = append(known, textOf(item.Get(by)))
		}
		return nil, known
	}
	if name := n.Get("prompt"); usable(name) {
		prompt, known := find("prompts", "name", name.Text)
		if prompt == nil {
			l.problems.add(name.Pos, "there is no prompt %q%s", name.Text, didYouMean(name.Text, known))
			return
		}
		var arguments []string
		for _, a := range itemsOf(prompt.Get("arguments")) {
			arguments = append(arguments, textOf(a.Get("name")))
		}
		if arg := n.Get("argument"); usable(arg) && !slices.Contains(arguments, arg.Text) {
			l.problems.add(arg.Pos, "the prompt %q has no argument %q%s", name.Text, arg.Text, didYouMean(arg.Text, arguments))
		}
	}
	if name := n.Get("template"); usable(name) {
		template, known := find("templates", "uri_template", name.Text)
		resource, uris := find("resources", "uri", name.Text)
		switch arg := n.Get("argument"); {
		case template == nil && resource == nil:
			l.problems.add(name.Pos, "there is no template or resource %q%s", name.Text, didYouMean(name.Text, append(known, uris...)))
		case template != nil && usable(arg) && !strings.Contains(name.Text, arg.Text):
			l.problems.add(arg.Pos, "the pattern %q has no variable %q", name.Text, arg.Text)
		}
	}
}

func texts(list value.Value) []string {
	out := []string{}
	for _, item := range list.Items() {
		if item.Kind() == value.String {
			out = append(out, item.Str())
		} else {
			out = append(out, item.String())
		}
	}
	return out
}

func (c completionScript) bind(vars value.Value) mockmcp.Completion {
	out := c.completion
	if c.values == nil {
		return out
	}
	out.Func = func(q *mockmcp.Query) ([]string, error) {
		v, err := queryVars(q, vars)
		if err != nil {
			return nil, err
		}
		list, err := c.values.Expand(v)
		if err != nil {
			return nil, err
		}
		if list.Kind() != value.Array {
			return nil, fmt.Errorf("values evaluated to %s, not to a list", list.Kind())
		}
		return slices.DeleteFunc(texts(list), func(s string) bool { return !strings.HasPrefix(s, q.Typed) }), nil
	}
	return out
}
