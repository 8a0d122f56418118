// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// plainAgent is an agent that knows nothing of rehearse: it finds its endpoint
// and its MCP servers in the environment, as programs in other languages do. It
// is the command plain-agent of scripts.
func plainAgent() {
	f := flag.NewFlagSet("plain-agent", flag.ExitOnError)
	way := f.String("prompt", "arg", "arg, file, stdin, lines or json_lines")
	answer := f.String("answer", "stdout", "stdout, jsonl, none, or a path")
	resume := f.Bool("resume", false, "go on with the conversation before")
	exit := f.Int("exit", 0, "the status to end with")
	environ := f.Bool("environ", false, "answer with the environment")
	lookup := f.String("lookup", "", "answer with what is said of this host, and with what else there is of a network")
	listen := f.String("listen", "", "serve an API at this address")
	once := f.Bool("once", false, "end with status 9 once a question was answered over the API")
	breaks := f.Bool("breaks", false, "end streams with an event error")
	hang := f.Bool("hang", false, "never answer over the API")
	stream := f.Bool("stream", false, "ask for streams of text, and lose a space at the end of a piece")
	write := f.String("write", "", "a file to write")
	deaf := f.Bool("deaf", false, "call no tool, and make results up")
	odd := f.Bool("odd", false, "have names, arguments, a title request and changed results of its own")
	leave := f.String("leave", "", "leave a process behind and write its number here")
	_ = f.Parse(os.Args[1:])
	a := &agentUnderTest{resume: *resume, odd: *odd, deaf: *deaf, hang: *hang, once: *once, breaks: *breaks, stream: *stream}
	must(a.connect())
	defer a.close()
	if *leave != "" {
		child := exec.Command("sleep", "600")
		must(child.Start())
		must(os.WriteFile(*leave, fmt.Append(nil, child.Process.Pid), 0o600))
	}
	if *write != "" {
		must(os.WriteFile(*write, []byte(strings.ReplaceAll(f.Arg(0), `\n`, "\n")), 0o600))
	}
	say := func(text string) {
		switch *answer {
		case "stdout":
			fmt.Println(text)
		case "jsonl":
			fmt.Println("thinking")
			must(json.NewEncoder(os.Stdout).Encode(map[string]string{"type": "step", "text": "not this"}))
			must(json.NewEncoder(os.Stdout).Encode(map[string]string{"type": "answer", "text": text, "session": "s-1"}))
		case "none":
		default:
			must(os.WriteFile(*answer, []byte(text+"\n"), 0o600))
		}
	}
	switch {
	case *listen != "":
		must(a.serve(*listen))
	case *lookup != "":
		say(surroundings(*lookup))
	case *environ:
		all := os.Environ()
		slices.Sort(all)
		say(strings.Join(all, "\n"))
	case *way == "lines", *way == "json_lines":
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			text := in.Text()
			if *way == "json_lines" {
				var line struct{ Prompt string }
				must(json.Unmarshal(in.Bytes(), &line))
				text = line.Prompt
			}
			say(a.turn(text))
		}
	default:
		text := f.Arg(f.NArg() - 1)
		if *way == "file" {
			data, err := os.ReadFile(text)
			must(err)
			text = string(data)
		} else if *way == "stdin" {
			data, err := io.ReadAll(os.Stdin)
			must(err)
			text = string(data)
		}
		say(a.turn(text))
	}
	if *exit != 0 {
		fmt.Fprintln(os.Stderr, "first line of the trouble\nthe agent has had enough")
		os.Exit(*exit)
	}
}

// surroundings is what a program can see of a network, and what it may do.
func surroundings(host string) string {
	_, asked := net.LookupHost(host)
	_, dialled := net.Dial("tcp", "192.0.2.1:80")
	list, err := net.Interfaces()
	must(err)
	var names []string
	for _, i := range list {
		if i.Flags&net.FlagUp != 0 {
			names = append(names, i.Name)
		}
	}
	status, _ := os.ReadFile("/proc/self/status") // Linux alone has it
	var may string
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "CapAmb:") {
			may = strings.TrimSpace(line)
		}
	}
	_, told := os.LookupEnv("REHEARSE_OFFLINE_STAGE")
	return fmt.Sprintf("asked: %v\ndialled: %v\ninterfaces: %v\n%s\ntold: %v", asked, dialled, names, may, told)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain-agent:", err)
		os.Exit(3)
	}
}

