package page

import (
	"fmt"
	"strconv"
	"strings"
)

// The size of a drawing and the space around its plot, in units of the drawing.
const (
	svgWidth, svgHeight   = 760, 280
	svgLeft, svgRight     = 64, 16
	svgTop, svgBottom     = 12, 44
	plotWidth, plotHeight = svgWidth - svgLeft - svgRight, svgHeight - svgTop - svgBottom
	ticksAcross, ticksUp  = 8, 5
	lineStyles            = 8
)

// Figure returns the chart with its title and legend; "" if it has no points. The caller
// gives the same chart to Document.Charts.
func (c Chart) Figure() HTML {
	if len(c.Series) == 0 {
		return ""
	}
	var legend []HTML
	for i, s := range c.Series {
		sample := El("svg", At("class", "sample", "viewBox", "0 0 28 8", "width", "28", "height", "8", "aria-hidden", "true", "focusable", "false"),
			El("line", At("class", lineClass(i), "x1", "0", "y1", "4", "x2", "28", "y2", "4")))
		legend = append(legend, El("li", nil, sample, Text(" "+s.Name)))
	}
	return El("figure", At("class", "chart", "id", ID("chart", c.ID), "data-chart", c.ID),
		El("figcaption", nil, El("strong", nil, Text(c.Title)), El("ul", Class("legend"), legend...)),
		El("div", At("class", "plot", "tabindex", "0", "role", "region", "aria-label", c.Title), c.svg()),
	) + "\n"
}

// lineClass is the class of the i-th line: its colour and its dashes.
func lineClass(i int) string { return "line l" + strconv.Itoa(i%lineStyles) }

func (c Chart) svg() HTML {
	x, y := c.spans()
	place := func(p Point) (float64, float64) {
		return svgLeft + x.at(p.X, c.X.Log)*plotWidth, svgTop + (1-y.at(p.Y, c.Y.Log))*plotHeight
	}
	var parts []HTML
	for _, b := range c.Bands {
		from, _ := place(Point{max(b.From, x.low), y.low})
		to, _ := place(Point{min(b.To, x.high), y.low})
		if to > from {
			parts = append(parts,
				El("rect", At("class", "band", "x", number(from), "y", number(svgTop), "width", number(to-from), "height", number(plotHeight))),
				El("text", At("class", "band-name", "x", number(from+4), "y", number(svgTop+12)), Text(b.Name)))
		}
	}
	for _, t := range c.Y.ticks(y, ticksUp) {
		_, at := place(Point{x.low, t.At})
		parts = append(parts, rule(svgLeft, at, svgWidth-svgRight, at), label("end", svgLeft-8, at+4, t.Label))
	}
	for _, t := range c.X.ticks(x, ticksAcross) {
		at, _ := place(Point{t.At, y.low})
		parts = append(parts, rule(at, svgTop, at, svgTop+plotHeight), label("middle", at, svgTop+plotHeight+16, t.Label))
	}
	parts = append(parts, label("middle", svgLeft+plotWidth/2, svgHeight-6, c.X.Label))
	for i, s := range c.Series {
		var d strings.Builder
		for n, p := range s.Points {
			px, py := place(p)
			fmt.Fprintf(&d, "%c%s %s", "ML"[min(n, 1)], number(px), number(py))
		}
		if len(s.Points) == 1 {
			d.WriteString("h0.1") // a dot, with round ends
		}
		parts = append(parts, El("path", At("class", lineClass(i), "d", d.String())))
	}
	return El("svg", At("viewBox", fmt.Sprintf("0 0 %d %d", svgWidth, svgHeight), "role", "img", "aria-label", c.Title+". "+c.Summary, "focusable", "false"), parts...)
}

// rule returns a line of the grid.
func rule(x1, y1, x2, y2 float64) HTML {
	return El("line", At("class", "grid", "x1", number(x1), "y1", number(y1), "x2", number(x2), "y2", number(y2)))
}

// label returns text at a place: its start, middle or end.
func label(anchor string, x, y float64, text string) HTML {
	return El("text", At("class", "tick", "text-anchor", anchor, "x", number(x), "y", number(y)), Text(text))
}

// number returns a coordinate with one decimal.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
