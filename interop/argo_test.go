// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestArgoProxy puts real releases of argo-proxy between our agent and a mock
// that is the Argo Gateway, and plays a conversation of three tools.
//
//	rehearse run --mode live --> argo-proxy --> rehearse serve llm --profile argo-gateway
//
// The agent is run in live mode, so that its own journal has what the proxy
// made of the replies, and the served mock's has what the proxy asked.
func TestArgoProxy(t *testing.T) {
	for _, release := range []string{"3.3.3", "3.1.2", "2.8.9"} {
		for _, model := range []string{"argo:gpt-4o", "argo:claude-opus-4.5"} {
			for _, stream := range []string{"false", "true"} {
				t.Run(release+"/"+strings.TrimPrefix(model, "argo:")+"/stream="+stream, func(t *testing.T) {
					scenario := argoScenario(t, stream)
					gateway := serve(t, "llm", "--profile", "argo-gateway", scenario)
					base := argoProxy(t, release, strings.TrimSuffix(gateway.Admin, "/rehearse"))
					t.Setenv("OPENAI_API_KEY", "none")
					code, out := rehearse(t, "run", "--mode", "live", "--model", model, "--base-url", base, "--trials", "1", "--out", t.TempDir(), scenario)
					if code != 0 {
						t.Errorf("exit code %d\n%s", code, out)
					}
					checkGateway(t, gateway)
				})
			}
		}
	}
}

// argoScenario writes the scenario with its setting of stream beside the
// original, whose paths are relative.
func argoScenario(t *testing.T, stream string) string {
	t.Helper()
	text, err := os.ReadFile("argo/workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server, err := filepath.Abs("../scenarios/suites/gemflux/gemflux.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := strings.NewReplacer("STREAM", stream, "../../scenarios/suites/gemflux/gemflux.yaml", server).Replace(string(text))
	file := filepath.Join(t.TempDir(), "workflow.yaml")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// argoProxy starts a release of argo-proxy in front of a gateway and returns
// the base URL for its clients. It is interrupted when the test ends.
func argoProxy(t *testing.T, release, gateway string) string {
	t.Helper()
	dir, err := filepath.Abs(".venv/argo-" + release)
	if err != nil {
		t.Fatal(err)
	}
	stub, err := filepath.Abs("argo") // for 2.8.9, whose tokenizer wants to download
	if err != nil {
		t.Fatal(err)
	}
	port, home := freePort(t), t.TempDir()
	config := fmt.Sprintf("user: jdoe\nhost: 127.0.0.1\nport: %s\nverbose: false\nargo_base_url: %s/argoapi\nskip_url_validation: true\n", port, gateway)
	args := []string{"config.yaml"}
	if release >= "3" {
		config = "config_version: \"3\"\n" + config
		args = []string{"serve", "--no-banner", "config.yaml"}
	}
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "bin/argo-proxy"), args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "PYTHONPATH="+stub)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("argo-proxy %s: %v\n%s", release, err, log.String())
		}
	})
	base := "http://127.0.0.1:" + port
	tick, limit := time.NewTicker(100*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		if res, err := http.Get(base + "/health"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return base + "/v1"
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("argo-proxy %s did not start", release)
		}
	}
}

// checkGateway looks at what the proxy asked: six replies, each once.
func checkGateway(t *testing.T, gateway ready) {
	t.Helper()
	list := journal(t, gateway)
	if len(list) != 6 {
		t.Errorf("the gateway was asked %d times, want 6", len(list))
	}
	for i, e := range list {
		x, _ := e.(map[string]any)
		if x["kind"] != "reply" || x["repeated"] == true {
			t.Errorf("exchange %d is %v (repeated: %v), want a reply", i+1, x["kind"], x["repeated"])
		}
	}
}
