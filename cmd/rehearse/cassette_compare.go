// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/reports"
)

// compareFlags say where the differences go, and which of them fail.
type compareFlags struct {
	json   bool
	html   string
	failOn string
}

func (c *compareFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print JSON instead of text")
	f.StringVar(&c.html, "html", "", "write an HTML page to this file; - is standard output, instead of text")
	f.StringVar(&c.failOn, "fail-on", string(shape.Risky), "smallest difference that makes the exit code 1: breaking, risky, minor or never")
}

// failures are the tiers that fail.
func (c *compareFlags) failures() ([]string, error) {
	order := []string{string(shape.Breaking), string(shape.Risky), string(shape.Minor)}
	if c.json && c.html == stdout {
		return nil, errTwoOnStdout
	}
	if err := writable("html", c.html); err != nil {
		return nil, err
	}
	if c.failOn == "never" {
		return nil, nil
	}
	n := slices.Index(order, c.failOn)
	if n < 0 {
		return nil, fmt.Errorf("--fail-on %q: want breaking, risky, minor or never", c.failOn)
	}
	return order[:n+1], nil
}

// write reports a comparison and returns its exit code.
func (c *compareFlags) write(p *process, found *reports.Comparison) error {
	failures, err := c.failures()
	if err != nil {
		return err
	}
	if c.html != "" && c.html != stdout {
		err = writeFile(c.html, func(w io.Writer) error { return reports.CompareHTML(w, found) })
	}
	switch {
	case c.json:
		err = errors.Join(err, printJSON(p.stdout, found))
	case c.html == stdout:
		err = errors.Join(err, reports.CompareHTML(p.stdout, found))
	default:
		err = errors.Join(err, reports.CompareText(p.stdout, found))
	}
	switch {
	case err != nil:
		return err
	case slices.Contains(failures, found.Worst()):
		return &codeError{code: exitFailed}
	case found.Errors() > 0:
		return &codeError{code: exitUnjudged}
	}
	return nil
}

const compareTiers = `A difference is breaking (something is gone or has another type), risky (it ends,
is ordered or calls tools differently) or minor (something was added). The exit
code is 1 for a breaking or a risky one; --fail-on changes that.`

func cassetteDiffCommand(p *process) *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two cassettes, answers by their shape",
		Long: `diff compares two cassettes. It pairs interactions that have the same request,
wherever they stand, and pairs the others in order.

It compares answers by shape: status, keys and types, the order of events, finish
reasons and tool calls. Texts, ids and numbers may differ.
` + compareTiers + `

It also prints what changed in requests and in the model's texts, for review. That
does not affect the exit code.`,
		Example: `  rehearse cassette diff old.yaml new.yaml
  rehearse cassette diff old.yaml new.yaml --html diff.html --fail-on breaking`,
		Args: exactArgs(2, "two cassettes"),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := flags.failures(); err != nil {
				return err
			}
			a, err := vcr.Read(args[0])
			if err != nil {
				return err
			}
			b, err := vcr.Read(args[1])
			if err != nil {
				return err
			}
			return flags.write(p, &reports.Comparison{Schema: 1, Files: []reports.ComparedFile{diffOf(a, b)}})
		},
	}
	flags.add(cmd)
	return cmd
}

// diffOf compares two files.
func diffOf(a, b *vcr.File) reports.ComparedFile {
	out := reports.ComparedFile{File: a.Path, Other: b.Path, Recorded: oldest(a)}
	was, is := keysOf(a), keysOf(b)
	partner, fresh := pairs(a, b, was, is)
	for n, i := range a.Interactions {
		m := partner[n]
		if m < 0 {
			gone := compared(n, i)
			gone.Differences = []reports.Difference{{Tier: string(shape.Breaking), Path: "interaction", Text: "is gone"}}
			out.Interactions = append(out.Interactions, gone)
			continue
		}
		c := compared(n, i)
		c.Differences = differences(i, b.Interactions[m])
		for _, d := range key.Diff(was[n], is[m]) {
			c.Differences = append(c.Differences, reports.Difference{Tier: "request", Path: d.Path, Text: strings.TrimPrefix(d.String(), d.Path+": ")})
		}
		if x, y := shape.Said(i), shape.Said(b.Interactions[m]); x != y {
			x, y = key.Excerpts(x, y)
			c.Differences = append(c.Differences, reports.Difference{Tier: "answer", Text: fmt.Sprintf("was %s, is %s", x, y)})
		}
		out.Interactions = append(out.Interactions, c)
	}
	for _, m := range fresh {
		c := compared(m, b.Interactions[m])
		c.Differences = []reports.Difference{{Tier: string(shape.Minor), Path: "interaction", Text: "is new"}}
		out.Interactions = append(out.Interactions, c)
	}
	return out
}

