package trigger

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tachograph/config"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

const busyText = `[[trigger]]
name = "busy"
when = "rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 90%"
for = "1m"
stacks = { for = "5s", rate = 50, of = "process" }
burst = { classes = ["fast"], for = "10s" }
run = ["/bin/page", "me"]
cool_down = "10m"
per_day = 3
`

type shares = map[*metric.Instance]float64

func TestFiresOnce(t *testing.T) {
	w := newWorld(t, busyText)
	a, b := w.start(10), w.start(20)
	w.run(5*time.Minute, shares{a: 0.2, b: 0.8})
	w.told(0)
	w.run(55*time.Second, shares{a: 1, b: 0.8})
	w.told(0)
	w.refuse["stacks"] = errBusy
	w.run(2*time.Hour, shares{a: 1, b: 0.8})
	ev := w.told(1)[0]
	if want := "busy: 000010 p: rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 90% for 1m, last 100 %; no stacks: stacks are being sampled already; fast every 100ms for 10s; a command is run"; ev.Text != want {
		t.Errorf("the event says\n%s, want\n%s", ev.Text, want)
	}
	if ev.Kind != metric.EventTrigger || ev.Indom != "process" || ev.Key != a.Key || ev.Label("trigger") != "busy" || ev.Label("value") != "100" ||
		ev.Label("stacks") != errBusy.Error() || ev.Label("burst") != "begun" {
		t.Errorf("event %+v", ev)
	}
	if got, want := strings.Join(w.begun, "; "), "stacks of 10; burst of [fast] every 100ms; [/bin/page me] for 10"; got != want {
		t.Errorf("begun: %s, want %s", got, want)
	}
}

func TestMustCeaseBeforeItCountsAgain(t *testing.T) {
	w := newWorld(t, busyText)
	a := w.start(10)
	w.run(2*time.Minute, shares{a: 1})
	w.told(1)
	// What wavers around the limit is one and the same.
	for range 60 {
		w.run(30*time.Second, shares{a: 0.5})
		w.run(90*time.Second, shares{a: 1})
	}
	w.told(0)
	w.run(90*time.Second, shares{a: 0.5})
	w.run(2*time.Minute, shares{a: 1})
	w.told(1)
}

func TestCoolDownAndDailyLimit(t *testing.T) {
	w := newWorld(t, busyText)
	a, b := w.start(10), w.start(20)
	w.run(2*time.Minute, shares{a: 1})
	w.told(1)
	// Another process runs away while the trigger cools down: it is obeyed then.
	w.run(8*time.Minute, shares{a: 1, b: 1})
	w.told(0)
	w.run(5*time.Minute, shares{a: 1, b: 1})
	if ev := w.told(1)[0]; ev.Key != b.Key || ev.Label("refused") != "1" {
		t.Errorf("after the cool-down: %+v", ev)
	}
	fired := 2
	for hour := 0; hour < 23; hour++ {
		w.run(50*time.Minute, nil)
		w.run(10*time.Minute, shares{a: 1, b: 1})
		fired += len(w.events)
		w.events = nil
	}
	if fired != 3 {
		t.Errorf("it fired %d times in a day, of 3 that it may", fired)
	}
	st := w.w.Status(w.now())[0]
	if len(st.Fired) != 3 || !strings.HasPrefix(st.Wait, "it has fired as often as it may in a day, for another ") || st.Refused < 20 {
		t.Errorf("status: %+v", st)
	}
	w.run(3*time.Hour, nil)
	w.run(5*time.Minute, shares{a: 1})
	w.told(1)
}

// What happens to many together is one event, and no more of them follow.
func TestTogether(t *testing.T) {
	w := newWorld(t, busyText)
	all := make(shares)
	for i := range 5 {
		all[w.start(10+i)] = 1 - float64(i)/100
	}
	w.run(3*time.Hour, all)
	if ev := w.told(1)[0]; !strings.Contains(ev.Text, "busy: 000010 p: ") || !strings.Contains(ev.Text, ", last 100 %, and 4 more; ") {
		t.Errorf("told: %s", ev.Text)
	}
}

