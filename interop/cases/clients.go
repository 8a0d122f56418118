// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// checks collects the checks of a folder that is judged here.
type checks struct {
	folder string
	lines  []line
}

// add adds a check. got is told where it fails.
func (c *checks) add(ok bool, right, got string) {
	text := c.folder + ": " + right
	if !ok {
		text += ": " + shorten(got)
	}
	c.lines = append(c.lines, line{ok, text})
}

func shorten(s string) string {
	return prose.Excerpt(strings.Join(strings.Fields(s), " "), 300)
}

// playClients plays requests that clients send. They ask at fixed ports, which
// are replaced by those of two mock models, and send the admin API JSON without
// saying so, which curl declares a form and the API refuses.
func playClients(ctx context.Context, j *job, dir string) ([]line, error) {
	replace := []string{
		"/rehearse/load -d", "/rehearse/load -H content-type:application/json -d",
		"/rehearse/verify -d", "/rehearse/verify -H content-type:application/json -d",
	}
	for port, args := range map[string][]string{"9100": nil, "9101": {"--profile", "strict"}} {
		url, stop, err := j.start(ctx, dir, append([]string{"serve", "llm"}, append(args, "llm.yaml")...)...)
		if err != nil {
			return nil, err
		}
		defer stop()
		replace = append(replace, "http://127.0.0.1:"+port, strings.TrimSuffix(url, "/v1"))
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		return nil, err
	}
	judges := map[string]func(*checks, string){
		"anthropic-system-role.sh": judgeSystemRole,
		"anthropic-thread.sh":      judgeThread,
		"names.py":                 judgeNames,
		"not-offered.sh":           judgeNotOffered,
		"pipefull.py":              judgePipe,
		"refusals.py":              judgeRefusals,
		"result-wrapped.sh":        judgeWrapped,
		"strict-gemini.sh":         judgeStrictGemini,
		"unknown-keys.sh":          judgeUnknownKeys,
		"user-parts.sh":            judgeUserParts,
	}
	c := &checks{folder: "clients"}
	for _, script := range scripts {
		name := filepath.Base(script)
		if name == "llm.yaml" {
			continue
		}
		judge := judges[name]
		if judge == nil {
			return c.lines, fmt.Errorf("nothing judges %s", name)
		}
		delete(judges, name)
		text, err := os.ReadFile(script)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(script, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o755); err != nil {
			return nil, err
		}
		argv := []string{"bash", name}
		if strings.HasSuffix(name, ".py") {
			argv = []string{"python3", name}
		}
		if name == "pipefull.py" {
			argv = append(argv, j.binary)
		}
		out, err := j.output(ctx, dir, nil, argv...)
		if err != nil {
			return c.lines, fmt.Errorf("%s: %w\n%s", name, err, out)
		}
		judge(c, string(out))
	}
	for name := range judges {
		c.add(false, name+" is there", "it is not")
	}
	return c.lines, nil
}

// start starts a server of rehearse and returns its URL.
func (j *job) start(ctx context.Context, dir string, args ...string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, j.binary, args...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		// Its exit code reports misses, which these inputs are about.
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	var ready struct{ URL string }
	first, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, &ready)
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("rehearse %s: %w", strings.Join(args, " "), err)
	}
	return ready.URL, stop, nil
}

