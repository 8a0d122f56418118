// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

// Command mockllm measures what a mock model costs beside a bare net/http
// handler that writes the same bytes, and prints ratios.
//
//	go run ./internal/bench/mockllm
//
// Both servers are child processes of this one, so that their processor time
// is told apart from the load generator's. They are measured in turns, in short
// rounds, so that a busy machine is busy for both; the medians of the rounds
// and of their ratios count. Rates depend on the machine, and on the load
// generator which shares its cores; ratios much less.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/rehearse-dev/rehearse/mockllm"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("mockllm", flag.ContinueOnError)
	seconds := flags.Float64("seconds", 0.2, "seconds of each measurement")
	rounds := flags.Int("rounds", 15, "measurements of each server and fixture")
	conns := flags.Int("conns", 32, "connections")
	serve := flags.String("serve", "", "be a server: mock or bare (for its own use)")
	fixture := flags.Int("fixture", 0, "the fixture to serve")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *serve != "" {
		return serveFixture(*serve, fixtures()[*fixture], stdin, stdout)
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "mockllm at %d connections\tbare req/s\tmock req/s\tratio\tbare CPU us\tmock CPU us\tratio\t\n", *conns)
	for i, f := range fixtures() {
		bare, mock, ratio, err := compare(i, f, *rounds, *conns, time.Duration(*seconds*float64(time.Second)))
		if err != nil {
			return fmt.Errorf("measuring %q: %w", f.name, err)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%.2f\t\n", f.name,
			bare.rate, mock.rate, ratio.rate, bare.cpu, mock.cpu, ratio.cpu)
	}
	return w.Flush()
}

// fixture is a request and the reply to it.
type fixture struct {
	name  string
	body  []byte
	reply mockllm.Reply
	// count is where in body a number of eight digits stands that differs
	// from request to request; 0 is nowhere.
	count int
}

const number = "00000000"

