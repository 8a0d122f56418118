// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package recfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Why a recording stands beside the file that it was for.
const (
	Refused = "refused"
	Cut     = "cut"
)

// Beside is where a recording goes that does not get its name: NAME.refused.yaml
// where it was refused, NAME.cut.tape where it was cut off.
func Beside(path, why string) string {
	base, ext := split(path)
	return base + "." + why + ext
}

// Unused returns the first of NAME.cut.tape, NAME.cut-2.tape and so on that is
// not there: what stands beside a file may be all that there is of a recording.
func Unused(path string) (string, error) {
	base, ext := split(path)
	for n := 2; ; n++ {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		case info.IsDir():
			return "", fmt.Errorf("%q is a directory", path)
		}
		path = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
}

// Fate tells by its name why a recording stands beside a file; empty is that of
// others.
func Fate(path string) string {
	base, _ := split(filepath.Base(path))
	switch why := strings.TrimPrefix(filepath.Ext(base), "."); {
	case why == Refused, strings.HasPrefix(why, Refused+"-"):
		return Refused
	case why == Cut, strings.HasPrefix(why, Cut+"-"):
		return Cut
	}
	return ""
}

// split takes the ending of cassettes and tapes off a path.
func split(path string) (base, ext string) {
	if ext = filepath.Ext(path); ext != ".yaml" && ext != ".tape" {
		ext = ""
	}
	return strings.TrimSuffix(path, ext), ext
}
