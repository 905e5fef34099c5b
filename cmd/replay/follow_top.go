package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/screen"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// liveTop ranks the processes anew at each reading.
type liveTop struct {
	*following
	top      *topAnswer
	most     int           // rows; 0 for all
	interval time.Duration // between two rankings; 0 for that between readings
	rows     out.Writer    // in csv and json
	screen   *screen.Screen
	ranking  *query.Ranking // the one shown
	archive  query.Archive  // that the ranking was computed from
	said     string         // the notice that nothing is being recorded; "" for none
	from     int64          // wall clock of the reading that the next ranking begins with
	printed  bool
}

// vitals are the metrics of the first line.
var vitals = []string{"kernel.all.load", "kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice", "hinv.ncpu",
	"mem.physmem", "mem.util.available", "mem.util.used"}

// follow ranks anew with each reading, until it is ended.
func (t *topAnswer) follow(cmd *cobra.Command, flags *followFlags, interval string, n int) error {
	if err := t.check(); err != nil {
		return err
	}
	a, l := t.a, &liveTop{top: t, most: n}
	if interval != "" {
		var err error
		if l.interval, err = when.Duration(interval); err != nil || l.interval <= 0 {
			return fmt.Errorf("--interval %s: write a length such as 10s", interval)
		}
	}
	ctx, stop := a.untilEnded()
	defer stop()
	var err error
	if l.following, err = a.follow(ctx, flags); err != nil {
		return err
	}
	defer l.close()
	if _, err := l.window(flags); err != nil {
		return err
	}
	names := append(query.ProcessMetrics(), vitals...)
	keep := recent.Keep{Ticks: 3, For: l.interval + l.interval/2, Metric: func(d *metric.Desc) bool { return slices.Contains(names, d.Name) }}
	if keep.For == 0 {
		keep.For = 2 * metric.Process.Interval()
	}
	a.announce(cmd, nil)
	if err := l.keep(ctx, keep); err != nil {
		return err
	}
	err = a.present(func() error { return nil }, func() error {
		l.rows, err = a.liveRows(answer.PlaceColumns()...)
		return err
	})
	if err != nil {
		return err
	}
	if f := a.watched(); f != nil {
		if !cmd.Flags().Changed("number") {
			l.most = 0 // as many as there is room for
		}
		if l.screen, err = screen.Open(os.Stdin, f); err != nil {
			return fmt.Errorf("the terminal cannot be drawn on: %w", err)
		}
		defer l.screen.Leave()
		defer l.attend()()
		l.pace.say, l.pace.again = l.say, time.Second
	}
	if err := l.first(); err != nil {
		return err
	}
	if l.screen == nil { // a line on stderr would spoil the screen
		l.doubt((*query.Distrust).OfProcesses)
	}
	l.release()
	return l.run(ctx, l)
}

// attend handles changes of the terminal's size, keys, and Ctrl-Z.
func (l *liveTop) attend() (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTSTP)
	done := make(chan struct{})
	call := func(fn func() error) {
		select {
		case l.calls <- fn:
		case <-done:
		}
	}
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTSTP {
					call(l.aside)
				} else {
					call(l.draw)
				}
			case <-done:
				return
			}
		}
	}()
	go l.screen.Keys(func(key byte) {
		if key == 'q' || key == 'Q' {
			call(func() error { return errEnough })
		}
	})
	return func() { signal.Stop(signals); close(done) }
}

// aside suspends this program, as Ctrl-Z does, and restores the terminal meanwhile.
func (l *liveTop) aside() error {
	l.screen.Leave()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-again // This goroutine may go on for a moment before the whole program stops.
	if err := l.screen.Resume(); err != nil {
		return err
	}
	return l.draw()
}

// first shows the latest ranking that the archive gives.
func (l *liveTop) first() error {
	_, _, to, ok := l.recent.Last(metric.Process)
	if !ok {
		return l.draw()
	}
	every := l.every()
	l.from = to
	// Half a reading's interval less, so that the window begins with the intended reading even
	// if that was late or early.
	from := to - int64(max(l.interval, every)-every/2)
	if err := l.rank(l.a.Archive, query.Window{Hosts: []string{l.host}, From: from, To: to}); err != nil {
		return err
	}
	return l.draw()
}

// every is the interval between two readings of the processes.
func (l *liveTop) every() time.Duration {
	list := l.recent.Archives()
	if n := len(list); n > 0 && list[n-1].Intervals[metric.Process] > 0 {
		return list[n-1].Intervals[metric.Process]
	}
	return metric.Process.Interval()
}

