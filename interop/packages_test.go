// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"
)

// packagesPage is the page whose code is played here.
const packagesPage = "../docs/packages.md"

// packageTests are the tests that use a package, in a folder of their own,
// which is outside of the repository.
type packageTests struct {
	dir string
	env []string
	run []string // the command that plays test files
}

// TestPackagesPytest installs the wheel that `make packages` has built as the
// page says, and plays tests that use it.
func TestPackagesPytest(t *testing.T) {
	p := newPackageTests(t, "rehearse-*.whl", "venv/bin")
	p.run = []string{"pytest", "-n", "4", "-p", "no:cacheprovider"}
	p.put(t, "packages/python/requirements.txt")
	p.must(t, "python3", "-m", "venv", "venv")
	steps := p.workflow(t, "python")
	p.must(t, "bash", "-c", steps[0])
	t.Run("page", func(t *testing.T) {
		p.record(t, "cassettes/test_recorded/test_recorded.yaml", "test_recorded.py")
		for _, step := range steps[1:] {
			p.must(t, "bash", "-c", step)
		}
		unasked := regexp.MustCompile(`(?m)^ {4}(done: never asked for: .*)/tests/(.*)$`).FindStringSubmatch(pageText(t))
		p.spoil(t, "test_weather.py", "    model =", "    return\n    model =", unasked[1]+p.dir+"/"+unasked[2], "pytest", "test_weather.py")
		p.spoil(t, "test_weather.py", "    model =", "    return\n    model =", "\nthe mock was asked nothing: does the client use its URL?\n", "pytest", "test_weather.py")
		// What is wrong with a script is told by the program, not by a traceback.
		p.spoil(t, "test_weather.py", "replies:", "replis:", "_\nthe script is not loaded, all is as before: "+p.dir+"/test_weather.py::test_weather:5:13: unknown key \"replis\"", "pytest", "test_weather.py")
		p.spoil(t, "test_agent.py", `"weather.yaml"`, `"wether.yaml"`, "_\nthe script is not loaded: [Errno 2] No such file or directory: '"+p.dir+"/wether.yaml'\n", "pytest", "test_agent.py")
		p.spoil(t, "test_agent.py", `mock_llm.load(`, `dict(a=`, "no turns are scripted: a mock that began without a script is to be given one first", "pytest", "test_agent.py")
		p.spoil(t, "weather.yaml", "Paris", "Oslo", "- user: What is the weather in Oslo?", "pytest", "test_agent.py")
		p.spoil(t, "weather.yaml", "Paris", "Oslo", "What is the weather in Oslo?", "bash", "test.sh")
		p.spoil(t, "weather.yaml", "sunny.}]", "sunny.}]\n  - {user: And in Rome, replies: [{say: Dry.}]}", `"passed":false`, "bash", "test.sh")
		p.spoil(t, "test_recorded.py", "Paris", "Oslo", "What is the weather in Oslo?", "pytest", "test_recorded.py")
	})
	p.put(t, "packages/python/test_many.py", "packages/python/test_wait.py")
	t.Run("many", func(t *testing.T) { p.many(t, "--junitxml=many.xml", "test_many.py") })
	t.Run("ctrl-c", func(t *testing.T) { p.end(t, syscall.SIGINT, "test_wait.py") })
	t.Run("killed", func(t *testing.T) { p.end(t, syscall.SIGKILL, "test_wait.py") })
}

