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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/cassettes/shape"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

func cassetteCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cassette diff|drift|export|scan",
		Short: "Look at recorded traffic: compare it, hold it against an endpoint, export it",
		Example: `  rehearse cassette diff old.yaml new.yaml
  rehearse cassette drift weather.yaml --upstream http://localhost:8000
  rehearse cassette export weather.yaml weather.har`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(cassetteDiffCommand(p), cassetteDriftCommand(p), cassetteExportCommand(p), cassetteScanCommand(p))
	return cmd
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %s, got %d arguments\nfor example:\n%s", cmd.CommandPath(), what, len(args), cmd.Example)
		}
		return nil
	}
}

func cassetteDiffCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the answers of two cassettes by their shape",
		Long: `diff compares the interactions of two cassettes one by one: status, keys and
types, the order of events, how a reply ends and calls tools. Texts, ids and
numbers may differ. A difference is breaking (something is gone or of another
type), risky (it ends, is ordered or calls tools otherwise) or minor. The exit
code is 1 if there is one that is not minor.`,
		Example: "  rehearse cassette diff old.yaml new.yaml",
		Args:    exactArgs(2, "two cassettes"),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := vcr.Read(args[0])
			if err != nil {
				return err
			}
			b, err := vcr.Read(args[1])
			if err != nil {
				return err
			}
			d := &drifts{out: p.stdout}
			for n := range max(len(a.Interactions), len(b.Interactions)) {
				switch {
				case n >= len(a.Interactions):
					d.tell(n, b.Interactions[n], shape.Difference{Tier: shape.Minor, Path: "interaction", Text: "was not there"})
				case n >= len(b.Interactions):
					d.tell(n, a.Interactions[n], shape.Difference{Tier: shape.Breaking, Path: "interaction", Text: "is not there any more"})
				default:
					d.compare(n, a.Interactions[n], b.Interactions[n])
				}
			}
			return d.verdict()
		},
	}
}

// drifts prints differences and counts those that matter.
type drifts struct {
	out            io.Writer
	matter, others int
}

func (d *drifts) compare(n int, was, is *vcr.Interaction) {
	if was.Request.Method != is.Request.Method || pathOf(was.Request.URL) != pathOf(is.Request.URL) {
		d.tell(n, is, shape.Difference{Tier: shape.Breaking, Path: "request", Text: fmt.Sprintf(
			"was %s %s, is %s %s", was.Request.Method, pathOf(was.Request.URL), is.Request.Method, pathOf(is.Request.URL))})
		return
	}
	for _, difference := range shape.Diff(shape.Of(was), shape.Of(is)) {
		d.tell(n, is, difference)
	}
}

func pathOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Path
	}
	return address
}

func (d *drifts) tell(n int, i *vcr.Interaction, difference shape.Difference) {
	fmt.Fprintf(d.out, "interaction %d (%s %s): %s\n", n+1, i.Request.Method, pathOf(i.Request.URL), difference)
	if difference.Tier == shape.Minor {
		d.others++
	} else {
		d.matter++
	}
}

func (d *drifts) verdict() error {
	fmt.Fprintf(d.out, "differences that matter: %d, minor: %d\n", d.matter, d.others)
	if d.matter > 0 {
		return &codeError{code: exitFailed}
	}
	return nil
}

func cassetteDriftCommand(p *process) *cobra.Command {
	var upstream string
	var timeout time.Duration
	var headers []string
	cmd := &cobra.Command{
		Use:   "drift FILE --upstream URL",
		Short: "Send the requests of a cassette to an endpoint and compare the answers",
		Long: `drift sends every recorded request to --upstream, in order, and compares the
shape of each answer with the recorded one, as cassette diff does. The file
stays as it is. Keys are not in a cassette; give them with --header, in which
$NAME is an environment variable. The exit code is 1 if a difference matters,
and 3 if the endpoint could not be asked.`,
		Example: "  rehearse cassette drift weather.yaml --upstream http://localhost:8000\n" +
			"  rehearse cassette drift weather.yaml --upstream https://api.openai.com --header 'Authorization: Bearer $OPENAI_API_KEY'",
		Args: exactArgs(1, "one cassette"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := endpointAddress(upstream)
			if err != nil {
				return err
			}
			f, err := vcr.Read(args[0])
			if err != nil {
				return err
			}
			header, err := headersOf(p, headers)
			if err != nil {
				return err
			}
			return drift(cmd.Context(), p, f, u, header, timeout)
		},
	}
	cmd.Flags().StringVar(&upstream, "upstream", "", "address of the endpoint; the recorded paths are added to it")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a header to send, 'Name: value'; may be repeated")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long one answer may take")
	return cmd
}

