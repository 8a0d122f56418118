// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
)

const (
	// maxRows bounds a table: each row is a scenario of its own.
	maxRows = 100_000
	// maxRowProblems bounds what is said of one table. A wrong separator makes
	// every row wrong.
	maxRowProblems = 10
	// defaultNameColumn names the cases of a table that does not say.
	defaultNameColumn = "name"
)

func tableObject() *object {
	return &object{
		name: "table of cases", doc: "The rows of a CSV or JSONL file as test cases. Each column, or each member of a line's object, is a variable.",
		keys: []key{
			{name: "from", typ: filled(), required: true, doc: "Path of the file, relative to this file; ends in `.csv` or `.jsonl`. The first line of a CSV file names the columns."},
			{name: "name", typ: filled(), def: defaultNameColumn, doc: "The column that names the cases. It is a variable too."},
			{name: "text", typ: list(filled()), def: "none", doc: "Columns of a CSV file whose cells stay texts. In all others, a cell that is a JSON number, `true`, `false` or `null` is that value; every other cell is a text, an empty one the empty text."},
		},
	}
}

// table is a file of cases that is being read.
type table struct {
	l    *loader
	node *strictyaml.Node // the map that names it
	path string
	name string // of the column that names the cases
	rows []caseRow
	// lines of the rows, by the names of their cases.
	lines    map[string]int
	problems int
}

// tableOfCases reads the file that a map with the key from names.
func (l *loader) tableOfCases(n *strictyaml.Node) []caseRow {
	broken := []caseRow{{vars: emptyVars(), broken: true}}
	from := n.Get("from")
	if !usable(from) {
		return broken
	}
	t := &table{l: l, node: n, path: beside(from), name: defaultNameColumn, lines: map[string]int{}}
	if name := n.Get("name"); name != nil {
		t.name = textOf(name)
	}
	read := t.csv
	switch ext := strings.ToLower(filepath.Ext(t.path)); {
	case ext == ".jsonl" && n.Get("text") != nil:
		l.problems.add(n.Key("text").Pos, "text is for CSV files: in JSONL, a text has quotes")
		return broken
	case ext == ".jsonl":
		read = t.jsonl
	case ext != ".csv":
		l.problems.add(from.Pos, "%q: want the path of a CSV file (.csv) or of a file with one JSON object a line (.jsonl)", from.Text)
		return broken
	}
	data, ok := t.data(from)
	if !ok || t.name == "" {
		return broken
	}
	read(data)
	if t.problems > 0 {
		return broken
	}
	if len(t.rows) == 0 {
		l.problems.add(from.Pos, "%q has no row, so the scenario would not be played at all", from.Text)
		return broken
	}
	return t.rows
}

// data is what the file holds, without a byte order mark.
func (t *table) data(from *strictyaml.Node) ([]byte, bool) {
	if t.l.outside(from, t.path) {
		return nil, false
	}
	t.l.tables = append(t.l.tables, filepath.Clean(t.path))
	data, err := t.l.readAny(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint, _ := missing(t.path)
		t.l.problems.add(from.Pos, "there is no file %q%s", from.Text, hint)
		return nil, false
	case err != nil:
		t.l.problems.add(from.Pos, "%q: %s", from.Text, reason(err))
		return nil, false
	case len(data) > strictyaml.MaxBytes:
		t.l.problems.add(from.Pos, "%q exceeds the limit of %d bytes: split it, with a scenario for each part", from.Text, strictyaml.MaxBytes)
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := invalidUTF8(data); at >= 0 {
		t.add(1+bytes.Count(data[:at], []byte("\n")), "the file is not UTF-8: save it as UTF-8")
		return nil, false
	}
	return data, true
}

// invalidUTF8 is the place of the first byte that is no text, or -1.
func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 || r == 0 {
			return at
		}
		at += size
	}
	return -1
}

// add reports a mistake in a line of the file.
func (t *table) add(line int, format string, args ...any) {
	t.problems++
	msg := fmt.Sprintf(format, args...)
	if t.problems == maxRowProblems {
		msg += "; further mistakes of this file are not listed"
	}
	if t.problems <= maxRowProblems {
		t.l.problems.add(harness.Position{File: filepath.ToSlash(filepath.Clean(t.path)), Line: line, Col: 1}, "%s", msg)
	}
}