// TestPackagesVitest is [TestPackagesPytest] for the npm package.
func TestPackagesVitest(t *testing.T) {
	p := newPackageTests(t, "rehearse-*.tgz", "node_modules/.bin")
	p.run = []string{"vitest", "run", "--maxWorkers=4"}
	p.put(t, "packages/npm/package.json", "packages/npm/package-lock.json")
	p.must(t, "bash", "-c", "npm install --package-lock-only --no-audit --no-fund --loglevel=error --save-dev ./vendor/rehearse-*.tgz")
	steps := p.workflow(t, "javascript")
	p.must(t, "bash", "-c", steps[0])
	t.Run("page", func(t *testing.T) {
		p.record(t, "cassettes/recorded/recorded.yaml", "recorded")
		for _, step := range steps[1:] {
			p.must(t, "bash", "-c", step)
		}
		p.spoil(t, "weather.test.js", "Paris", "Oslo", "- user: What is the weather in Oslo?", "vitest", "run", "weather")
		p.spoil(t, "weather.yaml", "Paris", "Oslo", "- user: What is the weather in Oslo?", "vitest", "run", "agent")
		p.spoil(t, "recorded.test.js", "Paris", "Oslo", "What is the weather in Oslo?", "vitest", "run", "recorded")
	})
	for _, name := range []string{"many", "wait"} {
		p.put(t, "packages/npm/"+name+".js")
		for i := range 4 {
			p.put(t, fmt.Sprintf("packages/npm/%s%d.test.js", name, i))
		}
	}
	t.Run("many", func(t *testing.T) { p.many(t, "--reporter=junit", "--outputFile=many.xml", "many") })
	t.Run("ctrl-c", func(t *testing.T) { p.end(t, syscall.SIGINT, "wait") })
	t.Run("killed", func(t *testing.T) { p.end(t, syscall.SIGKILL, "wait") })
}

// newPackageTests is a folder with the files that the page shows, and in vendor
// the package. Programs are found in bin, which is below the folder.
func newPackageTests(t *testing.T, pattern, bin string) packageTests {
	t.Helper()
	p := packageTests{dir: t.TempDir()}
	p.env = append(os.Environ(), "NO_COLOR=1", "OPENAI_API_KEY=none", "PATH="+filepath.Join(p.dir, bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	shown := regexp.MustCompile("(?ms)^```[a-z]+\n(?:#|//) (\\S+)\n.*?^```$").FindAllStringSubmatch(pageText(t), -1)
	if len(shown) != 11 {
		t.Fatalf("%s shows %d files, want 11", packagesPage, len(shown))
	}
	for _, block := range shown {
		_, text, _ := strings.Cut(block[0], "\n")
		p.write(t, block[1], strings.TrimSuffix(text, "```"))
	}
	file := built(t, pattern)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, filepath.Join("vendor", filepath.Base(file)), string(data))
	return p
}

func pageText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(packagesPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (p packageTests) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// put copies files into the folder.
func (p packageTests) put(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p.write(t, filepath.Base(file), string(data))
	}
}

// workflow are the commands of a job of the workflow that the page shows.
func (p packageTests) workflow(t *testing.T, job string) (steps []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, ".github", "workflows", "agent.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	if err := yaml.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	for _, step := range w.Jobs[job].Steps {
		if step.Run != "" {
			steps = append(steps, step.Run)
		}
	}
	if len(steps) < 2 {
		t.Fatalf("job %q: %d commands, want two or more", job, len(steps))
	}
	return steps
}

// record plays a test that records, through a mock in place of an endpoint.
func (p packageTests) record(t *testing.T, cassette string, args ...string) {
	t.Helper()
	mock := serve(t, "llm", filepath.Join(p.dir, "weather.yaml"))
	p.env = append(slices.Clone(p.env), "REHEARSE_RECORD_FROM="+mock.URL)
	p.must(t, append(slices.Clone(p.run), args...)...)
	if _, err := os.Stat(filepath.Join(p.dir, cassette)); err != nil {
		t.Error(err)
	}
}

// spoil has a command fail with a text because something in a file has changed.
func (p packageTests) spoil(t *testing.T, file, from, to, want string, argv ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), from) {
		t.Fatalf("%s has no %q", file, from)
	}
	p.write(t, file, strings.Replace(string(data), from, to, 1))
	defer p.write(t, file, string(data))
	out, err := p.command(t, argv...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%s with %q in %s: %v, want a failure with %q\n%s", strings.Join(argv, " "), to, file, err, want, out)
	}
}

