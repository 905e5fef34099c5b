package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// described is an archive with a catalogue and without values.
func described(list []*metric.Desc) *querytest.Archive {
	return querytest.New(&querytest.Part{Catalog: list, Info: store.ArchiveInfo{ID: "d", Host: metric.Host{ID: "h"}, BootID: "b"}})
}

func unit(s string) metric.Units {
	u, err := metric.ParseUnits(s)
	if err != nil {
		panic(err)
	}
	return u
}

var vocabulary = []*metric.Desc{
	{Name: "mem.used", Type: metric.U64, Sem: metric.Instant, Units: unit("Kbyte")},
	{Name: "mem.all", Type: metric.U64, Sem: metric.Discrete, Units: unit("Mbyte")},
	{Name: "cpu.user", Type: metric.U64, Sem: metric.Counter, Units: unit("millisec")},
	{Name: "cpu.sys", Type: metric.U64, Sem: metric.Counter, Units: unit("nanosec")},
	{Name: "disk.bytes", Type: metric.U64, Sem: metric.Counter, Units: unit("Kbyte"), Indom: "disk"},
	{Name: "disk.ops", Type: metric.U64, Sem: metric.Counter, Units: unit("count"), Indom: "disk"},
	{Name: "disk.time", Type: metric.U64, Sem: metric.Counter, Units: unit("millisec"), Indom: "disk"},
	{Name: "net.bytes", Type: metric.U64, Sem: metric.Counter, Units: unit("byte"), Indom: "interface"},
	{Name: "name", Type: metric.String, Sem: metric.Discrete},
	{Name: "rss", Type: metric.U64, Sem: metric.Instant, Units: unit("Kbyte"), Indom: "process"},
	{Name: "used", Type: metric.U64, Sem: metric.Counter, Units: unit("millisec"), Indom: "process"},
	{Name: "temp", Type: metric.F32, Sem: metric.Instant, Units: unit("C")},
	{Name: "computed.share", Type: metric.F64, Sem: metric.Instant, Formula: "100 * mem.used / mem.all"},
	{Name: "computed.bad", Type: metric.F64, Sem: metric.Instant, Formula: "mem.used + cpu.user", Units: unit("Kbyte")},
}

func TestUnitsOfExpressions(t *testing.T) {
	a := described(vocabulary)
	for text, want := range map[string]string{
		"mem.used / mem.all":                  "",
		"mem.used + mem.all":                  "Kbyte",
		"mem.used * 2":                        "Kbyte",
		"rate(disk.bytes)":                    "Kbyte / sec",
		"rate(disk.bytes) / rate(disk.ops)":   "Kbyte / count",
		"sum(rate(disk.bytes))":               "Kbyte / sec",
		"rate(cpu.user) + rate(cpu.sys)":      "",
		"rate(cpu.user + cpu.sys)":            "",
		"delta(disk.time) / delta(disk.ops)":  "millisec / count",
		"rate(mem.used)":                      "Kbyte / sec",
		"rate(disk.bytes) / 2s":               "Kbyte / sec^2",
		"max(rate(disk.bytes)) * mem.used":    "Kbyte^2 / sec",
		"computed.share":                      "",
		"-temp":                               "C",
		"count(disk.bytes)":                   "",
		"abs(temp)":                           "C",
		"mem.used[x] * 0 + mem.used":          "!has no instances",
		"rate(disk.bytes[sda*]) + 1 MB/s":     "Kbyte / sec",
		"mem.used > 3GB && temp > 50":         "",
		"sum(rate(disk.ops) > 3)":             "",
		"mem.used + cpu.user":                 "!do not go together",
		"mem.used + 3 sec":                    "!do not go together",
		"cpu.user * mem.used":                 "!write rate(cpu.user)",
		"cpu.user / cpu.sys":                  "!write rate(cpu.user)",
		"rate(rate(cpu.user))":                "!rate() takes a metric",
		"rate(3)":                             "!says nothing",
		"sum(mem.used)":                       "!nothing to bring together",
		"rate(disk.bytes) + rate(net.bytes)":  "!no instances in common",
		"name + 1":                            "!is text",
		"nosuch":                              "!no metric nosuch",
		"mem.usd":                             "!did you mean mem.used",
		"raet(cpu.user)":                      "!did you mean rate",
		"mem.used +":                          "!ends where",
		"(mem.used":                           "!( without )",
		"mem.used)":                           "!unexpected",
		"mem.used mem.all":                    "!unexpected",
		"3 + 4":                               "!is a number",
		"rate()":                              "!needs an argument",
		"rate(cpu.user, cpu.sys)":             "!takes one argument",
		"disk.bytes[":                         "![ without ]",
		"disk.bytes[]":                        "!no instance",
		"3 furlong":                           "!unexpected",
		"mem.used ? 3":                        "!unexpected",
		"temp * temp":                         "!make no unit",
		"max(disk.bytes)":                     "!write rate(disk.bytes)",
		"mem.used > 3GB > 1":                  "!cannot be compared",
		"temp && mem.used > 1GB":              "!joins conditions",
		"computed.bad":                        "!do not go together",
		"sum(rss) by app":                     "Kbyte",
		"rate(sum(used) by service)":          "",
		"sum(rate(used)) by owner > 50%":      "",
		"max(sum(rss) by container)":          "Kbyte",
		"count(rss) by name":                  "",
		"sum(rss) by app + sum(rss) by pod":   "!no instances in common",
		"sum(rss) by":                         "!by what: app, container,",
		"sum(rss) by aap":                     "!by what: app, container,",
		"rate(used) by app":                   "!brings nothing together",
		"sum(disk.bytes) by app":              "!only processes can be grouped",
		"rss by app":                          "!unexpected",
		strings.Repeat("(", 500) + "mem.used": "!nested too deeply",
		strings.Repeat("-", 500) + "mem.used": "!nested too deeply",
	} {
		t.Run(text, func(t *testing.T) {
			e, err := query.Compile(a, nil, text)
			if sub, bad := strings.CutPrefix(want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), sub) {
					t.Errorf("%s: %v; want an error with %q", text, err, sub)
				}
				return
			}
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := e.Units().String(); got != want {
				t.Errorf("%s is in %q, want %q", text, got, want)
			}
		})
	}
}

