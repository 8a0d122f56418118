// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// module is the import path of the repository.
const module = "github.com/rehearse-dev/rehearse"

// agentDriver judges the folder go-agent: agents in Go, and scenarios that a
// newcomer wrote.
type agentDriver struct {
	checks
	j   *job
	dir string
	ctx context.Context
}

func playGoAgent(ctx context.Context, j *job, dir string) ([]line, error) {
	d := &agentDriver{checks{folder: "go-agent"}, j, dir, ctx}
	for _, part := range []func() error{
		d.badDemos, d.serverExpression, d.misnamed, d.rewrittenHistory, d.hints, d.ignoredPaths, d.httpStatus, d.tags, d.readme,
	} {
		if err := part(); err != nil {
			return d.lines, err
		}
	}
	return d.lines, nil
}

// rehearse runs the binary in a folder below the copy.
func (d *agentDriver) rehearse(sub string, args ...string) (string, int, error) {
	out, code, err := d.j.exit(d.ctx, filepath.Join(d.dir, sub), nil, append([]string{d.j.binary}, args...)...)
	return string(out), code, err
}

// goTest runs a test of a module below the copy.
func (d *agentDriver) goTest(sub, name string, env ...string) (string, int, error) {
	env = append(env, "GOFLAGS=-mod=mod")
	out, code, err := d.j.exit(d.ctx, filepath.Join(d.dir, sub), env, "go", "test", "-count=1", "-run", name, ".")
	return string(out), code, err
}

// badDemos are nine ways to spoil the files of `rehearse init demo`.
func (d *agentDriver) badDemos() error {
	for _, bad := range []struct{ name, word string }{
		{"extra_call", "Rome"},
		{"missing_call", "Rome"},
		{"wrong_answer", "rainy"},
		{"wrong_server_decl", "wether.yaml"},
		{"wrong_server_expect", "wether"},
		{"wrong_server_reply", "wether"},
		{"wrong_tool", "get_whether"},
		{"wrongarg_expect", "Lyon"},
		{"wrongarg_reply", "Rome"},
	} {
		out, code, err := d.rehearse("t2-bad/"+bad.name, "run", ".", "--out", filepath.Join(d.dir, "runs"))
		if err != nil {
			return err
		}
		ok := code != 0 && regexp.MustCompile(`s\.yaml:\d+`).MatchString(out) && strings.Contains(out, bad.word)
		d.add(ok, "t2 "+bad.name+": the run fails, and names the line and "+bad.word, fmt.Sprintf("exit %d %s", code, out))
	}
	return nil
}

// serverExpression has a mistake in a server's file, which has a consequence in
// the scenario.
func (d *agentDriver) serverExpression() error {
	out, code, err := d.rehearse("t3-server-expr-error-is-second", "run", ".", "--out", filepath.Join(d.dir, "runs"))
	if err != nil {
		return err
	}
	cause, after := strings.Index(out, "staus"), strings.Index(out, "result.issues")
	d.add(code != 0 && cause >= 0 && (after < 0 || cause < after), "t3: the server's own error is told before its consequence", out)
	// The result that has the mistake begins at line 15, and its JSON at 16.
	d.add(regexp.MustCompile(`tracker\.yaml:1[56]:\d+: `).MatchString(out), "t3: the server's own error names the lines of tracker.yaml", out)
	return nil
}

// misnamed are words that mean another.
func (d *agentDriver) misnamed() error {
	for _, m := range []struct{ file, want string }{
		{"t4-fault-kind-cut_stream.yaml", `did you mean "cut"`},
		{"t7-stall-after-reserved.yaml", "delay"},
	} {
		out, code, err := d.rehearse("", "check", m.file)
		if err != nil {
			return err
		}
		d.add(code != 0 && strings.Contains(out, m.want), m.file+" is refused with "+m.want, fmt.Sprintf("exit %d %s", code, out))
	}
	return nil
}

// rewrittenHistory has an agent with bugs.
func (d *agentDriver) rewrittenHistory() error {
	const sub = "t4-history-rewritten-passes"
	if err := d.prepare(sub); err != nil {
		return err
	}
	for _, bug := range []string{"", "args-reserialised", "other-text", "wrong-model", "no-desc"} {
		out, code, err := d.goTest(sub, "TestAgent/a_created", "AGENT_BUG="+bug)
		if err != nil {
			return err
		}
		if bug == "" {
			d.add(code == 0, "t4: the agent without a bug passes", out)
			continue
		}
		failed := code == 1 && strings.Contains(out, "--- FAIL: TestAgent") && !strings.Contains(out, "build failed")
		d.add(failed, "t4: the bug "+bug+" fails the test", fmt.Sprintf("exit %d %s", code, out))
	}
	return nil
}

