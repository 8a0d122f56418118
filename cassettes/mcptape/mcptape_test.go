// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

// TestMain lets the test binary be the server of its own tests.
func TestMain(m *testing.M) {
	if mode := os.Getenv("MCPTAPE_CHILD"); mode != "" {
		child(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// child is a small server: it answers what it knows, asks for the roots when
// it is ready, tells of progress, and ends when told to.
func child(mode string) {
	fmt.Fprintln(os.Stderr, "child: ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m, err := mcpwire.Parse(bytes.Clone(in.Bytes()))
		if err != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}}`+"\n", m.ID)
		case "notifications/initialized":
			fmt.Println(`{"jsonrpc":"2.0","id":"r1","method":"roots/list"}`)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"add","description":"%s","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}}`+"\n", m.ID, mode)
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}` + "\n")
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"3"}]}}`+"\n", m.ID)
		case "die":
			os.Exit(3)
		}
	}
	os.Exit(4)
}

// conversation is what a client says to the child.
const conversation = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"r1","result":{"roots":[]}}
{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"token":"s3cr3t-0123456789-xyz"},"_meta":{"progressToken":7}}}
`

func noCI(string) (string, bool) { return "", false }

// record records a conversation with the child.
func record(t *testing.T, path, says string) (code int, out, stderr string) {
	t.Helper()
	t.Setenv("MCPTAPE_CHILD", "plain")
	var o, e bytes.Buffer
	code, err := mcptape.Record(t.Context(), path, []string{os.Args[0]}, mcptape.Stdio{In: strings.NewReader(says), Out: &o, Err: &e},
		&mcptape.RecordOptions{Server: "child", LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	return code, o.String(), e.String()
}

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "child.tape")
	code, out, stderr := record(t, path, conversation)
	if code != 4 || stderr != "child: ready\n" || strings.Count(out, "\n") != 5 {
		t.Errorf("exit code %d, stderr %q, output\n%s", code, stderr, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("s3cr3t")) || !bytes.Contains(data, []byte("REDACTED-")) {
		t.Errorf("the secret is not taken out:\n%s", data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	rec, err := mcptape.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	count := map[mcptape.Dir]int{}
	for _, f := range rec.Frames {
		count[f.Dir]++
		if f.Frame != nil && f.Era != "legacy" {
			t.Errorf("frame %s has era %q", f.Frame, f.Era)
		}
	}
	// The client left before the server did, so nobody tells of the end.
	if diff := cmp.Diff(map[mcptape.Dir]int{mcptape.In: 5, mcptape.Out: 5, mcptape.Err: 1}, count); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(path + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the part is left: %v", err)
	}
}

// TestRecordDeath records a server that ends by itself, and replays its end.
func TestRecordDeath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "child.tape")
	t.Setenv("MCPTAPE_CHILD", "plain")
	in, say := io.Pipe()
	go fmt.Fprintln(say, `{"jsonrpc":"2.0","id":1,"method":"die"}`) // and stay
	defer say.Close()
	code, err := mcptape.Record(t.Context(), path, []string{os.Args[0]}, mcptape.Stdio{In: in, Out: io.Discard, Err: io.Discard}, &mcptape.RecordOptions{LookupEnv: noCI})
	if code != 3 || err != nil {
		t.Fatalf("exit code %d, %v", code, err)
	}
	tape := open(t, path, nil)
	c := dial(t, tape)
	c.say(`{"jsonrpc":"2.0","id":5,"method":"die"}`)
	if got := c.next(); got != "EOF" {
		t.Errorf("got %s", got)
	}
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}

// TestRecordInterrupted is Ctrl-C in the middle: what came is kept.
func TestRecordInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "child.tape")
	t.Setenv("MCPTAPE_CHILD", "plain")
	ctx, cancel := context.WithCancel(t.Context())
	in, say := io.Pipe()
	go fmt.Fprintln(say, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	defer say.Close()
	out, answers := io.Pipe()
	go func() {
		bufio.NewScanner(out).Scan()
		cancel()
		_, _ = io.Copy(io.Discard, out)
	}()
	defer answers.Close()
	if code, err := mcptape.Record(ctx, path, []string{os.Args[0]}, mcptape.Stdio{In: in, Out: answers, Err: io.Discard}, &mcptape.RecordOptions{LookupEnv: noCI}); code != 4 || err != nil {
		t.Errorf("exit code %d, %v", code, err)
	}
	rec, err := mcptape.Read(path)
	if err != nil || len(rec.Frames) < 2 {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestRecordRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tape")
	if _, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: func(string) (string, bool) { return "true", true }}); err == nil || !strings.Contains(err.Error(), "CI is set") {
		t.Errorf("with CI: %v", err)
	}
	if err := os.WriteFile(path, []byte("an older tape"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, says, want string }{
		{"nothing", "", "no message was recorded"},
		{
			"a secret that is known too late", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"note":"the word is Wombat77Lake"}}` + "\n" +
				`{"jsonrpc":"2.0","id":2,"method":"x","params":{"password":"Wombat77Lake"}}` + "\n", "it still contains what looks like a secret: line 2: ",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI})
			if err != nil {
				t.Fatal(err)
			}
			a, b := mcpwire.Pipe()
			conn := rec.Wrap(a)
			fmt.Fprint(conn, test.says)
			conn.Close()
			b.Close()
			if err := rec.Close(); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "Zq7Xv2Lm9Rt4") || strings.Contains(err.Error(), "Wombat77") {
				t.Errorf("got %v", err)
			}
			if data, _ := os.ReadFile(path); string(data) != "an older tape" {
				t.Errorf("the older tape is now %q", data)
			}
			if left, _ := filepath.Glob(path + ".*"); left != nil {
				t.Errorf("left: %q", left)
			}
			if refused, err := os.ReadFile(filepath.Join(dir, "a.refused.tape")); test.says != "" && (err != nil || strings.Contains(string(refused), "Wombat77") || !strings.Contains(string(refused), "the word is ")) {
				t.Errorf("what was refused: %v, %s", err, refused)
			}
		})
	}
}

