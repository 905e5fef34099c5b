package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/config"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// triggers are a configuration whose only source gives ones, each second.
func triggers(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("f.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const alwaysTrue = `[[trigger]]
name = "first"
when = "clock.one > 0"
for = "10s"
stacks = { for = "5s", rate = 99 }
burst = { classes = ["fast"], every = "200ms", for = "10s" }
[[trigger]]
name = "second"
when = "clock.one > 0"
for = "12s"
stacks = { for = "5s" }
[[trigger]]
name = "third"
when = "clock.one > 0"
for = "30s"
stacks = { for = "1s" }
`

func TestTriggersDoWhatTheySay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg = triggers(t, alwaysTrue)
		sessions := 0
		b.stacks = func() (stack.Sampler, error) {
			if sessions++; sessions == 2 {
				return nil, errors.New("there are none")
			}
			return steady{}, nil
		}
		s, stop := b.run()
		time.Sleep(time.Hour)
		st := s.Status()
		stop()
		var texts []string
		for _, e := range b.archive.kinds(metric.EventTrigger) {
			texts = append(texts, e.Text)
		}
		if got, want := strings.Join(texts, "\n"), `first: clock.one > 0 for 10s, last 1; stacks are sampled for 5s; fast every 200ms for 10s
second: clock.one > 0 for 12s, last 1; no stacks: stacks are being sampled already
third: clock.one > 0 for 30s, last 1; stacks are sampled for 1s
third: the stacks failed: there are none`; got != want {
			t.Errorf("told:\n%s\nwant:\n%s", got, want)
		}
		if sampled := b.archive.kinds(metric.EventStacks); len(sampled) != 1 || sampled[0].Label("samples") != "495" || sampled[0].Label("reason") != "first: clock.one > 0 for 10s, last 1" ||
			!strings.HasPrefix(sampled[0].Text, "stacks of all processes were sampled for 5.") {
			t.Errorf("sampled: %+v", sampled)
		}
		// An hour of ticks, and 50 in ten seconds instead of 10.
		if n := b.archive.ticks; n < 3638 || n > 3660+360 {
			t.Errorf("%d ticks", n)
		}
		fired := 0
		for _, tr := range st.Triggers {
			if len(tr.Fired) == 1 && tr.Holds == 1 && tr.Last != "" {
				fired++
			}
		}
		if fired != 3 {
			t.Errorf("status: %+v", st.Triggers)
		}
		// The next run knows what they did.
		if before, err := ReadStatus(b.dir); err != nil || len(before.Triggers) != len(st.Triggers) || len(before.Triggers[4].Fired) != 1 {
			t.Errorf("the status file says %+v, %v", before.Triggers, err)
		}
	})
}

// A trigger that wants the seconds before it gets them, once, and they are told of; one
// that is switched off has nothing read for it.
func TestTheSecondsBeforeATrigger(t *testing.T) {
	const text = `[[trigger]]
name = "first"
when = "clock.one > 0"
for = "30s"
burst = { classes = ["fast"], every = "200ms", for = "10s", before = "5s" }
cool_down = "1d"
`
	for _, c := range []struct {
		name, text string
		want       int
	}{{"on", text, 20}, {"without before", strings.Replace(text, `, before = "5s"`, "", 1), 0}, {"off", strings.Replace(text, "clock.one > 0", "off", 1), 0}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.cfg = triggers(t, c.text)
			_, stop := b.run()
			time.Sleep(5 * time.Minute)
			stop()
			fired := b.archive.kinds(metric.EventTrigger)
			if len(b.archive.late) < c.want || len(b.archive.late) > c.want+1 {
				t.Errorf("%s: %d ticks came late, want %d", c.name, len(b.archive.late), c.want)
			}
			if c.want == 0 {
				return
			}
			if len(fired) != 1 || !strings.HasSuffix(fired[0].Text, "fast every 200ms for 10s and the 5s before") {
				t.Fatalf("%s: told %+v", c.name, fired)
			}
			for _, at := range b.archive.late {
				if d := fired[0].At.Awake - at.Awake; d < 0 || d > int64(5*time.Second) {
					t.Errorf("%s: a tick of %v before", c.name, time.Duration(d))
				}
			}
		})
	}
}

// A session ends when the budget has nothing left for it, and the next one does
// not begin.
func TestStacksStayInTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg = triggers(t, strings.Replace(alwaysTrue, `for = "5s", rate`, `for = "1m", rate`, 1))
		var began, ended time.Time
		b.stacks = func() (stack.Sampler, error) {
			return samplerFunc(func(ctx context.Context) {
				b.set(func() { began = time.Now() })
				<-ctx.Done()
				b.set(func() { ended = time.Now() })
			}), nil
		}
		// While stacks are sampled half a core is used.
		b.used = halfACore(b, &began, &ended)
		_, stop := b.run()
		time.Sleep(5 * time.Minute)
		stop()
		// One percent of ten minutes is there at the start.
		if took := ended.Sub(began); took < 11*time.Second || took > 15*time.Second {
			t.Errorf("a session took %v of half a core, with 6 s to spare", took)
		}
		var texts []string
		for _, e := range b.archive.kinds(metric.EventTrigger) {
			texts = append(texts, e.Text)
		}
		if got := strings.Join(texts, "\n"); !strings.Contains(got, "third: clock.one > 0 for 30s, last 1; no stacks: the recorder's budget has nothing to spare") {
			t.Errorf("told:\n%s", got)
		}
	})
}

// What a session takes out of what was saved is not the recorder's own hunger:
// nothing is read less often for it.
func TestStacksAreNotTakenForHunger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg = triggers(t, "[budget]\nmax_cpu = \"10%\"\n[[trigger]]\nname = \"x\"\nwhen = \"clock.one > 0\"\nfor = \"90s\"\nstacks = { for = \"1m\" }\n")
		var began, ended time.Time
		b.stacks = func() (stack.Sampler, error) {
			return samplerFunc(func(ctx context.Context) {
				b.set(func() { began = time.Now() })
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				b.set(func() { ended = time.Now() })
			}), nil
		}
		b.used = halfACore(b, &began, &ended)
		_, stop := b.run()
		time.Sleep(10 * time.Minute)
		stop()
		if took := ended.Sub(began); took != time.Minute {
			t.Errorf("a session of a minute took %v", took)
		}
		for _, e := range b.archive.kinds(metric.EventBudget) {
			t.Errorf("told: %s", e.Text)
		}
	})
}

// halfACore is used between the two instants.
func halfACore(b *bench, began, ended *time.Time) func() time.Duration {
	return func() (used time.Duration) {
		b.set(func() {
			if !began.IsZero() && ended.IsZero() {
				used = time.Since(*began) / 2
			} else if !began.IsZero() {
				used = ended.Sub(*began) / 2
			}
		})
		return used
	}
}

// samplerFunc sees nothing for as long as it takes.
type samplerFunc func(context.Context)

func (f samplerFunc) Sample(ctx context.Context, _ stack.Wish, _ func(*stack.Sample)) (stack.Statistics, error) {
	f(ctx)
	return stack.Statistics{}, nil
}

func TestReloadOfTriggers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg = triggers(t, alwaysTrue)
		s, stop := b.run()
		time.Sleep(time.Minute)
		b.set(func() { b.cfg = triggers(t, alwaysTrue+"[[trigger]]\nname = \"bad\"\nwhen = \"clock.two > 0\"\n") })
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "f.toml:17: trigger.3 when is no condition: column 1: there is no metric clock.two") {
			t.Errorf("a condition on what does not exist: %v", err)
		}
		b.set(func() { b.cfg = triggers(t, strings.ReplaceAll(alwaysTrue, `"clock.one > 0"`, `"off"`)) })
		if err := s.Reload(); err != nil {
			t.Error(err)
		}
		for _, tr := range s.Status().Triggers[4:] {
			if tr.Idle != "it is switched off" || len(tr.Fired) != 1 {
				t.Errorf("after it was switched off: %+v", tr)
			}
		}
		stop()
	})
}

// A command finds in its environment what happened, and nothing of the recorder's.
func TestTheCommandOfATrigger(t *testing.T) {
	dir := t.TempDir()
	said, script := filepath.Join(dir, "said"), filepath.Join(dir, "page")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nenv > "+said+".tmp\necho \"$@\" >> "+said+".tmp\nmv "+said+".tmp "+said+"\necho it does not work >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET", "hunter2")
	b := newBench(t)
	b.cfg = triggers(t, "[[trigger]]\nname = \"one; rm -rf\"\nwhen = \"clock.one > 0\"\nrun = [\""+script+"\", \"$HOME; x\"]\n")
	_, stop := b.run()
	failed := func() *metric.Event {
		for _, e := range b.archive.kinds(metric.EventTrigger) {
			if e.Label("failed") != "" {
				return &e
			}
		}
		return nil
	}
	wait(t, "the command has failed", func() bool { return failed() != nil })
	stop()
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TACHOGRAPH_TRIGGER=one; rm -rf\n", "TACHOGRAPH_REASON=one; rm -rf: clock.one > 0, last 1\n", "TACHOGRAPH_VALUE=1\n", "TACHOGRAPH_DIR=" + b.dir + "\n", "$HOME; x\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the command does not know %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "hunter2") {
		t.Error("the command knows the recorder's environment")
	}
	if got := failed().Text; got != "one; rm -rf: the command failed: "+script+": exit status 3: it does not work" {
		t.Errorf("told: %s", got)
	}
}