// headersOf reads 'Name: value' with environment variables in the values.
func headersOf(p *process, lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, v, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("--header %q: want 'Name: value'", line)
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

func drift(ctx context.Context, p *process, f *vcr.File, upstream *url.URL, header http.Header, timeout time.Duration) error {
	d := &drifts{out: p.stdout}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for n, was := range f.Interactions {
		fmt.Fprintf(p.stderr, "asking %d of %d: %s %s\n", n+1, len(f.Interactions), was.Request.Method, pathOf(was.Request.URL))
		is, err := again(ctx, client, was, upstream, header, timeout)
		if err != nil {
			return &codeError{exitUnjudged, fmt.Errorf("interaction %d: %w", n+1, err)}
		}
		d.compare(n, was, is)
	}
	return d.verdict()
}

// again sends a recorded request anew.
func again(ctx context.Context, client *http.Client, was *vcr.Interaction, upstream *url.URL, header http.Header, timeout time.Duration) (*vcr.Interaction, error) {
	recorded, err := url.Parse(was.Request.URL)
	if err != nil {
		return nil, err
	}
	address := upstream.JoinPath(strings.TrimPrefix(recorded.EscapedPath(), was.Meta.Base))
	address.RawQuery = recorded.RawQuery
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, was.Request.Method, address.String(), bytes.NewReader(was.Request.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", cmp.Or(was.Request.Header.Get("Content-Type"), "application/json"))
	if accept := was.Request.Header.Get("Accept"); accept != "" {
		req.Header.Set("Accept", accept)
	}
	for name, values := range header {
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

func cassetteExportCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE OUT",
		Short: "Write recorded traffic as HAR (OUT ends in .har) or as a go-vcr/v2 cassette (.yaml)",
		Long: `export reads what any of the known recorders wrote (go-vcr of all versions,
vcrpy, HAR, a folder of Argo captures) and writes it as HAR 1.2 or as go-vcr/v2
reads it. Secrets are taken out on the way.`,
		Example: "  rehearse cassette export weather.yaml weather.har\n  rehearse cassette export traffic.har traffic.yaml",
		Args:    exactArgs(2, "a file to read and one to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			return convert(p, args[0], args[1])
		},
	}
}

// convert reads recorded traffic and writes it in another format, without
// secrets.
func convert(p *process, from, to string) error {
	f, err := vcr.Read(from)
	if err != nil {
		return err
	}
	secrets, err := redact.New(nil)
	if err != nil {
		return err
	}
	clean := &vcr.File{Path: to}
	for _, i := range f.Interactions {
		clean.Interactions = append(clean.Interactions, secrets.Interaction(i))
	}
	if found := secrets.Scan(clean.Encode()); len(found) > 0 {
		return fmt.Errorf("%q is not written: what was read from %q still holds what looks like a secret: %s", to, from, found[0])
	}
	switch {
	case strings.HasSuffix(to, ".har"):
		data, err := clean.EncodeHAR()
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			return err
		}
	case strings.HasSuffix(to, ".yaml"), strings.HasSuffix(to, ".yml"):
		if err := vcr.WriteFile(to, clean, 0); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q: want a name that ends in .har or .yaml", to)
	}
	fmt.Fprintf(p.stdout, "%s of %s written to %s\n", count(len(clean.Interactions), "interaction"), f.Format, to)
	return nil
}

func cassetteScanCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:     "scan FILE...",
		Short:   "Look for secrets in files that exist",
		Long:    "scan looks for keys, tokens and the like in files of any kind. The exit code is 1 if there are any.",
		Example: "  rehearse cassette scan testdata/*.yaml",
		Args:    minArgs(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			secrets, err := redact.New(nil)
			if err != nil {
				return err
			}
			found := 0
			var errs []error
			for _, path := range args {
				data, err := os.ReadFile(path)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				for _, f := range secrets.Scan(data) {
					fmt.Fprintf(p.stdout, "%s:%d: %s: %s\n", path, f.Line, f.Rule, f.Excerpt)
					found++
				}
			}
			if len(errs) > 0 {
				return errors.Join(errs...)
			}
			if found > 0 {
				return &codeError{exitFailed, fmt.Errorf("%s that look like secrets", count(found, "place"))}
			}
			return nil
		},
	}
}
