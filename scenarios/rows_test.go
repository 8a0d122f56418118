// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/scenarios"
)

// rowsOf loads a scenario whose cases stand in a file, and returns its cases
// with their variables.
func rowsOf(t *testing.T, keys, file, data string) (rows []string, set *scenarios.Set, err error) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put(file, data)
	path := put("s.yaml", "scenario: s\ncases: {from: "+file+keys+"}\nturns: [{user: hi, replies: [{say: ok}], expect: [{answer: {equals: ok}}]}]\n")
	set, err = scenarios.Load([]string{path}, nil)
	for _, s := range set.Scenarios {
		rows = append(rows, s.Case+" "+s.Vars.String())
	}
	if err != nil {
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), filepath.ToSlash(dir)+"/", ""))
	}
	return rows, set, err
}

func TestTableOfCases(t *testing.T) {
	for _, tc := range []struct {
		name, keys, file, data string
		want                   []string
	}{
		{
			"types", "", "r.csv", "name,v\na,1.50\nb,true\nc,null\nd,\ne,007\nf,True\ng,NaN\nh, 1\ni,-2e3\n",
			[]string{`a {"name":"a","v":1.50}`, `b {"name":"b","v":true}`, `c {"name":"c","v":null}`, `d {"name":"d","v":""}`, `e {"name":"e","v":"007"}`, `f {"name":"f","v":"True"}`, `g {"name":"g","v":"NaN"}`, `h {"name":"h","v":" 1"}`, `i {"name":"i","v":-2e3}`},
		},
		{"texts", ", text: [zip]", "r.csv", "name,zip,n\na,60439,3\n", []string{`a {"name":"a","zip":"60439","n":3}`}},
		{"a byte order mark, Windows lines, a quoted line break", "", "r.csv", "\ufeffname,q\r\n\"a, b\",\"one\r\ntwo \"\"2\"\"\"\r\n", []string{`a, b {"name":"a, b","q":"one\ntwo \"2\""}`}},
		{"another column names", ", name: id", "r.csv", "q,id\nx,17\n", []string{`17 {"q":"x","id":17}`}},
		{"JSONL", "", "r.jsonl", "\ufeff{\"name\":\"a\",\"v\":[1,{\"b\":2.0}]}\r\n\n{\"name\": 2, \"v\": null}", []string{`a {"name":"a","v":[1,{"b":2.0}]}`, `2 {"name":2,"v":null}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, set, err := rowsOf(t, tc.keys, tc.file, tc.data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if n := len(set.Files); n != 3 { // with suite.yaml, which could be there
				t.Errorf("files %q", set.Files)
			}
			if doubts := set.Check(); len(doubts) > 0 {
				t.Error(doubts)
			}
		})
	}
}

// TestBrokenTables is beside TestBroken for bytes that an archive cannot hold.
func TestBrokenTables(t *testing.T) {
	for _, tc := range []struct{ name, file, data, want string }{
		{"Latin-1", "r.csv", "name\na\nb\xe9\n", "r.csv:3:1: the file is not UTF-8: save it as UTF-8"},
		{"UTF-16", "r.csv", "\xff\xfen\x00", "r.csv:1:1: the file is not UTF-8: save it as UTF-8"},
		{"zero bytes", "r.jsonl", "{}\x00", "r.jsonl:1:1: the file is not UTF-8: save it as UTF-8"},
		{"empty", "r.csv", "\ufeff", "r.csv:1:1: the file is empty: the first line names the columns, such as name,city,celsius"},
		{"too large", "r.csv", "name\n" + strings.Repeat("0123456\n", 1<<20), `s.yaml:2:15: "r.csv" exceeds the limit of 8388608 bytes: split it, with a scenario for each part`},
		{"a line after a quoted line break", "r.csv", "name,q\na,\"1\n2\"\nb\n", "r.csv:4:1: the row has 1 cell, and the first line names 2"},
		{"too many rows", "r.csv", "name\n" + counted(100_001), "r.csv:100002:1: the file has more than 100000 rows: split it, with a scenario for each part"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := rowsOf(t, "", tc.file, tc.data)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func counted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// TestTableHash has each case depend on its own row alone.
func TestTableHash(t *testing.T) {
	hashes := func(data string) [2]string {
		_, set, err := rowsOf(t, "", "r.csv", data)
		if err != nil {
			t.Fatal(err)
		}
		return [2]string{set.Scenarios[0].Hash, set.Scenarios[1].Hash}
	}
	was, now := hashes("name,v\na,1\nb,2\n"), hashes("name,v\na,1\nb,3\n")
	if was[0] != now[0] || was[1] == now[1] {
		t.Errorf("%q became %q", was, now)
	}
}

func FuzzTable(f *testing.F) {
	for _, seed := range []string{"name,v\na,1\n", "\ufeffname\r\n\"a\"\"\nb\"\r\n", "name;v\n", "{\"name\":1}\n{}", "[]\n{\"name\":\"a\",\"name\":2}", "name\n\"a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for _, file := range []string{"r.csv", "r.jsonl"} {
			rows, _, err := rowsOf(t, "", file, data)
			if err == nil && len(rows) == 0 {
				t.Errorf("%s: neither rows nor an error", file)
			}
		}
	})
}

// TestTableIsNoFile refuses what is no regular file.
func TestTableIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "r.csv"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := scenarios.Parse(filepath.Join(dir, "s.yaml"), []byte("scenario: s\ncases: {from: r.csv}\nturns: [{user: hi, replies: [{say: ok}], expect: [{answer: {equals: ok}}]}]\n"), nil)
	if err == nil || !strings.HasSuffix(err.Error(), `s.yaml:2:15: "r.csv": is a directory`) {
		t.Error(err)
	}
}
