// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func noCI(string) (string, bool) { return "", false }

// writes makes a file of exchanges.
func writes(t *testing.T, path string, texts ...string) {
	t.Helper()
	f := &vcr.File{Path: path}
	for _, text := range texts {
		f.Interactions = append(f.Interactions, interactionOf(text))
	}
	if err := vcr.WriteFile(path, f, 0); err != nil {
		t.Fatal(err)
	}
}

// holds are the answers of a file.
func holds(t *testing.T, path string) string {
	t.Helper()
	f, err := vcr.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, i := range f.Interactions {
		got += string(i.Response.Body)
	}
	return got
}

// fixed answers everything with its path.
type fixed struct{}

func (fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, _ = w.WriteString(strings.TrimPrefix(r.URL.Path, "/"))
	return w.Result(), nil
}

func asks(t *testing.T, r *Recorder, paths ...string) {
	t.Helper()
	for _, p := range paths {
		resp, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/"+p, nil))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		for err == nil {
			_, err = resp.Body.Read(b)
		}
		_ = resp.Body.Close()
	}
}

// TestNoFolder: where no file can be, opening says so.
func TestNoFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "a.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "x", "a.yaml"), filepath.Join(dir, "a.yaml")} {
		for _, mode := range []Mode{Record, RecordNew, Replay, Verify} {
			if r, err := Open(path, &Options{Mode: mode, LookupEnv: noCI}); err == nil {
				t.Errorf("mode %s opens %s", mode, path)
				_ = r.Discard()
			}
		}
		if _, err := newJournal(path, false, false); err == nil {
			t.Errorf("a journal of %s is made", path)
		}
	}
}

// TestFoldOfBrokenFiles: a recording that was cut off stays where it cannot be
// taken up, and can be taken up later.
func TestFoldOfBrokenFiles(t *testing.T) {
	for _, tt := range []struct {
		name, broken, text string // which file, and what it holds
		anew               bool
	}{
		{"the journal", "a.yaml.journal", "{}\nx\n", false},
		{"the cassette", "a.yaml", "x: [", false},
		{"what was cut off before", "a.cut.yaml", "x: [", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			if tt.broken == "a.yaml" {
				if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				writes(t, path, "a")
			}
			j, err := newJournal(path, true, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.add(0, 0, interactionOf("c")); err != nil {
				t.Fatal(err)
			}
			_ = j.file.Close()
			good, err := os.ReadFile(journalPath(path))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, tt.broken), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // it says so again
				if err := fold(path, tt.anew, 0, noSecrets(t), t.Logf); err == nil {
					t.Error("it was taken up")
				}
			}
			if _, err := os.Stat(journalPath(path)); err != nil || live(path) {
				t.Errorf("the journal: %v, locked %t", err, live(path))
			}
			if tt.broken != "a.yaml" {
				if err := os.WriteFile(journalPath(path), good, 0o600); err != nil {
					t.Fatal(err)
				}
				_ = os.Remove(filepath.Join(dir, "a.cut.yaml"))
				if err := fold(path, false, 0, noSecrets(t), t.Logf); err != nil || holds(t, path) != "ac" {
					t.Errorf("mended: %v, the cassette holds %q", err, holds(t, path))
				}
			}
		})
	}
}

