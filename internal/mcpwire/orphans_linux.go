// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithUs has a child killed when the thread ends that starts it.
func endWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// Orphans are processes that outlive who started them, in a session of their
// own or with an environment of their own. The zero value has adopted none. Its
// methods may be called concurrently.
//
// It is for a program whose children are all started by [Start], and which has
// no others when it calls End: a test binary must not use it.
type Orphans struct {
	mu      sync.Mutex   // guards all below
	adopted bool         // they fall to us
	others  map[int]bool // children that we had before: of whoever was this process, before exec
}

// Adopt has what our descendants leave behind become our children, from now
// on, in place of those of the first process of the system.
func (o *Orphans) Adopt() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.adopted {
		return nil
	}
	o.others = map[int]bool{}
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			o.others[p.id] = true
		}
	}
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	o.adopted = err == nil
	return err
}

// End kills all descendants of this process but those that were there before
// [Orphans.Adopt], and returns when they have ended. Without Adopt it does
// nothing.
func (o *Orphans) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.adopted {
		return
	}
	endAll(func() []process { return o.descendants() })
}

func (o *Orphans) descendants() []process {
	children := map[int][]process{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		of := queue[0]
		queue = queue[1:]
		for _, p := range children[of] {
			if !o.others[p.id] {
				found = append(found, p)
				queue = append(queue, p.id)
			}
		}
	}
	return found
}

// endMarked kills the processes that were started with a mark in their
// environment, and returns when they have ended.
func endMarked(mark string) {
	if mark == "" {
		return
	}
	entry := append([]byte{0}, mark+"=1\x00"...)
	endAll(func() []process {
		var found []process
		for _, p := range processes() {
			if p.id == os.Getpid() {
				continue
			}
			// What cannot be read is of another user, or has ended.
			env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.id), "environ"))
			if err == nil && bytes.Contains(append([]byte{0}, env...), entry) {
				found = append(found, p)
			}
		}
		return found
	})
}

// endPatience is how long processes may take to end that were killed. One that
// waits for a disk, or that an administrator stopped, is left then.
const endPatience = 2 * time.Second

// endAll kills what is found until nothing is, since whoever is killed may have
// started others meanwhile.
func endAll(find func() []process) {
	pause := time.Millisecond
	for end := time.Now().Add(endPatience); ; pause = min(2*pause, 50*time.Millisecond) {
		alive := false
		for _, p := range find() {
			if !p.zombie {
				alive = true
				_ = syscall.Kill(p.id, syscall.SIGKILL)
			}
			if p.parent == os.Getpid() {
				// One that was adopted: nobody else waits for it. [Start] waits
				// for its own children before it looks for others.
				_, _ = syscall.Wait4(p.id, nil, syscall.WNOHANG, nil)
			}
		}
		if !alive || time.Now().After(end) {
			return
		}
		time.Sleep(pause)
	}
}

// process is a process of the system.
type process struct {
	id, parent int
	zombie     bool // it has ended, and nobody has waited for it
}

// processes lists those that can be seen.
func processes() []process {
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // none, where /proc is not there
	var list []process
	for _, name := range names {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (command) state parent ...; the command may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		id, err1 := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err1 != nil || len(fields) < 2 {
			continue
		}
		parent, err2 := strconv.Atoi(string(fields[1]))
		if err2 == nil {
			list = append(list, process{id, parent, fields[0][0] == 'Z' || fields[0][0] == 'X'})
		}
	}
	return list
}
