package linux

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// load reads /proc/loadavg and /proc/uptime.
type load struct {
	loadavg, uptime *file
	averages, total *metric.Group
	spans           [3]metric.Instance
}

// Columns of the group without instances.
const (
	loadNprocs = iota
	loadNthreads
	loadRunnable
	loadLastPID
	loadUptime
	loadIdle
)

func newLoad(root string) (*load, error) {
	l := &load{loadavg: newFile(root + "/proc/loadavg"), uptime: newFile(root + "/proc/uptime")}
	for i, name := range [...]string{"1 minute", "5 minute", "15 minute"} {
		l.spans[i] = metric.Instance{ID: uint64(i + 1), Key: name, Name: name}
	}
	return l, l.Refresh()
}

func (l *load) Name() string            { return "load" }
func (l *load) Groups() []*metric.Group { return []*metric.Group{l.averages, l.total} }
func (l *load) Close() error            { l.loadavg.close(); l.uptime.close(); return nil }

func (l *load) Refresh() error {
	l.averages = catalog.Group(catalog.Linux, "load", "kernel.all.load")
	l.total = catalog.Group(catalog.Linux, "uptime", "kernel.all.nprocs", "kernel.all.nthreads",
		"kernel.all.runnable", "kernel.all.lastpid", "kernel.all.uptime", "kernel.all.idletime")
	if _, err := l.loadavg.read(); err != nil {
		l.averages.Metrics[0].Unsupported = lacking("/proc/loadavg", err)
		for _, d := range l.total.Metrics[:loadUptime] {
			d.Unsupported = lacking("/proc/loadavg", err)
		}
	}
	if _, err := l.uptime.read(); err != nil {
		for _, d := range l.total.Metrics[loadUptime:] {
			d.Unsupported = lacking("/proc/uptime", err)
		}
	}
	return nil
}

// loadLine is the content of /proc/loadavg.
type loadLine struct {
	averages                   [3]float64
	runnable, threads, lastPID uint64
}

func parseLoad(data []byte) (l loadLine, ok bool) {
	for i := range l.averages {
		var w []byte
		w, data = word(data)
		if l.averages[i], ok = decimal(w); !ok {
			return l, false
		}
	}
	w, data := word(data)
	for i, c := range w {
		if c == '/' {
			var runs, all bool
			l.runnable, runs = unsigned(w[:i])
			l.threads, all = unsigned(w[i+1:])
			w, _ = word(data)
			l.lastPID, ok = unsigned(w)
			return l, ok && runs && all
		}
	}
	return l, false
}

func (l *load) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := l.loadavg.read()
	var got loadLine
	ok := false
	if err == nil {
		got, ok = parseLoad(data)
	}
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == l.averages {
			for i := range l.spans {
				row := f.Row(&l.spans[i])
				if ok {
					f.SetFloat(row, 0, got.averages[i])
				} else {
					f.SetMissing(row, 0, why(err))
				}
			}
			continue
		}
		f.Row(nil)
		if ok {
			f.SetUint(0, loadNprocs, got.threads)
			f.SetUint(0, loadNthreads, got.threads)
			f.SetUint(0, loadRunnable, got.runnable)
			f.SetUint(0, loadLastPID, got.lastPID)
		}
		if f.Wants(loadUptime, loadIdle) {
			l.readUptime(f)
		}
		if err != nil {
			f.MissRow(0, why(err))
		}
	}
	return nil
}

func (l *load) readUptime(f *sample.Frame) {
	data, err := l.uptime.read()
	if err != nil {
		f.SetMissing(0, loadUptime, why(err))
		f.SetMissing(0, loadIdle, why(err))
		return
	}
	up, data := word(data)
	if v, ok := decimal(up); ok {
		f.SetFloat(0, loadUptime, v)
	}
	idle, _ := word(data)
	if v, ok := decimal(idle); ok {
		f.SetFloat(0, loadIdle, v)
	}
}