func TestAbsentValuesNeitherHoldNorCease(t *testing.T) {
	w := newWorld(t, busyText)
	a := w.start(10)
	w.run(40*time.Second, shares{a: 1})
	w.run(10*time.Second, shares{a: -1})
	w.run(30*time.Second, shares{a: 1})
	w.told(1)
	w = newWorld(t, busyText)
	a = w.start(10)
	w.run(40*time.Second, shares{a: 1})
	w.run(10*time.Minute, shares{a: -1})
	w.run(40*time.Second, shares{a: 1}) // of ten minutes nobody knows
	w.told(0)
}

func TestAProcessThatIsGone(t *testing.T) {
	w := newWorld(t, busyText)
	for range 20 {
		// Each holds for less than it takes, and the next one has its pid.
		in := w.start(10)
		w.run(50*time.Second, shares{in: 1})
		w.end(in)
	}
	w.told(0)
	in := w.start(10)
	w.run(2*time.Minute, shares{in: 1})
	w.end(in)
	w.run(time.Hour, nil)
	w.told(1)
	if st := w.w.Status(w.now())[0]; st.Holds != 0 {
		t.Errorf("the condition holds for %d processes that are gone", st.Holds)
	}
	in = w.start(10)
	w.run(2*time.Minute, shares{in: 1})
	w.told(1)
}

func TestSleepBeginsAnew(t *testing.T) {
	w := newWorld(t, busyText)
	a := w.start(10)
	w.run(50*time.Second, shares{a: 1})
	w.asleep += 8 * time.Hour
	w.run(50*time.Second, shares{a: 1})
	w.told(0)
	w.run(30*time.Second, shares{a: 1})
	w.told(1)
	// Time that the machine slept through has passed for the cool-down.
	w.run(2*time.Minute, nil)
	w.asleep += time.Hour
	w.run(2*time.Minute, shares{a: 1})
	w.told(1)
}

func TestReload(t *testing.T) {
	w := newWorld(t, busyText)
	a := w.start(10)
	w.run(40*time.Second, shares{a: 1})
	w.w.Apply(w.set(busyText)) // the same: it goes on
	w.run(40*time.Second, shares{a: 1})
	w.told(1)
	w.w.Apply(w.set(strings.Replace(busyText, "1m", "2m", 1)))
	w.run(8*time.Minute, shares{a: 1})
	w.told(0) // its cool-down counts
	w.run(5*time.Minute, shares{a: 1})
	w.told(1)
	w.w.Apply(w.set(strings.Replace(busyText, `rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 90%`, "off", 1)))
	w.run(time.Hour, shares{a: 1})
	w.told(0)
	if st := w.w.Status(w.now())[0]; st.Idle != "it is switched off" || len(st.Fired) != 2 {
		t.Errorf("status: %+v", st)
	}
}

// The limits hold over the end of the recorder too.
func TestRestore(t *testing.T) {
	w := newWorld(t, busyText)
	a := w.start(10)
	w.run(2*time.Minute, shares{a: 1})
	w.told(1)
	text, err := json.Marshal(w.w.Status(w.now()))
	if err != nil {
		t.Fatal(err)
	}
	var before []Status
	if err := json.Unmarshal(text, &before); err != nil {
		t.Fatal(err)
	}
	again := newWorld(t, busyText)
	again.at = w.at
	// A status that lies about the future and about how often changes no more than it may.
	before[0].Fired = append(before[0].Fired, time.Unix(0, 0).Add(1000*time.Hour))
	again.w.Restore(before, again.now())
	b := again.start(20)
	again.run(8*time.Minute, shares{b: 1})
	again.told(0)
	again.run(5*time.Minute, shares{b: 1})
	again.told(1)
}