func keysOf(f *vcr.File) []*key.Key {
	out := make([]*key.Key, len(f.Interactions))
	for n, i := range f.Interactions {
		address := i.Request.URL
		if u, err := url.Parse(address); err == nil && i.Meta.Base != "" {
			u.Path, u.RawPath = strings.TrimPrefix(u.Path, i.Meta.Base), ""
			address = u.String()
		}
		out[n] = key.Of(i.Request.Method, redact.Neutral(address), i.Request.Header, []byte(redact.Neutral(string(i.Request.Body))), nil)
	}
	return out
}

// pairs says for each interaction of a which one of b belongs to it, -1 for
// none, and which ones of b are left: equal requests first, and of the rest
// the next to the same place.
func pairs(a, b *vcr.File, was, is []*key.Key) (partner, fresh []int) {
	byKey := map[string][]int{}
	for m, k := range is {
		byKey[k.ID] = append(byKey[k.ID], m)
	}
	taken := make([]bool, len(is))
	partner = make([]int, len(was))
	for n, k := range was {
		partner[n] = -1
		if list := byKey[k.ID]; len(list) > 0 {
			partner[n], byKey[k.ID] = list[0], list[1:]
			taken[list[0]] = true
		}
	}
	next := map[string]int{} // where to look on, by place
	place := func(i *vcr.Interaction) string { return i.Request.Method + " " + pathOf(i.Request.URL) }
	for n, i := range a.Interactions {
		if partner[n] >= 0 {
			continue
		}
		for m := next[place(i)]; m < len(is); m++ {
			next[place(i)] = m + 1
			if !taken[m] && place(b.Interactions[m]) == place(i) {
				partner[n], taken[m] = m, true
				break
			}
		}
	}
	for m, t := range taken {
		if !t {
			fresh = append(fresh, m)
		}
	}
	return partner, fresh
}

func compared(n int, i *vcr.Interaction) reports.Compared {
	return reports.Compared{Number: n + 1, Line: i.Line, Method: i.Request.Method, Path: pathOf(i.Request.URL)}
}

func differences(was, is *vcr.Interaction) []reports.Difference {
	var out []reports.Difference
	for _, d := range shape.Diff(shape.Of(was), shape.Of(is)) {
		out = append(out, reports.Difference{Tier: string(d.Tier), Path: d.Path, Text: d.Text})
	}
	return out
}

// oldest is when the oldest interaction was recorded; zero when none says.
func oldest(f *vcr.File) time.Time {
	var at time.Time
	for _, i := range f.Interactions {
		if r := i.Meta.Recorded; !r.IsZero() && (at.IsZero() || r.Before(at)) {
			at = r
		}
	}
	return at
}

func pathOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Path
	}
	return address
}

func cassetteDriftCommand(p *process) *cobra.Command {
	var flags compareFlags
	var upstream string
	var timeout time.Duration
	var headers []string
	cmd := &cobra.Command{
		Use:   "drift FILE... --upstream URL",
		Short: "Send the requests of cassettes to an endpoint and compare the answers",
		Long: `drift sends every recorded request to --upstream, in order, and compares the
shape of each answer with the recorded one, as cassette diff does. The files do
not change. If --upstream has a path, its path replaces the recorded base path.
A cassette holds no keys; pass them with --header, in which $NAME is an
environment variable.

` + compareTiers + `
It is 3 if the endpoint could not be reached, or refused the key of every request
(401 or 403). drift stops after three requests in a row without an answer.`,
		Example: "  rehearse cassette drift weather.yaml --upstream http://localhost:8000\n" +
			"  rehearse cassette drift cassettes/*.yaml --upstream http://localhost:8000 --html drift.html --json\n" +
			"  rehearse cassette drift weather.yaml --upstream https://api.openai.com --header 'Authorization: Bearer $OPENAI_API_KEY'",
		Args: minArgs(1, "a cassette"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := flags.failures(); err != nil {
				return err
			}
			u, err := endpointAddress(upstream)
			if err != nil {
				return err
			}
			var files []*vcr.File
			for _, path := range args {
				f, err := vcr.Read(path)
				if err != nil {
					return err
				}
				files = append(files, f)
			}
			header, err := headersOf(p, headers)
			if err != nil {
				return err
			}
			d := &drifter{p: p, upstream: u, header: header, timeout: timeout}
			return flags.write(p, d.ask(cmd.Context(), files))
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&upstream, "upstream", "", "address of the endpoint, such as http://localhost:8000 or https://api.openai.com/v1")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "header for the endpoint, such as 'Authorization: Bearer $TOKEN' with an environment variable; may be repeated")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "time limit for one answer")
	return cmd
}

