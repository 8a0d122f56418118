// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// row is a habit in a dialect.
type row struct {
	number int
	habit  habit
	tongue *tongue
}

func rows() []row {
	var out []row
	for i, h := range slices.Concat(framing(), attempts(), membersOfCalls(), membersOfReplies(), membersOfDocuments()) {
		for j, g := range tongues() {
			out = append(out, row{4*i + j, h, g})
		}
	}
	return out
}

// lacks names the field for which a row is not played; empty where it is.
func (r *row) lacks() string { return r.habit.lacks[r.tongue.name] }

// answers are what the endpoint answers, one after the other.
func (r *row) answers() []answer {
	h, g := r.habit, r.tongue
	one := func(stream, whole string) answer {
		a := answer{kind: "text/event-stream"}
		var docs []document
		if h.whole {
			a.kind = "application/json"
			docs = []document{{data: parseTree(whole)}}
		} else {
			docs = g.parse(stream)
		}
		if h.docs != nil {
			docs = h.docs(g, docs)
		}
		if h.whole {
			a.body = encoded(docs[0].data)
		} else {
			a.body = g.streamed(docs)
		}
		if h.body != nil {
			a.body = h.body(g, a.body)
		}
		if h.answer != nil {
			h.answer(g, &a)
		}
		return a
	}
	list := []answer{one(g.calls.stream, g.calls.whole), one(g.says.stream, g.says.whole)}
	if h.before != nil {
		list = slices.Insert(list, 0, h.before(g, list[0]))
	}
	return list
}

// said reports whether the mock model has words for the habit.
func (r *row) said() bool {
	h := r.habit
	return h.mock+h.mockModel != "" && (h.mockIn == nil || slices.Contains(h.mockIn, r.tongue.name))
}

// path is where the requests of a row go.
func (r *row) path(form string) string {
	switch r.tongue.name {
	case "chat":
		return "/v1/chat/completions"
	case "gemini":
		if form == "stream" {
			return "/v1beta/models/m:streamGenerateContent"
		}
		return "/v1beta/models/m:generateContent"
	}
	return "/v1/" + r.tongue.name
}

// scenario is one of the two of a row: calls, whose expectations hold, and
// never, which must fail.
func (r *row) scenario(kit, which string) string {
	form := "plain"
	if r.habit.whole == r.habit.crossed {
		form = "stream"
	}
	expect := `      - never: [kit.note]`
	if which == "calls" {
		expect = `      - calls: {arguments: exact, list: [{kit.note: {text: x y}}, {kit.note: {text: z}}]}
      - that: journal.answers == ["done"]
      - that: requests.all(r, r.dialect == "` + r.tongue.name + `" && r.path == "` + r.path(form) + `" && r.headers["x-team"] == "a" && r.model == "m" && r.tools.exists(t, t.name == "note") && !("authorization" in r.headers && r.headers["authorization"] != "(secret)"))`
	}
	model, fault := "", ""
	if r.said() {
		if r.habit.mockModel != "" {
			model = "model: {" + r.habit.mockModel + "}\n"
		}
		if r.habit.mock != "" {
			fault = "        " + r.habit.mock + "\n"
		}
	}
	return fmt.Sprintf(`scenario: r%d-%s
servers: {kit: {mock: %s}}
%sturns:
  - user: row %d %s %s
    replies:
      - calls: [{kit.note: {text: x y}}, {kit.note: {text: z}}]
%s      - say: done
    expect:
%s
`, r.number, which, kit, model, r.number, which, form, fault, expect)
}

// rawEndpoint answers as the rows say, byte for byte, over sockets and without
// net/http in the way.
type rawEndpoint struct {
	url  string
	rows map[string][]answer // by number

	mu    sync.Mutex     // guards what follows
	asked map[string]int // by number and scenario
	wrong []string
}

const matrixKey = "the-real-key-of-the-matrix"

