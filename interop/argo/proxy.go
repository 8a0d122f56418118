// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// venv is the environment of a release.
func (r release) venv(root string) string {
	return filepath.Join(root, "interop/.venv", "argo-"+r.version)
}

// install makes the environment of a release, unless it is there.
func (r release) install(ctx context.Context, root string, logf func(string, ...any)) error {
	venv := r.venv(root)
	if _, err := os.Stat(filepath.Join(venv, "bin/argo-proxy")); err == nil {
		return nil
	}
	logf("argo-proxy %s: installing from PyPI", r.version)
	pip := []string{"install", "--quiet", "--disable-pip-version-check", "argo-proxy==" + r.version}
	if r.rosetta != "" {
		pip = append(pip, "llm-rosetta=="+r.rosetta)
	}
	for _, argv := range [][]string{
		{"python3", "-m", "venv", venv},
		append([]string{filepath.Join(venv, "bin/pip")}, pip...),
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Join(fmt.Errorf("installing argo-proxy %s: %s: %w\n%s", r.version, strings.Join(argv, " "), err, out), os.RemoveAll(venv))
		}
	}
	return nil
}

// proxy is a running argo-proxy.
type proxy struct {
	release release
	address string // host and port
	cmd     *exec.Cmd
	log     bytes.Buffer
	ended   chan struct{} // closed when the process has ended
	err     error         // of the process, once it has ended
	folder  string
}

// start starts a release in front of a gateway and waits until it answers. It
// cannot be told to take any free port, so one is found first; should another
// have taken it meanwhile, the proxy ends, and the next try has another.
func (r release) start(ctx context.Context, root, gateway string) (*proxy, error) {
	var err error
	for range 3 {
		var p *proxy
		if p, err = r.try(ctx, root, gateway); err == nil || ctx.Err() != nil {
			return p, err
		}
	}
	return nil, err
}

func (r release) try(ctx context.Context, root, gateway string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := l.Close(); err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(filepath.Join(r.venv(root), "bin/argo-proxy"))
	if err != nil {
		return nil, err
	}
	stub, err := filepath.Abs(filepath.Join(root, "interop/argo")) // for 2.8.9, whose tokenizer wants to download
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "argo-proxy-")
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("user: jdoe\nhost: 127.0.0.1\nport: %s\nverbose: false\nargo_base_url: %s/argoapi\nskip_url_validation: true\n", port, gateway)
	args := []string{"config.yaml"}
	if r.rosetta != "" { // 3.x
		config = "config_version: \"3\"\n" + config
		args = []string{"serve", "--no-banner", "config.yaml"}
	}
	p := &proxy{release: r, address: address, ended: make(chan struct{}), folder: folder}
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Dir = folder
	p.cmd.Env = append(os.Environ(), "HOME="+folder, "PYTHONPATH="+stub)
	// A group of its own: an interrupt of ours must not end it under a request.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting argo-proxy %s: %w", r.version, err), os.RemoveAll(folder))
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if err := p.await(ctx); err != nil {
		_ = p.stop() // the first error says more
		return nil, fmt.Errorf("starting argo-proxy %s: %w\n%s", r.version, err, p.log.String())
	}
	return p, nil
}

// await returns when the proxy answers.
func (p *proxy) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/health", nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("it ended: %w", errors.Join(p.err, errors.New("before it answered")))
		case <-ctx.Done():
			return fmt.Errorf("no answer from /health: %w", ctx.Err())
		}
	}
}

// stop interrupts the proxy, waits for its end, and removes its folder, which
// has the bodies of failed requests in it.
func (p *proxy) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
	err := p.err
	if err != nil {
		err = fmt.Errorf("argo-proxy %s: %w\n%s", p.release.version, err, p.log.String())
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}