// hints has a recording that the agent no longer fits.
func (d *agentDriver) hints() error {
	const sub = "t6-hint-records-other-agent"
	if err := d.prepare(sub); err != nil {
		return err
	}
	out, code, err := d.goTest(sub, "TestMode", "MODE=replay")
	if err != nil {
		return err
	}
	d.add(code == 1 && strings.Contains(out, "--- FAIL: TestMode"), "t6: a recording that the agent does not fit fails the test", out)
	d.add(!strings.Contains(out, "rehearse run"), "t6: the hint names no command that records another agent", out)
	d.add(strings.Contains(out, "go test"), "t6: the hint names the command that was run", out)
	return nil
}

// ignoredPaths asks for a recorded answer with another system prompt, which
// does not count by a path in any of three spellings.
func (d *agentDriver) ignoredPaths() error {
	recording, err := os.ReadFile(filepath.Join(d.dir, "t6-ignore-path", "date.yaml"))
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`(?m)^ +(\{"model".*\})$`).FindSubmatch(recording)
	if m == nil {
		return errors.New("t6-ignore-path/date.yaml has no request")
	}
	body := bytes.Replace(m[1], []byte("2026-11-27"), []byte("2026-11-28"), 1)
	for _, path := range []string{"messages.0.content", "messages[0].content", "body.messages[0].content"} {
		status, text, err := d.ask(path, body)
		if err != nil {
			return err
		}
		d.add(status == http.StatusOK, "t6: --ignore takes "+path, fmt.Sprintf("%d %s", status, text))
	}
	return nil
}

// ask sends a request to a replay that ignores a path.
func (d *agentDriver) ask(path string, body []byte) (int, string, error) {
	url, stop, err := d.j.start(d.ctx, filepath.Join(d.dir, "t6-ignore-path"), "proxy", "--cassette", "date.yaml", "--allow-unused", "--ignore", path)
	if err != nil {
		return 0, err.Error(), nil // the path was refused
	}
	defer stop()
	res, err := http.Post(strings.TrimSuffix(url, "/v1")+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// httpStatus has a fault that every agent met as a failure of its own.
func (d *agentDriver) httpStatus() error {
	out, code, err := d.rehearse("", "run", "t7-mcp-http_status-fails-every-agent.yaml", "--out", filepath.Join(d.dir, "runs"))
	if err != nil {
		return err
	}
	d.add(code == 0, "t7: the reference agent gets over http_status", fmt.Sprintf("exit %d %s", code, out))
	return nil
}

// tags has one scenario of several with the tag smoke.
func (d *agentDriver) tags() error {
	const sub = "t8-tags-critical-do-nothing"
	out, code, err := d.rehearse(sub, "run", ".", "--tags", "smoke", "--out", filepath.Join(d.dir, "runs"))
	if err != nil {
		return err
	}
	ok := code == 0 && strings.Contains(out, "closing an issue that does not exist") && !strings.Contains(out, "a created issue is in the list")
	d.add(ok, "t8: --tags selects scenarios", fmt.Sprintf("exit %d %s", code, out))
	return nil
}

// readme plays scenarios to the agent of the README.
func (d *agentDriver) readme() error {
	const sub = "t8-readme-subject-ignores-settings"
	readme, err := os.ReadFile(filepath.Join(d.j.root, "README.md"))
	if err != nil {
		return err
	}
	m := regexp.MustCompile("(?ms)^```go\n(package myagent_test.*?)^```$").FindSubmatch(readme)
	if m == nil {
		return errors.New("README.md has no agent in Go")
	}
	dir := filepath.Join(d.dir, sub)
	if err := os.WriteFile(filepath.Join(dir, "readme_test.go"), m[1], 0o644); err != nil {
		return err
	}
	// It has no module, and gets one that requires what the repository does.
	mod, err := os.ReadFile(filepath.Join(d.j.root, "go.mod"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(mod), "module "+module, "module example.com/readme", 1) +
		"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => REHEARSE_CHECKOUT\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := d.prepare(sub); err != nil {
		return err
	}
	out, code, err := d.goTest(sub, "TestAgent")
	if err != nil {
		return err
	}
	d.add(code == 0, "t8: the agent of the README honours a scenario's settings", out)
	return nil
}

// prepare leads a module below the copy to the repository.
func (d *agentDriver) prepare(sub string) error {
	dir := filepath.Join(d.dir, sub)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	if !bytes.Contains(mod, []byte("REHEARSE_CHECKOUT")) {
		return fmt.Errorf("%s/go.mod has no REHEARSE_CHECKOUT to replace", sub)
	}
	mod = bytes.ReplaceAll(mod, []byte("REHEARSE_CHECKOUT"), []byte(d.j.root))
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o644); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(d.j.root, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
}
