// Package report makes a page about a window of one host's recording: a single file that opens
// from a mail, asks the network for nothing and shows what happened, its cause first, with plots
// that the reader can move through like through the recording.
//
// Collect reads the archive, reduces every series to the columns of one grid and gathers the
// texts of the page. The result is a Page: a document of text and blocks of numbers. WriteHTML
// puts it into the page together with the program that draws it (assets/). WriteData writes it
// alone, for a page that is served.
package report

import (
	"context"
	"fmt"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Request says what the page is about.
type Request struct {
	Host     string // its ID
	From, To int64  // wall clock; zero is the beginning and the end of the recording
	// Cursor is the instant where the page begins; zero for none in particular.
	Cursor int64
	// Zone is the time zone of the times on the page; nil is UTC.
	Zone *time.Location
	// Asked describes the request in words; Command is the command that made the page.
	Asked, Command string
	Version        string
	// Shell writes the arguments of a replay command as words for a shell.
	Shell func(args []string) string
	Made  time.Time
	Defs  *query.Definitions
	// Columns is the most columns that a plot has; 0 is the usual number.
	Columns int
	// Step is how long a column is, in nanoseconds; 0: as Columns says.
	Step int64
	// Brief leaves out everything but plots and tables of processes, and also the tables read
	// until Since: such a page continues one that has the rest.
	Brief bool
	Since int64
	// Hosts are the hosts that a served page can show.
	Hosts []metric.Host
	// Progress, if set, is called now and then with the share of the work done, from 0 to 1.
	Progress func(share float64)
}

// Collect reads the content of the page.
func Collect(ctx context.Context, a query.Archive, r Request) (*Page, error) {
	w := query.Window{Hosts: []string{r.Host}, From: r.From, To: r.To}
	from, to, list := query.Covered(a, w)
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing was recorded in that time")
	}
	if w.From = max(from, r.From); r.To == 0 || r.To > to {
		r.To = to
	}
	w.To = r.To
	if r.Zone == nil {
		r.Zone = time.UTC
	}
	if r.Columns == 0 {
		r.Columns = mostColumns
	}
	c := &collector{ctx: ctx, a: a, w: w, r: r, grid: newGrid(w.From, w.To, r.Step, r.Columns), host: list[len(list)-1].Host, archives: list, page: &Page{}}
	c.cores = query.Cores(a, w)
	if r.Brief {
		return c.page, c.parts(c.head, c.plots, c.processes, c.marks)
	}
	rest := func(query.Archive) error { return c.parts(c.head, c.plots, c.processes, c.flames, c.story) }
	if w.To-w.From >= longWindow {
		// The summary needs nothing of the rest. Over a shorter window it is not worth the memory of a second reader.
		return c.page, query.Beside(a, rest, c.summary)
	}
	if err := rest(a); err != nil {
		return nil, err
	}
	return c.page, c.summary(a)
}

// parts collects parts of the page.
func (c *collector) parts(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// show writes an instant in the page's zone.
func (c *collector) show(wall int64) string {
	return time.Unix(0, wall).In(c.r.Zone).Format("2006-01-02 15:04:05 MST")
}

// head collects what the page says about the host and the window.
func (c *collector) head() error {
	d := &c.page.doc
	d.Title = cut(c.host.Name) + ", " + c.show(c.w.From) + " to " + c.show(c.w.To)
	d.Asked, d.Command, d.Version = c.r.Asked, c.r.Command, c.r.Version
	if !c.r.Made.IsZero() {
		d.Made = c.show(c.r.Made.UnixNano())
	}
	from := c.w.From
	if from == c.w.To {
		from = c.grid.from // An instant cannot be shown; its sample describes the time before it.
	}
	d.From, d.To, d.Cursor = milli(from), milli(c.w.To), milli(c.r.Cursor)
	d.First, d.Step, d.Columns = milli(c.grid.from), milli(c.grid.step), c.grid.n
	d.Length = human.Duration(time.Duration(c.w.To - from))
	d.Zone = zoneOf(c.r.Zone, c.w.From, c.w.To)
	d.Host = Host{Name: cut(c.host.Name), ID: cut(c.host.ID), Facts: facts(&c.host)}
	for _, h := range c.r.Hosts {
		d.Hosts = append(d.Hosts, Host{Name: cut(h.Name), ID: h.ID})
	}
	for _, info := range c.archives {
		d.Archives = append(d.Archives, Archive{ID: info.ID, Path: info.Path, Span: c.show(info.From) + " to " + c.show(info.To), Size: sizeOf(info.Bytes)})
	}
	return nil
}

func sizeOf(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return human.Bytes(float64(bytes))
}

func milli(wall int64) float64 { return float64(wall) / 1e6 }

// zoneOf returns the offsets of a zone from UTC between two instants.
func zoneOf(zone *time.Location, from, to int64) Zone {
	z := Zone{Name: zone.String()}
	for at := time.Unix(0, from); ; {
		local := at.In(zone)
		name, offset := local.Zone()
		z.Offsets = append(z.Offsets, Offset{From: milli(at.UnixNano()), Seconds: offset, Name: name})
		_, end := local.ZoneBounds()
		if end.IsZero() || end.UnixNano() > to || len(z.Offsets) > 1000 {
			return z
		}
		at = end
	}
}

// collector is a page that is being made.
type collector struct {
	ctx      context.Context
	a        query.Archive
	w        query.Window
	r        Request
	grid     grid
	host     metric.Host
	archives []*archiveInfo
	cores    float64
	page     *Page
	rankings []*query.Ranking // of process names, by cpu, memory, read, written and, where it was recorded, network traffic
}
