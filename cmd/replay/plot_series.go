package main

import (
	"fmt"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/plot"
	"tachograph/store/query"
)

// plotting draws series.
type plotting struct {
	a      *app
	series seriesFlags
	height int // of each chart in the terminal
	points int // of each series, for programs
	file   pictureFlags
}

// pictureFlags describe the picture.
type pictureFlags struct {
	path, size    string
	png, dark     bool
	width, height int // height 0: as high as its panels
}

// read computes the series that the arguments name, in so many points over the window that it
// returns, and prints which of the series are distrusted.
func (p *plotting) read(args []string, points int) ([]*plot.Series, query.Window, error) {
	a := p.a
	r, targets, err := a.request(&p.series, args, query.Shown)
	if err != nil {
		return nil, r.Window, err
	}
	doubts := a.doubts(r.Window)
	list, err := plot.Read(a.Archive, targets, &r, points, func(t query.Target, s *query.Series) { doubts.of(t, s) })
	if err == nil && len(list) == 0 {
		err = a.nothing(targets, &p.series, r)
	}
	if err != nil {
		return nil, r.Window, err
	}
	for _, one := range doubts.told {
		a.complain("replay: " + a.doubt(one))
	}
	return list, r.Window, nil
}

// notDrawn says that there is no room for n series.
func notDrawn(n int) string {
	return fmt.Sprintf("not drawn: %s (choose with --instance)", cli.Count(n, "more series"))
}