// TestReadCutOff reads what a recording left that was killed.
func TestReadCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tape")
	rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	a, b := mcpwire.Pipe()
	defer b.Close()
	conn := rec.Wrap(a)
	for n := range 3 {
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		got, err := mcptape.Read(path)
		if err == nil && len(got.Frames) == 3 {
			if !got.Cut {
				t.Error("it is not told that the tape is cut off")
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
}

func TestParse(t *testing.T) {
	const head = `{"rehearse_tape":1,"server":"s"}` + "\n"
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", "the tape is empty"},
		{"no tape", "{}\n", "t:1: this is not a tape"},
		{"a cassette", "---\nversion: 1\n", "t:1: this is not a tape"},
		{"another version", `{"rehearse_tape":9}`, "t:1: the tape has version 9, but this program reads version 1"},
		{"conflict", head + "<<<<<<< HEAD\n", "t:2: the file contains merge conflict markers"},
		{"direction", head + `{"dir":"up","frame":{}}` + "\n", `t:2: direction "up" is unknown`},
		{"null", head + `{"dir":"in","frame":null}` + "\n", "is not a message"},
		{"neither", head + `{"dir":"in"}` + "\n", "neither a message nor text"},
		{"both", head + `{"dir":"in","frame":{},"text":"x"}` + "\n", "both a message and text"},
		{"junk", head + "junk\n" + `{"dir":"in","frame":{}}` + "\n", "t:2: this line is not a frame"},
		{"number", head + `{"dir":"out","frame":7}` + "\n", "the frame 7 is not a message"},
		{"session", head + `{"dir":"out","session":-1,"text":"x"}` + "\n", "session -1"},
		{"cut off, after a byte order mark", "\ufeff" + head + `{"dir":"out","text":"x"}` + "\n" + `{"dir":"in","fr`, ""},
		{"cut off", head + `{"dir":"out","text":"x"}` + "\n" + `{"dir":"in","fr`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec, err := mcptape.Parse("t", []byte(test.in))
			if test.want == "" {
				if err != nil || !rec.Cut || len(rec.Frames) != 1 {
					t.Errorf("got %+v, %v", rec, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// client is the other side of a replay.
type client struct {
	t    *testing.T
	conn io.ReadWriteCloser
	r    *bufio.Reader
}

func open(t *testing.T, path string, opts *mcptape.Options) *mcptape.Tape {
	t.Helper()
	tape, err := mcptape.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

// play makes a tape of lines: "12 > {...}" of the client, "<" of the server,
// "!" of its stderr, with the time in milliseconds.
func play(t *testing.T, lines string, opts *mcptape.Options) *mcptape.Tape {
	t.Helper()
	rec := script(t, lines)
	tape, err := mcptape.New("t", rec, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

func script(t *testing.T, lines string) *mcptape.Recording {
	t.Helper()
	rec := "{\"rehearse_tape\":1}\n"
	for line := range strings.Lines(lines) {
		var at int
		var dir, sep string
		head, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
		if head == "" {
			continue
		}
		if _, err := fmt.Sscan(head, &at, &sep); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch sep {
		case ">":
			dir = "in"
		case "<":
			dir = "out"
		}
		rec += fmt.Sprintf(`{"dir":%q,"at_ms":%d,"frame":{"jsonrpc":"2.0",%s}`+"\n", dir, at, rest)
	}
	r, err := mcptape.Parse("t", []byte(rec))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dial(t *testing.T, tape *mcptape.Tape) *client {
	t.Helper()
	conn, err := tape.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.conn, line); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() string {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

const session = `
	0 > {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
	5 < {"id":0,"result":{"protocolVersion":"2025-06-18"}}
	6 > {"method":"notifications/initialized"}
	7 < {"id":0,"method":"roots/list"}
	9 > {"id":0,"result":{"roots":[]}}
	10 > {"id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1},"_meta":{"progressToken":1}}}
	20 < {"method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}
	30 < {"id":"s1","method":"sampling/createMessage","params":{}}
	40 > {"id":"s1","result":{"role":"assistant"}}
	50 < {"id":1,"result":{"content":[],"n":1.10}}
	60 < {"method":"notifications/tools/list_changed"}
	70 > {"id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1},"_meta":{"progressToken":2}}}
	80 < {"id":2,"error":{"code":-32602,"message":"once only"}}
`

func TestReplay(t *testing.T) {
	tape := play(t, session, nil)
	c := dial(t, tape)
	for _, step := range []struct{ say, hear string }{
		{say: `{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"2"}}}`},
		{hear: `{"jsonrpc":"2.0","id":"x","result":{"protocolVersion":"2025-06-18"}}`},
		{say: `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`},
		{hear: `{"jsonrpc":"2.0","id":0,"method":"roots/list"}`},
		{say: `{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`},
		{say: `{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"_meta":{"progressToken":"p"},"arguments":{"a":1},"name":"add"}}`},
		{hear: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":0.5}}`},
		{hear: `{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}`},
		{say: `{"jsonrpc":"2.0","id":99,"method":"ping"}`}, // while the server waits
		{hear: `{"jsonrpc":"2.0","id":99,"result":{}}`},
		{say: `{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant"}}`},
		{hear: `{"jsonrpc":"2.0","id":"c1","result":{"content":[],"n":1.10}}`},
		{hear: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{say: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}`},
		{hear: `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"once only"}}`},
	} {
		if step.say != "" {
			c.say(step.say)
			continue
		}
		if diff := cmp.Diff(step.hear, c.next()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}

func TestMatch(t *testing.T) {
	const tape = `
	0 > {"id":1,"method":"tools/list"}
	1 < {"id":1,"result":{"tools":[]}}
	2 > {"id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"day":"mon"}}}
	3 < {"id":2,"result":{"n":2}}
	4 > {"id":3,"method":"tools/call","params":{"name":"sub","arguments":{"a":1}}}
	5 < {"id":3,"result":{"n":3}}
	`
	for _, test := range []struct {
		name string
		opts mcptape.Options
		say  []string // method and params
		want string   // in the last answer
	}{
		{"by name", mcptape.Options{}, []string{`"tools/call","params":{"name":"sub","arguments":{"a":1}}`}, `"n":3`},
		{"keys in another order", mcptape.Options{}, []string{`"tools/call","params":{"arguments":{"day":"mon","a":1},"name":"add"}`}, `"n":2`},
		{"another argument", mcptape.Options{}, []string{`"tools/call","params":{"name":"add","arguments":{"a":2,"day":"mon"}}`}, `-32000,"message":"rehearse_miss: tools/call add: nearest on the tape is tools/call add of line 4: params.arguments.a: recorded 1, now 2"`},
		{"ignored, as a miss prints it", mcptape.Options{Ignore: []string{"params.arguments.day"}}, []string{`"tools/call","params":{"name":"add","arguments":{"a":1,"day":"tue"}}`}, `"n":2`},
		{"ignored", mcptape.Options{Ignore: []string{"arguments.day"}}, []string{`"tools/call","params":{"name":"add","arguments":{"a":1,"day":"tue"}}`}, `"n":2`},
		{"once more", mcptape.Options{}, []string{`"tools/list"`, `"tools/list"`}, `rehearse_miss: tools/list: recorded 1 times, but asked for once more`},
		{"another method", mcptape.Options{}, []string{`"prompts/list"`}, `rehearse_miss: prompts/list: not on the tape, which has tools/list, tools/call`},
		{"strict", mcptape.Options{Strict: true}, []string{`"tools/list"`, `"tools/call","params":{"name":"sub","arguments":{"a":1}}`}, `rehearse_miss: tools/call sub: next on the tape is tools/call add of line 4: params`},
		{"strict, in order", mcptape.Options{Strict: true}, []string{`"tools/list"`, `"tools/call","params":{"name":"add","arguments":{"a":1,"day":"mon"}}`}, `"n":2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := play(t, tape, &test.opts)
			c := dial(t, server)
			got := ""
			for n, say := range test.say {
				c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`, n, say))
				got = c.next()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			want := "not asked for: line"
			if strings.Contains(test.want, "rehearse_miss") {
				want = "rehearse_miss"
			}
			if err := server.Close(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Close() = %v, want %s", err, want)
			}
		})
	}
}

// TestSecretsMatch replays with another secret than was recorded.
func TestSecretsMatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "child.tape")
	record(t, path, conversation)
	tape := open(t, path, &mcptape.Options{AllowUnused: true, Secrets: &redact.Rules{}})
	c := dial(t, tape)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"token":"an0ther-9876543210-abc"}}}`)
	if got := c.next(); !strings.Contains(got, `"text":"3"`) {
		t.Errorf("got %s", got)
	}
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}

func TestSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tape")
	rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 { // the same id in both
		a, b := mcpwire.Pipe()
		conn := rec.Wrap(a)
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"x"}`)
		fmt.Fprintf(b, `{"jsonrpc":"2.0","id":1,"result":{"n":%d}}`+"\n", n)
		_, _ = bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		b.Close()
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	tape := open(t, path, nil)
	for n := range 2 {
		c := dial(t, tape)
		c.say(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		if got, want := c.next(), fmt.Sprintf(`"n":%d`, n); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := tape.Dial(t.Context()); err == nil {
		t.Error("there is a third session")
	}
	if err := tape.Close(); err == nil {
		t.Error("the third session is no miss")
	}
}

func TestTapeAge(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		rec := script(t, `0 > {"id":1,"method":"ping"}
			1 < {"id":1,"result":{}}`)
		open := func(maxAge time.Duration, stale string) (string, error) {
			said := ""
			tape, err := mcptape.New("t", rec, &mcptape.Options{MaxAge: maxAge, Stale: stale, AllowUnused: true, Logf: func(format string, args ...any) {
				said += fmt.Sprintf(format, args...)
			}})
			if err == nil {
				_ = tape.Close()
			}
			return said, err
		}
		if said, err := open(day, "error"); err != nil || said != "" {
			t.Errorf("a tape that does not say when: %q, %v", said, err)
		}
		rec.Recorded = time.Now()
		time.Sleep(3 * day)
		if said, err := open(3*day, "error"); err != nil || said != "" {
			t.Errorf("a tape of three days: %q, %v", said, err)
		}
		want := `tape "t": it was recorded on 2000-01-01, more than 2 days ago; record it again`
		if said, err := open(2*day, ""); err != nil || said != want {
			t.Errorf("an older one: %q, %v", said, err)
		}
		if said, err := open(2*day, "error"); err == nil || said != "" || !strings.Contains(err.Error(), "more than 2 days ago") {
			t.Errorf("an older one, as an error: %q, %v", said, err)
		}
		if _, err := open(2*day, "record"); err == nil || !strings.Contains(err.Error(), `stale "record" is unknown`) {
			t.Errorf("a wrong word: %v", err)
		}
	})
}