func (l *liveTop) tick(class metric.Class) error {
	if class != metric.Process {
		return nil
	}
	_, from, to, _ := l.recent.Last(class)
	if from <= l.from {
		l.from = 0 // The clock was set back.
	}
	if l.from == 0 {
		l.from = to
		return nil
	}
	if every := l.every(); time.Duration(to-l.from) < l.interval-every/2 {
		return nil
	}
	w := query.Window{Hosts: []string{l.host}, From: max(l.from, l.recent.Since(class)), To: to}
	l.from = to
	if err := l.rank(l.recent, w); err != nil {
		return err
	}
	return l.draw()
}

// rank ranks the processes by what they used in a window.
func (l *liveTop) rank(a query.Archive, w query.Window) error {
	n := l.most
	if l.screen != nil {
		_, height := l.screen.Size()
		n = max(height, 60) // The screen may grow.
		if l.most > 0 {
			n = min(n, l.most)
		}
	}
	r, err := query.TopOf(a, w, l.top.m, l.top.by, l.top.group, n)
	if err != nil {
		return nil // Nothing was recorded.
	}
	l.ranking, l.archive = r, a
	return nil
}

// draw shows the ranking.
func (l *liveTop) draw() error {
	a := l.a
	switch {
	case l.screen != nil:
		page := l.page()
		return l.screen.Draw(page)
	case l.ranking == nil:
		return nil
	case l.rows != nil:
		return consumers(l.rows, l.ranking)
	}
	if l.printed {
		a.stdout.Println()
	}
	l.printed = true
	return l.top.text(l.ranking)
}

// page renders the ranking for the screen.
func (l *liveTop) page() []byte {
	a := l.a
	var b bytes.Buffer
	before := a.page
	defer func() { a.page = before }()
	a.width, a.height = l.screen.Size()
	a.stdout = visible.NewWriter(&b, a.color)
	if a.ascii {
		a.stdout.ASCII()
	}
	for _, line := range l.heading() {
		a.stdout.Println(line)
	}
	if l.said != "" {
		for _, line := range human.Wrap(l.said, a.width) {
			a.stdout.Println(a.bold(line))
		}
	}
	a.stdout.Println()
	if l.ranking == nil || len(l.ranking.Consumers) == 0 {
		a.stdout.Println("no process used any " + string(l.top.by) + " so far")
		return b.Bytes()
	}
	r := *l.ranking
	r.Consumers = r.Consumers[:min(len(r.Consumers), max(a.height-a.stdout.Lines()-1, 1))]
	_ = l.top.table(&r) // Writing to memory cannot fail.
	return b.Bytes()
}

// heading returns the host, the time and the state of the machine, in as many lines as they
// take, two at most.
func (l *liveTop) heading() []string {
	a := l.a
	var parts []string
	for _, h := range a.Archive.Hosts() {
		if h.ID == l.host {
			parts = append(parts, visible.Text(h.Name))
		}
	}
	if r := l.ranking; r != nil {
		parts = append(parts, a.In(r.To).Format("15:04:05 MST"), "("+durationText(r.To-r.From)+")")
		parts = append(parts, l.vitals(query.Window{Hosts: []string{l.host}, From: r.From, To: r.To})...)
		parts = append(parts, cli.Count(r.N, "process"))
	}
	lines := []string{""}
	for _, p := range parts {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = human.Cut(p, a.width)
		case human.Width(*last)+2+human.Width(p) <= a.width:
			*last += "  " + p
		case len(lines) == 2:
			return lines
		default:
			lines = append(lines, human.Cut(p, a.width))
		}
	}
	return lines
}

// vitals returns load, processor use and memory over a window.
func (l *liveTop) vitals(w query.Window) []string {
	gauges, err := query.Gauges(l.archive, w, 1, "load", "cpu", "memory")
	if err != nil {
		return nil
	}
	var out []string
	for _, g := range gauges {
		switch {
		case math.IsNaN(g.Last):
		case g.Share:
			out = append(out, g.Title+" "+human.Percent(g.Mean))
		case !math.IsNaN(g.Of):
			out = append(out, "memory "+human.Value(g.Last, g.Units, false)+" of "+human.Value(g.Of, g.Units, false))
		default:
			out = append(out, g.Title+" "+human.Value(g.Last, g.Units, false))
		}
	}
	return out
}

// say shows a notice on the screen, or removes it if text is empty.
func (l *liveTop) say(text string) {
	l.said = text
	_ = l.draw()
}

func (l *liveTop) event(*store.ArchiveInfo, *metric.Event) error { return nil }
func (l *liveTop) end() error                                    { return nil }

func (l *liveTop) present() error {
	if f, ok := l.rows.(out.Flusher); ok {
		return f.Flush()
	}
	return l.a.stdout.Flush()
}