func TestStallsAndLevels(t *testing.T) {
	w := newWorld(t, `[[trigger]]
name = "hung"
when = "recorder.stall > 5s"
cool_down = "1m"
[[trigger]]
name = "queue"
when = "kernel.all.runnable > 20 && max(rate(proc.psinfo.utime)) > 50%"
for = "10s"
`)
	a := w.start(10)
	w.run(time.Minute, shares{a: 0.7})
	w.tick(metric.Process, 9*time.Second) // a slow sweep is no hang
	w.tick(metric.Fast, 4*time.Second)
	w.told(0)
	w.tick(metric.Fast, 7*time.Second)
	if ev := w.told(1)[0]; ev.Text != "hung: recorder.stall > 5s, last 7 s" || ev.Indom != "" || ev.Key != "" {
		t.Errorf("event %+v", ev)
	}
	w.load = 25
	w.run(time.Minute, shares{a: 0.7})
	if ev := w.told(1)[0]; ev.Text != "queue: kernel.all.runnable > 20 && max(rate(proc.psinfo.utime)) > 50% for 10s, last 25" {
		t.Errorf("event %q", ev.Text)
	}
	w.load = -1
	w.run(time.Hour, shares{a: 0.7})
	w.told(0)
}

// A storm of triggers, each as eager as it may be, on a machine where all goes
// wrong at once.
func TestStorm(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "[[trigger]]\nname = \"t%d\"\nwhen = \"rate(proc.psinfo.utime) > %d%%\"\ncool_down = \"10s\"\nper_day = 20\nstacks = { for = \"1m\", of = \"process\" }\n", i, i+1)
	}
	w := newWorld(t, text.String())
	for i := range 50 {
		w.start(i + 1)
	}
	all, none := make(shares), make(shares)
	for i, in := range w.procs {
		all[in] = 1 - float64(i)/1000
	}
	w.run(10*time.Second, none)
	for range 40 {
		w.run(5*time.Second, all)
		w.run(10*time.Second, none)
	}
	if got := len(w.events); got != 60*20 {
		t.Errorf("%d events of 60 triggers that may fire 20 times a day", got)
	}
	first := w.events[0]
	if first.Key != w.procs[0].Key || !strings.Contains(first.Text, ", and 49 more") {
		t.Errorf("the event is not about the worst of 50: %s", first.Text)
	}
}

// Nothing fires in an hour in which nothing happens, and looking allocates
// nothing.
func TestAnIdleHour(t *testing.T) {
	cfg := config.Default()
	set, err := Compile(cfg, descs())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, busyText)
	w.w = New(set, Actions{})
	idle := make(shares)
	for i := range 100 {
		idle[w.start(i+1)] = float64(i%10) / 100
	}
	w.run(time.Hour, idle)
	w.told(0)
	b := &metric.Block{Group: w.groups[0], Cols: make([]metric.Column, 2)}
	for _, in := range w.procs {
		b.Rows = append(b.Rows, in)
		b.Cols[0].Push(metric.Value{Type: metric.U64, Bits: w.used[in.Key]})
		b.Cols[1].Push(metric.Value{Type: metric.U64})
	}
	tick := &metric.Tick{Class: metric.Process, Blocks: []*metric.Block{b}}
	look := func() {
		w.at += 5 * time.Second
		tick.At, b.At = w.now(), w.now()
		w.w.Look(tick, 0)
	}
	look()
	if n := testing.AllocsPerRun(50, look); n > 0 {
		t.Errorf("a look allocates %v times", n)
	}
}

