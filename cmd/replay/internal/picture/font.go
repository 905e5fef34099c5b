package picture

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"tachograph/cmd/replay/internal/human"
)

// faces are the letters of each size; those of SVG are the viewer's own, which are
// about as wide.
var faces = make(map[faceKey]font.Face)

// drawing is held by who draws: a face is for one at a time.
var drawing sync.Mutex

type faceKey struct {
	size float64
	bold bool
}

func faceOf(size float64, bold bool) font.Face {
	key := faceKey{size, bold}
	if f := faces[key]; f != nil {
		return f
	}
	ttf := goregular.TTF
	if bold {
		ttf = gobold.TTF
	}
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // It is part of the program.
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic(err)
	}
	faces[key] = f
	return f
}

// textWidth is about how wide a text is. Letters that the font does not have are as
// wide as it is high: those of most scripts that it lacks are.
func textWidth(s string, size float64, bold bool) float64 {
	f := faceOf(size, bold)
	total := 0.0
	for _, r := range s {
		if a, ok := f.GlyphAdvance(r); ok && r < 0x2e80 {
			total += float64(float64(a) / 64)
		} else {
			total += size
		}
	}
	return total
}

// fitText is as much of a text as has room, cut at its end.
func fitText(s string, size float64, bold bool, room float64) string {
	if textWidth(s, size, bold) <= room {
		return s
	}
	least, most := 0, human.Width(s)
	for least < most {
		n := (least + most + 1) / 2
		if textWidth(human.Cut(s, n), size, bold) <= room {
			least = n
		} else {
			most = n - 1
		}
	}
	return human.Cut(s, least)
}
