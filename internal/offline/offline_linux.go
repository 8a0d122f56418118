// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stage is the variable that tells a program which part it has: "enter", and
// then the number of the socket of its name server.
const stage = "REHEARSE_OFFLINE_STAGE"

// Again runs this program with the same command line where no network is, and
// returns its exit code. An interrupt reaches it as the end of ctx, and a second
// one as the end of abort.
func Again(ctx context.Context, abort <-chan struct{}) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	child, err := start(self, os.Geteuid() != 0)
	if errors.Is(err, unix.EPERM) && os.Geteuid() == 0 {
		child, err = start(self, true) // root of a container, which may do less
	}
	if err != nil {
		return 0, fmt.Errorf("no namespace without a network: %w; the system must let users have namespaces (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces; in a container the privilege CAP_SYS_ADMIN)", err)
	}
	first, second := ctx.Done(), abort
	for {
		select {
		case err := <-child.ended:
			var exit *exec.ExitError
			switch {
			case errors.As(err, &exit) && exit.Exited():
				return exit.ExitCode(), nil
			case err != nil:
				return 0, fmt.Errorf("the run without a network: %w", err)
			}
			return 0, nil
		case <-first:
			first = nil
			_ = child.cmd.Process.Signal(os.Interrupt) // one that has ended needs none
		case <-second:
			second = nil
			_ = child.cmd.Process.Signal(os.Interrupt)
		}
	}
}

type child struct {
	cmd   *exec.Cmd
	ended chan error
}

// start starts the program in namespaces of its own; users says that one of
// them is of users, so that whoever runs it need not be root.
func start(self string, users bool) (*child, error) {
	cmd := exec.Command(self)
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), stage+"=enter")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Interrupts from the terminal come by us, once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if users {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		// The same user, who may set up the namespaces for a moment.
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_ADMIN}
	}
	c := &child{cmd: cmd, ended: make(chan error, 1)}
	started := make(chan error)
	go func() {
		// The child ends with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.ended <- cmd.Wait()
		}
	}()
	return c, <-started
}

// Enter sets up the namespaces of a program that [Again] has started, and
// replaces it by itself, without the privileges that this took. In any other
// program it does nothing. What fails ends the program with exit code 2.
func Enter() {
	if os.Getenv(stage) != "enter" {
		return
	}
	runtime.LockOSThread()
	fmt.Fprintf(os.Stderr, "rehearse: --offline: %v\n", enter())
	os.Exit(2)
}

// enter returns why it failed.
func enter() error {
	socket, err := setUp()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("giving privileges back: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(stage, strconv.Itoa(socket)); err != nil {
		return err
	}
	return fmt.Errorf("starting anew: %w", unix.Exec(self, os.Args, os.Environ()))
}

// setUp has loopback up and names asked for at a socket, whose number it
// returns. It survives the next start.
func setUp() (socket int, err error) {
	any, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return 0, err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(any, unix.SIOCSIFFLAGS, lo); err != nil {
		return 0, fmt.Errorf("starting loopback: %w", err)
	}
	if socket, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, fmt.Errorf("listening for names: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("a view of the files of its own: %w", err)
	}
	return socket, names()
}

var hostsLine = regexp.MustCompile(`(?m)^\s*hosts:.*$`)

// names has the libraries of all languages ask our name server: the files in
// which they look are covered, and the socket of nscd is.
func names() error {
	dir, err := os.MkdirTemp("", "rehearse-offline-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // what is mounted stays
	covers := map[string]string{"/etc/resolv.conf": "nameserver 127.0.0.1\n"}
	if data, err := os.ReadFile("/etc/nsswitch.conf"); err == nil {
		covers["/etc/nsswitch.conf"] = hostsLine.ReplaceAllString(string(data), "hosts: files dns")
	}
	for name, text := range covers {
		at, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue // who finds none asks 127.0.0.1, too
		}
		cover := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(cover, []byte(text), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(cover, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("covering %s: %w", name, err)
		}
	}
	const nscd = "/var/run/nscd"
	if info, err := os.Stat(nscd); err == nil && info.IsDir() {
		empty := filepath.Join(dir, "nscd")
		if err := errors.Join(os.Mkdir(empty, 0o755), unix.Mount(empty, nscd, "", unix.MS_BIND, "")); err != nil {
			return fmt.Errorf("covering %s: %w", nscd, err)
		}
	}
	return nil
}

// Inside answers for hosts in a program that [Enter] has replaced, until it is
// closed. It is nil in any other. That there is a network after all is an error.
func Inside() (*Hosts, error) {
	text, ok := os.LookupEnv(stage)
	if !ok {
		return nil, nil
	}
	if err := os.Unsetenv(stage); err != nil { // nobody that we start is told
		return nil, err
	}
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s is %q: it is not for you to set", stage, text)
	}
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return nil, fmt.Errorf("there is a network: the interface %s is up", i.Name)
		}
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "names")
	conn, err := net.FilePacketConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return serve(conn), nil
}
