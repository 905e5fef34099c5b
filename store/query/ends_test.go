package query_test

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// A stick is mounted for ten minutes, and an hour later no longer full.
const stick = `
start 2026-11-20T03:00:00Z
host h
interval polled 10s
metric filesys.full f64 instant filesys polled
metric filesys.used u64 discrete filesys polled Kbyte
metric filesys.type string discrete filesys static
metric filesys.capacity u64 discrete filesys static Kbyte
instance filesys / /
instance filesys stick /Volumes/stick
boot b1 -1h
tick static 1s
  filesys.type[/] "apfs"
  filesys.type[stick] "msdos"
  filesys.capacity[/] 1000
  filesys.capacity[stick] 100
every 10s 10s 10m polled
  filesys.full[/] level=40
  filesys.full[stick] level=100
  filesys.used[/] level=400
  filesys.used[stick] level=100
every 10s 610s 4h polled
  filesys.full[/] level=40
  filesys.used[/] level=400
`

func TestHeldValuesEndWithTheirInstance(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(stick))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	begin := a.Archives()[0].From
	const minute = 60 * second
	for _, c := range []struct {
		metric   string
		from, to int64
		step     int64
		want     string // of the stick: the last instant at which it has a value
	}{
		{"filesys.used", 0, 60, 5 * minute, "10"},
		{"filesys.capacity", 0, 60, 5 * minute, "10"},
		{"filesys.type", 0, 60, 5 * minute, "10"},
		{"filesys.capacity", 30, 60, 5 * minute, "never"},
		{"filesys.type", 30, 60, 0, "never"},
		{"filesys.used", 30, 60, 0, "never"},
		{"filesys.type", 5, 8, 0, "5"},
		{"filesys.capacity", 5, 8, minute, "8"},
	} {
		t.Run(fmt.Sprint(c.metric, " ", c.from, " to ", c.to, " by ", c.step/minute), func(t *testing.T) {
			r := query.Request{Mode: query.Shown, Metrics: []string{c.metric}, Step: c.step}
			if c.from != 0 {
				r.From = begin + c.from*minute
			}
			r.To = begin + c.to*minute
			got, root := "never", "never"
			for s, err := range query.Read(a, r) {
				if err != nil {
					t.Fatal(err)
				}
				for i, wall := range s.Wall {
					if s.Value(i).Miss != metric.Present {
						continue
					}
					at := fmt.Sprint((wall - begin + minute/2) / minute)
					if s.Instance.Key == "stick" {
						got = at
					} else {
						root = at
					}
				}
			}
			if got != c.want {
				t.Errorf("the stick's last value is at %s minutes, want %s", got, c.want)
			}
			if c.step != 0 && root != fmt.Sprint(c.to) {
				t.Errorf("that of what stays is at %s minutes", root)
			}
		})
	}
}

// The fullest volume is one that is there at the end of the window.
func TestTheFullestVolumeIsThere(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(stick))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	begin := a.Archives()[0].From
	for minutes, want := range map[int64]string{8: "/Volumes/stick", 12: "/", 230: "/"} {
		t.Run(want, func(t *testing.T) {
			list, err := query.Gauges(a, query.Window{To: begin + minutes*60*second}, 4)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if g := list[0]; g.Instance != want {
				t.Errorf("after %d minutes the fullest volume is %s (%v), want %s", minutes, g.Instance, g.Last, want)
			}
		})
	}
}

