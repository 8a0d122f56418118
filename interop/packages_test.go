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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// packageTests are the tests that use a package, in a folder of their own.
type packageTests struct {
	dir string
	run []string // the command that plays test files
}

// TestPackagesPytest installs the wheel that `make packages` has built into an
// empty folder, and plays tests that use it.
func TestPackagesPytest(t *testing.T) {
	dir := packageFolder(t, "packages/python")
	wheel := built(t, "rehearse-*.whl")
	inFolder(t, dir, "python3", "-m", "venv", "venv")
	inFolder(t, dir, "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt", wheel)
	tests := packageTests{dir, []string{"venv/bin/pytest", "-n", "4", "-p", "no:cacheprovider"}}
	t.Run("many", func(t *testing.T) { tests.many(t, "--junitxml=many.xml", "test_many.py") })
	t.Run("ctrl-c", func(t *testing.T) { tests.end(t, syscall.SIGINT, "test_wait.py") })
	t.Run("killed", func(t *testing.T) { tests.end(t, syscall.SIGKILL, "test_wait.py") })
}

// TestPackagesVitest is [TestPackagesPytest] for the npm package.
func TestPackagesVitest(t *testing.T) {
	dir := packageFolder(t, "packages/npm")
	inFolder(t, dir, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", built(t, "rehearse-*.tgz"))
	tests := packageTests{dir, []string{"node_modules/.bin/vitest", "run", "--maxWorkers=4"}}
	t.Run("many", func(t *testing.T) { tests.many(t, "--reporter=junit", "--outputFile=many.xml", "many") })
	t.Run("ctrl-c", func(t *testing.T) { tests.end(t, syscall.SIGINT, "wait") })
	t.Run("killed", func(t *testing.T) { tests.end(t, syscall.SIGKILL, "wait") })
}

// packageFolder is a folder outside of the repository with a copy of from.
func packageFolder(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
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

// inFolder runs a command in dir, in which its name may be a path, and returns
// what it prints.
func inFolder(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	cmd := folderCommand(t, dir, argv...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

func folderCommand(t *testing.T, dir string, argv ...string) *exec.Cmd {
	t.Helper()
	name := argv[0]
	if strings.Contains(name, "/") {
		name = filepath.Join(dir, name)
	}
	cmd := command(t, name, argv[1:]...)
	cmd.Dir = dir
	return cmd
}

// many plays 200 tests, of which every tenth is wrong: these fail, each with
// its own mismatch, and no other. The results are in many.xml.
func (p packageTests) many(t *testing.T, args ...string) {
	out, err := folderCommand(t, p.dir, append(p.run, args...)...).CombinedOutput()
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
	cmd := folderCommand(t, p.dir, append(p.run, args...)...)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	cmd.Env = append(os.Environ(), "WAITING="+port)
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
	_ = cmd.Wait() // what it is ended with, runners say differently
	for pid, fd := range alive {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Minute.Milliseconds())); n != 1 {
			t.Errorf("process %d is still there (%v):\n%s\n%s", pid, err, processes(t, p.dir), out.String())
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
