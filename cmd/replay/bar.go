package main

import (
	"fmt"
	"time"

	"tachograph/cmd/internal/visible"
)

// A bar shows progress on a terminal.
type bar struct {
	page  *page
	what  string
	since time.Time // when it may appear
	shown int64
}

// newBar returns a bar that appears at once.
func (p *page) newBar(what string) *bar { return &bar{page: p, what: what, shown: -1} }

// newLateBar returns a bar that appears if the work takes longer than a second.
func (p *page) newLateBar(what string) *bar {
	b := p.newBar(what)
	b.since = time.Now().Add(time.Second)
	return b
}

// show draws the bar if it has moved by a percent.
func (b *bar) show(done, total int64) {
	if !b.page.progress || total == 0 {
		return
	}
	const width = 30
	percent := done * 100 / total
	if percent == b.shown || time.Now().Before(b.since) {
		return
	}
	b.shown = percent
	line := make([]byte, width)
	for i := range line {
		line[i] = '.'
		if int64(i)*100 < percent*width {
			line[i] = '#'
		}
	}
	b.page.stderr.Printf(visible.EraseLine+"%s [%s] %3d%%", b.what, line, percent)
}

// clear erases the bar.
func (b *bar) clear() {
	if b.shown >= 0 {
		fmt.Fprint(b.page.stderr, visible.EraseLine)
	}
}
