package main

import (
	"fmt"
	"strings"
	"time"

	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

type diffFlags struct {
	before, after, at, against string
	group                      string
	all, acrossUpdate          bool
	n                          int
}

// A comparison compares window a with window b, for the hosts of b.
type comparison struct {
	a, b query.Window
	// against is the ID of the host of window a if it is not that of b, and name is what it is
	// called.
	against, name string
	// only is the ID of the host to compare if it is not each of the window, and since says which
	// update lies between the windows.
	only, since string
	// usual are the windows that show what is usual, if those are not the ones before b.
	usual []query.Window
}

func spanText(c *clock, w query.Window) string {
	at := func(wall int64) string { return c.In(wall).Format(time.RFC3339Nano) }
	return at(w.From) + ".." + at(w.To)
}

// diffQuestion is what a command line wants compared.
type diffQuestion struct {
	s    *session
	w    query.Window
	f    *diffFlags
	args []string
}

// parse reads a window, FROM..TO or FROM..+LENGTH.
func (q *diffQuestion) parse(text string) (query.Window, error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return query.Window{}, fmt.Errorf("%q is not a window: write FROM..TO, such as 03:00..03:10", text)
	}
	ref := q.s.Reference()
	start, err := ref.Parse(from)
	if err != nil {
		return query.Window{}, err
	}
	var end time.Time
	if strings.HasPrefix(to, "+") {
		d, err := when.Offset(to)
		if err != nil {
			return query.Window{}, err
		}
		end = start.Add(d)
	} else if end, err = ref.Parse(to); err != nil {
		return query.Window{}, err
	}
	if !end.After(start) {
		return query.Window{}, fmt.Errorf("the window %s ends before it begins", text)
	}
	return query.Window{From: start.UnixNano(), To: end.UnixNano()}, nil
}

// diffAnswer shows what differs between the windows of a comparison.
type diffAnswer struct {
	a     *app
	w     query.Window
	c     *comparison
	f     *diffFlags
	shown []*query.Change
}

// windowCells are the windows that were compared.
func (q *diffAnswer) windowCells() []out.Cell {
	return []out.Cell{out.At(q.c.a.From), out.At(q.c.a.To), out.At(q.c.b.From), out.At(q.c.b.To)}
}