// headersOf reads the values of --header: 'Name: value', with environment
// variables as $NAME or ${NAME} in the value.
func headersOf(p *process, lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, v, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, errors.New("--header: want 'Name: value'") // what stands there may be a key
		}
		var unset string
		v = os.Expand(strings.TrimSpace(v), func(env string) string {
			text, ok := p.getenv(env)
			if !ok {
				unset = env
			}
			return text
		})
		if unset != "" {
			return nil, fmt.Errorf("--header %q: $%s is not set", strings.TrimSpace(name), unset)
		}
		h.Add(strings.TrimSpace(name), v)
	}
	return h, nil
}

// drifter asks an endpoint recorded questions.
type drifter struct {
	p        *process
	upstream *url.URL
	header   http.Header
	timeout  time.Duration
}

// maxSilent is after how many requests in a row without an answer the rest is
// left.
const maxSilent = 3

func (d *drifter) ask(ctx context.Context, files []*vcr.File) *reports.Comparison {
	out := &reports.Comparison{Schema: 1, Against: prose.AddressOf(d.upstream), At: time.Now().UTC().Truncate(time.Second)}
	total := 0
	for _, f := range files {
		total += len(f.Interactions)
	}
	show := newAsking(d.p, total)
	defer show.close()
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}, CheckRedirect: redirect.None}
	defer client.CloseIdleConnections()
	silent := 0
	var refused refusals
	for _, f := range files {
		file := reports.ComparedFile{File: f.Path, Recorded: oldest(f), Interactions: []reports.Compared{}}
		for n, was := range f.Interactions {
			c := compared(n, was)
			show.next(f.Path, &c)
			switch {
			case ctx.Err() != nil:
				c.Error = "interrupted"
			case silent >= maxSilent:
				c.Error = fmt.Sprintf("not sent: %d requests in a row had no answer", maxSilent)
			case refused.all(maxSilent):
				c.Error = fmt.Sprintf("not sent: the endpoint refused the key of %d requests in a row", maxSilent)
			case was.Meta.Outcome == vcr.UpstreamError || was.Meta.Outcome == vcr.Aborted || was.Meta.Outcome == vcr.Open || was.Response.Code == 0:
				continue // there is no whole answer to compare with
			default:
				is, err := d.again(ctx, client, was)
				if err != nil {
					silent++
					c.Error = err.Error()
					break
				}
				silent = 0
				c.Differences = differences(was, is)
				refused.add(was, is, refusal{len(out.Files), len(file.Interactions), d.refusalOf(is)})
			}
			file.Interactions = append(file.Interactions, c)
		}
		out.Files = append(out.Files, file)
	}
	if refused.all(1) {
		for _, r := range refused.list {
			c := &out.Files[r.file].Interactions[r.interaction]
			c.Error, c.Differences = r.text, nil
		}
	}
	return out
}

// again sends a recorded request anew.
func (d *drifter) again(ctx context.Context, client *http.Client, was *vcr.Interaction) (*vcr.Interaction, error) {
	recorded, err := url.Parse(was.Request.URL)
	if err != nil {
		return nil, err
	}
	path := recorded.EscapedPath()
	if strings.Trim(d.upstream.Path, "/") != "" {
		path = strings.TrimPrefix(path, was.Meta.Base) // the new address has a path of its own
	}
	address := dialects.WithoutVersion(d.upstream, path).JoinPath(path)
	address.RawQuery = recorded.RawQuery
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, was.Request.Method, address.String(), bytes.NewReader(was.Request.Body))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Accept", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta"} {
		if v := was.Request.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	req.Header.Set("Content-Type", cmp.Or(was.Request.Header.Get("Content-Type"), "application/json"))
	for name, values := range d.header {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &vcr.Interaction{
		Request:  vcr.Request{Method: was.Request.Method, URL: was.Request.URL},
		Response: vcr.Response{Status: resp.Status, Code: resp.StatusCode, Header: resp.Header, Body: body},
		Meta:     was.Meta,
	}, nil
}

// asking shows how the questions go on: a bar on a terminal, else a line each.
type asking struct {
	lines    io.Writer
	total, n int
	progress *mpb.Progress
	bar      *mpb.Bar
}

func newAsking(p *process, total int) *asking {
	a := &asking{total: total}
	if p.terminal(p.stderr) {
		a.progress = mpb.New(mpb.WithOutput(bare(p.stderr)), mpb.WithWidth(40))
		a.bar = a.progress.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.CountersNoUnit("%d of %d requests")),
			mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO)))
	} else {
		a.lines = p.stderr
	}
	return a
}

func (a *asking) next(file string, c *reports.Compared) {
	a.n++
	if a.bar != nil && a.n > 1 {
		a.bar.Increment()
	}
	if a.lines != nil {
		fmt.Fprintf(a.lines, "asking %d of %d: %s %s (%s)\n", a.n, a.total, c.Method, c.Path, file)
	}
}

func (a *asking) close() {
	if a.bar != nil {
		a.bar.Abort(true)
		a.progress.Wait()
	}
}
