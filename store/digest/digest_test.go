package digest

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// population makes chunks of processes that come and go.
func population(t testing.TB, chunks int) ([][]byte, func(uint32) *metric.Desc) {
	t.Helper()
	g := &metric.Group{Name: "process", Indom: "process"}
	for _, name := range []string{"proc.psinfo.utime", "proc.memory.rss", "proc.memory.vmhwm", "proc.psinfo.threads"} {
		d := &metric.Desc{Name: name, Type: metric.U64, Sem: metric.Instant, Indom: "process", Class: metric.Process}
		if name == "proc.psinfo.utime" {
			d.Sem = metric.Counter
		}
		g.Metrics = append(g.Metrics, d)
	}
	var out [][]byte
	var rows []*metric.Instance
	at := metric.Stamp{Wall: 1e18, Cont: 1e12}
	born := 0
	for range chunks {
		b := chunk.NewBuilder(metric.Process)
		for tick := range 20 {
			at.Wall, at.Cont = at.Wall+1e10, at.Cont+1e10
			if len(rows) > 6 {
				rows = append(rows[:2:2], rows[5:]...)
			}
			for range 2 + tick%2 {
				born++
				rows = append(rows, &metric.Instance{ID: uint64(born), Key: fmt.Sprint(born), Name: fmt.Sprintf("%06d p%d", born, born%3)})
			}
			blk := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, len(g.Metrics))}
			for k := range blk.Cols {
				for i, in := range rows {
					blk.Cols[k].Bits = append(blk.Cols[k].Bits, in.ID*uint64(k+1)+uint64(at.Cont/1e10)*uint64(i%3))
				}
			}
			if err := b.Append(&metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{blk}}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Seal(numberIn(g))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s.Data)
	}
	return out, descIn(g)
}

// numberIn numbers the metrics of a group by their place in it.
func numberIn(g *metric.Group) func(*metric.Desc) uint32 {
	return func(d *metric.Desc) uint32 { return uint32(slices.Index(g.Metrics, d)) }
}

// descIn is the inverse of numberIn; it returns nil for other numbers.
func descIn(g *metric.Group) func(uint32) *metric.Desc {
	return func(n uint32) *metric.Desc {
		if int(n) >= len(g.Metrics) {
			return nil
		}
		return g.Metrics[n]
	}
}

// take makes one digest of all chunks.
func take(t *testing.T, m *maker, chunks [][]byte) *Digest {
	t.Helper()
	for _, b := range chunks {
		p := piece{desc: m.desc}
		if err := p.read(b); err != nil {
			t.Fatal(err)
		}
		if !m.add(&p) {
			t.Fatal("a chunk is not taken")
		}
	}
	return m.digest()
}

// records makes the digests of chunks.
func records(chunks [][]byte, desc func(uint32) *metric.Desc, short, long bool) []Record {
	w := NewWriter(desc, short, long)
	for _, b := range chunks {
		w.Add(b)
	}
	return w.Records()
}

// check checks a record against chunks.
func check(record []byte, chunks [][]byte, desc func(uint32) *metric.Desc) error {
	c, err := NewChecker(record, desc)
	if err != nil {
		return err
	}
	for _, b := range chunks {
		if c.Add(b) {
			break
		}
	}
	return c.Err()
}

