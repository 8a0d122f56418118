// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/joho/godotenv"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// dotenv is a file of NAME=value lines. The zero dotenv is an empty one.
type dotenv struct {
	path   string
	values map[string]string
	text   string
}

// maxDotenv bounds the file, which people write.
const maxDotenv = 64 << 10

// readDotenv reads a file. One that does not exist is empty. Errors do not
// repeat its content: it holds keys.
func readDotenv(path string) (*dotenv, error) {
	raw, err := plainfile.Read(path, maxDotenv)
	if errors.Is(err, os.ErrNotExist) {
		return new(dotenv), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	d := &dotenv{path: path, text: strings.TrimPrefix(string(raw), "\ufeff")}
	if d.values, err = parse(d.text); err != nil {
		return nil, filepos.Errorf(harness.Position{File: path, Line: wrongLine(d.text)}, "it is not NAME=value, or a quote is not closed")
	}
	return d, nil
}

// name is what a variable may be called. godotenv takes all before a colon for one,
// as in "OPENAI_BASE_URL http://h/v1".
var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

func parse(text string) (map[string]string, error) {
	values, err := godotenv.Unmarshal(text)
	if err != nil {
		return nil, err
	}
	for of := range values {
		if !name.MatchString(of) {
			return nil, errors.New("it is not NAME=value")
		}
	}
	return values, nil
}

// wrongLine is the line of the first mistake: everything before it can be read.
func wrongLine(text string) int {
	lines := strings.SplitAfter(text, "\n")
	good := 0
	for n := range lines {
		if _, err := parse(strings.Join(lines[:n], "")); err == nil {
			good = n
		}
	}
	return good + 1
}

// place is where a variable stands; of several lines the last one counts.
func (d *dotenv) place(name string) string {
	found := regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?`+regexp.QuoteMeta(name)+`[ \t]*[=:]`).FindAllStringIndex(d.text, -1)
	if len(found) == 0 {
		return d.path
	}
	return fmt.Sprintf("%s:%d", d.path, 1+strings.Count(d.text[:found[len(found)-1][0]], "\n"))
}