func fixtures() []fixture {
	text := strings.TrimSpace(strings.Repeat("It is sunny in Paris and warm too. ", 4))
	tools := `,"tools":[{"type":"function","function":{"name":"get_weather","description":"Get the weather.","parameters":{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}}}]`
	user := `{"role":"user","content":"What is the weather in Paris?"}`
	call := mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"location":"Paris, France","unit":"celsius"}`)}}}
	list := []fixture{
		{name: "text", body: request(user, tools), reply: mockllm.Reply{Say: text}},
		{name: "text, streamed", body: request(user, tools+`,"stream":true`), reply: mockllm.Reply{Say: text}},
		{name: "tool call", body: request(user, tools), reply: call},
		{name: "tool call, streamed", body: request(user, tools+`,"stream":true`), reply: call},
		{name: "text to a new message", body: request(`{"role":"user","content":"What is the weather in `+number+`?"}`, tools), reply: mockllm.Reply{Say: text}},
		{name: "136 kB history, new message", body: request(history(), tools), reply: mockllm.Reply{Say: text}},
	}
	for i := range list {
		list[i].count = max(bytes.Index(list[i].body, []byte(number)), 0)
	}
	return list
}

func request(messages, more string) []byte {
	return []byte(`{"model":"gpt-4o","messages":[` + messages + `]` + more + `}`)
}

// history is the messages of a long conversation, of which the last is new
// in each request.
func history() string {
	var b strings.Builder
	b.WriteString(`{"role":"user","content":"Find the compounds."}`)
	for i := range 85 {
		text, _ := json.Marshal(strings.Repeat(fmt.Sprintf("{\"compound\": \"cpd%05d\", \"name\": \"Glucose\"}\n", i), 24))
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"get_weather","arguments":"{\"query\": \"glucose %d\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, text)
	}
	b.WriteString(`,{"role":"user","content":"And now? ` + number + `"}`)
	return b.String()
}

// serveFixture is what a child process does until its input ends.
func serveFixture(kind string, f fixture, stdin io.Reader, stdout io.Writer) error {
	f.reply.Repeat = 1 << 40
	mock := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{f.reply}, Arrival: true}, nil)
	var handler http.Handler = mock
	if kind == "bare" {
		handler = bareHandler(mock, f.body)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", handler)
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, cpuTime().Nanoseconds()) })
	fmt.Fprintln(stdout, l.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // ends with the parent
		server.Close()
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// bareHandler writes what the mock answers to body, and does nothing else.
func bareHandler(mock *mockllm.Mock, body []byte) http.Handler {
	rec := httptest.NewRecorder()
	mock.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
	header, answer := rec.Header(), rec.Body.Bytes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h := w.Header()
		for k, v := range header {
			h[k] = v
		}
		_, _ = w.Write(answer)
	})
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// result is one measurement: requests a second, and microseconds of the
// server's processor time for each.
type result struct{ rate, cpu float64 }

// compare measures both servers in turns and returns the medians, and that of
// the mock's share of the bare handler's.
func compare(n int, f fixture, rounds, conns int, d time.Duration) (bare, mock, ratio result, err error) {
	var servers [2]*child
	for i, kind := range []string{"bare", "mock"} {
		if servers[i], err = start(kind, n); err != nil {
			return bare, mock, ratio, err
		}
		defer servers[i].stop()
		if _, err := servers[i].measure(f, conns, d); err != nil { // warm-up
			return bare, mock, ratio, err
		}
	}
	var results [3][]result
	for n := range rounds {
		var pair [2]result
		for k := range pair {
			i := (k + n) % 2 // they take turns in going first
			if pair[i], err = servers[i].measure(f, conns, d); err != nil {
				return bare, mock, ratio, err
			}
		}
		ratio := result{rate: pair[1].rate / pair[0].rate, cpu: pair[1].cpu / pair[0].cpu}
		for i, r := range []result{pair[0], pair[1], ratio} {
			results[i] = append(results[i], r)
		}
	}
	return median(results[0]), median(results[1]), median(results[2]), nil
}

func median(list []result) result {
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(a.rate, b.rate) })
	rate := list[len(list)/2].rate
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(a.cpu, b.cpu) })
	return result{rate: rate, cpu: list[len(list)/2].cpu}
}

type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

func start(kind string, fixture int) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-serve", kind, "-fixture", strconv.Itoa(fixture))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("starting the %s server: %w", kind, err)
	}
	return &child{cmd: cmd, stdin: stdin, addr: strings.TrimSpace(addr)}, nil
}

func (c *child) stop() {
	c.stdin.Close()
	_ = c.cmd.Wait() // it was told to end
}

func (c *child) cpu() (time.Duration, error) {
	resp, err := http.Get("http://" + c.addr + "/cpu")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return time.Duration(n), err
}

// measure loads the server for d, over connections that each send their next
// request when the last is answered.
func (c *child) measure(f fixture, conns int, d time.Duration) (result, error) {
	before, err := c.cpu()
	if err != nil {
		return result{}, err
	}
	var wg sync.WaitGroup
	var done, sent atomic.Int64
	errs := make(chan error, conns)
	start := time.Now()
	for range conns {
		wg.Go(func() {
			if err := c.load(f, start.Add(d), &done, &sent); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	select {
	case err := <-errs:
		return result{}, err
	default:
	}
	after, err := c.cpu()
	if err != nil {
		return result{}, err
	}
	n := float64(done.Load())
	return result{rate: n / took.Seconds(), cpu: float64((after - before).Microseconds()) / n}, nil
}

// load is one connection.
func (c *child) load(f fixture, until time.Time, done, sent *atomic.Int64) error {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	head := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", c.addr, len(f.body))
	request := append([]byte(head), f.body...)
	r := bufio.NewReaderSize(conn, 64<<10)
	for time.Now().Before(until) {
		if f.count > 0 {
			copy(request[len(head)+f.count:], fmt.Sprintf("%0*d", len(number), sent.Add(1)))
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := readResponse(r); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// readResponse reads one answer without keeping it: a real client would cost
// more than the server.
func readResponse(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("answered %q", line)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
	}
	if length >= 0 {
		_, err = r.Discard(length)
		return err
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := r.Discard(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
}