// TestLongDigests makes the digests of an archive, some of whose chunks do not belong together.
func TestLongDigests(t *testing.T) {
	chunks, desc := population(t, 2*Span+4)
	without := slices.Concat(chunks[:2], chunks[3:])
	for _, test := range []struct {
		name        string
		chunks      [][]byte
		short, long bool
		want        [][2]int // the first chunk, and how many
	}{
		{"short ones", chunks, true, false, [][2]int{{0, 6}, {6, 6}, {12, 4}}},
		{"a long one", chunks, false, true, [][2]int{{0, 16}}},
		{"both", chunks, true, true, [][2]int{{0, 6}, {6, 6}, {12, 4}, {0, 16}}},
		{"too few for a long one", chunks[:6], true, true, [][2]int{{0, 6}}},
		{"a chunk is missing", without, true, true, [][2]int{{2, 4}, {6, 6}, {12, 3}, {2, 13}}},
	} {
		var got [][2]int
		for _, r := range records(test.chunks, desc, test.short, test.long) {
			got = append(got, [2]int{r.First, r.Chunks})
			if err := check(r.Data, test.chunks[r.First:r.First+r.Chunks], desc); err != nil {
				t.Errorf("%s: %d to %d: %v", test.name, r.First, r.First+r.Chunks, err)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestADigestComesBack(t *testing.T) {
	chunks, desc := population(t, Span)
	if records := records(chunks[:1], desc, true, true); len(records) != 0 {
		t.Fatalf("one chunk has %d digests", len(records))
	}
	want := take(t, newMaker(desc), chunks)
	if len(want.Crowds) != 3 || len(want.Members) == 0 {
		t.Fatalf("%d crowds, %d members", len(want.Crowds), len(want.Members))
	}
	b, err := want.marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	one, err := ParseColumns(b, func(n uint32) bool { return n == want.Columns[1].Number })
	if err != nil {
		t.Fatal(err)
	}
	for i := range one.Members {
		for k, c := range one.Members[i].Cells {
			if whole := got.Members[i].Cells[k]; k == 1 && c != whole || k != 1 && c.Present {
				t.Fatalf("column %d of member %d, one of those that are not wanted: %+v, all say %+v", k, i, c, whole)
			}
		}
	}
	for i := range want.Members {
		// A digest does not keep these of each kind.
		for k := range want.Members[i].Cells {
			c := &want.Members[i].Cells[k]
			c.First.Awake, c.Last.Awake = 0, 0
			switch want.Columns[k].Tally {
			case metric.TallyGain:
				c.Max, c.Weighted = 0, 0
			case metric.TallyPeak:
				c.LastBits, c.Weighted = 0, 0
			}
		}
	}
	want.From.Awake, want.To.Awake = 0, 0
	for i := range want.Members {
		if !reflect.DeepEqual(got.Members[i].Cells, want.Members[i].Cells) || got.Members[i].Key != want.Members[i].Key {
			t.Errorf("member %+v came back as %+v", want.Members[i], got.Members[i])
		}
	}
	if !reflect.DeepEqual(got.Crowds, want.Crowds) || !reflect.DeepEqual(got.Columns, want.Columns) {
		t.Errorf("%+v came back as %+v", want.Crowds, got.Crowds)
	}
	if err := check(b, chunks, desc); err != nil {
		t.Error(err)
	}
	if check(b, chunks[:3], desc) == nil {
		t.Error("it is taken for that of other chunks")
	}
}

// TestAnotherChoiceOfMembers checks a digest whose members another version chose, and then
// digests that disagree with their chunks.
func TestAnotherChoiceOfMembers(t *testing.T) {
	chunks, desc := population(t, Span)
	made := func(told func(n int) bool) *Digest {
		m := newMaker(desc)
		m.told = make(map[string]bool)
		for n := range 1000 {
			m.told[fmt.Sprint(n)] = told(n)
		}
		return take(t, m, chunks)
	}
	third := func(n int) bool { return n%3 == 0 }
	checked := func(d *Digest) error {
		b, err := d.marshal()
		if err != nil {
			t.Fatal(err)
		}
		return check(b, chunks, desc)
	}
	for name, told := range map[string]func(int) bool{
		"all":             func(int) bool { return true },
		"none that may":   func(int) bool { return false },
		"every third":     third,
		"one of a crowd":  func(n int) bool { return n == 100 },
		"all of a crowd":  func(n int) bool { return n%3 == 1 },
		"all but a crowd": func(n int) bool { return n%3 != 1 },
	} {
		if err := checked(made(told)); err != nil {
			t.Errorf("%s are told by themselves: %v", name, err)
		}
	}
	wider := made(third)
	wider.Columns[0].Bound++
	wider.Gap--
	wider.Crowds[0].Weighted *= 1 + 1e-12
	if err := checked(wider); err != nil {
		t.Errorf("bounds that are wider than need be: %v", err)
	}
	for name, lie := range map[string]func(*Digest){
		"a member's value":         func(d *Digest) { d.Members[0].Cells[0].LastBits++ },
		"a member's name":          func(d *Digest) { d.Members[0].Name += "x" },
		"a member that was not":    func(d *Digest) { d.Members[0].Key += "x" },
		"a member left out":        func(d *Digest) { d.Members = d.Members[1:] },
		"a crowd's size":           func(d *Digest) { d.Crowds[0].Count++ },
		"a crowd's gain":           func(d *Digest) { d.Crowds[0].Columns[0].Gain++ },
		"a crowd's weighted sum":   func(d *Digest) { d.Crowds[0].Weighted *= 1 + 1e-6 },
		"a crowd's peaks":          func(d *Digest) { d.Crowds[0].PeakSum++ },
		"a crowd left out":         func(d *Digest) { d.Crowds = d.Crowds[1:] },
		"a bound that is exceeded": func(d *Digest) { d.Columns[0].Bound-- },
		"a gap that is none":       func(d *Digest) { d.Gap++ },
		"an end that is another's": func(d *Digest) { d.To.Cont++ },
	} {
		d := made(third)
		lie(d)
		if checked(d) == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
}

// FuzzParse decodes hostile digests.
func FuzzParse(f *testing.F) {
	chunks, desc := population(f, Span)
	records := records(chunks, desc, true, false)
	if len(records) != 1 {
		f.Fatal(len(records))
	}
	f.Add(records[0].Data)
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := Parse(in)
		if err != nil {
			return
		}
		for i := range d.Members {
			for k := range d.Members[i].Cells {
				if c := &d.Members[i].Cells[k]; c.Present && (c.First.Wall < d.From.Wall || c.Last.Wall > d.To.Wall) {
					t.Fatalf("%+v is not within %+v to %+v", c, d.From, d.To)
				}
			}
		}
		for i := range d.Crowds {
			if c := &d.Crowds[i]; c.From < d.From.Wall || c.To > d.To.Wall || c.Levels > c.Count {
				t.Fatalf("%+v is not within %+v to %+v", c, d.From, d.To)
			}
		}
	})
}

// FuzzComesBack encodes and decodes a digest of arbitrary cells and crowds.
func FuzzComesBack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add(bytes.Repeat([]byte{0xff, 0, 0x80, 7}, 100))
	f.Fuzz(func(t *testing.T, in []byte) {
		want := anyDigest(in)
		b, err := want.marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(b)
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		for i := range got.Members {
			for k := range got.Members[i].Cells {
				// The difference that is stored may be rounded.
				g, w := &got.Members[i].Cells[k].Weighted, want.Members[i].Cells[k].Weighted
				if math.Abs(*g-w) <= 1e-9*math.Abs(w)+1 {
					*g = w
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v came back as %+v", want, got)
		}
	})
}

// anyDigest makes a digest from bytes, which may run out.
func anyDigest(in []byte) *Digest {
	next := func() uint64 {
		n := min(len(in), 1)
		if n == 0 {
			return 0
		}
		n = min(int(in[0]%9), len(in)-1)
		v := uint64(0)
		for _, b := range in[1 : 1+n] {
			v = v<<8 | uint64(b)
		}
		in = in[1+n:]
		return v
	}
	const span = 1 << 40
	d := &Digest{Sums: []uint32{uint32(next())}, Gap: int64(next() >> 1), Indom: "process"}
	d.From = metric.Stamp{Wall: 1e18, Cont: 1e12}
	d.To = metric.Stamp{Wall: d.From.Wall + span, Cont: d.From.Cont + span}
	for k, tally := range []metric.Tally{metric.TallyGain, metric.TallyLevel, metric.TallyPeak} {
		d.Columns = append(d.Columns, Column{Number: uint32(k), Tally: tally, Bound: next()})
	}
	members, crowds := next()%4, next()%3
	d.Members, d.Crowds = make([]Member, members), make([]Crowd, crowds)
	for i := range d.Members {
		m := &d.Members[i]
		m.Key, m.Name = fmt.Sprint(i), fmt.Sprint("process ", i)
		m.Cells = make([]Cell, len(d.Columns))
		for k := range m.Cells {
			if next()%4 == 0 {
				continue
			}
			from, to := int64(next()%span), int64(next()%span)
			from, to = min(from, to), max(from, to)
			c := Cell{Present: true, FirstBits: next()}
			c.First = metric.Stamp{Wall: d.From.Wall + from, Cont: d.From.Cont + from}
			c.Last = metric.Stamp{Wall: d.From.Wall + to, Cont: d.From.Cont + to}
			switch d.Columns[k].Tally {
			case metric.TallyGain:
				c.LastBits, c.Increase = next(), float64(next()>>12)
			case metric.TallyLevel:
				c.LastBits, c.Max, c.Weighted = next(), next(), c.even()+float64(next()>>12)
			default:
				c.Max = next()
			}
			m.Cells[k] = c
		}
	}
	for i := range d.Crowds {
		c := &d.Crowds[i]
		c.Key, c.Name = fmt.Sprint("c", i), fmt.Sprint("crowd ", i)
		from, to := int64(next()%span), int64(next()%span)
		c.Count, c.From, c.To = next()%mostCrowd, d.From.Wall+min(from, to), d.From.Wall+max(from, to)
		c.Level = int(next()%2)*2 - 1 // none, or the second column
		c.Levels, c.First, c.Weighted = min(next(), c.Count), next(), float64(next())
		c.Max, c.Peak, c.PeakSum = next(), next(), next()
		c.Columns = make([]CrowdColumn, len(d.Columns))
		c.Columns[0] = CrowdColumn{Count: min(next(), c.Count), Gain: next()}
	}
	slices.SortFunc(d.Crowds, Crowd.compare)
	return d
}
