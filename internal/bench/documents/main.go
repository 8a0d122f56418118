// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command documents shows that the tests named in docs/documents.yaml hold what the
// design documents ask for. It runs each of them once, and each must pass: one that
// is skipped shows nothing. Then it breaks one line of the product for each row
// that has come since the documents were first read, runs the tests of that row, and
// prints the one that fails. The tree is not touched: the compiler is given the
// changed file in an overlay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/internal/bench/overlay"
)

func main() {
	only := flag.String("only", "", "rows whose feature contains this `text`, and no others")
	timeout := flag.Duration("timeout", 5*time.Minute, "of the tests of one package")
	memory := flag.Int("memory", 8192, "address space of a command, in `MiB`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *only, timeout.String(), *memory); err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, timeout string, memory int) error {
	documents, err := read("docs/documents.yaml")
	if err != nil {
		return err
	}
	var rows []row
	var errs []error
	for _, d := range documents {
		for _, r := range d.Rows {
			if !strings.Contains(r.Feature, only) {
				continue
			}
			rows = append(rows, r)
			for _, problem := range r.problems(".") {
				errs = append(errs, fmt.Errorf("%s: %s", r.Feature, problem))
			}
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("no row has %q in its feature", only)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := runAll(ctx, rows, timeout, memory); err != nil {
		return err
	}
	return breakAll(ctx, rows, timeout, memory)
}

// runAll runs all tests once; the error names those that did not pass.
func runAll(ctx context.Context, rows []row, timeout string, memory int) error {
	var list []named
	seen := map[string]bool{}
	for _, r := range rows {
		for _, name := range r.Tests {
			if t, _ := parse(name); !seen[name] {
				seen[name] = true
				list = append(list, t)
			}
		}
	}
	plain, err := overlay.New(memory)
	if err != nil {
		return err
	}
	defer plain.Close()
	t := &tester{overlay: plain, timeout: timeout}
	ends, err := t.run(ctx, list, true)
	if err != nil {
		return err
	}
	errs := notPassed(list, ends)
	fmt.Printf("%d tests of %d rows: %d passed\n", len(list), len(rows), len(list)-len(errs))
	return errors.Join(errs...)
}

// notPassed names the tests that show nothing.
func notPassed(list []named, ends map[string]outcome) (errs []error) {
	for _, test := range list {
		switch ends[test.name] {
		case passed:
		case "":
			errs = append(errs, fmt.Errorf("%s did not run", test.name))
		default:
			errs = append(errs, fmt.Errorf("%s: %s", test.name, ends[test.name]))
		}
	}
	return errs
}

// breakAll tries the mutants; the error counts those that no test noticed.
func breakAll(ctx context.Context, rows []row, timeout string, memory int) error {
	tried, survived := 0, 0
	for _, r := range rows {
		if r.Mutant == nil {
			continue
		}
		number, killer, err := breakOne(ctx, r, timeout, memory)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Feature, err)
		}
		tried++
		if killer == "" {
			survived++
			killer = "SURVIVED"
		}
		fmt.Printf("%s\n\t%s:%d: %s => %s\n\t%s\n", r.Feature, r.Mutant.File, number, r.Mutant.Line, r.Mutant.Becomes, killer)
	}
	fmt.Printf("%d mutants, %d survived\n", tried, survived)
	if survived > 0 {
		return fmt.Errorf("no test of its row notices %d of %d mutants", survived, tried)
	}
	return nil
}

// breakOne tries the mutant of a row, and returns its line and the first test
// that fails; none if all pass.
func breakOne(ctx context.Context, r row, timeout string, memory int) (number int, killer string, err error) {
	number, text, err := r.Mutant.apply(".")
	if err != nil {
		return 0, "", err
	}
	broken, err := overlay.New(memory)
	if err != nil {
		return 0, "", err
	}
	defer broken.Close()
	if err := broken.Put(map[string][]byte{r.Mutant.File: text}); err != nil {
		return 0, "", err
	}
	if out, err := broken.Run(ctx, "go", "build", "-o", os.DevNull, "./"+filepath.Dir(r.Mutant.File)); err != nil {
		return 0, "", fmt.Errorf("%s:%d: it does not compile: %w\n%s", r.Mutant.File, number, err, out)
	}
	var list []named
	for _, name := range r.Tests {
		t, _ := parse(name)
		list = append(list, t)
	}
	t := &tester{overlay: broken, timeout: timeout}
	ends, err := t.run(ctx, list, false)
	if err != nil {
		return 0, "", err
	}
	for _, test := range list {
		if ends[test.name] == failed {
			return number, test.name, nil
		}
	}
	return number, "", nil
}
