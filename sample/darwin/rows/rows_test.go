package rows

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// words answers with numbers by the words of a table.
type words struct {
	t *Table
	v map[string]uint64
}

func (w words) Leaf(i int) Value {
	if v, ok := w.v[w.t.Leaves[i].Word]; ok {
		return Value{Bits: v}
	}
	return Value{Miss: metric.Stale}
}

func row(formula string, typ metric.Type) Row {
	return Row{&metric.Desc{Name: "a.metric", Source: "asked: " + formula, Type: typ}, "asked", formula}
}

func TestFormulas(t *testing.T) {
	funcs := map[string]Func{
		"half": func(x, _ uint64) (uint64, bool) { return x / 2, x%2 == 0 },
		"less": func(x, y uint64) (uint64, bool) { return x - y, x >= y },
	}
	known := map[string]uint64{"a": 12, "b": 5, "zero": 0, "A key (Read)": 7, "Class/A key": 3, `total("A key" / b)`: 9, "signed": math.MaxUint64}
	for _, c := range []struct {
		formula string
		want    uint64
		miss    metric.Reason
	}{
		{"a", 12, metric.Present},
		{"-1", math.MaxUint64, metric.Present},
		{"a + b * 2", 22, metric.Present},
		{"(a + b) * 2 / 4", 8, metric.Present},
		{"a - b - 3", 4, metric.Present},
		{"b - a", 0, metric.Present},
		{"a / zero", 0, metric.Unsupported},
		{"zero / zero", 0, metric.Present},
		{`"A key (Read)" + Class/"A key"`, 10, metric.Present},
		{`total("A key" / b) * 2`, 18, metric.Present},
		{"none", 0, metric.Stale},
		{"a + none", 0, metric.Stale},
		{"none or a", 12, metric.Present},
		{"b or none", 5, metric.Present},
		{"none or none or a * 2", 24, metric.Present},
		{"a / zero or b", 5, metric.Present},
		{"half(a)", 6, metric.Present},
		{"half(b)", 0, Implausible},
		{"less(a, none or b)", 7, metric.Present},
		{"less(half(a), a)", 0, Implausible},
		{"half(b) or a", 12, metric.Present},
		{"half(b) or none", 0, Implausible},
		{"none or half(b)", 0, Implausible},
		{"half(b) or a / zero or none", 0, Implausible},
	} {
		t.Run(c.formula, func(t *testing.T) {
			table := New("g", []Row{row(c.formula, metric.U64)}, 0, funcs)
			if got := table.Value(0, 0, words{table, known}); got != (Value{c.want, c.miss}) {
				t.Errorf("%d (%s), want %d (%s)", got.Bits, got.Miss, c.want, c.miss)
			}
		})
	}
	for formula, want := range map[string]float64{"a / b": 2.4, "b - a": -7, "signed / 2": -0.5, "100 * b / a": 100 * 5.0 / 12, "zero / zero": 0} {
		t.Run("floating "+formula, func(t *testing.T) {
			table := New("g", []Row{row(formula, metric.F64)}, 0, funcs)
			if got := table.Value(0, 0, words{table, known}); got.Miss != metric.Present || math.Float64frombits(got.Bits) != want {
				t.Errorf("%v (%s), want %v", math.Float64frombits(got.Bits), got.Miss, want)
			}
		})
	}
}

func TestMistakesInFormulas(t *testing.T) {
	for _, formula := range []string{"", "a +", "a b", "(a", "a)", `"a`, "f(a", "a; b", "twice(a, b, a)", "twice()"} {
		t.Run(formula, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "a.metric") {
					t.Errorf("the mistake is told so: %s", text)
				}
			}()
			New("g", []Row{row(formula, metric.U64)}, 0, map[string]Func{"twice": func(x, _ uint64) (uint64, bool) { return 2 * x, true }})
		})
	}
}

// A sum of counters wraps where its parts wrap.
func TestCountersOfAWidth(t *testing.T) {
	r := row("a + b", metric.U64)
	r.Sem, r.Width = metric.Counter, 32
	table := New("g", []Row{r}, 0, nil)
	if v := table.Value(0, 0, words{table, map[string]uint64{"a": math.MaxUint32, "b": 3}}); v.Bits != 2 {
		t.Errorf("%d, want 2", v.Bits)
	}
}

func TestInstances(t *testing.T) {
	known := map[string]uint64{"x[0]": 4, "x[1]": 6, "x[2]": 8, "a": 1, "b": 2, "c": 3, "n": 2}
	for formula, want := range map[string][3]uint64{"x[i] / n": {2, 3, 4}, "a; b; c": {1, 2, 3}, "n": {2, 2, 2}} {
		t.Run(formula, func(t *testing.T) {
			table := New("g", []Row{row(formula, metric.U64)}, 3, nil)
			for i, w := range want {
				if v := table.Value(0, i, words{table, known}); v != (Value{Bits: w}) {
					t.Errorf("instance %d: %+v, want %d", i, v, w)
				}
			}
		})
	}
}