// TestFoldInWords: what became of a recording that was cut off.
func TestFoldInWords(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before        string
		adds, anew    bool
		want, cut, at string // the log, what is beside it, and what it holds
	}{
		{"added", "a", true, false, "are kept in the cassette (exchanges: 1)", "", "ac"},
		{"the first", "", false, false, "are kept in the cassette (exchanges: 1)", "", "c"},
		{"anew", "a", true, true, "(exchanges: 1), because mode record makes a new file", "c", "a"},
		{"to take its place", "a", false, false, "a recording that would have replaced it was interrupted; its finished exchanges are in", "c", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			if tt.before != "" {
				writes(t, path, tt.before)
			}
			j, err := newJournal(path, tt.adds, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.add(0, 0, interactionOf("c")); err != nil {
				t.Fatal(err)
			}
			_ = j.file.Close()
			temp := filepath.Join(filepath.Dir(path), ".a.yaml.1.tmp")
			if err := os.WriteFile(temp, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(filepath.Dir(path), ".b.yaml.1.tmp")
			if err := os.WriteFile(other, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var said []string
			err = fold(path, tt.anew, 0, noSecrets(t), func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
			if err != nil || len(said) != 1 || !strings.Contains(said[0], tt.want) {
				t.Errorf("%v, said %q, want %q", err, said, tt.want)
			}
			if got := holds(t, path); got != tt.at {
				t.Errorf("the cassette holds %q, want %q", got, tt.at)
			}
			beside := filepath.Join(filepath.Dir(path), "a.cut.yaml")
			if _, err := os.Stat(beside); (err == nil) != (tt.cut != "") || tt.cut != "" && holds(t, beside) != tt.cut {
				t.Errorf("beside it: %v", err)
			}
			if _, err := os.Stat(temp); err == nil {
				t.Error("what was being written is left")
			}
			if _, err := os.Stat(other); err != nil {
				t.Error("what is of another is gone")
			}
			if err := fold(path, tt.anew, 0, noSecrets(t), t.Errorf); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// TestFoldOfWhatIsWritten: a recording that was written before its process died
// is not put beside it, and what it renews may be the last of the file.
func TestFoldOfWhatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	for _, tt := range []struct {
		before, after string // what the process wrote; nothing, where it did not come to it
		renews        int
		want          string
	}{{"ab", "abc", 0, "abc"}, {"ab", "", 2, "ac"}, {"ab", "", 3, "abc"}, {"ab", "", 1, "cb"}} {
		writes(t, path, strings.Split(tt.before, "")...)
		j, err := newJournal(path, true, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.add(0, tt.renews, interactionOf("c")); err != nil {
			t.Fatal(err)
		}
		_ = j.file.Close()
		if tt.after != "" {
			writes(t, path, strings.Split(tt.after, "")...)
		}
		if err := fold(path, false, 0, noSecrets(t), t.Logf); err != nil || holds(t, path) != tt.want {
			t.Errorf("%v: %v, the cassette holds %q", tt, err, holds(t, path))
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
			t.Errorf("%v: files %v", tt, left)
		}
	}
}

// TestCommitOfOthers: files of another folder are not renamed, and what cannot
// be done is told.
func TestCommitOfOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	recorder := func() *Recorder {
		r, err := Open(path, &Options{Mode: Record, Upstream: fixed{}, LookupEnv: noCI, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		asks(t, r, "a")
		return r
	}
	elsewhere := filepath.Join(t.TempDir(), "x")
	for _, f := range []Rename{{elsewhere, filepath.Join(dir, "x")}, {filepath.Join(dir, "x"), elsewhere}} {
		r := recorder()
		if err := r.CloseWith([]Rename{f}, false); err == nil || !strings.Contains(err.Error(), "are not in its folder") {
			t.Errorf("%v: %v", f, err)
		}
		_ = r.journal.remove()
	}
	r := recorder()
	if err := os.WriteFile(filepath.Join(dir, "tape.part"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.CloseWith([]Rename{{filepath.Join(dir, "tape.part"), filepath.Join(dir, "tape")}, {filepath.Join(dir, "gone"), filepath.Join(dir, "x")}}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tape")); err != nil || holds(t, path) != "a" {
		t.Errorf("the tape: %v; the cassette holds %q", err, holds(t, path))
	}
	if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, "written; exchanges: 1, of which failed: 0") {
		t.Errorf("notes %s", notes)
	}
	if err := r.CloseWith(nil, false); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	r = recorder()
	asks(t, r, "b")
	if err := os.WriteFile(filepath.Join(dir, "tape.part"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.CloseWith([]Rename{{filepath.Join(dir, "tape.part"), filepath.Join(dir, "tape")}}, true); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(r.Notes(), "\n"); strings.Contains(notes, "written; exchanges") {
		t.Errorf("nothing was written, and the notes are %s", notes)
	}
	if tape, err := os.ReadFile(filepath.Join(dir, "tape")); err != nil || string(tape) != "y" || holds(t, path) != "a" {
		t.Errorf("the same cassette, another tape: %q, %v, %q", tape, err, holds(t, path))
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := roll(path, []Rename{{"tape", "d"}}); err == nil || !strings.Contains(err.Error(), "writing the recording of") {
		t.Errorf("over a folder: %v", err)
	}
	if err := roll(filepath.Join(dir, "none", "a.yaml"), nil); err == nil {
		t.Error("a folder that is not there is synced")
	}
	// Nothing is recorded of a request that a closed recorder gets.
	if _, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/a", nil)); err == nil || !strings.Contains(err.Error(), "the recorder is closed") {
		t.Errorf("after it was closed: %v", err)
	}
}

// TestRecoverAll ends what all recordings of a folder left to do.
func TestRecoverAll(t *testing.T) {
	dir := t.TempDir()
	if err := RecoverAll(filepath.Join(dir, "none")); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name+".yaml")
		writes(t, filepath.Join(dir, "."+name+".yaml.tmp"), "new")
		j, err := newJournal(path, false, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.write(record{Commit: []Rename{{"." + name + ".yaml.tmp", name + ".yaml"}}}); err != nil {
			t.Fatal(err)
		}
		_ = j.file.Close()
	}
	j, err := newJournal(filepath.Join(dir, "c.yaml"), false, true) // nothing to do yet
	if err != nil {
		t.Fatal(err)
	}
	_ = j.file.Close()
	if err := os.Mkdir(filepath.Join(dir, "d.yaml.journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := RecoverAll(dir); err != nil {
		t.Fatal(err)
	}
	if a, b := holds(t, filepath.Join(dir, "a.yaml")), holds(t, filepath.Join(dir, "b.yaml")); a != "new" || b != "new" {
		t.Errorf("they hold %q, %q", a, b)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.journal")); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	if err := RecoverAll(filepath.Join(dir, "a.yaml")); err != nil {
		t.Errorf("a file: %v", err)
	}
	bad := filepath.Join(dir, "e.yaml")
	if err := os.WriteFile(journalPath(bad), []byte("{}\n"+`{"commit":[{"from":"x","to":"../y"}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RecoverAll(dir); err == nil || !strings.Contains(err.Error(), "outside its folder") {
		t.Errorf("one that leads out of it: %v", err)
	}
}

// TestDiscarded: what is discarded leaves all as it was.
func TestDiscarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	writes(t, path, "a")
	r, err := Open(path, &Options{Mode: Record, Upstream: fixed{}, LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	asks(t, r, "b", "c")
	if got := r.Recorded(); len(got) != 2 || r.Asked() != 2 || r.Path() != path {
		t.Errorf("recorded %d, asked %d times, at %s", len(got), r.Asked(), r.Path())
	}
	for range 2 {
		if err := r.Discard(); err != nil {
			t.Error(err)
		}
	}
	if got := holds(t, path); got != "a" {
		t.Errorf("the cassette holds %q", got)
	}
	if _, err := os.Stat(journalPath(path)); err == nil {
		t.Error("the journal is left")
	}
	r, err = Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Discard(); err != nil {
		t.Errorf("a replay: %v", err)
	}
}

// TestNotWritten: a recording that cannot be written, not even beside the one
// that it does not replace, says so, and what ended of it stays in its journal.
func TestNotWritten(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []string // what the file has
		leaves bool     // the client does not read its last answer
		folder string   // where a file was to be written
		want   []string // of the error
	}{
		{"the file", nil, false, "a.yaml", []string{"writing cassette"}},
		{"less than there is", []string{"a", "b", "c"}, false, "a.refused.yaml", []string{"it has 3 exchanges", "writing cassette", `the recording is in "`, `a.yaml.journal"`}},
		{"cut off", []string{"a", "b"}, true, "a.cut.yaml", []string{"it has the whole answer of GET http://127.0.0.1/b", "a.cut.yaml", `the recording is in "`, `a.yaml.journal"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			if tt.before != nil {
				writes(t, path, tt.before...)
			}
			r, err := Open(path, &Options{Mode: Record, Upstream: fixed{}, LookupEnv: noCI})
			if err != nil {
				t.Fatal(err)
			}
			asks(t, r, "a")
			if !tt.leaves {
				asks(t, r, "b")
			} else if resp, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/b", nil)); err != nil || resp.Body.Close() != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, tt.folder), 0o700); err != nil {
				t.Fatal(err)
			}
			err = r.Close()
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("closing: %v, want %s", err, want)
				}
			}
			if _, left, err := readJournal(path); err != nil || len(left) != 2 || left[0].Slot != 0 || left[1].Slot != 1 {
				t.Errorf("the journal holds %v, %v", left, err)
			}
			if tt.before != nil {
				if got := holds(t, path); got != strings.Join(tt.before, "") {
					t.Errorf("the file has %q", got)
				}
			}
			_ = r.journal.remove()
		})
	}
}

// TestNotWrittenTogether: nor can one that is to be written with other files,
// nor beside the one that it does not replace, and nothing of it is left then.
func TestNotWrittenTogether(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []string // what the file has
		folder string   // where a file was to be written
		want   []string // of the error
	}{
		{"the file", nil, "a.yaml", []string{"writing cassette"}},
		{"less than there is", []string{"a", "b"}, "a.refused.yaml", []string{"it has 2 exchanges", "writing cassette"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			if tt.before != nil {
				writes(t, path, tt.before...)
			}
			r, err := Open(path, &Options{Mode: Record, Whole: true, Upstream: fixed{}, LookupEnv: noCI})
			if err != nil {
				t.Fatal(err)
			}
			asks(t, r, "a")
			if err := os.Mkdir(filepath.Join(dir, tt.folder), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "tape.part"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			err = r.CloseWith([]Rename{{filepath.Join(dir, "tape.part"), filepath.Join(dir, "tape")}}, false)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("closing: %v, want %s", err, want)
				}
			}
			for name, there := range map[string]bool{"tape": false, "tape.part": true, "a.yaml.journal": false} {
				if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
					t.Errorf("%s: %v, want it there: %t", name, err, there)
				}
			}
		})
	}
}

// status answers everything with a status.
type status int

func (s status) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.WriteHeader(int(s))
	return w.Result(), nil
}

// TestAllFailed: a recording in which the endpoint refused all says so, unless
// that is what was to be recorded.
func TestAllFailed(t *testing.T) {
	for _, tt := range []struct {
		name string
		code status
		keep bool
		asks []string
		want bool
	}{
		{"all refused", 401, false, []string{"a", "b"}, true},
		{"on purpose", 401, true, []string{"a"}, false},
		{"answered", 200, false, []string{"a"}, false},
		{"not asked", 401, false, nil, false},
	} {
		r, err := Open(filepath.Join(t.TempDir(), "a.yaml"), &Options{Mode: Record, Upstream: tt.code, KeepErrors: tt.keep, LookupEnv: noCI})
		if err != nil {
			t.Fatal(err)
		}
		asks(t, r, tt.asks...)
		if err := r.Close(); err != nil || r.Failed() != tt.want {
			t.Errorf("%s: %v, failed %t", tt.name, err, r.Failed())
		}
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	writes(t, path, "a")
	r, err := Open(path, &Options{AllowUnused: true})
	if err != nil || r.Failed() {
		t.Errorf("a replay: %v, failed", err)
	}
}

// TestBaseOfTheEndpoint: the path of the endpoint's own address does not count,
// also where it becomes known with a request.
func TestBaseOfTheEndpoint(t *testing.T) {
	for _, mode := range []Mode{Replay, RecordNew} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		writes(t, path, "v1/x", "v1/y")
		r, err := Open(path, &Options{Mode: mode, Upstream: fixed{}, LookupEnv: noCI, AllowUnused: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"x", "y"} {
			req := httptest.NewRequest("GET", "http://h.example/api/v1/"+p, nil)
			resp, err := r.RoundTrip(req.WithContext(WithBase(t.Context(), "/api/")))
			if err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
			_ = resp.Body.Close()
		}
		if r.Asked() != 0 || len(r.Unused()) != 0 {
			t.Errorf("%s: the endpoint was asked %d times, unused %v", mode, r.Asked(), r.Unused())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// hears keeps the request that it got.
type hears struct{ got *http.Request }

func (h *hears) RoundTrip(r *http.Request) (*http.Response, error) {
	h.got = r
	return fixed{}.RoundTrip(r)
}

// TestAskedOfTheEndpoint: the endpoint gets the request as it came, and can
// have its body again where a connection broke.
func TestAskedOfTheEndpoint(t *testing.T) {
	for _, mode := range []Mode{Passthrough, Record} {
		var up hears
		r, err := Open(filepath.Join(t.TempDir(), "a.yaml"), &Options{Mode: mode, Upstream: &up, LookupEnv: noCI})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.RoundTrip(httptest.NewRequest("POST", "http://127.0.0.1/a", strings.NewReader("hello")))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %v, %v", mode, resp, err)
		}
		_ = resp.Body.Close()
		if up.got.GetBody == nil || up.got.ContentLength != 5 {
			t.Fatalf("%s: the body cannot be had again, or has %d bytes", mode, up.got.ContentLength)
		}
		again, err := up.got.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 9)
		if n, _ := again.Read(b); string(b[:n]) != "hello" {
			t.Errorf("%s: the body is %q the second time", mode, b[:n])
		}
		asks(t, r, "a")
		if up.got.Body != nil || up.got.GetBody != nil {
			t.Errorf("%s: a request without a body has one", mode)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
