// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcpwire_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestMain lets the test binary be the child process of its own tests.
func TestMain(m *testing.M) {
	if mode := os.Getenv("MCPWIRE_CHILD"); mode != "" {
		child(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

func child(mode string) {
	switch mode {
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "die":
		fmt.Fprintln(os.Stderr, "no such folder: /data")
		os.Exit(3)
	case "flood":
		for range 2000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 200))
		}
		fmt.Fprintln(os.Stderr, "the end")
		fmt.Println("alive")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn": // ignores the end of its input and the signal to terminate
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		select {}
	case "launcher": // starts a grandchild that holds stdout open, as npx does
		grandchild := exec.Command(os.Args[0])
		grandchild.Env = append(os.Environ(), "MCPWIRE_CHILD=grandchild")
		grandchild.Stdout = os.Stdout
		if err := grandchild.Start(); err != nil {
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "leaver", "leaver of a talker": // leaves a grandchild in a session of its own, with nothing of our environment
		grandchild := exec.Command(os.Args[0])
		grandchild.Env = []string{"MCPWIRE_CHILD=left behind", "MCPWIRE_SOCKET=" + os.Getenv("MCPWIRE_SOCKET")}
		if mode == "leaver of a talker" {
			grandchild.Env[0] = "MCPWIRE_CHILD=talker"
		}
		grandchild.Stdout, grandchild.Stderr = os.Stdout, os.Stderr
		grandchild.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := grandchild.Start(); err != nil {
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Print("last words")
		fmt.Fprint(os.Stderr, "and why")
	case "left behind", "talker": // ends with its connection
		conn, err := net.Dial("unix", os.Getenv("MCPWIRE_SOCKET"))
		if err != nil {
			os.Exit(1)
		}
		if mode == "talker" {
			go func() {
				for {
					if _, err := fmt.Print("still here "); err != nil {
						return
					}
				}
			}()
		}
		_, _ = conn.Write([]byte("x"))
		_, _ = io.Copy(io.Discard, conn)
	case "starter": // starts one as rehearse does, which ends with its connection
		_, err := mcpwire.Start(mcpwire.Command{Args: []string{os.Args[0]}, Env: []string{"MCPWIRE_CHILD=left behind", "MCPWIRE_SOCKET=" + os.Getenv("MCPWIRE_SOCKET")}})
		if err != nil {
			os.Exit(1)
		}
		select {}
	case "marked": // leaves a grandchild that kept the environment
		grandchild := exec.Command(os.Args[0])
		grandchild.Env = append(os.Environ(), "MCPWIRE_CHILD=grandchild")
		grandchild.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := grandchild.Start(); err != nil {
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "grandchild": // is alive as long as its connection is
		signal.Ignore(syscall.SIGTERM)
		conn, err := net.Dial("unix", os.Getenv("MCPWIRE_SOCKET"))
		if err != nil {
			os.Exit(1)
		}
		_, _ = conn.Write([]byte("x"))
		select {}
	}
}

func start(t *testing.T, mode string, c mcpwire.Command) *mcpwire.Process {
	t.Helper()
	c.Args = []string{os.Args[0]}
	c.Env = append(c.Env, "MCPWIRE_CHILD="+mode)
	p, err := mcpwire.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestProcessCarriesMessages(t *testing.T) {
	p := start(t, "echo", mcpwire.Command{})
	if err := mcpwire.NewWriter(p).Write([]byte(`{"id":1,"method":"m"}`)); err != nil {
		t.Fatal(err)
	}
	m, err := mcpwire.NewReader(p, nil).Next()
	if err != nil || m.Method != "m" {
		t.Errorf("Next() = %v, %v", m, err)
	}
	p.Close()
	if got := p.Ending(); got != "exit status 0" {
		t.Errorf("Ending() = %q", got)
	}
}

func TestProcessEnvironmentIsClean(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("WANTED", "yes")
	p := start(t, "env", mcpwire.Command{PassEnv: []string{"WANTED"}, Env: []string{"OWN=1"}})
	out, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	env := "\n" + string(out)
	for _, want := range []string{"\nPATH=", "\nWANTED=yes\n", "\nOWN=1\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("the child's environment lacks %q", want)
		}
	}
	if strings.Contains(env, "sk-secret") {
		t.Error("the child got our key")
	}
}

func TestProcessThatDiesSaysWhy(t *testing.T) {
	p := start(t, "die", mcpwire.Command{})
	if _, err := io.ReadAll(p); err != nil {
		t.Fatal(err)
	}
	if got := p.Ending(); got != "exit status 3" {
		t.Errorf("Ending() = %q", got)
	}
	if got := p.Stderr(); got != "no such folder: /data" {
		t.Errorf("Stderr() = %q", got)
	}
}

func TestProcessStderrIsDrainedAndBounded(t *testing.T) {
	p := start(t, "flood", mcpwire.Command{})
	line, err := bufio.NewReader(p).ReadString('\n')
	if err != nil || line != "alive\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	p.Close()
	if got := p.Stderr(); !strings.HasSuffix(got, "the end") || len(got) > 16<<10 {
		t.Errorf("kept %d bytes of stderr, ending in %q", len(got), got[max(0, len(got)-20):])
	}
}

func TestProcessThatIgnoresItsEndIsKilled(t *testing.T) {
	p := start(t, "stubborn", mcpwire.Command{Grace: 10 * time.Millisecond})
	if _, err := bufio.NewReader(p).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if got := p.Ending(); got != "signal: killed" {
		t.Errorf("Ending() = %q", got)
	}
}

func TestAbortKills(t *testing.T) {
	abort := make(chan struct{})
	p := start(t, "stubborn", mcpwire.Command{Grace: time.Hour, Abort: abort})
	if _, err := bufio.NewReader(p).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	close(abort)
	p.Close() // or it would wait for an hour
	if got := p.Ending(); got != "signal: killed" {
		t.Errorf("Ending() = %q", got)
	}
}

func TestProcessGroupEndsWithClose(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := start(t, "launcher", mcpwire.Command{Env: []string{"MCPWIRE_SOCKET=" + socket}})
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("the grandchild is alive after Close: %v", err)
	}
}

// left starts a child in a mode that leaves a grandchild, and waits for that.
func left(t *testing.T, mode string) (*mcpwire.Process, net.Conn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := start(t, mode, mcpwire.Command{Env: []string{"MCPWIRE_SOCKET=" + socket}})
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return p, conn
}

// TestHostileLeaver has a grandchild hold the streams of its dead parent open,
// out of everybody's reach: they end with the parent, after its last words.
func TestHostileLeaver(t *testing.T) {
	p, _ := left(t, "leaver")
	if err := p.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(p); err != nil || string(out) != "last words" {
		t.Errorf("read %q, %v", out, err)
	}
	if got := p.Ending(); got != "exit status 0" {
		t.Errorf("Ending() = %q", got)
	}
	p.Close() // which waits for stderr
	if got := p.Stderr(); got != "and why" {
		t.Errorf("Stderr() = %q", got)
	}
}

// TestHostileTalker has the grandchild write without end.
func TestHostileTalker(t *testing.T) {
	p, _ := left(t, "leaver of a talker")
	go func() { _ = p.CloseWrite() }()
	n, err := io.Copy(io.Discard, p)
	if err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	p.Close()
}

// TestHostileSession has a grandchild in a session of its own, which has the
// environment of its parent.
func TestHostileSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a child left behind")
	}
	p, conn := left(t, "marked")
	p.Close()
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("the grandchild is alive after Close: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	for name, args := range map[string][]string{"none": nil, "missing": {"/no/such/program", "--token=secret"}} {
		if p, err := mcpwire.Start(mcpwire.Command{Args: args}); err == nil {
			p.Close()
			t.Errorf("%s: started", name)
		} else if name == "missing" && !strings.Contains(err.Error(), `starting "/no/such/program": `) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProcessEndsWithUs: a child does not outlive a process that is killed, though
// it outlives the thread in which it was started.
func TestProcessEndsWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "MCPWIRE_CHILD=starter", "MCPWIRE_SOCKET="+socket)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the child goes on running: %v", err)
	}

	started := make(chan *mcpwire.Process)
	go func() {
		runtime.LockOSThread() // and never unlocks, so that the thread ends
		p, err := mcpwire.Start(mcpwire.Command{Args: []string{os.Args[0]}, Env: []string{"MCPWIRE_CHILD=echo"}})
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	defer p.Close()
	for range 3 {
		if _, err := io.WriteString(p, "there\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(io.LimitReader(p, 6)).ReadString('\n'); got != "there\n" {
			t.Fatalf("%q %v", got, err)
		}
		runtime.Gosched()
	}
}
