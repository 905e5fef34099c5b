package picture

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SVG returns the picture as a complete document.
func (p *Picture) SVG() ([]byte, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	drawing.Lock()
	defer drawing.Unlock()
	s := &svg{}
	fmt.Fprintf(&s.Buffer, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif">`+"\n",
		p.Width, p.Height)
	fmt.Fprintf(&s.Buffer, "<title>%s</title>\n", escaped(p.Title))
	p.draw(s)
	s.WriteString("</svg>\n")
	return s.Bytes(), nil
}

type svg struct{ bytes.Buffer }

// escaped returns a text that is safe in a document: it contains neither markup nor letters that
// XML does not allow.
func escaped(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff || r >= 0xd800 && r < 0xe000 {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
}

// number writes a length, rounded to tenths of a dot.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

func (c paint) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

func (s *svg) rect(x, y, w, h float64, c paint) {
	fmt.Fprintf(&s.Buffer, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", number(x), number(y), number(w), number(h), c)
}

func (s *svg) line(points []point, width float64, dashed bool, c paint) {
	s.WriteString(`<path d="`)
	for i, p := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		s.WriteString(letter + number(p.x) + " " + number(p.y))
	}
	fmt.Fprintf(&s.Buffer, `" fill="none" stroke="%s" stroke-width="%s" stroke-linejoin="round"`, c, number(width))
	if dashed {
		s.WriteString(` stroke-dasharray="4 3"`)
	}
	s.WriteString("/>\n")
}

func (s *svg) text(x, y, size float64, align int, bold bool, c paint, text string) {
	fmt.Fprintf(&s.Buffer, `<text x="%s" y="%s" font-size="%s" fill="%s"`, number(x), number(y), number(size), c)
	if align >= 0 {
		s.WriteString([]string{` text-anchor="middle"`, ` text-anchor="end"`}[align])
	}
	if bold {
		s.WriteString(` font-weight="600"`)
	}
	s.WriteString(">" + escaped(text) + "</text>\n")
}

func (s *svg) hint(x, y, w, h float64, text string) {
	fmt.Fprintf(&s.Buffer, `<rect x="%s" y="%s" width="%s" height="%s" fill="none" pointer-events="all"><title>%s</title></rect>`+"\n",
		number(x), number(y), number(w), number(h), escaped(text))
}