// csv reads rows whose first line names the columns.
func (t *table) csv(data []byte) {
	r := csv.NewReader(bytes.NewReader(data))
	columns, err := r.Read()
	if err != nil {
		t.unreadable(err, "the first line names the columns, such as name,city,celsius")
		return
	}
	if !t.columns(columns) {
		return
	}
	texts := map[string]bool{}
	for _, n := range itemsOf(t.node.Get("text")) {
		if usable(n) && !slices.Contains(columns, n.Text) {
			t.l.problems.add(n.Pos, "%s has no column %q%s", filepath.Base(t.path), n.Text, didYouMean(n.Text, columns))
		}
		texts[n.Text] = true
	}
	for t.problems < maxRowProblems {
		cells, err := r.Read()
		if err == io.EOF {
			return
		}
		if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) && wrong.Err == csv.ErrFieldCount {
			t.add(wrong.StartLine, "the row has %s, and the first line names %d", prose.Count(len(cells), "cell"), len(columns))
			continue
		}
		if err != nil {
			t.unreadable(err, "a cell with a comma, a quote or a line break stands in double quotes, and a quote in it is doubled")
			return
		}
		line, _ := r.FieldPos(0)
		name := ""
		members := make([]value.Member, len(cells))
		for i, cell := range cells {
			members[i] = value.Member{Key: columns[i], Value: cellValue(cell, texts[columns[i]])}
			if columns[i] == t.name {
				name = cell
			}
		}
		t.row(line, name, value.ObjectOf(members...))
	}
}

// columns checks the first line of a CSV file.
func (t *table) columns(columns []string) bool {
	seen := map[string]bool{}
	for i, c := range columns {
		switch {
		case c == "":
			t.add(1, "column %d has no name", i+1)
		case seen[c]:
			t.add(1, "the column %q already exists", c)
		}
		seen[c] = true
	}
	if !seen[t.name] {
		hint := ""
		if len(columns) == 1 && strings.ContainsAny(columns[0], ";\t") {
			hint = "; columns are separated by commas"
		}
		t.add(1, "no column is called %q, which is to name the cases: add it, or name another one beside from (name: COLUMN)%s", t.name, hint)
	}
	return t.problems == 0
}

// unreadable reports why a CSV file cannot be read on.
func (t *table) unreadable(err error, want string) {
	if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
		t.add(wrong.Line, "%v: %s", wrong.Err, want)
		return
	}
	if err == io.EOF {
		err = errors.New("the file is empty")
	}
	t.add(1, "%v: %s", err, want)
}

// cellValue is the value of a cell, as the reference page has it.
func cellValue(cell string, text bool) value.Value {
	switch {
	case text:
	case cell == "null":
		return value.Value{}
	case cell == "true" || cell == "false":
		return value.BoolOf(cell == "true")
	case value.ValidNumber(cell):
		return value.NumberOf(cell)
	}
	return value.StringOf(cell)
}

// jsonl reads rows of one JSON object a line.
func (t *table) jsonl(data []byte) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if t.problems >= maxRowProblems {
			return
		}
		v, err := value.Parse(line)
		if err != nil || v.Kind() != value.Object {
			if err == nil {
				err = fmt.Errorf("it is %s", v.Kind())
			}
			t.add(n, "want one JSON object in each line: %v", err)
			continue
		}
		if twice := twiceIn(line); twice != "" {
			t.add(n, "the key %q stands twice in the object", twice)
			continue
		}
		name, ok := v.Get(t.name)
		if !ok {
			t.add(n, "the object has no key %q, which is to name the case: add it, or name another one beside from (name: KEY)", t.name)
			continue
		}
		if k := name.Kind(); k != value.String && k != value.Number {
			t.add(n, "%q is to name the case: want a text or a number, got %s", t.name, k)
			continue
		}
		t.row(n, name.Text(), v)
	}
}

// twiceIn is a key that an object has twice; empty for none.
func twiceIn(object []byte) string {
	s := value.Scanner{Data: object}
	seen := map[string]bool{}
	for more := s.Open('}'); more; more, _ = s.More('}') {
		start, end, _ := s.Key()
		key := string(object[start:end])
		if seen[key] {
			return key
		}
		seen[key] = true
		s.Skip()
	}
	return ""
}

// row adds one case.
func (t *table) row(line int, name string, vars value.Value) {
	switch before, taken := t.lines[name]; {
	case strings.TrimSpace(name) == "":
		t.add(line, "the row has no %q, which is to name its case", t.name)
	case taken:
		t.add(line, "the case %q already exists, in line %d", name, before)
	case len(t.rows) == maxRows:
		t.add(line, "the file has more than %d rows: split it, with a scenario for each part", maxRows)
		t.problems = maxRowProblems // and no more is read
	default:
		t.lines[name] = line
		t.rows = append(t.rows, caseRow{name: name, vars: vars})
	}
}