// answer is what is judged of a reply in any dialect.
type answer struct {
	Type    string
	Error   json.RawMessage
	Content []struct{ Type, Name, Text string }
	Choices []struct {
		Message struct {
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
}

// answers reads JSON values that follow each other.
func answers(out string) ([]answer, error) {
	d := json.NewDecoder(strings.NewReader(out))
	var list []answer
	for d.More() {
		var a answer
		if err := d.Decode(&a); err != nil {
			return list, err
		}
		list = append(list, a)
	}
	return list, nil
}

func (a *answer) calls(tool string) bool {
	return len(a.Error) == 0 && len(a.Content) > 0 && a.Content[len(a.Content)-1].Name == tool
}

func judgeSystemRole(c *checks, out string) {
	list, err := answers(out)
	c.add(err == nil && len(list) == 1 && list[0].calls("get_weather"), "a message with role: system is taken", out)
}

func judgeThread(c *checks, out string) {
	list, err := answers(out)
	c.add(err == nil && len(list) > 0 && list[0].calls("get_weather"), "a thread is created", out)
	ok := err == nil && len(list) == 2 && len(list[1].Error) == 0 && len(list[1].Content) == 1
	c.add(ok && list[1].Content[0].Text == "Done: sunny", "a thread is continued with the new message alone", out)
}

var nameLine = regexp.MustCompile(`(?m)^(\S+) +offered (\S+) +-> (\d+) (\S+)[^|]*\| (.*)$`)

// judgeNames wants the tool under each name by which clients are known to offer
// it. A plain name that is no offered one is looked for behind a prefix; where
// it cannot be told which part is the server, a refusal that names the tool is
// as good.
func judgeNames(c *checks, out string) {
	list := nameLine.FindAllStringSubmatch(out, -1)
	c.add(len(list) == 14, "names.py asks under 14 names", fmt.Sprintf("%d: %s", len(list), out))
	for _, m := range list {
		call, offered, status, name, verdict := m[1], m[2], m[3], m[4], m[5]
		found := status == "200" && name == offered && strings.HasPrefix(verdict, `{"passed":true`)
		refused := status == "422" && strings.HasPrefix(verdict, `{"passed":false`)
		right := fmt.Sprintf("a call of %s, offered as %s", call, offered)
		switch {
		case offered == "other":
			c.add(refused, right+", is a miss", m[0])
		case call == "get_weather" && offered != call:
			c.add(found || refused, right+", is that tool or a miss", m[0])
		default:
			c.add(found, right+", is that tool", m[0])
		}
	}
}

func judgeNotOffered(c *checks, out string) {
	c.add(strings.Contains(out, `"type": "rehearse_miss"`) && strings.Contains(out, "get_wether"), "a scripted tool that is not offered is a miss", out)
	c.add(strings.Contains(out, `{"passed":false`), "verify says so", out)
}

// judgePipe wants all 1500 requests to be answered at once.
func judgePipe(c *checks, out string) {
	c.add(strings.Contains(out, "done 1499") && !strings.Contains(out, "slow") && !strings.Contains(out, "Error"), "nobody reads standard error, and requests are answered", out)
	c.add(strings.Contains(out, `"healthy"`), "health is answered", out)
	c.add(regexp.MustCompile(`(?m)^exit \d+$`).MatchString(out), "the mock ends when it is told to", out)
}

var refusalLine = regexp.MustCompile(`(?m)^(?:!!|  ) (.{45}) real (.*?) mock (\d+) (.*)$`)

// judgeRefusals holds the status that the mock answers with against that of the
// provider, which the script has. A request that nobody scripted (422) was
// taken.
func judgeRefusals(c *checks, out string) {
	// What the script leaves open, and what its folder says otherwise.
	known := map[string]string{
		"ant thread create":                     "200",
		"ant max_tokens 0":                      "200", // in the types of the current SDKs
		"gem gemini-3 missing thoughtSignature": "200", // the model asked for is another
	}
	n := 0
	for section := range strings.SplitSeq(out, "== ") {
		of, _, _ := strings.Cut(section, "\n")
		for _, m := range refusalLine.FindAllStringSubmatch(section, -1) {
			n++
			name := of + " " + strings.TrimSpace(m[1])
			want, got := m[2], m[3]
			if k := known[name]; k != "" {
				want = k
			}
			if got == "422" && strings.Contains(m[4], "nothing scripted fits the request") {
				got = "200"
			}
			c.add(got == want, "refusals: "+name+" is "+want, got+" "+m[4])
		}
	}
	c.add(n >= 150, "refusals.py has at least 150 requests", fmt.Sprint(n))
}

func judgeWrapped(c *checks, out string) {
	list := strings.Split(strings.TrimSpace(out), "\n")
	for i := range 4 {
		got := ""
		if i < len(list) {
			got = list[i]
		}
		c.add(got == "It is sunny.", fmt.Sprintf("result.sky reads shape %d of a result", i+1), got)
	}
}

var endStatus = regexp.MustCompile(`(?m)^ (\d+)$`)

func judgeStrictGemini(c *checks, out string) {
	list := endStatus.FindAllStringSubmatch(out, -1)
	for i, path := range []string{"/v1beta", "/v1"} {
		c.add(i < len(list) && list[i][1] == "200", "profile strict answers Gemini's requests below "+path, out)
	}
}

func judgeUnknownKeys(c *checks, out string) {
	list := strings.Split(strings.TrimSpace(out), "\n")
	for i := 0; i+1 < len(list); i += 2 {
		path, _, _ := strings.Cut(list[i], `,"messages"`)
		path, _, _ = strings.Cut(path, `,"input"`)
		c.add(strings.TrimSpace(list[i+1]) == "400", "unknown-keys: "+path+" is refused", list[i+1])
	}
	c.add(len(list) == 12, "unknown-keys.sh sends 6 requests", out)
}

func judgeUserParts(c *checks, out string) {
	list, err := answers(out)
	ok := err == nil && len(list) == 1 && len(list[0].Choices) == 1 && len(list[0].Choices[0].Message.ToolCalls) == 1
	c.add(ok, "what the user says is one part of the message", errors.Join(err, errors.New(out)).Error())
}
