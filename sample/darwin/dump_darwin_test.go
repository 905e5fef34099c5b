package darwin

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// TestDump is the half of the oracle test that runs as a darwin program. It opens the
// sources, reads every class a number of times and prints what it read. The other half
// starts it, and knows what the values must be.
//
// The lines are tab-separated: M metric type class reason-it-is-lacking; V round metric
// instance value; X round metric instance reason-it-is-absent; I round indom instance key
// labels; E round kind text; F round source error; T round wall awake continuous, at its
// beginning and at its end.
//
// Next to no time passes while a round is read. Between two rounds TestDump writes the time
// to the file TACHO_DUMP_CLOCK, which the simulated clocks follow.
//
// TACHO_DUMP_ONLY restricts it to some classes. TACHO_DUMP_NATURAL reads each class at its
// own interval, counted in rounds of a second. TACHO_DUMP_REFRESH is the number of rounds
// after which it calls Refresh. With TACHO_DUMP_FLOWS it lists the connections, too. With TACHO_DUMP_LOOK it calls Look after each round, and
// prints a line "E round look source" for each source that sees a change.
func TestDump(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("TACHO_DUMP_ROUNDS"))
	if err != nil {
		t.Skip("only on behalf of the oracle test")
	}
	period, err := time.ParseDuration(os.Getenv("TACHO_DUMP_PERIOD"))
	if err != nil {
		t.Fatal(err)
	}
	flows := openFlows(t)
	sources, err := Sources(flows.book.Flows)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	d := &dumper{out: out, only: os.Getenv("TACHO_DUMP_ONLY"), natural: os.Getenv("TACHO_DUMP_NATURAL") != ""}
	for _, s := range sources {
		d.open(s)
	}
	clock, err := os.OpenFile(os.Getenv("TACHO_DUMP_CLOCK"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	for d.round = range rounds {
		d.clocks()
		flows.look(t, d.round)
		for i := range d.readers {
			if r := &d.readers[i]; !d.natural || d.round%int(min(r.class.Interval()/time.Second, 1<<20)) == 0 {
				d.read(r)
			}
		}
		d.clocks()
		now := binary.NativeEndian.AppendUint64(nil, uint64(d.round+1)*uint64(period))
		if _, err := clock.WriteAt(now, 0); err != nil {
			t.Fatal(err)
		}
		if os.Getenv("TACHO_DUMP_LOOK") != "" {
			d.look(t, sources)
		}
		if refresh, _ := strconv.Atoi(os.Getenv("TACHO_DUMP_REFRESH")); refresh > 0 && (d.round+1)%refresh == 0 {
			d.readers = d.readers[:0]
			for _, s := range sources {
				if err := s.Refresh(); err != nil {
					t.Error(err)
				}
				d.open(s)
			}
		}
	}
	for _, s := range sources {
		if err := s.Close(); err != nil {
			t.Errorf("closing %s: %v", s.Name(), err)
		}
	}
}

// flows lists the connections every fifth round, if TACHO_DUMP_FLOWS is set.
type flows struct {
	book   *socket.Book
	lister socket.Lister
}

func openFlows(t *testing.T) (f flows) {
	f.book = socket.NewBook()
	if os.Getenv("TACHO_DUMP_FLOWS") == "" {
		return f
	}
	f.book.Flows = new(socket.Flows)
	var err error
	if f.lister, err = socket.Open(f.book); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.lister.Close() })
	return f
}

func (f *flows) look(t *testing.T, round int) {
	if f.lister == nil || round%5 != 0 {
		return
	}
	if err := f.book.Look(f.lister, Now().Cont); err != nil {
		t.Error(err)
	}
}

// reader holds the frames of one source for one class.
type reader struct {
	source sample.Source
	class  metric.Class
	frames []*sample.Frame
}

type dumper struct {
	out     *bufio.Writer
	round   int
	readers []reader
	only    string
	natural bool
}

func (d *dumper) open(s sample.Source) {
	for _, g := range s.Groups() {
		for _, m := range g.Metrics {
			fmt.Fprintf(d.out, "M\t%s\t%s\t%s\t%d\t%s\n", m.Name, m.Type, m.Class, m.Width, m.Unsupported)
		}
	}
	for class := range metric.NumClasses {
		var frames []*sample.Frame
		for _, g := range s.Groups() {
			if f := sample.NewFrame(g, func(d *metric.Desc) bool { return d.Class == class }); f != nil {
				frames = append(frames, f)
			}
		}
		if frames != nil && (d.only == "" || slices.Contains(strings.Fields(d.only), class.String())) {
			d.readers = append(d.readers, reader{s, class, frames})
		}
	}
}

// look refreshes the sources that see a change.
func (d *dumper) look(t *testing.T, sources []sample.Source) {
	d.readers = d.readers[:0]
	for _, s := range sources {
		if l, ok := s.(sample.Looker); ok && l.Look() {
			fmt.Fprintf(d.out, "E\t%d\tlook\t%s\n", d.round, s.Name())
			if err := s.Refresh(); err != nil {
				t.Error(err)
			}
		}
		d.open(s)
	}
}

func (d *dumper) clocks() {
	now := Now()
	fmt.Fprintf(d.out, "T\t%d\t%d\t%d\t%d\n", d.round, now.Wall, now.Awake, now.Cont)
}

func (d *dumper) read(r *reader) {
	c := &sample.Context{Now: Now, Emit: func(e metric.Event) {
		fmt.Fprintf(d.out, "E\t%d\t%s\t%s\n", d.round, e.Kind, e.Text)
	}}
	if err := r.source.Read(c, r.frames); err != nil {
		fmt.Fprintf(d.out, "F\t%d\t%s\t%v\n", d.round, r.source.Name(), err)
		return
	}
	for _, f := range r.frames {
		d.print(f.Block())
	}
}

func (d *dumper) print(b *metric.Block) {
	for row, in := range b.Rows {
		name := ""
		if in != nil {
			name = in.Name
			fmt.Fprintf(d.out, "I\t%d\t%s\t%s\t%s\t%v\n", d.round, b.Group.Indom, name, in.Key, in.Labels)
		}
		for col, m := range b.Group.Metrics {
			v := b.Cols[col].At(m.Type, row)
			if v.Miss != metric.Present {
				fmt.Fprintf(d.out, "X\t%d\t%s\t%s\t%s\n", d.round, m.Name, name, v.Miss)
				continue
			}
			fmt.Fprintf(d.out, "V\t%d\t%s\t%s\t%s\n", d.round, m.Name, name, v)
		}
	}
}
