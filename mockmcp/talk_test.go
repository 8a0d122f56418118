// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// workshop is a server for the conversations over HTTP: tools that say
// something before they answer.
func workshop(settings mockmcp.Protocol) mockmcp.Script {
	told := func(name string, before ...mockmcp.Step) mockmcp.Tool {
		return mockmcp.Tool{Name: name, Results: []mockmcp.Result{{Before: before, Answer: answer(mockmcp.Answer{Text: name + " is done"})}}}
	}
	asking := told("ask", mockmcp.Ask{mockmcp.ListRoots()})
	asking.Results[0].Answer = func(c *mockmcp.Call) (*mockmcp.Answer, error) {
		return &mockmcp.Answer{Text: string(c.Asked)}, nil
	}
	return mockmcp.Script{
		Name: "shop", Protocol: settings,
		Tools: []mockmcp.Tool{
			told("plain"),
			told("count", mockmcp.Progress{Value: 1, Total: 2, Times: 2}),
			asking,
			told("leave", mockmcp.Progress{Value: 1}, mockmcp.CloseStream{Retry: 50 * time.Millisecond}),
			told("tell", mockmcp.Notify{Method: "notifications/tools/list_changed"}),
			{
				Name:    "mirror",
				Input:   raw(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
				Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "mirrored"})}},
			},
		},
	}
}

// TestTalks plays the files in testdata/talks: conversations over HTTP, as
// they are on the wire.
//
//	> POST /mcp mcp-session-id: $SESSION | accept: application/json
//	> {"jsonrpc": ...}            the body
//	< 200 application/json        what came back, written by -update
//	< {"jsonrpc": ...}
//	> GET /mcp &name              a stream that is left open
//	& name                        its next event, or its end
//
// $SESSION is the session id that came last, $EVENT the event id.
func TestTalks(t *testing.T) {
	files, err := filepath.Glob("testdata/talks/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var settings mockmcp.Protocol
			for i := range ar.Files {
				f := &ar.Files[i]
				if f.Name == "settings" {
					if err := json.Unmarshal(f.Data, &settings); err != nil {
						t.Fatal(err)
					}
					continue
				}
				p := &talk{t: t, base: strings.TrimSuffix(mockmcp.NewServer(t, workshop(settings)).URL, "/mcp"), streams: map[string]*openStream{}}
				got := p.play(string(f.Data))
				if *update {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// talk plays the client of one conversation.
type talk struct {
	t              *testing.T
	base           string
	session, event string
	streams        map[string]*openStream
	out            strings.Builder
}

type openStream struct {
	body io.ReadCloser
	r    *bufio.Reader
}

func (p *talk) play(script string) string {
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "<") || strings.HasPrefix(line, "  ") {
			continue // written anew
		}
		p.out.WriteString(line + "\n")
		if name, ok := strings.CutPrefix(line, "& "); ok {
			s := p.streams[name]
			if s == nil {
				p.t.Fatalf("no stream %q is open", name)
			}
			p.next(s)
			continue
		}
		head, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		body := ""
		if i+1 < len(lines) && (strings.HasPrefix(lines[i+1], "> {") || strings.HasPrefix(lines[i+1], "> [") || strings.HasPrefix(lines[i+1], "> !")) {
			i++
			p.out.WriteString(lines[i] + "\n")
			body = strings.TrimPrefix(lines[i][2:], "!")
		}
		p.request(head, body)
	}
	for _, s := range p.streams {
		s.body.Close()
	}
	return p.out.String()
}

func (p *talk) request(head, body string) {
	p.t.Helper()
	head, name, left := strings.Cut(head, " &")
	method, rest, _ := strings.Cut(head, " ")
	path, headers, _ := strings.Cut(rest, " ")
	path = strings.ReplaceAll(path, "$SESSION", url.QueryEscape(p.session))
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Close = true
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for h := range strings.SplitSeq(headers, " | ") {
		k, v, _ := strings.Cut(h, ": ")
		v = strings.NewReplacer("$SESSION", p.session, "$EVENT", p.event).Replace(v)
		switch {
		case k == "":
		case k == "host":
			req.Host = v
		case v == "":
			req.Header.Del(k)
		default:
			req.Header.Set(k, v)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintf(&p.out, "< broken\n")
		return
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.session = id
	}
	p.print("< %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	for _, k := range []string{"Mcp-Session-Id", "Www-Authenticate", "Allow"} {
		if v := resp.Header.Get(k); v != "" {
			p.print("< %s: %s", strings.ToLower(k), v)
		}
	}
	s := &openStream{resp.Body, bufio.NewReader(resp.Body)}
	switch {
	case left:
		p.streams[name] = s
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		for p.next(s) {
		}
		resp.Body.Close()
	default:
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			p.print("< broken: %v", err)
		}
		resp.Body.Close()
		for line := range strings.Lines(string(b)) {
			p.print("< %s", strings.TrimRight(line, "\n"))
		}
	}
}

// print writes a line with what is different in each run masked.
func (p *talk) print(format string, args ...any) {
	line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	if p.session != "" {
		line = strings.ReplaceAll(line, p.session, "SESSION")
	}
	p.out.WriteString(strings.ReplaceAll(line, strings.TrimPrefix(p.base, "http://"), "HOST") + "\n")
}

// next prints the next event of a stream. It reports whether there was one.
func (p *talk) next(s *openStream) bool {
	var event []string
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			p.print("< end")
			return false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" && event != nil {
			p.print("< %s", strings.Join(event, " | "))
			return true
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			p.event = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, "sessionId=") {
			u, err := url.Parse(data)
			if err != nil {
				p.t.Fatal(err)
			}
			p.session = u.Query().Get("sessionId")
		}
		if line != "" && line != "event: message" {
			event = append(event, line)
		}
	}
}
