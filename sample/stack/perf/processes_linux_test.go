package perf

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
)

func TestRegions(t *testing.T) {
	var q process
	for _, r := range [][2]uint64{{0x5000, 0x6000}, {0x1000, 0x3000}, {0x3000, 0x4000}, {0x2000, 0x3800}, {0x8000, 0x9000}, {0x8000, 0x9000}} {
		q.add(&region{start: r[0], end: r[1]})
	}
	var got []string
	for _, r := range q.regions {
		got = append(got, fmt.Sprintf("%x-%x", r.start, r.end))
	}
	// A new mapping replaces what it covers.
	if want := "2000-3800 5000-6000 8000-9000"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for at, want := range map[uint64]uint64{0x1fff: 0, 0x2000: 0x2000, 0x37ff: 0x2000, 0x3800: 0, 0x5fff: 0x5000, 0x6000: 0, 0x9000: 0, 1<<64 - 1: 0} {
		t.Run(fmt.Sprintf("%x", at), func(t *testing.T) {
			r := q.find(at)
			if (r == nil) != (want == 0) || r != nil && r.start != want {
				t.Errorf("%+v", r)
			}
		})
	}
	for i := range uint64(maxRegions + 10) {
		q.add(&region{start: 0x10000 * (i + 1), end: 0x10000*(i+1) + 1})
	}
	if len(q.regions) > maxRegions {
		t.Errorf("%d regions", len(q.regions))
	}
}

func heard(p *processes, records ...[]byte) {
	for _, b := range records {
		var r record
		if r.parse(b) {
			p.hear(&r)
		}
	}
}

// The kernel's records are enough to know a process without /proc: the programs that it
// executes, its mappings, and its children.
func TestWhatIsHeardOfProcesses(t *testing.T) {
	p := newProcesses()
	heard(p, aCommand, aMapping)
	q := p.all[7]
	if q == nil || q.command != "new" || !q.told || len(q.regions) != 1 || q.regions[0].file.path != "/bin/a program" || q.regions[0].file.inode != 1234 {
		t.Fatalf("%+v", q)
	}
	heard(p, aFork)
	child := p.all[9]
	if child == nil || child.command != "new" || !child.told || len(child.regions) != 1 {
		t.Fatalf("%+v", child)
	}
	// A mapping of the child is not in its parent.
	heard(p, made(kindMapping, 0, int32(9), int32(9), uint64(0x900000), uint64(0x1000), uint64(0), uint32(8), uint32(1), uint64(5), uint64(1), uint32(5), uint32(2), "/bin/b", who{9, 9, 104}))
	if len(child.regions) != 2 || len(q.regions) != 1 {
		t.Errorf("%d and %d regions", len(child.regions), len(q.regions))
	}
	heard(p, made(kindCommand, 0, int32(9), int32(10), "a thread", who{9, 10, 105}))
	if child.names[10] != "a thread" || p.threads != 1 {
		t.Errorf("%+v, %d threads", child.names, p.threads)
	}
	heard(p, made(kindExit, 0, int32(9), int32(7), int32(10), int32(7), uint64(106), who{9, 10, 106}))
	if child.names[10] != "a thread" {
		t.Error("the name is forgotten before the last that is known of the thread is said")
	}
	p.forget()
	if len(child.names) != 0 || p.threads != 0 {
		t.Errorf("%+v, %d threads", child.names, p.threads)
	}
	// Records of an unknown process are not kept. It is looked up when it is seen.
	heard(p, made(kindMapping, 0, int32(50), int32(50), uint64(0x900000), uint64(0x1000), uint64(0), uint32(8), uint32(1), uint64(5), uint64(1), uint32(5), uint32(2), "/bin/b", who{50, 50, 107}))
	if p.all[50] != nil {
		t.Errorf("%+v", p.all[50])
	}
}

func TestManyProcessesAreForgotten(t *testing.T) {
	p := newProcesses()
	for i := range int32(maxProcesses + 10) {
		q := p.get(i)
		for tid := range int32(5) {
			p.called(q, tid, "x")
		}
	}
	if len(p.all) > maxProcesses || p.threads > maxThreads {
		t.Errorf("%d processes, %d threads", len(p.all), p.threads)
	}
}

