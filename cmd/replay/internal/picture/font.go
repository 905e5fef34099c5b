package picture

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"tachograph/cmd/replay/internal/human"
)

// faces are the fonts for each size. An SVG uses the viewer's own fonts, whose letters are about
// as wide.
var faces = make(map[faceKey]font.Face)

// drawing is locked while a picture is drawn: only one goroutine may use a face.
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
		panic(err) // The font is part of the program.
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic(err)
	}
	faces[key] = f
	return f
}

// textWidth returns about how wide a text is. It takes letters that the font lacks to be as wide
// as the font is high, as they are in most such scripts.
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

// fitText cuts the end of a text that is wider than room.
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
