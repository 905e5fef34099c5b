package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/storetest"
)

// A listener is a client without a network between: it decodes what a feed sends.
type listener struct {
	t      *testing.T
	feed   *feed
	dec    client.Decoder
	frames []*client.Frame
	bytes  int
}

func listen(t *testing.T, descs []*metric.Desc) *listener {
	l := &listener{t: t}
	l.feed = &feed{enc: newEncoder(wish{metrics: descs, exact: true}), events: true, processes: true, send: func(m *tachographv1.SubscribeResponse, _ int) error {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		l.bytes += len(b)
		var got tachographv1.SubscribeResponse
		if err := proto.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		f, err := l.dec.Add(&got)
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			l.frames = append(l.frames, f)
		}
		return nil
	}}
	return l
}

// knows is what the client knows, for comparing.
func (l *listener) knows() []string {
	var out []string
	for _, r := range l.dec.Rows() {
		for i := range r.Table.Metrics {
			m, v := &r.Table.Metrics[i], r.Values[i]
			out = append(out, known(m.Name, instanceText(r.Instance), m.Format(v), v))
		}
	}
	slices.Sort(out)
	return out
}

func instanceText(in *tachographv1.Instance) string {
	if in == nil {
		return ""
	}
	text := in.Key + " " + in.Name
	for _, l := range in.Labels {
		text += " " + l.Name + "=" + l.Value
	}
	return text
}

// known is a value in words. There are very many.
func known(metric, instance, text string, v client.Value) string {
	return metric + "[" + instance + "] = " + text + " " + strconv.FormatUint(v.Bits, 16) + " (" + v.Absent + ")"
}

// stands is how things stand, in the same words.
func stands(s *State) []string {
	var out []string
	for r := range s.Readings() {
		m := client.Metric{Type: wire.Type(r.Metric.Type)}
		for in, v := range r.Values() {
			text := ""
			if in != nil {
				text = instanceText(wire.Instance(in))
			}
			c := client.Value{Bits: v.Bits, Text: v.Str}
			if v.Miss != metric.Present {
				c = client.Value{Absent: v.Miss.String()}
			}
			out = append(out, known(r.Metric.Name, text, m.Format(c), c))
		}
	}
	slices.Sort(out)
	return out
}

