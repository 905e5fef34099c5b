package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/picture"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// pictureFlags describe the picture.
type pictureFlags struct {
	path, size    string
	png, dark     bool
	width, height int // height 0: as high as its panels
}

func (f *pictureFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.path, "output", "o", "", "write a picture: a file that ends in .svg or .png, or - for the standard output")
	fl.StringVar(&f.size, "size", "", "how large the picture is, such as 1200x600 (default 1200 wide, as high as its panels)")
	fl.BoolVar(&f.png, "png", false, "with -o -: PNG")
	fl.BoolVar(&f.dark, "dark", false, "on a dark ground")
}

// check refuses invalid flags before anything is read.
func (f *pictureFlags) check(cmd *cobra.Command) error {
	fl := cmd.Flags()
	if f.path == "" {
		for _, name := range []string{"size", "png", "dark"} {
			if fl.Changed(name) {
				return fmt.Errorf("--%s is of a picture: name its file with --output", name)
			}
		}
		return nil
	}
	if fl.Changed("height") {
		return fmt.Errorf("--height is of charts in the terminal: --size says how large a picture is")
	}
	switch ending := strings.ToLower(filepath.Ext(f.path)); {
	case f.path == "-":
	case ending == ".png":
		f.png = true
	case ending != ".svg":
		return fmt.Errorf("--output %s: a picture ends in .svg or .png", f.path)
	case f.png:
		return fmt.Errorf("--output %s: with --png it ends in .png", f.path)
	}
	f.width = 1200
	if f.size == "" {
		return nil
	}
	var rest string
	if n, _ := fmt.Sscanf(f.size+" ", "%dx%d%s", &f.width, &f.height, &rest); n != 2 || f.width < 1 || f.height < 1 {
		return fmt.Errorf("--size %s: write width x height in dots, such as 1200x600", f.size)
	}
	return nil
}

// What a picture shows at most.
const (
	linesMost = 8 // in a panel; as many as there are colours
	marksMost = 40
)

// plotPicture writes the series that arguments name as a picture.
func (a *app) plotPicture(cmd *cobra.Command, f *seriesFlags, args []string, file *pictureFlags) error {
	if file.path == "-" && file.png && a.width > 0 {
		return fmt.Errorf("a terminal shows no PNG: name a file with --output, or lead the output elsewhere")
	}
	list, from, to, err := a.gather(f, args, picture.Points(min(max(file.width, 100), 1<<14)))
	if err != nil {
		return err
	}
	p := &picture.Picture{From: from, To: to, Zone: a.zone(), Width: file.width, Height: file.height, Dark: file.dark}
	p.Panels = a.panels(list)
	if p.Height == 0 {
		p.Height = picture.UsualHeight(len(p.Panels))
	}
	w := query.Window{Hosts: a.used.Hosts, From: from, To: to}
	var hosts []string
	for _, h := range a.hostsOf(w) {
		hosts = append(hosts, h.Name)
		a.pictureEvents(p, h, w)
	}
	p.Title = strings.Join(hosts, ", ")
	p.Subtitle = fmt.Sprintf("%s to %s (%s), times in %s", a.show(from), a.show(to), durationText(to-from), a.zone())
	draw := p.SVG
	if file.png {
		draw = p.PNG
	}
	bytes, err := draw()
	if err != nil {
		return err
	}
	if file.path == "-" {
		a.stdout.Flush()
		_, err = a.stdout.Unwrap().Write(bytes)
		return err
	}
	if _, err := a.writeWhole(a.ctx, file.path, func(w io.Writer) error { _, err := w.Write(bytes); return err }); err != nil {
		return err
	}
	a.tell(fmt.Sprintf("%s: %s, %d x %d", file.path, human.Bytes(float64(len(bytes))), p.Width, p.Height))
	a.finish(cmd, args, false)
	return nil
}

// panels puts the series of one metric into one panel. If they are too many, it takes those with
// the largest values.
func (a *app) panels(list []*drawn) []picture.Panel {
	var panels []picture.Panel
	var names []string
	byName := make(map[string][]*drawn)
	for _, d := range list {
		if byName[d.name] == nil {
			names = append(names, d.name)
		}
		byName[d.name] = append(byName[d.name], d)
	}
	left := 0
	if len(names) > plotMost {
		for _, n := range names[plotMost:] {
			left += len(byName[n])
		}
		names = names[:plotMost]
	}
	for _, n := range names {
		some := byName[n]
		if len(some) > linesMost {
			slices.SortStableFunc(some, func(x, y *drawn) int { return cmp.Compare(y.sum(), x.sum()) })
			left += len(some) - linesMost
			some = some[:linesMost]
		}
		panel := picture.Panel{Title: n, Units: some[0].units, Rate: some[0].rate}
		for _, d := range some {
			name := d.instance
			if a.manyHosts() {
				name = strings.TrimSpace(d.host + " " + name)
			}
			panel.Lines = append(panel.Lines, picture.Line{Name: name, Values: d.values})
		}
		panels = append(panels, panel)
	}
	if left > 0 {
		a.tell(fmt.Sprintf("not drawn: %s (choose with --instance)", cli.Count(left, "more series")))
	}
	return panels
}

// sum adds up the values of a series.
func (d *drawn) sum() float64 {
	total := 0.0
	for _, v := range d.values {
		if !math.IsNaN(v) {
			total += v
		}
	}
	return total
}

// bandTexts are the names of breaks in a picture.
var bandTexts = map[metric.EventKind]string{metric.EventSleep: "asleep", metric.EventWake: "asleep", metric.EventShutdown: "off", metric.EventPanic: "panic", metric.EventBoot: "off"}

// pictureEvents marks what happened to a host, and when it was not recorded.
func (a *app) pictureEvents(p *picture.Picture, h metric.Host, w query.Window) {
	w.Hosts = []string{h.ID}
	name := ""
	if a.manyHosts() {
		name = h.Name + ": "
	}
	for _, b := range query.Breaks(a.archive, query.Window{Hosts: w.Hosts, From: w.From}) {
		if b.Length() <= 0 || b.From > w.To {
			continue
		}
		p.Bands = append(p.Bands, picture.Band{From: b.From, To: b.To, Text: name + cmp.Or(bandTexts[b.Kind], "not recorded")})
	}
	for e := range query.SortedEvents(a.archive, w) {
		if len(p.Marks) < marksMost && !query.Everyday(e.Kind) && !unmarked[e.Kind] {
			p.Marks = append(p.Marks, picture.Mark{At: e.At.Wall, Text: name + string(e.Kind) + ": " + e.Text})
		}
	}
}

// unmarked are events without a mark: bands show them, or they are the recorder's own affairs.
var unmarked = map[metric.EventKind]bool{
	metric.EventSleep: true, metric.EventWake: true, metric.EventGap: true, metric.EventRotate: true, metric.EventShip: true,
	metric.EventRemoved: true, metric.EventBudget: true, metric.EventConfig: true, metric.EventOverrun: true,
}
