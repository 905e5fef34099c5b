package stacks

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"
	"unsafe"

	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store"
	"tachograph/store/derive"
	"tachograph/store/query"
)

// told is an archive that says what it likes.
type told struct {
	query.Archive
	images, frames, stacks []*metric.Instance
	counts                 []uint64
}

var toldInfo = &store.ArchiveInfo{Host: metric.Host{ID: "h", Name: "h"}, BootID: "b"}

func (a *told) Lookup(name string) *metric.Desc { return &metric.Desc{Name: name, Type: metric.U64} }

func (a *told) Select(sel store.Selection) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		for i, in := range a.stacks {
			run := &store.Run{Archive: toldInfo, Metric: a.Lookup(sel.Metrics[0]), Instance: in, Wall: []int64{1}, Cont: []int64{1}, Column: metric.Column{Bits: []uint64{a.counts[i]}}}
			if !yield(run) {
				return
			}
		}
	}
}

func (a *told) Lives(indom string, from, to int64, keys ...string) iter.Seq[*store.Life] {
	return func(yield func(*store.Life) bool) {
		list := a.images
		if indom == stack.DomainFrame {
			list = a.frames
		}
		for _, in := range list {
			if !yield(&store.Life{Archive: toldInfo, Instance: in}) {
				return
			}
		}
	}
}

func (a *told) Cohorts(sel store.Selection, size int) iter.Seq[store.Selection] {
	return derive.Answers{}.Cohorts(sel, size)
}

func (a *told) CohortLives(c *store.Cohort, indom string, from, to int64) iter.Seq[*store.Life] {
	return a.Lives(indom, from, to)
}

func instance(key, name string, labels ...string) *metric.Instance {
	in := &metric.Instance{Key: key, Name: name}
	for i := 0; i+1 < len(labels); i += 2 {
		in.Labels = append(in.Labels, metric.Label{Name: labels[i], Value: labels[i+1]})
	}
	return in
}

// everything writes a profile in all ways.
func everything(t testing.TB, p *Profile) string {
	t.Helper()
	var all strings.Builder
	for _, by := range Bys {
		for _, state := range []State{Any, Running, Waiting, Waited} {
			var b bytes.Buffer
			if err := p.WriteFolded(&all, by, state); err != nil {
				t.Fatal(err)
			}
			if err := p.WriteSpeedscope(&b, "t", "e", by, state); err != nil {
				t.Fatal(err)
			}
			if err := p.WritePprof(&b, "t", state); err != nil {
				t.Fatal(err)
			}
			b.Reset()
			if err := p.WriteFirefox(&b, "t", "e", state); err != nil {
				t.Fatal(err)
			}
			if _, err := stackstest.ReadFirefox(b.Bytes()); err != nil {
				t.Fatal(err)
			}
			p.Hottest(state)
		}
	}
	return all.String()
}

func TestHostile(t *testing.T) {
	const huge = 1<<64 - 1
	deep := []*metric.Instance{instance("0", "f")}
	for i := 1; i < 5000; i++ {
		deep = append(deep, instance(fmt.Sprint(i), "f", "caller", fmt.Sprint(i-1)))
	}
	for name, c := range map[string]struct {
		a    told
		want string // the first line of all together
	}{
		"a circle": {told{
			frames: []*metric.Instance{instance("1", "a", "caller", "3"), instance("2", "b", "caller", "1"), instance("3", "c", "caller", "2")},
			stacks: []*metric.Instance{instance("9", "1 x", "frame", "3"), instance("8", "1 x", "frame", "1")}, counts: []uint64{2, 1},
		}, "b;c 2"},
		"its own caller":     {told{frames: []*metric.Instance{instance("1", "a", "caller", "1")}, stacks: []*metric.Instance{instance("9", "1 x", "frame", "1")}, counts: []uint64{2}}, "a 2"},
		"no frame":           {told{stacks: []*metric.Instance{instance("9", "1 x", "frame", "1")}, counts: []uint64{2}}, "(frames were not recorded) 2"},
		"no caller":          {told{frames: []*metric.Instance{instance("1", "a", "caller", "7", "image", "5")}, stacks: []*metric.Instance{instance("9", "", "frame", "1")}, counts: []uint64{2}}, "a 2"},
		"no place":           {told{frames: []*metric.Instance{instance("1", "", "offset", "-3")}, stacks: []*metric.Instance{instance("9", "", "frame", "1")}, counts: []uint64{2}}, "0x0 2"},
		"counts beyond all":  {told{frames: []*metric.Instance{instance("1", "a")}, stacks: []*metric.Instance{instance("9", "", "frame", "1"), instance("8", "", "frame", "1")}, counts: []uint64{huge, huge}}, "a 9007199254740991"},
		"what terminals do":  {told{frames: []*metric.Instance{instance("1", "a\x1b]0;x\a\nb;c\u202e")}, stacks: []*metric.Instance{instance("9", "", "frame", "1")}, counts: []uint64{1}}, `a\x1b]0:x\x07\nb:c\u202e 1`},
		"deeper than stacks": {told{frames: deep, stacks: []*metric.Instance{instance("x", "", "frame", "4999")}, counts: []uint64{1}}, strings.Repeat("f;", 4999%stack.MaxDepth) + "f 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Read(&c.a, Request{Window: query.Window{Hosts: []string{"h"}}, Ticks: true})
			var b strings.Builder
			if err := p.WriteFolded(&b, ByNothing, Any); err != nil {
				t.Fatal(err)
			}
			if got, _, _ := strings.Cut(b.String(), "\n"); got != c.want {
				t.Errorf("it comes to %.200q, want %.200q", got, c.want)
			}
			if all := everything(t, p); strings.ContainsAny(all, "\x1b\a\u202e") {
				t.Error("a terminal would obey")
			}
		})
	}
}

