package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// fakeTree is a directory with the files of a root directory.
type fakeTree struct {
	t    testing.TB
	root string
}

// fakeProcess is the content of a process's files in a fakeTree.
type fakeProcess struct {
	pid, ppid      int
	comm           string
	state          byte
	start          uint64
	utime, stime   uint64
	minflt, majflt uint64
	uid            int
	rss, vsize     uint64
	readBytes      uint64
	writeBytes     uint64
	switches       uint64
	args           []string
	exe            string
	exitCode       int
	code           uint64 // start of its code
	threads        int
	flags          uint64
	tty            int
}

func newFakeTree(t testing.TB) *fakeTree {
	f := &fakeTree{t, t.TempDir()}
	f.write("proc/stat", "cpu 1 2 3\nbtime 1700000000\nprocesses 1000\n")
	f.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nana:x:501:20::/home/ana:/bin/sh\nnobody:*:-2:-2::/:/bin/false\n")
	f.write("etc/group", "root:x:0:\nstaff:x:20:ana\n")
	return f
}

func (f *fakeTree) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeTree) remove(pid int) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.root, "proc", strconv.Itoa(pid))); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeTree) forks(n int) {
	f.write("proc/stat", fmt.Sprintf("cpu 1 2 3\nbtime 1700000000\nprocesses %d\n", n))
}

func (p fakeProcess) stat(pid int) string {
	if p.state == 0 {
		p.state = 'S'
	}
	if p.threads == 0 {
		p.threads = 1
	}
	return fmt.Sprintf("%d (%s) %c %d %d %d %d -1 %d %d 0 %d 0 %d %d 7 8 20 0 %d 0 %d %d %d 18446744073709551615 %d 2 3 0 0 0 0 0 0 1 0 0 17 1 0 0 5 0 0 0 0 0 0 0 0 0 %d\n",
		pid, p.comm, p.state, p.ppid, p.pid, p.pid, p.tty, p.flags, p.minflt, p.majflt, p.utime, p.stime, p.threads,
		p.start, p.vsize, p.rss, p.code, p.exitCode)
}

func (f *fakeTree) put(p fakeProcess) {
	f.t.Helper()
	dir := "proc/" + strconv.Itoa(p.pid) + "/"
	f.write(dir+"stat", p.stat(p.pid))
	f.write(dir+"status", fmt.Sprintf("Name:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nUid:\t%d\t%d\t%d\t%d\nGid:\t20\t20\t20\t20\n"+
		"VmPeak:\t  900 kB\nVmSize:\t  %d kB\nVmLck:\t 4 kB\nVmHWM:\t 70 kB\nVmRSS:\t 60 kB\nRssAnon:\t 10 kB\nRssFile:\t 30 kB\nRssShmem:\t 20 kB\n"+
		"Threads:\t1\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t1\n",
		p.comm, p.pid, p.pid, p.uid, p.uid+1, p.uid, p.uid, p.vsize/1024, p.switches))
	f.write(dir+"io", fmt.Sprintf("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: %d\nwrite_bytes: %d\ncancelled_write_bytes: 5\n", p.readBytes, p.writeBytes))
	f.write(dir+"schedstat", "1000 2000 3\n")
	f.write(dir+"wchan", "do_poll")
	f.write(dir+"limits", "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 4096                 files     \n")
	f.write(dir+"smaps_rollup", "55d0-7ffd ---p 00000000 00:00 0 [rollup]\nRss:  60 kB\nPss:  33 kB\nPrivate_Dirty: 9 kB\nSwap: 2 kB\nSwapPss: 1 kB\n")
	cmdline := ""
	for _, a := range p.args {
		cmdline += a + "\x00"
	}
	f.write(dir+"cmdline", cmdline)
	if p.exe != "" {
		link := filepath.Join(f.root, dir, "exe")
		os.Remove(link)
		if err := os.Symlink(p.exe, link); err != nil {
			f.t.Fatal(err)
		}
	}
}

// reader drives sources as the engine does.
type reader struct {
	living  bool // of Context
	t       testing.TB
	sources []sample.Source
	frames  map[string]*sample.Frame // by group
	events  []metric.Event
	now     metric.Stamp // fixed clocks; zero means the real ones
}

func openReader(t testing.TB, opt Options, want func(*metric.Desc) bool) *reader {
	t.Helper()
	sources, err := Sources(opt)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, sources: sources, frames: make(map[string]*sample.Frame)}
	t.Cleanup(func() {
		for _, s := range sources {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, s := range sources {
		for _, g := range s.Groups() {
			if f := sample.NewFrame(g, want); f != nil {
				r.frames[g.Name] = f
			}
		}
	}
	return r
}

func everything(*metric.Desc) bool { return true }

func (r *reader) clock() metric.Stamp {
	if r.now != (metric.Stamp{}) {
		return r.now
	}
	read := func(id int32) int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(id, &ts); err != nil {
			r.t.Fatal(err)
		}
		return ts.Nano()
	}
	return metric.Stamp{Wall: read(unix.CLOCK_REALTIME), Awake: read(unix.CLOCK_MONOTONIC), Cont: read(unix.CLOCK_BOOTTIME)}
}

// read reads the named source, and returns its events.
func (r *reader) read(source string) []metric.Event {
	r.t.Helper()
	r.events = r.events[:0]
	c := &sample.Context{Now: r.clock, Emit: func(e metric.Event) { r.events = append(r.events, e) }, Living: r.living}
	for _, s := range r.sources {
		if s.Name() != source {
			continue
		}
		var frames []*sample.Frame
		for _, g := range s.Groups() {
			if f := r.frames[g.Name]; f != nil {
				frames = append(frames, f)
			}
		}
		if err := s.Read(c, frames); err != nil {
			r.t.Fatal(err)
		}
		for _, f := range frames {
			f.Freeze()
		}
	}
	return r.events
}

// rows lists the keys of the instances in a group.
func (r *reader) rows(group string) []string {
	var keys []string
	for _, in := range r.frames[group].Block().Rows {
		keys = append(keys, in.Key)
	}
	return keys
}

func (r *reader) instance(group, key string) *metric.Instance {
	for _, in := range r.frames[group].Block().Rows {
		if in.Key == key {
			return in
		}
	}
	r.t.Fatalf("%s has no instance %s; it has %q", group, key, r.rows(group))
	return nil
}

// value returns one cell; key is "" for groups without instances.
func (r *reader) value(group, key, name string) metric.Value {
	r.t.Helper()
	b := r.frames[group].Block()
	for row, in := range b.Rows {
		if (in == nil) != (key == "") || in != nil && in.Key != key {
			continue
		}
		for col, d := range b.Group.Metrics {
			if d.Name == name {
				return b.Cols[col].At(d.Type, row)
			}
		}
		r.t.Fatalf("group %s has no metric %s", group, name)
	}
	r.t.Fatalf("group %s has no row %q", group, key)
	return metric.Value{}
}

// expect compares cells with the text that they should print. "!reason" is an absent one.
func (r *reader) expect(group, key string, want map[string]string) {
	r.t.Helper()
	for name, w := range want {
		v := r.value(group, key, name)
		got := v.String()
		if v.Miss != metric.Present {
			got = "!" + v.Miss.String()
		}
		if got != w {
			r.t.Errorf("%s of %s is %q, want %q", name, key, got, w)
		}
	}
}

func (r *reader) kernel() *linuxKernel {
	return r.sources[0].(*processes[linuxProcess, reading]).k.(*linuxKernel)
}