// Errors point at the place.
func TestColumns(t *testing.T) {
	a := described(vocabulary)
	for text, column := range map[string]int{
		"mem.used + nosuch":          12,
		"mem.used + cpu.user * temp": 12,
		"mem.used + temp":            10,
		"rate(mem.used":              5,
		"  3 @ 4":                    5,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := query.Compile(a, nil, text)
			var at *query.ExprError
			if e, ok := err.(*query.ExprError); ok {
				at = e
			}
			if at == nil || at.Column != column {
				t.Errorf("%q: %v; want column %d", text, err, column)
			}
		})
	}
}

// Every formula of the catalogue can be computed, in the metric's own units.
func TestCatalogueFormulas(t *testing.T) {
	for _, p := range []catalog.Platform{catalog.Darwin, catalog.Linux} {
		a := described(catalog.For(p))
		n := 0
		for _, d := range catalog.For(p) {
			if d.Formula == "" || d.Unsupported != "" {
				continue
			}
			n++
			if _, err := query.Compile(a, nil, d.Name); err != nil {
				t.Errorf("%v: %s: %v", p, d.Name, err)
			}
		}
		if n == 0 {
			t.Errorf("%v: no formulas", p)
		}
	}
}

// The values of an expression are those of its operands, put together one by
// one.
func TestExpressionsAgainstOracle(t *testing.T) {
	for seed := range uint64(100) {
		w := newWorld(seed)
		win := w.window(rand.New(rand.NewPCG(seed, 8)))
		series := make(map[string][]shown)
		for _, r := range w.series {
			series[name(r)] = collect(t, w, r, query.Request{Window: win, Mode: query.Shown})
		}
		for text, want := range map[string]func(i int) float64{
			"rate(a.wide) + e.level * 0.5": nil,
			"e.level / 4 - 1":              func(i int) float64 { return series["e.level"][i].value/4 - 1 },
			"rate(d.time) * 2":             func(i int) float64 { return series["d.time"][i].value * 2 },
			"rate(a.wide) / 1024":          func(i int) float64 { return series["a.wide"][i].value / 1024 },
			"rate(b.narrow) + rate(b.narrow)": func(i int) float64 {
				return 2 * series["b.narrow"][i].value
			},
			"e.level > 0": func(i int) float64 {
				x := series["e.level"][i].value
				if math.IsNaN(x) {
					return x
				}
				return map[bool]float64{true: 1, false: 0}[x > 0]
			},
		} {
			e, err := query.Compile(w.archive, nil, text)
			if want == nil {
				if err == nil {
					t.Errorf("%s: bytes per second and kilobytes were added", text)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []shown
			for s, err := range query.Evaluate(w.archive, e, query.Request{Window: win}) {
				if err != nil {
					t.Fatal(err)
				}
				for i, wall := range s.Wall {
					v := s.Value(i)
					got = append(got, shown{wall, v.Number(), v.Miss == metric.Present})
				}
			}
			base := series[map[bool]string{true: "e.level"}[strings.HasPrefix(text, "e.")]]
			for _, n := range []string{"a.wide", "b.narrow", "d.time"} {
				if strings.Contains(text, n) {
					base = series[n]
				}
			}
			if len(got) != len(base) {
				t.Fatalf("seed %d, %s, window %v: %d values, want %d", seed, text, win, len(got), len(base))
			}
			for i, g := range got {
				x := want(i)
				if !base[i].known {
					x = math.NaN()
				}
				if i < 4 && (!g.known || !base[i].known || strings.HasPrefix(text, "rate")) {
					continue // It may know more or less of what was before the window.
				}
				if g.wall != base[i].wall || g.known == math.IsNaN(x) || g.known && !near(g.value, x) {
					t.Fatalf("seed %d, %s, window %v: value %d is %v, want %v", seed, text, win, i, g, x)
				}
			}
		}
	}
}

// A condition's times are where it is true, joined.
func TestFindAgainstOracle(t *testing.T) {
	for seed := range uint64(100) {
		w := newWorld(seed)
		e, err := query.CompileCondition(w.archive, nil, "h.disk > 0")
		if err != nil {
			t.Fatal(err)
		}
		least := int64(seed%3) * 5 * second
		var got []string
		for h, err := range query.Find(w.archive, e, query.Request{}, least) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(h.Instance.Key, h.From, h.To, h.Samples))
		}
		want := make(map[string]bool)
		for _, r := range w.series {
			if r.desc.Name != "h.disk" {
				continue
			}
			var from, to, last int64
			samples := 0
			end := func() {
				if samples > 0 && to-from >= least {
					want[fmt.Sprint(r.in.Key, from, to, samples)] = true
				}
				samples = 0
			}
			for _, s := range r.all {
				if samples > 0 && s.value.Miss == metric.Present && s.wall-last > 4*w.every {
					end()
				}
				x := s.value.Number()
				if x != x {
					continue
				}
				last = s.wall
				switch {
				case x > 0:
					if samples == 0 {
						from = s.wall
					}
					to = s.wall
					samples++
				default:
					end()
				}
			}
			end()
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d times, want %d", seed, len(got), len(want))
		}
		for _, g := range got {
			if !want[g] {
				t.Fatalf("seed %d: %s is not one of the times", seed, g)
			}
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"mem.used / mem.all", "rate(disk.bytes[sda*]) > 10MB/s && temp > 50", "-(1e6 + 80%) * mem.used", "sum(rate(net.bytes)) / 2s", "((("} {
		f.Add(s)
	}
	a := described(vocabulary)
	f.Fuzz(func(t *testing.T, s string) {
		e, err := query.Compile(a, nil, s)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		for s, err := range query.Evaluate(a, e, query.Request{}) {
			if err != nil || s == nil {
				t.Errorf("%q: %v", e.Text, err)
			}
		}
	})
}

func FuzzDefinitions(f *testing.F) {
	f.Add("a = b + 1\n# comment\nc.d = rate(e) # more")
	f.Fuzz(func(t *testing.T, s string) {
		var d query.Definitions
		if err := d.ReadDefinitions(strings.NewReader(s), "file"); err == nil && len(d.Names()) > strings.Count(s, "=") {
			t.Errorf("%q defines %v", s, d.Names())
		}
	})
}

// Processes are brought together by their owner, and each counts once. What belongs to none is left out.
func TestTotalsByOwner(t *testing.T) {
	a := parse(t, "start 2026-11-20T03:00:00Z\n"+linuxBox+`instance process 1 000001 nginx service=web.service container=front
instance process 2 000002 nginx service=web.service
instance process 3 000003 shop app=front
instance process 4 000004 sh
boot b1 -1h
every 5s 0s 20s process
  proc.psinfo.utime[1] rate=100
  proc.psinfo.utime[2] rate=200
  proc.psinfo.utime[3] rate=300
  proc.psinfo.utime[4] rate=400
  proc.memory.rss[1] 10
  proc.memory.rss[2] 20
  proc.memory.rss[3] 30
  proc.memory.rss[4] 40
`)
	for text, want := range map[string]string{
		"sum(proc.memory.rss) by owner":                 "app front 30, container front 10, service web.service 20",
		"sum(proc.memory.rss) by service":               "web.service 30",
		"max(proc.memory.rss) by service":               "web.service 20",
		"count(proc.psinfo.utime) by name":              "nginx 2, sh 1, shop 1",
		"rate(sum(proc.psinfo.utime) by service)":       "web.service 0.3",
		"sum(rate(proc.psinfo.utime)) by service > 20%": "web.service 1",
		"sum(proc.memory.rss[shop]) by app":             "front 30",
		"sum(proc.memory.rss) by pod":                   "",
	} {
		e, err := query.Compile(a, nil, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for s, err := range query.Evaluate(a, e, query.Request{Mode: query.Shown}) {
			if err != nil {
				t.Fatal(err)
			}
			if s.Instance == nil {
				t.Fatalf("%s: a series without an instance", text)
			}
			got = append(got, fmt.Sprintf("%s %v", s.Instance.Key, s.Value(len(s.Wall)-1).Number()))
		}

		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