func serveRows(t *testing.T, list []row) *rawEndpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &rawEndpoint{url: "http://" + l.Addr().String(), rows: map[string][]answer{}, asked: map[string]int{}}
	for _, r := range list {
		e.rows[fmt.Sprint(r.number)] = r.answers()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { e.answer(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return e
}

var rowMark = regexp.MustCompile(`row (\d+) (\w+)`)

func (e *rawEndpoint) answer(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	a := answer{status: http.StatusNotFound, kind: "text/plain", body: []byte("no such row")}
	if m := rowMark.FindSubmatch(body); m != nil {
		e.mu.Lock()
		if why := keyWrong(req); why != "" {
			e.wrong = append(e.wrong, string(m[0])+": "+why)
		}
		n := e.asked[string(m[0])]
		e.asked[string(m[0])]++
		if list := e.rows[string(m[1])]; n < len(list) {
			a = list[n]
		}
		e.mu.Unlock()
	}
	a.write(conn)
}

// keyWrong says what is wrong with the places in which a key came.
func keyWrong(r *http.Request) string {
	want := map[string]string{}
	switch path := r.URL.Path; {
	case path == "/v1/messages":
		want["X-Api-Key"] = matrixKey
	case strings.HasPrefix(path, "/v1beta/models/m:") && r.URL.Query().Has("key"):
		if r.URL.Query().Get("key") != matrixKey {
			return "the key in the query is another"
		}
	case strings.HasPrefix(path, "/v1beta/models/m:"):
		want["X-Goog-Api-Key"] = matrixKey
	case path == "/v1/chat/completions", path == "/v1/responses":
		want["Authorization"] = "Bearer " + matrixKey
	default:
		return "it went to " + path
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		if got := r.Header.Get(name); got != want[name] {
			return fmt.Sprintf("%s is %q, want %q", name, got, want[name])
		}
	}
	return ""
}

func (a *answer) write(w io.Writer) {
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\nConnection: close\r\n", status, http.StatusText(status))
	if a.kind != "" {
		fmt.Fprintf(&head, "Content-Type: %s\r\n", a.kind)
	}
	fmt.Fprintf(&head, "%sContent-Length: %d\r\n\r\n", a.header, len(a.body)+a.longer)
	_, err := w.Write(head.Bytes())
	size := len(a.body)
	if a.pieces {
		size = 1
	}
	for b := a.body; len(b) > 0 && err == nil; b = b[min(size, len(b)):] {
		_, err = w.Write(b[:min(size, len(b))])
	}
}

// matrix plays rows in one mode after the other.
type matrix struct {
	dir    string
	rows   []row
	read   func(*dialect.Dialect, http.Header, []byte, error, dialect.Limits) (dialect.Received, error) // nil is the one reader
	list   []*scenarios.Scenario
	byName map[string]*row
}

func newMatrix(t *testing.T, list []row) *matrix {
	t.Helper()
	dir := t.TempDir()
	m := &matrix{dir: dir, byName: map[string]*row{}}
	kit := filepath.Join(dir, "kit.yaml")
	writeFile(t, kit, `server: kit
tools:
  - name: note
    description: Keeps a note.
    input: {type: object, properties: {text: {type: string}}}
    results: [{json: {kept: true}}]
`)
	var paths []string
	for i := range list {
		if list[i].lacks() != "" {
			continue
		}
		m.rows = append(m.rows, list[i])
		for _, which := range []string{"calls", "never"} {
			path := filepath.Join(dir, fmt.Sprintf("r%d-%s.yaml", list[i].number, which))
			writeFile(t, path, list[i].scenario(kit, which))
			paths = append(paths, path)
			m.byName[fmt.Sprintf("r%d-%s", list[i].number, which)] = &list[i]
		}
	}
	m.list = load(t, paths...)
	return m
}

func writeFile(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cells are the verdicts of a mode by the name of the scenario: empty where
// they are as they must be.
type cells struct {
	wrong    map[string]string
	findings map[string][]string // of conduct
}

// play plays all scenarios in a mode.
func (m *matrix) play(t *testing.T, mode harness.Mode) cells {
	t.Helper()
	opts := run.Options{Mode: mode, Entries: run.Models("m"), LookupEnv: noCI, Parallel: 4}
	var endpoint *rawEndpoint
	if mode.Real() {
		endpoint = serveRows(t, m.rows)
		transport := &http.Transport{DisableKeepAlives: true}
		opts.BaseURL, opts.APIKey, opts.Transport = endpoint.url+"/v1", matrixKey, transport
	} else {
		opts.Transport = noNetwork(t)
	}
	run.AllowLive(&opts)
	if m.read != nil {
		run.ReadRepliesWith(&opts, m.read)
	}
	opts.Subject = speakers{m}
	res := play(t, m.list, opts)
	out := cells{wrong: map[string]string{}, findings: map[string][]string{}}
	for _, s := range m.list {
		out.wrong[s.Name] = "not played"
	}
	for _, rec := range res.Records {
		out.wrong[rec.Scenario] = judged(rec)
		for _, v := range rec.Verdicts {
			if v.Conduct && (v.State == trials.Failed || v.State == trials.Warned) {
				out.findings[rec.Scenario] = append(out.findings[rec.Scenario], v.Check)
			}
		}
	}
	if endpoint != nil {
		for _, why := range endpoint.wrong {
			t.Errorf("mode %s: the endpoint got no key, or a wrong one: %s", mode, why)
		}
	}
	return out
}

// judged says how the expectations of a trial were not judged as they must be.
func judged(rec trials.Record) string {
	want := trials.Passed
	// Expectations see what was executed, whether the journal has its call or not.
	for _, c := range rec.Trajectory {
		if c.Unasked {
			return "the journal has no call for an execution of " + c.Name()
		}
	}
	if strings.HasSuffix(rec.Scenario, "-never") {
		want = trials.Failed
	}
	n := 0
	for _, v := range rec.Verdicts {
		if v.Conduct {
			continue
		}
		if n++; v.State != want {
			return fmt.Sprintf("%s is %s, want %s: %s; cause %+v", v.Check, v.State, want, v.Message, rec.Cause)
		}
	}
	if n == 0 || rec.Outcome == harness.OutcomeError {
		return fmt.Sprintf("%s: %+v", rec.Outcome, rec.Cause)
	}
	return ""
}

// speakers are the subjects of the rows: which dialect one speaks is known
// when it is sent its first text.
type speakers struct{ m *matrix }

func (s speakers) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	session, err := speaker{}.Open(ctx, env)
	if err != nil {
		return nil, err
	}
	return &anySpeaker{session.(*spoke), s.m}, nil
}

type anySpeaker struct {
	*spoke
	m *matrix
}

func (s *anySpeaker) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	mark := rowMark.FindStringSubmatch(text)
	if mark == nil {
		return nil, errors.New("the text names no row")
	}
	r := s.m.byName["r"+mark[1]+"-"+mark[2]]
	s.dialect, s.byQuery = r.tongue.name, r.number/4%2 == 1
	return s.spoke.Send(ctx, text)
}

// TestMatrix plays 60 habits of endpoints and more in four dialects and four
// modes. Each cell is one scenario whose exact calls hold and one whose never
// must fail, on replies that are written by hand and read by a subject with
// code of its own. testdata/matrix.txt is the table of what is played.
func TestMatrix(t *testing.T) {
	list := rows()
	m := newMatrix(t, list)
	byMode := map[harness.Mode]cells{}
	modes := []harness.Mode{harness.ModeMock, harness.ModeLive, harness.ModeRecord, harness.ModeReplay}
	for _, mode := range modes {
		byMode[mode] = m.play(t, mode)
		for _, s := range m.list {
			if why := byMode[mode].wrong[s.Name]; why != "" {
				r := m.byName[s.Name]
				t.Errorf("%s, %s, mode %s (%s): %s", r.habit.name, r.tongue.name, mode, s.Name, why)
			}
		}
	}
	recorded := 0
	for path, text := range files(t, m.dir) {
		if strings.Contains(path, "cassettes") {
			recorded++
		}
		if strings.Contains(text, matrixKey) {
			t.Errorf("the key is in %s", path)
		}
	}
	if recorded != 2*len(m.rows) {
		t.Errorf("%d recordings of %d trials", recorded, 2*len(m.rows))
	}
	habits, played := len(list)/4, len(m.rows)
	if habits < 60 || played < 150 {
		t.Errorf("%d habits, %d of %d rows played; want at least 60 and 150", habits, played, len(list))
	}
	got := matrixTable(list, modes, byMode)
	name := "testdata/matrix.txt"
	if *update {
		writeFile(t, name, got)
		return
	}
	if diff := cmp.Diff(read(t, name), got); diff != "" {
		t.Errorf("%s is stale; go test ./harness/run -run TestMatrix -update writes it (-have +want):\n%s", name, diff)
	}
}

// matrixTable is the table of the rows that are played.
func matrixTable(list []row, modes []harness.Mode, byMode map[harness.Mode]cells) string {
	var b strings.Builder
	played := 0
	for _, r := range list {
		if r.lacks() == "" {
			played++
		}
	}
	fmt.Fprintf(&b, "%d habits in 4 dialects: %d of %d rows are played, each in %d modes with 2 scenarios.\n", len(list)/4, played, len(list), len(modes))
	b.WriteString("ok: the verdicts of expectations are as they must be in mock, live, record and replay.\n")
	b.WriteString("ok*: in mode mock the model replies plainly; it has no words for the habit in that dialect.\n")
	b.WriteString("-FIELD: not played; the dialect lacks the field.\n\n")
	fmt.Fprintf(&b, "%-48s %-28s %-28s %-34s %s\n", "habit", "chat", "responses", "messages", "gemini")
	for i := 0; i < len(list); i += 4 {
		line := make([]any, 0, 5)
		line = append(line, list[i].habit.name)
		for _, r := range list[i : i+4] {
			cell := "ok"
			if !r.said() {
				cell = "ok*"
			}
			if f := r.lacks(); f != "" {
				cell = "-" + f
			}
			for _, mode := range modes {
				for _, which := range []string{"calls", "never"} {
					if byMode[mode].wrong[fmt.Sprintf("r%d-%s", r.number, which)] != "" {
						cell = "WRONG"
					}
				}
			}
			line = append(line, cell)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-48s %-28s %-28s %-34s %s", line...), " ") + "\n")
	}
	b.WriteString("\nFindings of conduct, which live and record only note:\n")
	for _, r := range list {
		for _, mode := range modes {
			if found := byMode[mode].findings[fmt.Sprintf("r%d-calls", r.number)]; len(found) > 0 {
				fmt.Fprintf(&b, "%s, %s, %s: %s\n", r.habit.name, r.tongue.name, mode, strings.Join(found, ", "))
			}
		}
	}
	return b.String()
}

// TestMatrixGoesRed breaks the reader of the journal on purpose: the cells of
// what it no longer reads are wrong then, and no others.
func TestMatrixGoesRed(t *testing.T) {
	list := rows()
	framed := list[:4*len(framing())]
	noCalls := func(d *dialect.Dialect, h http.Header, body []byte, broke error, l dialect.Limits) (dialect.Received, error) {
		r, err := dialect.ReadAll(d, h, body, broke, l)
		r.Message.Calls = nil
		return r, err
	}
	noGzip := func(d *dialect.Dialect, h http.Header, body []byte, broke error, l dialect.Limits) (dialect.Received, error) {
		if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			return dialect.Received{}, errors.New("compressed")
		}
		return dialect.ReadAll(d, h, body, broke, l)
	}
	for _, tt := range []struct {
		name string
		rows []row
		read func(*dialect.Dialect, http.Header, []byte, error, dialect.Limits) (dialect.Received, error)
		red  func(r *row) bool
	}{
		{"no calls", list, noCalls, func(*row) bool { return true }},
		{"nothing that is compressed", framed, noGzip, func(r *row) bool { return strings.HasPrefix(r.habit.name, "gzip without a label") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMatrix(t, tt.rows)
			m.read = tt.read
			live := m.play(t, harness.ModeLive)
			for _, s := range m.list {
				if r := m.byName[s.Name]; (live.wrong[s.Name] != "") != tt.red(r) {
					t.Errorf("%s, %s (%s): wrong is %q", r.habit.name, r.tongue.name, s.Name, live.wrong[s.Name])
				}
			}
		})
	}
}