// Very many stacks are not all kept, and none is left out without being counted.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a quarter of a million stacks")
	}
	const deep = 400
	a := &told{frames: []*metric.Instance{instance("0", "a")}}
	for i := 1; i < deep; i++ {
		a.frames = append(a.frames, instance(fmt.Sprint(i), "a", "caller", fmt.Sprint(i-1)))
	}
	for i := range maxStacks + 10 {
		a.stacks = append(a.stacks, instance(fmt.Sprint(i), "", "frame", "0"))
		a.counts = append(a.counts, 3)
	}
	p := Read(a, Request{})
	if len(p.Stacks) != maxStacks || p.Lost != 30 || p.Sum(Any) != 3*maxStacks {
		t.Errorf("%d stacks with %d samples, %d lost", len(p.Stacks), p.Sum(Any), p.Lost)
	}
	for _, in := range a.stacks {
		in.Labels[0].Value = fmt.Sprint(deep - 1)
	}
	p = Read(a, Request{})
	if want := maxCalls / deep; len(p.Stacks) != want || p.Sum(Any)+p.Lost != 3*(maxStacks+10) {
		t.Errorf("of deep ones %d stacks, not %d, with %d samples, %d lost", len(p.Stacks), want, p.Sum(Any), p.Lost)
	}
}

// However much text there is, not more is kept than there is room for, and no sample is
// lost without being counted.
func TestTextIsBounded(t *testing.T) {
	const chains, deep, long = 100, 400, 4000
	a := &told{}
	for i := range chains * deep {
		caller := ""
		if i%deep > 0 {
			caller = fmt.Sprint(i - 1)
		}
		a.frames = append(a.frames, instance(fmt.Sprint(i), fmt.Sprint(i, strings.Repeat("x", long-10)), "caller", caller))
	}
	for i := range chains {
		a.stacks = append(a.stacks, instance(fmt.Sprint(i), "1 x", "frame", fmt.Sprint(i*deep+deep-1)))
		a.counts = append(a.counts, 3)
	}
	p := Read(a, Request{})
	want := uint64(maxText / (long + perText) / deep)
	if n := p.Sum(Any) / 3; n < want-1 || n > want || p.Sum(Any)+p.Lost != 3*chains {
		t.Errorf("%d samples, %d lost; of %d stacks there was room for about %d", p.Sum(Any), p.Lost, chains, want)
	}
	if text := p.LostText(); !strings.Contains(text, "ask for a shorter window") {
		t.Errorf("it is told so: %q", text)
	}
	if hot, ok := p.Heaviest(); !ok || !strings.HasSuffix(hot.Sentence(), p.LostText()) {
		t.Errorf("the heaviest: %v %s", ok, hot.Sentence())
	}
}

// What is kept does not hold on to what it was cut from.
func TestTextsAreCopies(t *testing.T) {
	k := texts{make(map[string]string), 3 * perText}
	large := strings.Repeat("abcdefgh", 1<<10)
	one, again := large[8:16], large[:8]
	if !k.keep(&one) || !k.keep(&again) || one != "abcdefgh" || unsafe.StringData(one) != unsafe.StringData(again) || unsafe.StringData(one) == unsafe.StringData(large[8:]) {
		t.Errorf("%q and %q are kept", one, again)
	}
	more, most := "x", "y"
	if !k.keep(&more) || k.keep(&most) || k.room < 0 {
		t.Errorf("room for %q and for %q; %d are left", more, most, k.room)
	}
}

// Whatever instances say of one another, there is a profile, no sample is lost, and all
// ways of writing it agree.
func FuzzRead(f *testing.F) {
	f.Add([]byte{3, 0, 1, 2, 3, 4, 9, 9, 1, 2, 200})
	f.Add([]byte{0})
	f.Add(bytes.Repeat([]byte{5, 1, 7}, 40))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		a := &told{}
		sum := uint64(0)
		for i := 0; i+3 < len(data); i += 4 {
			x, y, z := fmt.Sprint(data[i+1]%32), fmt.Sprint(data[i+2]%32), string(data[i+2:i+4])
			switch data[i] % 4 {
			case 0:
				a.images = append(a.images, instance(x, z, "id", z, "base", y))
			case 1, 2:
				a.frames = append(a.frames, instance(x, strings.Trim(z, "\x00"), "caller", y, "image", x, "offset", y, "line", y))
			default:
				a.stacks = append(a.stacks, instance(fmt.Sprint(i), z, "frame", x, "pid", y, "tid", y, "wait", z))
				a.counts = append(a.counts, uint64(data[i+3]))
				sum += uint64(data[i+3])
			}
		}
		p := Read(a, Request{Ticks: true, Symbols: func(m *stack.Image, at uint64) (string, string, int, bool) {
			return m.ID, m.ID, int(at), at%2 == 0
		}})
		if p.Sum(Any) != sum || p.Tree(ByProcess, Any).Count != sum || p.Sum(Running)+p.Sum(Waiting) != sum {
			t.Errorf("of %d samples there are %d, in the tree %d", sum, p.Sum(Any), p.Tree(ByProcess, Any).Count)
		}
		self := uint64(0)
		for _, h := range p.Hottest(Any) {
			self += h.Self
		}
		if self != sum {
			t.Errorf("of %d samples functions have %d", sum, self)
		}
		everything(t, p)
	})
}
