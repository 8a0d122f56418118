// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/look"
)

// Comparison is recordings held against what answers now, an endpoint or
// other recordings.
type Comparison struct {
	Schema int `json:"schema"` // 1
	// Against is the address of the endpoint; empty where files are compared.
	Against string         `json:"against,omitempty"`
	At      time.Time      `json:"at,omitzero"`
	Files   []ComparedFile `json:"files"`
}

// ComparedFile is one recording of a [Comparison].
type ComparedFile struct {
	File string `json:"file"`
	// Other is the recording that it was compared with, if it was one.
	Other        string     `json:"other,omitempty"`
	Recorded     time.Time  `json:"recorded,omitzero"` // the oldest interaction
	Interactions []Compared `json:"interactions"`
}

// Compared is one interaction of a [ComparedFile].
type Compared struct {
	Number int    `json:"number"` // from 1, in Other where it is new there
	Line   int    `json:"line,omitempty"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Error says why it could not be compared.
	Error string `json:"error,omitempty"`
	// Differences, the worst first.
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one of the shape, of a tier breaking, risky or minor, or one
// of what was said, of tier request or answer, which is told and not counted.
type Difference struct {
	Tier string `json:"tier"`
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
}

func (d Difference) String() string {
	if d.Path == "" {
		return d.Tier + ": " + d.Text
	}
	return d.Tier + ": " + d.Path + ": " + d.Text
}

// Worst is the worst tier of shape in a comparison; empty when there is none.
func (c *Comparison) Worst() string {
	for _, tier := range tiers {
		if c.count(tier) > 0 {
			return tier
		}
	}
	return ""
}

func (c *Comparison) count(tier string) int {
	n := 0
	for _, f := range c.Files {
		for _, i := range f.Interactions {
			for _, d := range i.Differences {
				if d.Tier == tier {
					n++
				}
			}
		}
	}
	return n
}

// Errors is the number of interactions that could not be compared.
func (c *Comparison) Errors() int {
	n := 0
	for _, f := range c.Files {
		for _, i := range f.Interactions {
			if i.Error != "" {
				n++
			}
		}
	}
	return n
}

// words is the sum of a comparison.
func (c *Comparison) words() string {
	text := fmt.Sprintf("differences that matter: %d, minor: %d", c.count("breaking")+c.count("risky"), c.count("minor"))
	if n := c.Errors(); n > 0 {
		text += fmt.Sprintf(", not compared: %d", n)
	}
	return text
}

func (i *Compared) name() string {
	return fmt.Sprintf("interaction %d (%s %s)", i.Number, oneLine(i.Method, 20), oneLine(i.Path, 200))
}

// CompareText writes a comparison, a line a difference and one for the sum.
func CompareText(w io.Writer, c *Comparison) error {
	var b bytes.Buffer
	for _, f := range c.Files {
		at := ""
		if len(c.Files) > 1 {
			at = oneLine(f.File, 400) + ": "
		}
		for _, i := range f.Interactions {
			if i.Error != "" {
				fmt.Fprintf(&b, "%s%s: not compared: %s\n", at, i.name(), oneLine(i.Error, 500))
			}
			for _, d := range i.Differences {
				fmt.Fprintf(&b, "%s%s: %s\n", at, i.name(), oneLine(d.String(), 1000))
			}
		}
	}
	fmt.Fprintln(&b, c.words())
	_, err := w.Write(b.Bytes())
	return err
}

// The views of the page of a comparison.
type (
	compareView struct {
		Title, Policy, Against, Words string
		CSS                           template.CSS
		Outcome                       outcomeView
		Files                         []compareFileView
	}
	compareFileView struct {
		File, Other, Recorded, Words string
		Same                         int // interactions without a difference
		Interactions                 []compareItemView
	}
	compareItemView struct {
		Name, Error string
		Lines       []driftLine
	}
)

// CompareHTML writes a comparison as one page that asks the network for
// nothing.
func CompareHTML(w io.Writer, c *Comparison) error {
	css := look.CSS()
	tmpl, err := templates()
	if err != nil {
		return err
	}
	v := compareView{
		Title: "Drift of recordings", Against: oneLine(c.Against, 400), Words: c.words(), CSS: template.CSS(css),
		Policy:  "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + look.Digest(css),
		Outcome: outcomeView{"passed", "passed"},
	}
	switch worst := c.Worst(); {
	case worst == "breaking" || worst == "risky":
		v.Outcome = outcomeView{"failed", "failed"}
	case c.Errors() > 0:
		v.Outcome = outcomeView{"error", "error"}
	}
	if c.Against == "" {
		v.Title = "Recordings compared"
	}
	if !c.At.IsZero() {
		v.Against = strings.TrimSpace(v.Against + " on " + c.At.UTC().Format("2006-01-02 15:04 UTC"))
	}
	for _, f := range c.Files {
		v.Files = append(v.Files, compareFile(&f))
	}
	var out bytes.Buffer
	if err := tmpl.ExecuteTemplate(&out, "compare.tmpl", v); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

func compareFile(f *ComparedFile) compareFileView {
	v := compareFileView{File: oneLine(f.File, 400), Other: oneLine(f.Other, 400)}
	if !f.Recorded.IsZero() {
		v.Recorded = f.Recorded.UTC().Format("2006-01-02")
	}
	var all []driftLine
	for _, i := range f.Interactions {
		if i.Error == "" && len(i.Differences) == 0 {
			v.Same++
			continue
		}
		item := compareItemView{Name: i.name(), Error: oneLine(i.Error, 1000)}
		for _, d := range i.Differences {
			text := oneLine(strings.TrimPrefix(d.String(), d.Tier+": "), 1000)
			class := tierClass(d.Tier)
			if !slices.Contains(tiers[:], d.Tier) {
				class = "skipped"
			}
			item.Lines = append(item.Lines, driftLine{oneLine(d.Tier, 40), class, text})
		}
		all = append(all, item.Lines...)
		v.Interactions = append(v.Interactions, item)
	}
	v.Words = cmp.Or(driftWords(all), "no difference in shape")
	return v
}
