// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// argoProgram builds interop/argo.
func argoProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "argo")
	if out, err := command(t, "go", "build", "-o", program, "./argo").CombinedOutput(); err != nil {
		t.Fatalf("building interop/argo: %v\n%s", err, out)
	}
	return program
}

// argoDrift records releases of argo-proxy anew and compares with the folder
// of the recordings.
func argoDrift(t *testing.T, program, folder, releases string) (string, error) {
	cmd := command(t, program, "-root", "..", "-drift", "-out", folder, "-releases", releases)
	cmd.Env = append(os.Environ(), "ARGO_BASE_URL=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestArgoProxy puts real releases of argo-proxy between our agent and a mock
// that is the Argo Gateway, and holds what they make of it against what is
// shipped. That the gateway is asked for each reply, once, is part of it.
func TestArgoProxy(t *testing.T) {
	out, err := argoDrift(t, argoProgram(t), "../cassettes/argo-proxy", "2.8.9,3.0.4,3.1.2,3.3.3")
	t.Log(out)
	if err != nil {
		t.Errorf("recording anew: %v", err)
	}
	if left := processes(t, "argo-proxy"); left != "" {
		t.Errorf("processes left behind:\n%s", left)
	}
}

// TestArgoExchanges records what releases of argo-proxy make of single
// requests, whatever their gateway does, and holds the profiles of the mock
// against it.
func TestArgoExchanges(t *testing.T) {
	folder := t.TempDir()
	out, err := command(t, argoProgram(t), "-root", "..", "-exchanges", folder).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("recording: %v", err)
	}
	cmd := command(t, "go", "test", "-count=1", "-v", "-run", "^TestRecordedReleases$", "./mockllm")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "REHEARSE_DATA=", "REHEARSE_EXCHANGES="+folder)
	out, err = cmd.CombinedOutput()
	if err != nil {
		t.Errorf("replaying: %v", err)
	}
	releases := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if strings.Contains(line, " reproduced, ") {
			t.Log(strings.TrimSpace(line))
			if len(fields) > 2 && fields[2] == "all" {
				releases++
			}
		} else if err != nil {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
	if releases != 7 {
		t.Errorf("%d releases were compared, want 7", releases)
	}
	if left := processes(t, "argo-proxy"); left != "" {
		t.Errorf("processes left behind:\n%s", left)
	}
}

// TestArgoProviders has our providers hold conversations over the APIs of the
// newest argo-proxy that are not chat.
func TestArgoProviders(t *testing.T) {
	out, err := command(t, argoProgram(t), "-root", "..", "-providers", "-releases", "3.3.3").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("playing: %v", err)
	}
	for _, provider := range []string{"responses", "messages", "gemini"} {
		if want := "3.3.3: " + provider + ": conversations: 60\n"; !strings.Contains(string(out), want) {
			t.Errorf("no %q", want)
		}
	}
	if left := processes(t, "argo-proxy"); left != "" {
		t.Errorf("processes left behind:\n%s", left)
	}
}

// TestArgoDrift plants a difference in one recording and a file that nothing
// makes, and wants both to be told.
func TestArgoDrift(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../cassettes/argo-proxy")); err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(folder, "3.3.3/plain/one-tool/one-tool.argo-gpt-4o.yaml")
	data, err := os.ReadFile(planted)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(data, []byte(`"finish_reason": "tool_calls"`), []byte(`"finish_reason": "stop"`), 1)
	other = bytes.Replace(other, []byte(`"object": "chat.completion"`), []byte(`"object": "chat.completion", "gone": 1`), 1)
	if err := os.WriteFile(planted, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "3.3.3/plain/one-tool/left.argo-gpt-4o.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := argoDrift(t, argoProgram(t), folder, "3.3.3")
	if err == nil {
		t.Error("the drift is no failure")
	}
	for _, want := range []string{
		"one tool, argo:gpt-4o, plain: breaking: ", "gone", // was a number, is absent
		"one tool, argo:gpt-4o, plain: risky: ", "finish",
		"plain/one-tool/left.argo-gpt-4o.yaml: breaking: no scenario makes this recording",
		"failed: 0, differences that matter: 3,",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if now, err := os.ReadFile(planted); err != nil || !bytes.Equal(now, other) {
		t.Errorf("the recording that was compared with has changed (%v)", err)
	}
}