// No rate goes from one device to another that has its key, and what took the
// place of another does not end the rates of others.
func TestNoRateAcrossDevices(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host h
interval fast 10s
metric reads u64 counter disk fast count
instance disk disk2 disk2
instance disk disk0 disk0
boot b1 -1h
every 10s 0s 1m fast
  reads[disk0] rate=10 from=0
  reads[disk2] rate=10 from=0
event 70s device | disk disk2 went away | indom=disk key=disk2
event 70s device | disk disk2 appeared | indom=disk key=disk2
every 10s 70s 2m fast
  reads[disk0] rate=10
  reads[disk2] rate=10 from=1000000
`))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	for _, step := range []int64{0, 10 * second} {
		t.Run(fmt.Sprintf("steps of %d s", step/second), func(t *testing.T) {
			absent := make(map[string]int)
			for s, err := range query.Read(a, query.Request{Mode: query.Shown, Metrics: []string{"reads"}, Step: step}) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range s.Wall {
					v := s.Value(i)
					if v.Miss != metric.Present {
						absent[s.Instance.Key]++
					} else if v.Number() > 11 {
						t.Errorf("step %d: %s reads %v a second", step/second, s.Instance.Name, v.Number())
					}
				}
			}
			if step == 0 && (absent["disk0"] != 1 || absent["disk2"] != 2) {
				t.Errorf("without a rate: %v", absent)
			}
		})
	}
}

// What another device had counted before is no gain, however the readings are
// cut into chunks; and what it has less than the one before is nothing that it
// has to catch up.
func TestNoGainAcrossDevices(t *testing.T) {
	for name, from := range map[string]int{"more": 1_000_000, "a little less": 1_950, "far less": 10} {
		t.Run(name, func(t *testing.T) {
			parts, err := querytest.Parse(strings.NewReader(fmt.Sprintf(`
start 2026-11-20T03:00:00Z
host h
interval fast 10s
metric reads u64 counter disk fast count
instance disk disk2 disk2
instance disk disk0 disk0
boot b1 -1h
every 10s 0s 1m fast
  reads[disk0] rate=10 from=1500
  reads[disk2] rate=10 from=1500
event 70s device | disk disk2 went away | indom=disk key=disk2
event 70s device | disk disk2 appeared | indom=disk key=disk2
every 10s 70s 2m fast
  reads[disk0] rate=10
  reads[disk2] rate=10 from=%d
`, from)))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 3, 100} {
				a := querytest.New(parts...)
				a.RunLength = n
				gains := make(map[string]float64)
				for g, err := range query.Ranges(a, query.RangeRequest{Request: query.Request{Metrics: []string{"reads"}}}) {
					if err != nil {
						t.Fatal(err)
					}
					gains[g.Instance.Key] = g.Increase
				}
				if gains["disk0"] < gains["disk2"] || gains["disk2"] != gains["disk0"]-100 {
					t.Errorf("%s, in pieces of %d: increases are %v", name, n, gains)
				}
				for s, err := range query.Read(a, query.Request{Mode: query.Shown, Metrics: []string{"reads"}}) {
					if err != nil {
						t.Fatal(err)
					}
					for i := range s.Wall {
						if v := s.Value(i); v.Miss == metric.Present && v.Number() != 10 {
							t.Errorf("%s, in pieces of %d: %s reads %v a second", name, n, s.Instance.Name, v.Number())
						}
					}
				}
			}
		})
	}
}

// What could not be read is not what it was before, whatever kind of number it
// is; a step in which it was read at all shows that.
func TestStepsOfWhatCannotBeRead(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host h
interval fast 10s
metric reads u64 counter - fast count
metric kind u64 discrete - fast count
boot b1 -1h
every 10s 0s 50s fast
  reads rate=10 from=0
  kind 7
tick fast 55s
  reads !driver fell silent
  kind !driver fell silent
tick fast 90s
  reads !driver fell silent
  kind !driver fell silent
tick fast 150s
  reads !driver fell silent
  kind !driver fell silent
every 10s 190s 4m fast
  reads rate=10 from=5000
  kind 8
`))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	for _, name := range []string{"reads", "kind"} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for s, err := range query.Read(a, query.Request{Mode: query.Raw, Metrics: []string{name}, Step: 60 * second}) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range s.Wall {
					if v := s.Value(i); v.Miss == metric.Present {
						got = append(got, "there")
					} else {
						got = append(got, v.Miss.String())
					}
				}
			}
			if text := strings.Join(got, ", "); text != "there, driver fell silent, driver fell silent, there" {
				t.Errorf("%s by the minute: %s", name, text)
			}
		})
	}
}

// The mean of an overview is that of the time, as in ranges: a second with much
// between long ones is no more than a second.
func TestMeansWeighTime(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host h
interval fast 10s
metric network.all.in.bytes u64 counter - fast byte
boot b1 -1h
tick fast 10s
  network.all.in.bytes 1000
tick fast 20s
  network.all.in.bytes 1000
tick fast 21s
  network.all.in.bytes 101000
tick fast 31s
  network.all.in.bytes 101000
tick fast 60s
  network.all.in.bytes 101000
`))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	list, err := query.Gauges(a, query.Window{}, 4)
	if err != nil || len(list) == 0 || list[0].Name != "network.in" {
		t.Fatal(list, err)
	}
	if got := list[0].Mean; got != 2000 {
		t.Errorf("100 KB in 50 seconds are %v bytes a second", got)
	}
}
