// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestLive plays two suites to a real model that runs offline, in a namespace
// that has only loopback, and looks at how its mistakes are filed. The model
// is small: that it fails some scenarios is the point.
func TestLive(t *testing.T) {
	out := t.TempDir()
	cmd := command(t, "unshare", "-n", "./live.sh", out)
	log, err := cmd.CombinedOutput()
	t.Logf("%s", log)
	if err != nil {
		t.Fatalf("live.sh: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*", trials.RecordsFile))
	if err != nil || len(files) != 1 {
		t.Fatalf("want one run in %s, found %q (%v)", out, files, err)
	}
	records, err := trials.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[harness.Outcome]int{}
	for _, r := range records {
		outcomes[r.Outcome]++
		switch r.Outcome {
		case harness.OutcomeFailed:
			if r.Cause == nil || r.Cause.Kind == trials.CauseEndpoint {
				t.Errorf("%s: failed, with the cause %+v; what the endpoint gets wrong is an error", r.Key, r.Cause)
			}
		case harness.OutcomeError:
			if r.Cause == nil || r.Cause.Kind != trials.CauseEndpoint {
				t.Errorf("%s: error, with the cause %+v; what the model gets wrong is a failure", r.Key, r.Cause)
			}
		}
	}
	t.Logf("outcomes: %v", outcomes)
	if outcomes[harness.OutcomePassed] == 0 || outcomes[harness.OutcomeFailed] == 0 {
		t.Errorf("outcomes %v: want a real model to pass some and fail some", outcomes)
	}
}

// TestReportInBrowser opens a report from disk, in a namespace without a
// network, with and without JavaScript.
func TestReportInBrowser(t *testing.T) {
	out := t.TempDir()
	if code, log := rehearse(t, "run", "../scenarios/suites/utilities", "--out", out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, log)
	}
	pages, err := filepath.Glob(filepath.Join(out, "*", "report.html"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("want one report in %s, found %q (%v)", out, pages, err)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	bare := scripts.ReplaceAll(page, nil)
	if len(bare) == len(page) {
		t.Error("found no script to take out of the page")
	}
	for _, tc := range []struct {
		name string
		page []byte
	}{{"with scripts", page}, {"without scripts", bare}} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.html")
			if err := os.WriteFile(file, tc.page, 0o644); err != nil {
				t.Fatal(err)
			}
			text := dom(t, file)
			for _, want := range []string{"two tools in one reply", "get_weather", "25 + 17 = 42"} {
				if !strings.Contains(text, want) {
					t.Errorf("the page as the browser has it lacks %q", want)
				}
			}
		})
	}
}

// scripts matches the script of a report.
var scripts = regexp.MustCompile(`(?s)<script\b.*?</script>`)
