package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// Whatever names and numbers there are, the picture is a document that holds nothing
// but what this package draws.
func FuzzSVG(f *testing.F) {
	f.Add("</text><script>alert(1)</script>", "\"' onload=\"x", 1.5, int64(0), int64(1e12), 640, 400)
	f.Add("\x00\x1b]0;x\x07\u202e\ufffe", "]]>&amp;\xff", math.Inf(1), int64(math.MinInt64), int64(math.MaxInt64), 200, 200)
	f.Add("日本語", "", math.MaxFloat64, int64(5), int64(5), 8000, 100)
	f.Fuzz(func(t *testing.T, name, text string, x float64, from, to int64, width, height int) {
		p := &Picture{Title: name, Subtitle: text, From: from, To: to, Zone: time.UTC, Width: width % 2000, Height: height % 2000,
			Bands: []Band{{from, to, text}, {from / 2, to / 2, name}}, Marks: []Mark{{from, name}, {to, text}},
			Panels: []Panel{{Title: text, Units: metric.Units{Other: "C"}, Lines: []Line{{name, []float64{x, -x, math.NaN(), 0}}, {text, nil}, {"", []float64{1}}}}}}
		data, err := p.SVG()
		if err != nil {
			return
		}
		d := xml.NewDecoder(strings.NewReader(string(data)))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			switch e.Name.Local {
			case "svg", "title", "rect", "path", "text":
			default:
				t.Fatalf("there is an element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") || a.Name.Local == "d" && strings.ContainsAny(a.Value, "NI") {
					t.Fatalf("there is an attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		}
		if p.Width < 400 && p.Height < 400 {
			if _, err := p.PNG(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