// A ring continues at its start, also in the middle of a record. Data that was overwritten
// before it was read is not used.
func TestRingGoesRound(t *testing.T) {
	r := ring{page: &unix.PerfEventMmapPage{}, data: make([]byte, 256)}
	put := func(b []byte) {
		for _, c := range b {
			r.data[r.page.Data_head%256] = c
			r.page.Data_head++
		}
	}
	all := [][]byte{aSample, aLoss, aFork}
	for i := range 50 {
		b := all[i%len(all)]
		put(b)
		if got := r.drain(nil); !slices.Equal(got, b) {
			t.Fatalf("round %d: %x, want %x", i, got, b)
		}
		if got := r.drain(nil); len(got) != 0 {
			t.Fatalf("round %d: %x is read twice", i, got)
		}
	}
	r.page.Data_head += 1000
	if got := r.drain(nil); len(got) != 0 || r.page.Data_tail != r.page.Data_head {
		t.Errorf("%d bytes of a ring that was overrun", len(got))
	}
}

// The buffer that is read first may lack records of the same time. Records of two processors
// are handled in the order of their times.
func TestOrderOfRecords(t *testing.T) {
	sample := func(pid int32, time uint64) []byte {
		return made(kindSample, 0, uint64(0x900010), pid, pid, time, uint64(2), uint64(markUser), uint64(0x900010))
	}
	command := made(kindCommand, commandExec, int32(1<<30), int32(1<<30), "early", who{1 << 30, 1 << 30, 10})
	mapping := made(kindMapping, 0, int32(1<<30), int32(1<<30), uint64(0x900000), uint64(0x1000), uint64(0), uint32(8), uint32(1), uint64(5), uint64(1), uint32(5), uint32(2), "/none/b", who{1 << 30, 1 << 30, 20})
	future := monotonic() + 1<<40
	rings := []ring{{page: &unix.PerfEventMmapPage{}, data: make([]byte, 1024)}, {page: &unix.PerfEventMmapPage{}, data: make([]byte, 1024)}}
	put := func(i int, records ...[]byte) {
		for _, b := range records {
			rings[i].page.Data_head += uint64(copy(rings[i].data[rings[i].page.Data_head:], b))
		}
	}
	put(0, sample(1<<30, 30), sample(1<<30, future))
	put(1, command, mapping)
	var got []string
	x := &session{processes: newProcesses(), images: newImages(), events: &events{rings: rings, depth: 100},
		give: func(s *stack.Sample) {
			got = append(got, fmt.Sprintf("%s in %s", s.Thread.Command, s.Frames[0].Image.Path))
		}}
	x.drain(false)
	if want := []string{"early in /none/b"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	// The other record is younger than the reading, so it comes with the next one.
	x.drain(true)
	if len(got) != 2 {
		t.Errorf("%q", got)
	}
	x.drain(true)
	if len(got) != 2 {
		t.Errorf("%q: something came twice", got)
	}
}

func TestProcessorLists(t *testing.T) {
	for text, want := range map[string]string{"0": "[0]", "0-3": "[0 1 2 3]", "0-1,4,6-7": "[0 1 4 6 7]", "": "", "1-0": "", "a": "", "0-99999999": "", "-1": ""} {
		t.Run(text, func(t *testing.T) {
			got, err := ranges(text)
			if want == "" {
				if err == nil {
					t.Errorf("%v", got)
				}
			} else if fmt.Sprint(got) != want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// This program's own memory is read as the kernel shows it.
func TestOwnMaps(t *testing.T) {
	q := &process{pid: int32(os.Getpid())}
	if !newProcesses().readMaps(q) || len(q.regions) < 2 || !slices.IsSortedFunc(q.regions, func(a, b *region) int { return cmp.Compare(a.start, b.start) }) {
		t.Fatalf("%d regions", len(q.regions))
	}
	m := newImages()
	vdso := false
	for _, r := range q.regions {
		image := m.of(q.pid, r)
		if image == nil || image.Path != "[vdso]" {
			continue
		}
		vdso = true
		s := &Sampler{images: m}
		b, size, err := s.Open(image, "")
		if err != nil {
			t.Fatal(err)
		}
		magic := make([]byte, 4)
		if _, err := b.ReadAt(magic, 0); err != nil || string(magic) != "\x7fELF" || size == 0 {
			t.Errorf("%q, %d bytes, %v", magic, size, err)
		}
	}
	if !vdso {
		t.Error("there is no code of the kernel's")
	}
}