func TestTotals(t *testing.T) {
	all := New("all", []Row{row(`(total("A key" / size) + total(b)) / 2`, metric.U64), row("total(b)", metric.U64)}, 0, nil)
	each := all.Totals()
	if len(each.Group.Metrics) != 2 || len(all.Leaves) != 2 {
		t.Fatalf("%d totals of %v", len(each.Group.Metrics), all.Leaves)
	}
	if v := each.Value(0, 0, words{each, map[string]uint64{"A key": 40, "size": 8}}); v != (Value{Bits: 5}) {
		t.Errorf("%+v, want 5", v)
	}
}

func TestMembers(t *testing.T) {
	r := row("icps_inhist[] + icps_inhist[8] - icps_error + own", metric.U64)
	r.Question = "sysctl net.inet.icmp.stats icmpstat"
	table := New("g", []Row{r}, 0, nil)
	for _, arch := range []string{"amd64", "arm64"} {
		ms := table.Members(arch, "own")
		answer := make([]byte, 400)
		binary.LittleEndian.PutUint32(answer[196:], 10)
		binary.LittleEndian.PutUint32(answer[196+4*8:], 5)
		var got []Value
		for i := range 3 {
			got = append(got, ms[i].Value(answer, metric.Stale))
		}
		if fmt.Sprint(got) != "[{15 present} {5 present} {0 present}]" || ms[3].Field != nil {
			t.Errorf("%s: %v", arch, got)
		}
		if v := ms[0].Value(answer[:300], metric.Stale); v.Miss != metric.Stale {
			t.Errorf("of a short answer %+v", v)
		}
	}
	for _, word := range []string{"nothing", "icps_inhist", "icps_inhist[41]", "icps_inhist[x]", "icps_error[0]"} {
		t.Run(word, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, word) {
					t.Errorf("the mistake is told so: %s", text)
				}
			}()
			r.Formula = word
			New("g", []Row{r}, 0, nil).Members("amd64")
		})
	}
}

func TestFill(t *testing.T) {
	table := New("g", []Row{row("a", metric.U32), row("a / b", metric.F64), row("none", metric.U64)}, 0, nil)
	f := sample.NewFrame(table.Group, func(*metric.Desc) bool { return true })
	f.Reset(metric.Stamp{})
	a := &words{table, map[string]uint64{"a": 3, "b": 2}}
	table.Fill(f, f.Row(nil), 0, a)
	var got []string
	for i, d := range table.Group.Metrics {
		v := f.Block().Cols[i].At(d.Type, 0)
		got = append(got, fmt.Sprint(v, " ", v.Miss))
	}
	if strings.Join(got, " ") != "3 present 1.5 present  stale" {
		t.Errorf("%q", got)
	}
	if n := testing.AllocsPerRun(10, func() { table.Fill(f, 0, 0, a) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	table.Lack("it has no b", func(l *Leaf) bool { return l.Word == "b" })
	if table.Group.Metrics[0].Unsupported != "" || table.Group.Metrics[1].Unsupported == "" {
		t.Error("marked what does not need b, or left what does")
	}
}

func TestSelect(t *testing.T) {
	for _, r := range Select(metric.NoIndom, "sysctl ") {
		if r.Source != "sysctl "+r.Formula && r.Source != "sysctl "+r.Question+": "+r.Formula || r.Unsupported != "" || r.Class == metric.Process {
			t.Errorf("%s: %q and %q", r.Name, r.Question, r.Formula)
		}
	}
	d := catalog.Find(catalog.Darwin, "swap.used")
	rs := Select(metric.NoIndom, "sysctl vm.swapusage ")
	if len(rs) != 3 || rs[2].Name != d.Name || rs[2].Question != "xsw_usage" || rs[2].Formula != "xsu_used / 1024" {
		t.Errorf("%+v", rs)
	}
}

// Any text is either a formula or a mistake that is reported.
func FuzzFormula(f *testing.F) {
	for _, d := range catalog.For(catalog.Darwin) {
		f.Add(d.Source)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer func() {
			if mistake := recover(); mistake != nil && !strings.HasPrefix(fmt.Sprint(mistake), "catalog: ") {
				panic(mistake)
			}
		}()
		table := New("g", []Row{row(text, metric.U64)}, 0, nil)
		table.Value(0, 0, words{table, nil})
	})
}
