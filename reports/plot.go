// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// plotView is a plot in two widths, of which a page shows the one that fits: a
// text in a picture must not shrink with it.
type plotView struct {
	Label        string // what it shows, for those who do not see it
	Wide, Narrow template.HTML
}

// The widths in points, which are CSS pixels where the plot is not scaled.
const (
	wideplot   vg.Length = 720
	narrowplot vg.Length = 340
)

// The inks of a plot are not colours but names of CSS classes, so that a page
// chooses them for a light and a dark screen: see [svgClasses].
var (
	inkLine = color.RGBA{R: 1, A: 255}
	inkBest = color.RGBA{R: 2, A: 255}
	inkRest = color.RGBA{R: 3, A: 255}
	inkGrid = color.RGBA{R: 4, A: 255}
	inkText = color.RGBA{R: 5, A: 255}
	inkSoft = color.RGBA{R: 6, A: 255}
	inkHole = color.RGBA{R: 7, A: 255}
)

// inkNames are their classes, by the colours that the SVG has.
var inkNames = map[string]string{
	"#000000": "line", "#010000": "line", "#020000": "best", "#030000": "rest", "#040000": "grid", "#050000": "text", "#060000": "soft", "#070000": "hole",
}

// interval is a row of a plot of intervals.
type interval struct {
	Label            string // above it
	Value, Low, High float64
	Best             bool // drawn full, the others hollow
}

// axis is one of numbers.
type axis struct {
	Label    string // with its unit
	Min, Max float64
	Mark     float64 // where a line is drawn, such as the 0 of differences
	Marked   bool
}

// intervalPlot draws values with their intervals, one below the other, each
// under its name.
func intervalPlot(label string, rows []interval, x axis) *plotView {
	if len(rows) == 0 {
		return nil
	}
	v := &plotView{Label: label}
	v.Wide, v.Narrow = intervalsAt(rows, x, wideplot), intervalsAt(rows, x, narrowplot)
	return v
}

func intervalsAt(rows []interval, x axis, width vg.Length) template.HTML {
	p := newPlot(x.Label, "")
	p.X.Min, p.X.Max = x.Min, x.Max
	n := float64(len(rows))
	p.Y.Min, p.Y.Max = -0.35, n-0.15
	p.HideY()
	p.X.Tick.Marker = ticks(5)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = nil
	grid.Vertical.Color, grid.Vertical.Width = inkGrid, 0.7
	p.Add(grid)
	if x.Marked {
		p.Add(ruler(x.Mark, p.Y.Min, p.Y.Max))
	}
	for i, r := range rows {
		y := n - 1 - float64(i)
		pt := plotter.XYs{{X: r.Value, Y: y}}
		bars, err := plotter.NewXErrorBars(struct {
			plotter.XYs
			plotter.XErrors
		}{pt, plotter.XErrors{{Low: r.Low - r.Value, High: r.High - r.Value}}})
		if err != nil {
			continue // a number that is none: the table beside the plot has it
		}
		bars.LineStyle = draw.LineStyle{Color: inkRest, Width: 1.8}
		bars.CapWidth = 8
		if r.Best {
			bars.Color = inkBest
		}
		p.Add(bars)
		p.Add(point(pt, r.Best)...)
		p.Add(label(x.Min, y+0.3, shortLabel(r.Label, width), inkText, 12))
	}
	return render(p, width, vg.Length(34*n+44))
}

// spot is a point of a plot of two numbers.
type spot struct {
	Label               string
	X, Value, Low, High float64
	Best                bool
}

// spotPlot draws values with their intervals over another number, such as what
// they cost.
func spotPlot(label string, spots []spot, x, y axis) *plotView {
	if len(spots) == 0 {
		return nil
	}
	v := &plotView{Label: label}
	v.Wide, v.Narrow = spotsAt(spots, x, y, wideplot), spotsAt(spots, x, y, narrowplot)
	return v
}

func spotsAt(spots []spot, x, y axis, width vg.Length) template.HTML {
	p := newPlot(x.Label, y.Label)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.Min, x.Max, y.Min, y.Max
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(5), ticks(5)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = inkGrid, inkGrid
	p.Add(grid)
	for i, s := range spots {
		pt := plotter.XYs{{X: s.X, Y: s.Value}}
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{pt, plotter.YErrors{{Low: s.Low - s.Value, High: s.High - s.Value}}})
		if err != nil {
			continue // see intervalsAt
		}
		bars.LineStyle = draw.LineStyle{Color: inkRest, Width: 1.8}
		bars.CapWidth = 8
		if s.Best {
			bars.Color = inkBest
		}
		p.Add(bars)
		p.Add(point(pt, s.Best)...)
		// What is to the right of the middle is named to its left. The names of
		// spots that are close together stand beside all of them, one below the
		// other in the order of their values.
		right := s.X > (x.Min+x.Max)/2
		edge, above, below := s.X, 0, 0
		for k, o := range spots {
			if k == i || !beside(o, s, x, y) || (o.X > (x.Min+x.Max)/2) != right {
				continue
			}
			if right {
				edge = min(edge, o.X)
			} else {
				edge = max(edge, o.X)
			}
			if o.Value > s.Value || o.Value == s.Value && k < i {
				above++
			} else {
				below++
			}
		}
		name := label(edge, s.Value, shortLabel(s.Label, width*3/5), inkText, 12)
		name.Offset = vg.Point{X: 8, Y: 4 + 7*vg.Length(below-above)}
		if right {
			// Where a browser lacks the typeface it was measured in, a name is wider.
			name.Offset.X = -8 - vg.Length(len(name.Labels[0]))
			name.TextStyle[0].XAlign = draw.XRight
		}
		p.Add(name)
	}
	return render(p, width, 280)
}

