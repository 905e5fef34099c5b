package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

func TestPartition(t *testing.T) {
	host := func(name, id string) metric.Host { return metric.Host{Name: name, ID: id} }
	long := strings.Repeat("é", 100)
	for _, c := range []struct {
		host   metric.Host
		others []metric.Host
		want   string
	}{
		{host("web-1.example.org", "1"), nil, "web-1.example.org"},
		{host("../x", "1"), nil, "%2E.%2Fx"},
		{host("..", "1"), nil, "%2E."},
		{host("a b=c%41", "1"), nil, "a%20b%3Dc%2541"},
		{host("", "1"), nil, "__HIVE_DEFAULT_PARTITION__"},
		{host("x\xff", "1"), nil, "x%EF%BF%BD"},
		{host("twin", "1/2"), []metric.Host{host("twin", "3")}, "twin~1%2F2"},
		{host(long, "1"), nil, strings.Repeat("%C3%A9", 30) + "~1"},
	} {
		got := partition(&c.host, append(c.others, c.host))
		if strings.ContainsAny(got, "/\\\x00") || len(got) > 240 {
			t.Errorf("%q becomes %q", c.host.Name, got)
		}
		if got != c.want {
			t.Errorf("%q becomes %q, want %q", c.host.Name, got, c.want)
		}
	}
}

func TestFloorDay(t *testing.T) {
	for _, c := range [][2]string{
		{"2026-11-20T23:59:59.999999999Z", "2026-11-20"}, {"2026-11-20T00:00:00Z", "2026-11-20"}, {"1969-12-31T23:59:59Z", "1969-12-31"}, {"1969-12-31T00:00:00Z", "1969-12-31"},
	} {
		at, err := time.Parse(time.RFC3339, c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Unix(0, floorDay(at.UnixNano())).UTC().Format(time.RFC3339); got != c[1]+"T00:00:00Z" {
			t.Errorf("the day of %s began at %s", c[0], got)
		}
	}
}

// A page holds runs as the format has them, and numbers as they are: times to the nanosecond.
func TestPages(t *testing.T) {
	times := &column{kind: instant, required: true}
	copy(times.room(2), []int64{1, math.MaxInt64})
	if b := times.page(nil); len(b) != 16 || binary.LittleEndian.Uint64(b) != 1 || binary.LittleEndian.Uint64(b[8:]) != math.MaxInt64 {
		t.Errorf("times are %x", b)
	}
	words := &column{kind: text}
	words.same("a", 3)
	words.null(2)
	words.same("a", 1)
	words.same("b", 200)
	want := "\x07\x00\x00\x00" + "\x06\x01" + "\x04\x00" + "\x92\x03\x01" + "\x01" + "\x08\x00" + "\x90\x03\x01"
	if b := words.page(nil); string(b) != want {
		t.Errorf("texts are %x, want %x", b, want)
	}
	if b := words.dictionary(nil); string(b) != "\x01\x00\x00\x00a\x01\x00\x00\x00b" {
		t.Errorf("words are %x", b)
	}
}

func TestStatistics(t *testing.T) {
	bound := func(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
	c := &column{kind: double}
	for i, x := range []float64{3, 0, 2} {
		c.room(1)[0] = int64(math.Float64bits(x))
		if s := c.statistics(); i == 2 && (math.Float64frombits(bound(s.MaxValue)) != 3 || bound(s.MinValue) != 1<<63) {
			t.Errorf("%+v", s)
		}
	}
	c.room(1)[0] = int64(math.Float64bits(math.NaN()))
	if s := c.statistics(); s.MinValue != nil || s.MaxValue != nil {
		t.Errorf("of what is no number %+v", s)
	}
	c = &column{kind: unsigned}
	copy(c.room(2), []int64{-1, 5})
	if s := c.statistics(); bound(s.MinValue) != 5 || bound(s.MaxValue) != math.MaxUint64 {
		t.Errorf("%+v", s)
	}
	c = &column{kind: text}
	c.null(4)
	if s := c.statistics(); s.NullCount != 4 || s.MinValue != nil {
		t.Errorf("%+v", s)
	}
}

// A row group is bounded, whatever there is.
func TestRowGroups(t *testing.T) {
	var b strings.Builder
	columns := longTable()
	f, err := newFile(&b, columns, metricColumn)
	if err != nil {
		t.Fatal(err)
	}
	l := &long{output: &output{file: f}}
	const n = groupRows + groupRows/2
	s := &query.Series{Name: "x", Type: metric.F64, Wall: make([]int64, n), Column: metric.Column{Bits: make([]uint64, n)}, Archive: &store.ArchiveInfo{}}
	for range 2 {
		if err := l.add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	file := b.String()
	size := int(binary.LittleEndian.Uint32([]byte(file[len(file)-8:])))
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), []byte(file[len(file)-8-size:len(file)-8]), &m); err != nil {
		t.Fatal(err)
	}
	if m.NumRows != 2*n || len(m.RowGroups) != 3 || file[:4] != magic || file[len(file)-4:] != magic {
		t.Errorf("%d rows in %d groups", m.NumRows, len(m.RowGroups))
	}
	for _, g := range m.RowGroups {
		if g.NumRows != groupRows || len(g.SortingColumns) != 1 || g.SortingColumns[0].ColumnIdx != metricColumn {
			t.Errorf("%+v", g)
		}
	}
}

// What is given up leaves nothing.
func TestEnded(t *testing.T) {
	dir := t.TempDir()
	ctx, end := context.WithCancel(context.Background())
	r := &export.Request{Archive: exporttest.Of(t, "mac.txt"), Tables: Format.Tables, Progress: func(done, _ int64) {
		if done == 3 {
			end()
		}
	}}
	if _, err := Format.Write(ctx, r, export.Target{Path: filepath.Join(dir, "out")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("there is %v", list)
	}
}

// BenchmarkLong encodes values as they come out of an archive: stretches of series that are read
// together, of which one in four moves at every reading.
func BenchmarkLong(b *testing.B) {
	const n, many = 8640, 64
	rnd := rand.New(rand.NewPCG(1, 2))
	series := make([]*query.Series, many)
	var wall []int64
	for i := range n {
		wall = append(wall, 1_790_000_000e9+int64(i)*10e9+rnd.Int64N(2e6))
	}
	for i := range series {
		s := &query.Series{Name: "proc.psinfo.utime", Type: metric.U64, Wall: wall, Archive: &store.ArchiveInfo{}}
		total := rnd.Uint64N(1e9)
		for range n {
			if i%4 == 0 {
				total += rnd.Uint64N(1e6)
			}
			s.Bits = append(s.Bits, total)
		}
		series[i] = s
	}
	f, err := newFile(io.Discard, longTable(), metricColumn)
	if err != nil {
		b.Fatal(err)
	}
	l := &long{output: &output{file: f}}
	values := 0
	for i := 0; b.Loop(); i++ {
		s := series[i%many]
		s.Instance = &metric.Instance{Name: fmt.Sprintf("%06d process", i), Key: fmt.Sprintf("%d/1", i)}
		if err := l.add(s); err != nil {
			b.Fatal(err)
		}
		values += n
	}
	if err := f.close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(values)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	b.ReportMetric(float64(f.at)/float64(values), "B/value")
}
