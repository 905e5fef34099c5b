package chunk

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

var updateBytes = flag.Bool("update-bytes", false, "write down anew what the same ticks come to")

// sameTicks returns ticks made of whole numbers only, which are the same on every processor:
// counters that move together, levels and fractions.
func sameTicks(seed uint64) []*metric.Tick {
	rnd := rand.New(rand.NewPCG(seed, 13))
	g := &metric.Group{Name: "g"}
	add := func(name string, typ metric.Type, sem metric.Semantics) {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: name, Type: typ, Sem: sem, Class: metric.Fast})
	}
	for i := range 4 {
		add(fmt.Sprint("counter", i), metric.U64, metric.Counter)
		add(fmt.Sprint("level", i), metric.I64, metric.Instant)
		add(fmt.Sprint("fraction", i), metric.F64, metric.Instant)
		add(fmt.Sprint("short", i), metric.F32, metric.Instant)
	}
	values := make([]int64, len(g.Metrics))
	var ticks []*metric.Tick
	at := metric.Stamp{Wall: 1_790_000_000e9, Cont: 1e12, Awake: 1e12}
	for range 500 {
		step := 1e9 + int64(rnd.IntN(2e6))
		at = metric.Stamp{Wall: at.Wall + step, Cont: at.Cont + step, Awake: at.Awake + step}
		b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(g.Metrics))}
		load := int64(rnd.IntN(100_000))
		for c, d := range g.Metrics {
			switch d.Sem {
			case metric.Counter:
				values[c] += load*[]int64{1000, 1414, 3, 77}[c/4]/1000 + int64(rnd.IntN(30))
			default:
				values[c] += int64(rnd.IntN(2001)) - 1000
			}
			bits := uint64(values[c])
			switch d.Type {
			case metric.F64:
				bits = math.Float64bits(float64(values[c]) / 1000)
			case metric.F32:
				bits = uint64(math.Float32bits(float32(values[c]) / 1000))
			}
			b.Cols[c].Bits = []uint64{bits}
		}
		ticks = append(ticks, &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}})
	}
	return ticks
}

// The same ticks give the same bytes, and the same sums over any part of them, on every
// processor. The expected results were computed on amd64.
func TestSameBytesEverywhere(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(8) {
		b := NewBuilder(metric.Fast)
		for _, tick := range sameTicks(seed) {
			if err := b.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		var n numbers
		sealed, err := b.Seal(n.number)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d: %d bytes, %x\n", seed, len(sealed.Data), sha256.Sum256(sealed.Data))
		c, err := Open(strings.NewReader(string(sealed.Data)), int64(len(sealed.Data)))
		if err != nil {
			t.Fatal(err)
		}
		g := c.Groups[0]
		_, conts, err := g.Times()
		if err != nil {
			t.Fatal(err)
		}
		insts, err := g.Instances()
		if err != nil {
			t.Fatal(err)
		}
		for ci, col := range g.Columns {
			d := n.desc(col.Number)
			err := g.Series(ci, nil, func(i int, s *Series) error {
				sum, _ := s.Summarize(d, &insts[i], conts, uint32(seed), uint32(g.Blocks-1-ci))
				fmt.Fprintf(&out, "%d %s: sum %x, weighted %x, increase %x\n", seed, d.Name,
					math.Float64bits(sum.Sum), math.Float64bits(sum.Weighted), math.Float64bits(sum.Increase))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const path = "testdata/same_bytes.txt"
	if *updateBytes {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(lines)) {
		if i >= len(got) || i >= len(lines) || got[i] != lines[i] {
			t.Fatalf("line %d of %s does not hold here:\n%s", i+1, path, strings.Join(got[i:min(i+1, len(got))], ""))
		}
	}
}