// built is what `make packages` has built.
func built(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob("../dist/" + pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("dist/%s: want one file, found %v; run `make packages`", pattern, found)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// must runs a command that must pass.
func (p packageTests) must(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := p.command(t, argv...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

// command is a command in the folder, found in its path.
func (p packageTests) command(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, "/usr/bin/env", argv...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// many plays 200 tests, of which every tenth is wrong: these fail, each with
// its own mismatch, and no other. The results are in many.xml.
func (p packageTests) many(t *testing.T, args ...string) {
	out, err := p.command(t, append(slices.Clone(p.run), args...)...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit code 1\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "many.xml"))
	if err != nil {
		t.Fatal(err)
	}
	failures := failuresOf(t, data)
	if len(failures) != 200 {
		t.Errorf("%d tests ran, want 200", len(failures))
	}
	for n, text := range failures {
		switch {
		case n%10 != 0 && text != "":
			t.Errorf("test %d failed, and is not wrong:\n%s", n, text)
		case n%10 == 0 && !mismatch(n).MatchString(text):
			t.Errorf("test %d: want %s, got:\n%s", n, mismatch(n), text)
		}
		for other := range failures {
			if other%10 == 0 && other != n && mismatch(other).MatchString(text) {
				t.Errorf("test %d failed with the mismatch of test %d:\n%s", n, other, text)
			}
		}
	}
	if left := processes(t, p.dir); left != "" {
		t.Errorf("processes left behind:\n%s", left)
	}
}

// mismatch is what a wrong test fails with.
func mismatch(n int) *regexp.Regexp {
	switch {
	case n >= 160:
		return regexp.MustCompile(fmt.Sprintf(`missing call tool%d\b`, n))
	case n%20 == 0:
		return regexp.MustCompile(fmt.Sprintf(`(?s)- user: question %d\n.*\+ user: mistake %d\b`, n, n))
	default:
		return regexp.MustCompile(fmt.Sprintf(`(?m)never asked for: turn 1, reply 1 \S*\D%d\D*:\d+:\d+$`, n))
	}
}

// failuresOf reads results in the format of JUnit: what each test failed with,
// by the number in its name; empty for one that passed.
func failuresOf(t *testing.T, data []byte) map[int]string {
	t.Helper()
	type results struct {
		Suites []struct {
			Cases []struct {
				Name     string `xml:"name,attr"`
				Failures []struct {
					Text string `xml:",chardata"`
				} `xml:"failure"`
				Errors []struct {
					Text string `xml:",chardata"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	var r results
	if err := xml.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	failures := map[int]string{}
	for _, suite := range r.Suites {
		for _, c := range suite.Cases {
			n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(c.Name))
			if err != nil {
				t.Errorf("test %q has no number", c.Name)
			}
			for _, f := range append(c.Failures, c.Errors...) {
				failures[n] += f.Text
			}
			failures[n] += ""
		}
	}
	return failures
}

// end plays four tests that wait, each in a worker of its own, ends them as
// signal does, and waits until all processes that belong to them have ended.
func (p packageTests) end(t *testing.T, signal syscall.Signal, args ...string) {
	const workers = 4
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := p.command(t, append(slices.Clone(p.run), args...)...)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	cmd.Env = append(cmd.Env, "WAITING="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell has it
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // long gone
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(5 * time.Minute))
	for range workers {
		conn, err := listener.Accept()
		if err != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait() // it was killed
			t.Fatalf("waiting for %d tests: %v\n%s", workers, err, out.String())
		}
		defer conn.Close()
	}
	alive := watched(t, p.dir)
	if n := strings.Count(processes(t, p.dir), "/rehearse serve "); n != 2*workers {
		t.Errorf("%d mocks run, want two for each of %d workers:\n%s", n, workers, processes(t, p.dir))
	}
	if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()                          // what it is ended with, runners say differently
	deadline := time.Now().Add(time.Minute) // for all of them
	for pid, fd := range alive {
		left := max(0, int(time.Until(deadline).Milliseconds()))
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, left); n != 1 {
			t.Errorf("process %d is still there (%v):\n%s\n%s", pid, err, processes(t, p.dir), out.String())
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may be gone by now
		}
	}
	if left := processes(t, p.dir); left != "" {
		t.Errorf("processes left behind:\n%s", left)
	}
}

// watched opens the processes whose command line has text in it, by their id.
func watched(t *testing.T, text string) map[int]int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	fds := map[int]int{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(data, []byte(text)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			fds[pid] = fd
			t.Cleanup(func() { _ = unix.Close(fd) })
		}
	}
	return fds
}