type agentUnderTest struct {
	resume  bool
	odd     bool
	deaf    bool
	hang    bool
	once    bool
	breaks  bool
	stream  bool
	history []any
	tools   []any
	server  map[string]*plainClient
	all     []*plainClient
}

// connect opens the servers of the file that MCP_CONFIG names.
func (a *agentUnderTest) connect() error {
	a.server = map[string]*plainClient{}
	data, err := os.ReadFile(os.Getenv("MCP_CONFIG"))
	if err != nil {
		return err
	}
	var config struct {
		Servers map[string]struct {
			URL, Command string
			Args         []string
			Env          map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return err
	}
	for name, s := range config.Servers {
		c := &plainClient{name: name, url: s.URL}
		if s.Command != "" {
			c.cmd = exec.Command(s.Command, s.Args...)
			c.cmd.Env = os.Environ()
			for k, v := range s.Env {
				c.cmd.Env = append(c.cmd.Env, k+"="+v)
			}
			in, err1 := c.cmd.StdinPipe()
			out, err2 := c.cmd.StdoutPipe()
			if err := errors.Join(err1, err2, c.cmd.Start()); err != nil {
				return err
			}
			c.in, c.out = in, bufio.NewReader(out)
		}
		a.all = append(a.all, c)
		if _, err := c.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "plain", "version": "1"}}); err != nil {
			return err
		}
		if err := c.tell("notifications/initialized"); err != nil {
			return err
		}
		listed, err := c.ask("tools/list", map[string]any{})
		if err != nil {
			return err
		}
		for _, t := range listed["tools"].([]any) {
			tool := t.(map[string]any)
			if a.odd {
				c.oddName = tool["name"].(string) // there is one
				tool["name"] = "use_" + c.oddName + "_of_" + name
				tool["inputSchema"].(map[string]any)["properties"].(map[string]any)["hurry"] = map[string]any{"type": "boolean"}
			}
			a.server[tool["name"].(string)] = c
			a.tools = append(a.tools, map[string]any{"type": "function", "function": map[string]any{
				"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"],
			}})
		}
	}
	return nil
}

func (a *agentUnderTest) close() {
	for _, c := range a.all {
		if c.cmd != nil {
			_ = c.in.Close()
			_ = c.cmd.Wait()
		}
	}
}

// turn plays a turn, of the conversation before where it goes on.
func (a *agentUnderTest) turn(text string) string {
	saved := filepath.Join(os.Getenv("HOME"), "history.json")
	var settings struct{ System string }
	must(json.Unmarshal([]byte(os.Getenv("REHEARSE_SETTINGS")), &settings))
	if data, err := os.ReadFile(saved); a.resume && err == nil {
		must(json.Unmarshal(data, &a.history))
	}
	if len(a.history) == 0 && settings.System != "" {
		a.history = append(a.history, map[string]any{"role": "system", "content": settings.System})
	}
	if a.odd {
		tools := a.tools
		a.history, a.tools = []any{map[string]any{"role": "user", "content": "A title, please, of: " + text}}, nil
		a.model()
		a.history, a.tools = nil, tools
	}
	a.history = append(a.history, map[string]any{"role": "user", "content": text})
	for {
		message := a.model()
		a.history = append(a.history, message)
		calls, _ := message["tool_calls"].([]any)
		if len(calls) == 0 {
			data, err := json.Marshal(a.history)
			must(err)
			must(os.WriteFile(saved, data, 0o600))
			answer, _ := message["content"].(string)
			return answer
		}
		for _, c := range calls {
			call := c.(map[string]any)
			fn := call["function"].(map[string]any)
			a.history = append(a.history, map[string]any{"role": "tool", "tool_call_id": call["id"], "content": a.call(fn["name"].(string), fn["arguments"].(string))})
		}
	}
}

func (a *agentUnderTest) model() map[string]any {
	body := map[string]any{"model": os.Getenv("OPENAI_MODEL"), "messages": a.history, "temperature": 0}
	if len(a.tools) > 0 {
		body["tools"] = a.tools
	}
	if a.stream {
		body["stream"] = true
		return map[string]any{"role": "assistant", "content": a.streamed(body)}
	}
	var reply struct {
		Choices []struct{ Message map[string]any }
	}
	must(postJSON(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", body, map[string]string{"Authorization": "Bearer " + os.Getenv("OPENAI_API_KEY")}, func(res *http.Response, data []byte) error {
		return json.Unmarshal(data, &reply)
	}))
	return reply.Choices[0].Message
}

