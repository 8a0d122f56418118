// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kinds are what may be done to a program, in the order in which mutants are
// drawn.
var kinds = []string{"negated condition", "moved bound", "dropped statement", "swapped operator", "zero return"}

// A site is one change of one file. Whether it compiles is not known yet.
type site struct {
	file       string
	line       int
	kind       string
	start, end int    // what is replaced, in bytes
	old, text  string // what was there, and what is put there
}

// dir is the package of the file.
func (s site) dir() string { return filepath.ToSlash(filepath.Dir(s.file)) }

func (s site) String() string {
	text := oneLine(s.text)
	if text == "" {
		text = "nothing"
	}
	return fmt.Sprintf("%s:%d: %s: %s => %s", s.file, s.line, s.kind, oneLine(s.old), text)
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 90 {
		s = string(r[:90]) + "..."
	}
	return s
}

// apply returns the source with the change. A dropped statement keeps its
// lines, so that what follows stays where it was.
func (s site) apply(src []byte) []byte {
	text := s.text + strings.Repeat("\n", strings.Count(s.old, "\n")-strings.Count(s.text, "\n"))
	return slices.Concat(src[:s.start], []byte(text), src[s.end:])
}

// bounds are comparisons and what they become when they move by one.
var bounds = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// swaps are operators and what they are taken for.
var swaps = map[token.Token]string{
	token.LAND: "||", token.LOR: "&&", token.EQL: "!=", token.NEQ: "==", token.ADD: "-", token.SUB: "+",
	token.MUL: "/", token.QUO: "*", token.REM: "*", token.AND: "|", token.OR: "&", token.SHL: ">>", token.SHR: "<<",
}

// sitesOf reads a file and returns what can be changed in it. Generated files
// have no sites.
func sitesOf(path string) ([]site, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return sites(path, src)
}

func sites(path string, src []byte) ([]site, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	w := &walker{fset: fset, src: src, path: path}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			w.results = []*ast.FieldList{f.Type.Results}
			ast.Inspect(f.Body, w.visit)
		}
	}
	slices.SortStableFunc(w.sites, func(a, b site) int { return a.start - b.start })
	return w.sites, nil
}

// A walker collects sites. Results and nodes are stacks: the results of the
// functions around a node, and the nodes themselves.
type walker struct {
	fset    *token.FileSet
	src     []byte
	path    string
	results []*ast.FieldList
	nodes   []ast.Node
	sites   []site
}

func (w *walker) text(from, to token.Pos) string {
	return string(w.src[w.fset.Position(from).Offset:w.fset.Position(to).Offset])
}

func (w *walker) add(kind string, from, to token.Pos, text string) {
	start, end := w.fset.Position(from), w.fset.Position(to)
	w.sites = append(w.sites, site{w.path, start.Line, kind, start.Offset, end.Offset, string(w.src[start.Offset:end.Offset]), text})
}

func (w *walker) visit(n ast.Node) bool {
	if n == nil {
		last := len(w.nodes) - 1
		if _, ok := w.nodes[last].(*ast.FuncLit); ok {
			w.results = w.results[:len(w.results)-1]
		}
		w.nodes = w.nodes[:last]
		return true
	}
	w.nodes = append(w.nodes, n)
	switch n := n.(type) {
	case *ast.FuncLit:
		w.results = append(w.results, n.Type.Results)
	case *ast.IfStmt:
		w.negate(n.Cond)
	case *ast.SwitchStmt:
		if n.Tag != nil {
			break
		}
		for _, c := range n.Body.List {
			for _, cond := range c.(*ast.CaseClause).List {
				w.negate(cond)
			}
		}
	case *ast.BinaryExpr:
		if op, ok := bounds[n.Op]; ok {
			w.operator("moved bound", n, op)
		} else if op, ok := swaps[n.Op]; ok {
			w.operator("swapped operator", n, op)
		}
	case *ast.BlockStmt:
		w.drop(n.List)
	case *ast.CaseClause:
		w.drop(n.Body)
	case *ast.CommClause:
		w.drop(n.Body)
	case *ast.ReturnStmt:
		w.zero(n)
	}
	return true
}

func (w *walker) negate(cond ast.Expr) {
	w.add(kinds[0], cond.Pos(), cond.End(), "!("+w.text(cond.Pos(), cond.End())+")")
}

// operator replaces an operator; what is shown is the whole expression.
func (w *walker) operator(kind string, n *ast.BinaryExpr, op string) {
	end := n.OpPos + token.Pos(len(n.Op.String()))
	w.add(kind, n.Pos(), n.End(), w.text(n.Pos(), n.OpPos)+op+w.text(end, n.End()))
	w.sites[len(w.sites)-1].line = w.fset.Position(n.OpPos).Line
}

// drop offers statements that do something and declare nothing.
func (w *walker) drop(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.BranchStmt:
		default:
			continue
		}
		w.add(kinds[2], s.Pos(), s.End(), "")
	}
}

// zero replaces what is returned by the zero values of the results' types,
// where it is not zero already: so are nil and an empty literal of a struct.
func (w *walker) zero(n *ast.ReturnStmt) {
	list := w.results[len(w.results)-1]
	if len(n.Results) == 0 || list == nil {
		return
	}
	var zeros []string
	same := 0
	for _, field := range list.List {
		typ := w.text(field.Type.Pos(), field.Type.End())
		for range max(len(field.Names), 1) {
			zero := zeroOf(field.Type, typ)
			if at := len(zeros); at < len(n.Results) {
				old := w.text(n.Results[at].Pos(), n.Results[at].End())
				if old == zero || old == "nil" || old == typ+"{}" {
					same++
				}
			}
			zeros = append(zeros, zero)
		}
	}
	if same < len(zeros) {
		w.add(kinds[4], n.Results[0].Pos(), n.Results[len(n.Results)-1].End(), strings.Join(zeros, ", "))
	}
}

func zeroOf(t ast.Expr, text string) string {
	switch t := t.(type) {
	case *ast.StarExpr, *ast.MapType, *ast.FuncType, *ast.ChanType, *ast.InterfaceType:
		return "nil"
	case *ast.ArrayType:
		if t.Len == nil {
			return "nil"
		}
	case *ast.Ident:
		switch t.Name {
		case "bool":
			return "false"
		case "string":
			return `""`
		case "error", "any":
			return "nil"
		case "int", "int64", "uint64", "float64":
			return "0"
		}
	}
	return "*new(" + text + ")"
}
