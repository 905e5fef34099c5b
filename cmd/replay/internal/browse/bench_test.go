package browse

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDraw is what drawing takes, whatever the engine does.
func BenchmarkDraw(b *testing.B) {
	for _, size := range [][2]int{{80, 24}, {160, 50}, {400, 100}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			r := newRig(b, linux(b), look{width: size[0], height: size[1], at: at(3 * time.Hour), color: true})
			for b.Loop() {
				r.a.draw()
				r.a.c.Show()
			}
		})
	}
}
