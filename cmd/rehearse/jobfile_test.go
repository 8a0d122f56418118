// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestJobNamesAreTexts: whatever a run is called, the job files that are YAML
// have its name as a text, and Kubernetes one that it allows (RFC 1123).
func TestJobNamesAreTexts(t *testing.T) {
	allowed := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	for _, name := range []string{
		"2026", "1e3", "0x1f", "010", "1_000", "2026-01-02", "true", "null", "no", "y", "On", "~", ".inf", "1.5", "1:30", "- a", "a: b", "a #b", "Größe", "-x-",
		"ends-in-a-dash-after-fifty-bytes-of-a-name-which-is-cut", strings.Repeat("a", 80),
	} {
		for _, to := range []string{"kubernetes", "github"} {
			var out, stderr bytes.Buffer
			p := &process{
				args:   []string{"shard", "s", "--for", to, "--name", name, "--image", "12", "--run", name, "--shards", "2"},
				getenv: func(string) (string, bool) { return "", false }, stdin: strings.NewReader(""), stdout: &out, stderr: &stderr,
			}
			if code := command(t.Context(), p); code != 0 {
				t.Fatalf("%q: exit code %d: %s", name, code, stderr.String())
			}
			for decoder := yaml.NewDecoder(&out); ; {
				var doc struct {
					Name     yaml.Node
					Metadata struct{ Name yaml.Node }
					Spec     struct {
						Template struct {
							Spec struct {
								Containers []struct {
									Image   yaml.Node
									Command []yaml.Node
								}
							}
						}
					}
				}
				err := decoder.Decode(&doc)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%q for %s: %v", name, to, err)
				}
				texts := []yaml.Node{doc.Name, doc.Metadata.Name}
				for _, c := range doc.Spec.Template.Spec.Containers {
					texts = append(append(texts, c.Image), c.Command...)
				}
				for _, n := range texts {
					if n.Kind != 0 && n.Tag != "!!str" {
						t.Errorf("%q for %s: %s is %s, want a text", name, to, n.Value, n.Tag)
					}
				}
				if to == "kubernetes" && !allowed.MatchString(doc.Metadata.Name.Value) {
					t.Errorf("%q: Kubernetes does not allow the name %q", name, doc.Metadata.Name.Value)
				}
			}
		}
	}
}

// TestManyMachines wants docs/many-machines.md to show what `rehearse shard`
// prints. With -update it writes the page.
func TestManyMachines(t *testing.T) {
	const page = "../../docs/many-machines.md"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	block := regexp.MustCompile("(?s)(```console\n\\$ rehearse (shard [^\n>]*) >.*?\n```\n\n```[a-z]+\n)(.*?)(```\n)")
	now := block.ReplaceAllStringFunc(string(was), func(text string) string {
		shown++
		parts := block.FindStringSubmatch(text)
		var out, stderr bytes.Buffer
		p := &process{args: strings.Fields(parts[2]), getenv: os.LookupEnv, stdin: strings.NewReader(""), stdout: &out, stderr: &stderr}
		if code := command(context.WithoutCancel(t.Context()), p); code != 0 {
			t.Errorf("%s: exit code %d: %s", parts[2], code, stderr.String())
		}
		return parts[1] + out.String() + parts[4]
	})
	if shown != len(jobFiles) {
		t.Errorf("%d job files are shown, want %d", shown, len(jobFiles))
	}
	if *update {
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(now, string(was)); diff != "" {
		t.Errorf("docs/many-machines.md is stale; write it with go test ./cmd/rehearse -run TestManyMachines -update (-want +got):\n%s", diff)
	}
}