func TestDefaultsMeanSomethingEverywhere(t *testing.T) {
	for p, want := range map[catalog.Platform]string{
		catalog.Linux:  "memory pressure of macOS: idle: this system has no kern.memorystatus_vm_pressure_level",
		catalog.Darwin: "memory pressure: idle: this system has no kernel.all.pressure.memory.full.avg",
	} {
		set, err := Compile(config.Default(), catalog.For(p))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		var idle []string
		for _, l := range set.Lines() {
			if strings.HasPrefix(l[1], "idle") {
				idle = append(idle, l[0]+": "+l[1])
			}
		}
		if got := strings.Join(idle, "\n"); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ when, more, want string }{
		{"proc.psinfo.utime >", "", "f.toml:1: trigger.0 when is no condition: column 20: the expression ends where a metric or a number should stand"},
		{"rate(proc.psinfo.utim) > 5%", "", "f.toml:1: trigger.0 when is no condition: column 6: there is no metric proc.psinfo.utim; did you mean proc.psinfo.utime"},
		{"kernel.all.runnable", "", "f.toml:1: trigger.0 when is no condition: column 20: a condition compares with a value"},
		{"kernel.all.runnable > 5", `stacks = { for = "5s", of = "process" }`, `f.toml:1: trigger.0 wants the stacks of a process, but its condition is about none: write of = "all"`},
		{"disk.dev.total > 5", `stacks = { for = "5s", of = "process" }`, `f.toml:1: trigger.0 wants the stacks of a process`},
	} {
		cfg, err := config.Parse("f.toml", fmt.Sprintf("[[trigger]]\nname = \"x\"\nwhen = %q\n%s", tc.when, tc.more))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Compile(cfg, descs()); err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", tc.when, err, tc.want)
		}
	}
}

// What the guide shows works.
func TestTheExample(t *testing.T) {
	text, err := os.ReadFile("../../../docs/RECORD.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(text), "```toml\n[[trigger]]")
	example, _, _ = strings.Cut(example, "```")
	cfg, err := config.Parse("docs/RECORD.md", "[[trigger]]"+example)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	set, err := Compile(cfg, descs())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(set.list) - len(config.DefaultTriggers()); n != 4 || set.list[len(set.list)-1].idle != "" {
		t.Errorf("it has %d triggers of its own", n)
	}
}

func BenchmarkIdleLook(b *testing.B) {
	set, err := Compile(config.Default(), descs())
	if err != nil {
		b.Fatal(err)
	}
	w := New(set, Actions{})
	g := &metric.Group{Name: "p", Indom: "process", Metrics: []*metric.Desc{find("proc.psinfo.utime"), find("proc.psinfo.stime")}}
	block := &metric.Block{Group: g, Cols: make([]metric.Column, 2)}
	for i := range 400 {
		block.Rows = append(block.Rows, &metric.Instance{Key: fmt.Sprintf("%d/1", i)})
		for c := range block.Cols {
			block.Cols[c].Push(metric.Value{Type: metric.U64})
		}
	}
	tick := &metric.Tick{Class: metric.Process, Blocks: []*metric.Block{block}}
	for b.Loop() {
		tick.At.Awake, tick.At.Cont = tick.At.Awake+5e9, tick.At.Cont+5e9
		block.At = tick.At
		w.Look(tick, 0)
	}
}

// The kinds of what the system itself wrote down are counters: a condition about one needs nothing
// new.
func TestWhatTheSystemSaid(t *testing.T) {
	w := newWorld(t, `[[trigger]]
name = "crash"
when = "delta(system.report.crashes) > 0"
run = ["/bin/page"]
cool_down = "10s"
`)
	reports := &metric.Group{Name: "said", Metrics: []*metric.Desc{find("system.report.crashes"), find("system.report.hangs")}}
	for i, crashes := range []uint64{3, 3, 4, 4, 4, 6} { // The three were before.
		w.at += 10 * time.Second
		b := &metric.Block{Group: reports, At: w.now(), Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, 2)}
		b.Cols[0].Push(metric.Value{Type: metric.U64, Bits: crashes})
		b.Cols[1].Push(metric.Value{Type: metric.U64, Bits: uint64(i)})
		w.tick(metric.Polled, 0, b)
	}
	var texts []string
	for _, e := range w.told(2) {
		texts = append(texts, e.Text)
	}
	if got := strings.Join(texts, "; "); got != "crash: delta(system.report.crashes) > 0, last 1 count; a command is run; crash: delta(system.report.crashes) > 0, last 2 count; a command is run" {
		t.Errorf("events: %s", got)
	}
}