// beside reports whether the name of a spot would stand where that of another
// does.
func beside(o, s spot, x, y axis) bool {
	return math.Abs(o.X-s.X) < (x.Max-x.Min)/4 && math.Abs(o.Value-s.Value) < (y.Max-y.Min)/10
}

// point is a disc, or a ring: as a line of the library a ring is too faint.
func point(at plotter.XYs, full bool) []plot.Plotter {
	disc := func(c color.Color, radius vg.Length) *plotter.Scatter {
		return &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}}
	}
	if full {
		return []plot.Plotter{disc(inkBest, 5)}
	}
	return []plot.Plotter{disc(inkRest, 5), disc(inkHole, 3)}
}

// newPlot is one without a background, with axes in the inks of a page.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = inkLine, inkLine
		a.Label.TextStyle = textStyle(inkSoft, 12)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
		tick := textStyle(inkSoft, 11)
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = tick
		a.Padding = 4
	}
	return p
}

func textStyle(c color.Color, size vg.Length) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: plot.DefaultTextHandler,
	}
}

func label(x, y float64, s string, c color.Color, size vg.Length) *plotter.Labels {
	return &plotter.Labels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{s}, TextStyle: []text.Style{textStyle(c, size)}}
}

// ruler is a line from below to above.
func ruler(x, low, high float64) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x, Y: low}, {X: x, Y: high}}, LineStyle: draw.LineStyle{Color: inkLine, Width: 1, Dashes: []vg.Length{3, 3}}}
}

// shortLabel cuts a name to what fits beside a plot of that width.
func shortLabel(s string, width vg.Length) string {
	head, left := prose.Head(s, int(width/7))
	if left > 0 {
		return head + "…"
	}
	return s
}

// ticks are about n round numbers, with as many decimals as tell them apart.
type ticks int

// Ticks implements [plot.Ticker].
func (n ticks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*f) <= float64(n) {
			step *= f
			break
		}
	}
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	var out []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := i * step
		out = append(out, plot.Tick{Value: v, Label: strings.Replace(fmt.Sprintf("%.*f", decimals, v+0), "-", "−", 1)})
	}
	return out
}

// render writes a plot as SVG for a page.
func render(p *plot.Plot, width, height vg.Length) template.HTML {
	c := vgsvg.NewWith(vgsvg.UseWH(width, height))
	// The last number of an axis stands half beyond it.
	p.Draw(draw.Crop(draw.New(c), 0, -12, 0, 0))
	var b bytes.Buffer
	// Cannot err: b takes everything.
	_, _ = c.WriteTo(&b)
	// Of the library's own making, texts escaped by it, and without a style.
	return template.HTML(svgClasses(b.String(), width, height)) //nolint:gosec // see above
}

var (
	svgStyle = regexp.MustCompile(`\s+style="([^"]*)"`)
	svgText  = regexp.MustCompile(`(?s)<g transform.*</g>`)
)

// svgClasses makes of the styles of an SVG, which the policy of a page forbids,
// attributes and classes: `fill:#020000` becomes the class f-best, which the
// style sheet colours.
func svgClasses(svg string, width, height vg.Length) string {
	body := svgText.FindString(svg)
	body = svgStyle.ReplaceAllStringFunc(body, func(s string) string {
		var classes []string
		attrs := ""
		for d := range strings.SplitSeq(svgStyle.FindStringSubmatch(s)[1], ";") {
			name, value, _ := strings.Cut(d, ":")
			switch ink, known := inkNames[strings.ToLower(value)]; {
			case (name == "fill" || name == "stroke") && known:
				classes = append(classes, name[:1]+"-"+ink)
			case name == "fill" || name == "stroke-width" || name == "stroke-dasharray" || name == "font-size":
				attrs += fmt.Sprintf(` %s="%s"`, name, template.HTMLEscapeString(value))
			}
		}
		if len(classes) > 0 {
			attrs = fmt.Sprintf(` class="%s"`, strings.Join(classes, " ")) + attrs
		}
		return attrs
	})
	// A text without a colour is black, which is the ink of lines.
	body = strings.ReplaceAll(body, "<text x", `<text stroke="none" x`)
	return fmt.Sprintf(`<svg viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" aria-hidden="true" focusable="false">%s</svg>`,
		float64(width), float64(height), float64(width), float64(height), body)
}