// streamed is the text of a reply that comes in pieces.
func (a *agentUnderTest) streamed(body map[string]any) (text string) {
	var piece struct {
		Choices []struct{ Delta struct{ Content string } }
	}
	must(postJSON(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", body, nil, func(_ *http.Response, data []byte) error {
		for line := range strings.Lines(string(data)) {
			piece.Choices = nil
			if event, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+event), &piece) == nil && len(piece.Choices) > 0 {
				text += strings.TrimRight(piece.Choices[0].Delta.Content, " ")
			}
		}
		return nil
	}))
	return text
}

// call returns what the model is told of a call.
func (a *agentUnderTest) call(name, arguments string) string {
	if a.deaf {
		return "made up"
	}
	var args map[string]any
	must(json.Unmarshal([]byte(cmp.Or(arguments, "{}")), &args))
	result, err := a.server[name].ask("tools/call", map[string]any{"name": cmp.Or(a.server[name].oddName, name), "arguments": args})
	if err != nil {
		return err.Error()
	}
	var text string
	for _, part := range result["content"].([]any) {
		t, _ := part.(map[string]any)["text"].(string)
		text += t
	}
	if a.odd {
		text = strings.ToUpper(text)
	}
	return text
}

// serve is an API that answers {"question": ..., "thread": ...}.
func (a *agentUnderTest) serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/ask\n", l.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Second}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.once {
			// No second question gets in, however late this process ends.
			server.SetKeepAlivesEnabled(false)
			_ = l.Close()
			defer func() {
				go func() {
					_ = server.Shutdown(context.Background()) // after the answer
					fmt.Fprintln(os.Stderr, "out of luck")
					os.Exit(9)
				}()
			}()
		}
		var q struct {
			Question, Thread string
			Stream           bool
		}
		must(json.NewDecoder(r.Body).Decode(&q))
		if a.hang {
			<-r.Context().Done()
			return
		}
		if q.Thread == "" {
			a.history = nil
		}
		answer := a.turn(q.Question)
		if !q.Stream {
			must(json.NewEncoder(w).Encode(map[string]any{"reply": map[string]string{"text": answer}, "thread": "t-1", "final_answer": answer}))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range strings.SplitAfter(answer, " ") {
			data, err := json.Marshal(map[string]string{"piece": word, "thread": "t-1"})
			must(err)
			fmt.Fprintf(w, "event: text\ndata: %s\n\n", data)
		}
		if a.breaks {
			fmt.Fprint(w, "event: error\ndata: {\"message\": \"out of luck\"}\n\n")
			return
		}
		data, err := json.Marshal(map[string]string{"whole": answer})
		must(err)
		fmt.Fprintf(w, "event: end\ndata: %s\n\n", data)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	select {} // it ends soon
}

// plainClient speaks MCP with one server, over streamable HTTP or a pipe.
type plainClient struct {
	oddName            string
	name, url, session string
	cmd                *exec.Cmd
	in                 io.WriteCloser
	out                *bufio.Reader
	id                 int
}

func (c *plainClient) ask(method string, params map[string]any) (map[string]any, error) {
	c.id++
	return c.send(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}, true)
}

func (c *plainClient) tell(method string) error {
	_, err := c.send(map[string]any{"jsonrpc": "2.0", "method": method}, false)
	return err
}

func (c *plainClient) send(message map[string]any, answered bool) (map[string]any, error) {
	var got struct {
		Result map[string]any
		Error  *struct{ Message string }
	}
	if c.cmd != nil {
		data, err := json.Marshal(message)
		if err == nil {
			_, err = c.in.Write(append(data, '\n'))
		}
		if err != nil || !answered {
			return nil, err
		}
		line, err := c.out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &got)
		}
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", c.name, err)
		}
	} else {
		headers := map[string]string{"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
		if c.session != "" {
			headers["Mcp-Session-Id"] = c.session
		}
		err := postJSON(c.url, message, headers, func(res *http.Response, data []byte) error {
			c.session = cmp.Or(res.Header.Get("Mcp-Session-Id"), c.session)
			for line := range bytes.Lines(data) { // of a stream
				if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(rest)) > 0 {
					data = rest
				}
			}
			if !answered {
				return nil
			}
			return json.Unmarshal(data, &got)
		})
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", c.name, err)
		}
	}
	if got.Error != nil {
		return nil, errors.New(got.Error.Message)
	}
	return got.Result, nil
}

// postJSON sends a request and hands on what came back.
func postJSON(url string, body any, headers map[string]string, read func(*http.Response, []byte) error) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("HTTP %d: %s", res.StatusCode, got)
	}
	return read(res, got)
}