func (l *listener) check(s *State, where string) {
	l.t.Helper()
	got, want := l.knows(), stands(s)
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			l.t.Fatalf("%s: %d values for %d:\n%q\nwant\n%q", where, len(got), len(want), got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
}

// worldDescs are the metrics of a world.
func worldDescs(seed uint64) []*metric.Desc {
	var list []*metric.Desc
	seen := make(map[string]bool)
	w := storetest.NewWorld(seed)
	for range 200 {
		for _, b := range w.Tick().Blocks {
			for _, d := range b.Group.Metrics {
				if !seen[d.Name] {
					seen[d.Name] = true
					own := *d
					own.Class = w.Class
					list = append(list, &own)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// What a client knows after each frame is how things stand, whatever comes, goes,
// is renamed, absent, turned and merged.
func TestFramesSayHowThingsStand(t *testing.T) {
	for seed := range uint64(60) {
		w, rnd := storetest.NewWorld(seed), rand.New(rand.NewPCG(seed, 2))
		l, a := listen(t, worldDescs(seed)), newAssembler(nil)
		boot, number, ticks, merged := 1, 1, 0, 0
		info := testArchive("1", "1")
		pos := follow.Position{Archive: info.ID}
		late := false
		for n := range 150 {
			it := archive.Item{Archive: info}
			switch k := rnd.IntN(40); {
			case k == 0 || k == 1:
				if number++; k == 1 {
					boot++
				}
				info = testArchive(fmt.Sprint(number), fmt.Sprint(boot))
				pos.Archive = info.ID
				it = archive.Item{Archive: info, Event: &metric.Event{Kind: metric.EventBoot}}
				pos.Events++
			case k == 2:
				it.Event = &metric.Event{Kind: metric.EventProcessStart, Text: "x"}
				pos.Churn++
			default:
				it.Tick = w.Tick()
				pos.Ticks[it.Tick.Class] = it.Tick.At.Cont
				ticks++
			}
			s := a.take(&it, pos)
			if n == 0 {
				if err := l.feed.begin(s.State, pos, nil); err != nil {
					t.Fatal(err)
				}
				l.check(s.State, "snapshot")
				continue
			}
			if late = late || rnd.IntN(10) == 0; late {
				if rnd.IntN(3) > 0 {
					continue
				}
				late = false
				if err := l.feed.merge(s.State); err != nil {
					t.Fatal(err)
				}
				merged += int(l.frames[len(l.frames)-1].Merged)
			} else if err := l.feed.take(s); err != nil {
				t.Fatal(err)
			}
			if s.event != nil && s.event.Kind == metric.EventProcessStart {
				continue // waits
			}
			l.check(s.State, fmt.Sprintf("world %d, step %d", seed, n))
			if f := l.frames[len(l.frames)-1]; it.Tick != nil && !f.Time.Equal(it.Tick.At.Time()) {
				t.Fatalf("the frame is of %v and the tick of %v", f.Time, it.Tick.At.Time())
			} else if it.Tick != nil {
				if got, err := parseMark(f.Position); err != nil || got != l.feed.pos {
					t.Fatalf("%q is position %+v, %v; want %+v", f.Position, got, err, l.feed.pos)
				}
			}
		}
		if merged == 0 {
			t.Error("nothing was merged")
		}
	}
}

// A large snapshot comes in parts that are one frame.
func TestLargeFramesComeInParts(t *testing.T) {
	g := &metric.Group{Name: "proc", Indom: "process"}
	for c := range 40 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprint("m", c), Type: metric.Type(c % 7), Indom: "process", Class: metric.Process})
	}
	b := &metric.Block{Group: g, Cols: make([]metric.Column, 40)}
	rnd := rand.New(rand.NewPCG(1, 1))
	for r := range 10000 {
		b.Rows = append(b.Rows, &metric.Instance{Key: fmt.Sprint("key ", r), Name: strings.Repeat("n", r%200)})
		for c := range b.Cols {
			v := metric.Value{Type: g.Metrics[c].Type, Bits: uint64(rnd.Uint32() >> rnd.IntN(30)), Miss: worldMiss[rnd.IntN(len(worldMiss))]}
			if v.Miss != metric.Present {
				v.Bits = 0
			}
			if v.Type == metric.String {
				v.Str = fmt.Sprint(v.Bits)
			}
			b.Cols[c].Push(v)
		}
	}
	l, a := listen(t, g.Metrics), newAssembler(nil)
	parts, biggest := 0, 0
	send := l.feed.send
	l.feed.send = func(m *tachographv1.SubscribeResponse, size int) error {
		parts++
		biggest = max(biggest, proto.Size(m))
		return send(m, size)
	}
	s := a.take(&archive.Item{Archive: testArchive("1", "1"), Tick: &metric.Tick{Class: metric.Process, At: metric.Stamp{Wall: 5, Cont: 7}, Blocks: []*metric.Block{b}}}, follow.Position{Archive: "1"})
	if err := l.feed.begin(s.State, s.Position, nil); err != nil {
		t.Fatal(err)
	}
	l.check(s.State, "snapshot")
	if len(l.frames) != 1 || parts < 3 || biggest >= 1<<20 {
		t.Errorf("%d frames in %d messages, of at most %d bytes", len(l.frames), parts, biggest)
	}
}

var worldMiss = []metric.Reason{metric.Present, metric.Present, metric.Present, metric.Permission, metric.ReasonFor("errno 99")}

// With an interval there is a frame for each, with what was read at its end by all
// classes, as they are read one after the other.
func TestIntervals(t *testing.T) {
	m := storetest.NewMachine(3)
	info := testArchive("1", "1")
	info.Intervals = m.Intervals()
	l, a := listen(t, m.Catalog()), newAssembler(nil)
	l.feed.every = int64(5 * time.Second)
	for n := range 100 {
		for _, tick := range m.Ticks(n) {
			pos := a.state.Position
			pos.Archive, pos.Ticks[tick.Class] = "1", tick.At.Cont
			s := a.take(&archive.Item{Archive: info, Tick: tick}, pos)
			var err error
			if n == 0 && tick.Class == metric.Process {
				err = l.feed.begin(s.State, pos, nil)
			} else if l.feed.state != nil {
				err = l.feed.take(s)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(l.frames); n != 19+1 && n != 20+1 {
		t.Errorf("%d frames in 100 seconds", n)
	}
	for i, f := range l.frames[1:] {
		second := (f.Time.UnixNano() - m.Start.Wall) / 1e9
		if second != int64(5*(i+1)) {
			t.Errorf("frame %d is of second %d", i, second)
		}
		classes := make(map[string]bool)
		for _, r := range f.Readings {
			classes[r.Table.Metrics[0].Name[:9]] = (r.Time.UnixNano()-m.Start.Wall)/1e9 == second
		}
		if !classes["test.kern"] || !classes["test.proc"] {
			t.Errorf("frame %d was read: %v", i, classes)
		}
	}
}

func TestMarks(t *testing.T) {
	var k marker
	p := follow.Position{Archive: "00ff", Events: 7}
	p.Ticks[metric.Fast], p.Ticks[metric.Process] = 100e9, 95e9
	short := 0
	var d client.Decoder
	for n := range 100 {
		p.Ticks[metric.Fast] += 1e9 + int64(n)
		if n%5 == 0 {
			p.Ticks[metric.Process] += 5e9
		}
		if n == 50 {
			p.Events++
		}
		if n == 70 {
			p.Archive = "00fe"
		}
		token, advance := k.mark(p)
		if token == "" {
			short++
		}
		f, err := d.Add(&tachographv1.SubscribeResponse{Position: token, Advance: advance})
		if err != nil {
			t.Fatal(err)
		}
		token = f.Position
		if got, err := parseMark(token); err != nil || got != p {
			t.Fatalf("%q became %+v, %v; want %+v", token, got, err, p)
		}
	}
	if short < 75 {
		t.Errorf("%d of 100 marks are short", short)
	}
	good := p.String()
	for _, bad := range []string{".", ".5", good + ".", good + ".0", good + ".-5", good + ".1", good + ".99999999999999999999", good + ".8.8", good + ".83.83", good + ".84.83", good + ".+80", "x.80"} {
		if p, err := parseMark(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, p)
		}
	}
}
