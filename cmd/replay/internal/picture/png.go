package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// PNG returns the picture as an image of dots.
func (p *Picture) PNG() ([]byte, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	drawing.Lock()
	defer drawing.Unlock()
	c := &dots{Image: image.NewRGBA(image.Rect(0, 0, p.Width, p.Height))}
	p.draw(c)
	var b bytes.Buffer
	err := png.Encode(&b, c.Image)
	return b.Bytes(), err
}

type dots struct{ Image *image.RGBA }

func (c paint) uniform() *image.Uniform {
	return image.NewUniform(color.RGBA{c.r, c.g, c.b, 0xff})
}

func (d *dots) rect(x, y, w, h float64, c paint) {
	r := image.Rect(int(math.Round(x)), int(math.Round(y)), int(math.Round(x+w)), int(math.Round(y+h)))
	draw.Draw(d.Image, r, c.uniform(), image.Point{}, draw.Src)
}

func (d *dots) hint(x, y, w, h float64, s string) {}

// dash and pause are the lengths of a dashed line.
const dash, pause = 4.0, 3.0

func (d *dots) line(points []point, width float64, dashed bool, c paint) {
	straight := len(points) == 2 && (points[0].x == points[1].x || points[0].y == points[1].y)
	if straight && !dashed && width == 1 {
		// One row of dots instead of two pale ones.
		a, b := points[0], points[1]
		d.rect(math.Floor(math.Min(a.x, b.x)), math.Floor(math.Min(a.y, b.y)), math.Max(math.Abs(b.x-a.x), 1), math.Max(math.Abs(b.y-a.y), 1), c)
		return
	}
	left, top, right, bottom := extent(points, width)
	bounds := image.Rect(left, top, right, bottom).Intersect(d.Image.Bounds())
	if bounds.Empty() {
		return
	}
	r := vector.NewRasterizer(bounds.Dx(), bounds.Dy())
	gone := 0.0
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if !dashed {
			stroke(r, a, b, width, bounds.Min)
			continue
		}
		for at := 0.0; at < length; {
			phase := math.Mod(gone+at, dash+pause)
			step := dash - phase
			if phase >= dash {
				at += dash + pause - phase
				continue
			}
			end := math.Min(at+step, length)
			stroke(r, between(a, b, at/length), between(a, b, end/length), width, bounds.Min)
			at = end + 1e-6
		}
		gone += length
	}
	r.Draw(d.Image, bounds, c.uniform(), image.Point{})
}

func between(a, b point, share float64) point {
	return point{a.x + float64((b.x-a.x)*share), a.y + float64((b.y-a.y)*share)}
}

// extent returns the rectangle that contains a line.
func extent(points []point, width float64) (left, top, right, bottom int) {
	minX, minY, maxX, maxY := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range points {
		minX, minY, maxX, maxY = math.Min(minX, p.x), math.Min(minY, p.y), math.Max(maxX, p.x), math.Max(maxY, p.y)
	}
	return int(minX - width - 1), int(minY - width - 1), int(maxX+width) + 2, int(maxY+width) + 2
}

// stroke adds a segment of a line to the area to fill. It makes the segment a little longer, so
// that there is no notch where segments meet.
func stroke(r *vector.Rasterizer, a, b point, width float64, origin image.Point) {
	dx, dy := b.x-a.x, b.y-a.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	dx, dy = float64(dx/length*width/2), float64(dy/length*width/2)
	longX, longY := float64(dx/2), float64(dy/2)
	at := func(x, y float64) (float32, float32) {
		return float32(x - float64(origin.X)), float32(y - float64(origin.Y))
	}
	r.MoveTo(at(a.x-longX-dy, a.y-longY+dx))
	r.LineTo(at(b.x+longX-dy, b.y+longY+dx))
	r.LineTo(at(b.x+longX+dy, b.y+longY-dx))
	r.LineTo(at(a.x-longX+dy, a.y-longY-dx))
	r.ClosePath()
}

func (d *dots) text(x, y, size float64, align int, bold bool, c paint, s string) {
	switch align {
	case 0:
		x -= float64(textWidth(s, size, bold) / 2)
	case 1:
		x -= textWidth(s, size, bold)
	}
	writer := font.Drawer{Dst: d.Image, Src: c.uniform(), Face: faceOf(size, bold), Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}}
	writer.DrawString(s)
}
