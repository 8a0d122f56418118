// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/bench/overlay"
)

// functions has a function of each form. What main prints depends on all.
const functions = `package main

type T struct{ n int }

func (T) unnamed(int, string) int { return 1 }

func (t *T) blank(_ int, _, b int) (n int) {
	n = b
	n++
	return
}

func (t T) rest(a int, more ...int) { println(a, len(more), t.n) }

func choose[K comparable, V any](_ V, a, b K) bool { return a == b }

type pair[K comparable] struct{ a, b K }

func (p pair[K]) same(func(K) error) bool {
	f := func() bool { return p.a == p.b }
	return f()
}

var first = choose("", 1, 1)

func init() {
	if first {
		println("init")
	}
}

func main() {
	t := &T{n: 2}
	println(t.unnamed(1, ""), t.blank(1, 2, 3))
	t.rest(1, 2, 3)
	println(first, pair[int]{1, 2}.same(nil))
}
`

// TestWeave runs a program with all mutants in it, each on in turn, and each mutant
// by itself.
func TestWeave(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"main.go": functions, "go.mod": "module m\n\ngo 1.25\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := sites("main.go", []byte(functions))
	if err != nil {
		t.Fatal(err)
	}
	one, err := overlay.New(8192)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	program := one.Path("program")
	build := func(files map[string][]byte) ([]byte, error) {
		if err := one.Put(files); err != nil {
			t.Fatal(err)
		}
		return one.Run(t.Context(), "go", "build", "-o", program, ".")
	}
	plain := []string{"init\n1 4\n1 2 2\ntrue false\n"} // as it is, and then each mutant
	var mutants []*mutant
	for _, s := range list {
		if out, err := build(map[string][]byte{"main.go": s.apply([]byte(functions))}); err != nil {
			t.Logf("%v does not compile: %s", s, out)
			continue
		}
		out, err := one.Run(t.Context(), program)
		if err != nil {
			t.Fatalf("%v: %v\n%s", s, err, out)
		}
		mutants = append(mutants, &mutant{s, len(mutants) + 1})
		plain = append(plain, string(out))
	}
	if len(mutants) < 13 {
		t.Fatalf("%d of %d mutants compile", len(mutants), len(list))
	}
	text, err := weave("main.go", []byte(functions), mutants)
	if err != nil {
		t.Fatal(err)
	}
	number := filepath.Join(dir, "number")
	if out, err := build(map[string][]byte{"main.go": text, "on.go": switches("main", number)}); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	turn := func(n int) string {
		if err := os.WriteFile(number, []byte(strconv.Itoa(n)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := one.Run(t.Context(), program)
		if err != nil {
			t.Fatalf("mutant %d: %v\n%s", n, err, out)
		}
		return string(out)
	}
	for n, want := range plain {
		if got := turn(n); got != want {
			t.Errorf("mutant %d: woven it prints\n%sby itself\n%s", n, got, want)
		}
	}
	if got := turn(-1); got != plain[0] {
		t.Errorf("with none on it prints\n%s", got)
	}
	met, err := os.ReadFile(number + ".met")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(mutants); bytes.Count(met, []byte("\n")) != n {
		t.Errorf("mutants met:\n%swant all %d, once", met, n)
	}
}
