package picture

// paint is a colour without transparency.
type paint struct{ r, g, b uint8 }

// theme is the set of colours of a picture. Its lines differ in lightness as well as in hue, for
// readers who do not see all colours, and for paper.
type theme struct {
	ground, text, faint, axis, grid, band, mark paint
	lines                                       []paint
}

var light = theme{
	ground: paint{255, 255, 255}, text: paint{31, 35, 40}, faint: paint{99, 108, 118}, axis: paint{140, 149, 159},
	grid: paint{233, 236, 239}, band: paint{226, 228, 233}, mark: paint{188, 76, 0},
	lines: []paint{{0, 92, 175}, {200, 80, 0}, {0, 128, 96}, {150, 40, 120}, {90, 90, 20}, {190, 20, 40}, {60, 60, 160}, {110, 110, 110}},
}

var dark = theme{
	ground: paint{13, 17, 23}, text: paint{230, 237, 243}, faint: paint{145, 152, 161}, axis: paint{110, 118, 129},
	grid: paint{33, 38, 45}, band: paint{38, 44, 54}, mark: paint{240, 160, 90},
	lines: []paint{{88, 166, 255}, {255, 166, 87}, {86, 211, 160}, {230, 140, 210}, {210, 200, 100}, {255, 123, 114}, {165, 165, 255}, {180, 186, 194}},
}
