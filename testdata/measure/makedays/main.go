// Command makedays makes archives of whole days in the same way as the recorder: through the
// ordinary Writer with its journal, barriers, seals, commits and rotation, only faster. It
// prints what it made as JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/testdata/measure/machine"
)

// options say what to make.
type options struct {
	out, dataset     string
	first, days      int
	day, every       time.Duration
	moments          time.Duration
	live, once       bool
	processes, round int
	seed             uint64
}

// Made is what was made.
type Made struct {
	Days    []Day `json:"days"`
	Seconds float64
	// From and To are the first instant, and the one after the last, in seconds since 1970.
	From, To int64
	// Lasting is the PID of a process that lives all the time, Short of one that lives for some
	// minutes.
	Lasting, Short string
	// The bytes that were passed to write(2).
	JournalWritten, CommitWritten, FinishWritten int64
	Moments                                      []Moment
}

// Day is one archive.
type Day struct {
	File          string
	Bytes, Values int64
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "directory for the archives; it must be there and be empty")
	flag.StringVar(&o.dataset, "dataset", os.Getenv("TACHO_DATASET"), "recording to play; empty: a machine is made up")
	flag.IntVar(&o.first, "first", 0, "days to leave out")
	flag.IntVar(&o.days, "days", 1, "archives")
	flag.DurationVar(&o.day, "day", 24*time.Hour, "how long a day is")
	flag.DurationVar(&o.every, "process", 10*time.Second, "interval of the processes' metrics")
	flag.BoolVar(&o.live, "live", false, "leave the last archive as a recorder leaves it that is killed a minute before the day ends")
	flag.DurationVar(&o.moments, "moments", 0, "with -live: copy the directory of the archive so often in the last hour")
	flag.BoolVar(&o.once, "once", false, "play the dataset once, under its own names")
	flag.IntVar(&o.processes, "processes", 361, "of a machine that is made up: processes at a time")
	flag.IntVar(&o.round, "round", 2400, "of a machine that is made up: seconds after which it begins again")
	flag.Uint64Var(&o.seed, "seed", 1, "of a machine that is made up: which")
	flag.Parse()
	made, err := run(o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(made)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "makedays:", err)
		os.Exit(1)
	}
}

func run(o options) (*Made, error) {
	m, err := newMachine(o)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(o.out, "work")
	if err := os.Mkdir(work, 0o750); err != nil {
		return nil, err
	}
	mk := &maker{options: o, m: m, work: work, made: &Made{From: m.Start().Wall/1e9 + int64(o.first)*int64(o.day/time.Second)}, clock: new(clock)}
	m.SkipTo(int64(o.first) * int64(o.day))
	began := time.Now()
	if err := mk.days(); err != nil {
		return nil, err
	}
	mk.made.Seconds = time.Since(began).Seconds()
	return mk.made, nil
}

func newMachine(o options) (*machine.Machine, error) {
	every := int(o.every / time.Second)
	if o.dataset == "" {
		return machine.Invent(o.seed, o.processes, every, o.round), nil
	}
	return machine.Recorded(o.dataset, every, o.once)
}

// clock is the time on the machine.
type clock struct{ at atomic.Pointer[metric.Stamp] }

func (c *clock) now() metric.Stamp { return *c.at.Load() }

// maker makes the days, one after the other, with one Writer.
type maker struct {
	options
	m        *machine.Machine
	w        *recording.Writer
	work     string
	made     *Made
	clock    *clock
	finished chan error // the end of the previous day
	values   int64
	lives    lives
	// nextMoment is when to take the next moment, on the continuous clock.
	nextMoment int64
}

func (k *maker) days() error {
	for n := range k.options.days {
		last := n == k.options.days-1
		if err := k.record(n, last); err != nil {
			return err
		}
		if last && k.live {
			return k.leave()
		}
		if err := k.finish(); err != nil {
			return err
		}
	}
	if err := <-k.finished; err != nil {
		return err
	}
	s := k.w.Status()
	k.made.JournalWritten, k.made.CommitWritten, k.made.FinishWritten = s.JournalWritten, s.CommitWritten, s.FinishWritten
	if err := k.w.Close(); err != nil {
		return err
	}
	return os.RemoveAll(k.work)
}

// record plays a day.
func (k *maker) record(n int, last bool) error {
	start := k.m.Start()
	until := start.Cont + int64(k.first+n+1)*int64(k.day)
	if last && k.live {
		until -= int64(time.Minute)
	}
	for first := true; ; first = false {
		if k.once && k.m.AtEnd() || k.m.Peek().Cont >= until {
			return nil
		}
		system, processes := k.m.Next()
		k.clock.at.Store(&system.At)
		if first {
			if err := k.begin(system.At); err != nil {
				return err
			}
		}
		if err := k.append(system); err != nil {
			return err
		}
		if processes != nil {
			k.lives.note(processes, n == 0)
			if err := k.append(processes); err != nil {
				return err
			}
		}
		k.made.To = system.At.Wall/1e9 + 1
		if last && k.live {
			if err := k.moment(system.At, until); err != nil {
				return err
			}
		}
	}
}

// begin makes the Writer before the first day, and records what is read once per archive.
func (k *maker) begin(at metric.Stamp) (err error) {
	if k.w == nil {
		k.w, err = recording.Create(recording.Options{
			Dir: k.work, Host: metric.Host{ID: "measured", Name: "workstation", OS: "Linux", Platform: "linux"},
			BootID: "boot", TimeZone: "UTC", Recorder: "measure", Now: k.clock.now,
			Intervals: metric.Intervals{metric.Static: metric.Once, metric.Fast: time.Second, metric.Process: k.every},
		})
	}
	if err != nil || k.once {
		return err
	}
	return k.append(machine.Static(at))
}

// append records a tick, and waits for a commit: a real recorder has an hour until the next one.
func (k *maker) append(t *metric.Tick) error {
	k.values += int64(t.Values())
	if err := k.w.Append(t); err != nil {
		return err
	}
	return k.settle()
}

func (k *maker) settle() error {
	for s := k.w.Status(); s.Queued > 0; s = k.w.Status() {
		if s.Degraded != "" {
			return fmt.Errorf("the disk: %s", s.Degraded)
		}
		time.Sleep(200 * time.Microsecond)
	}
	return nil
}

// finish ends the day. The archive is completed while the next day is played, as in the
// recorder.
func (k *maker) finish() error {
	if k.finished != nil {
		if err := <-k.finished; err != nil {
			return err
		}
	}
	r, err := k.w.BeginRotation("the day ends")
	if err != nil {
		return err
	}
	values := k.values
	k.values, k.finished = 0, make(chan error, 1)
	go func() { k.finished <- k.complete(r, values) }()
	return nil
}

func (k *maker) complete(r *recording.Rotation, values int64) error {
	path, err := r.Finish()
	if err != nil {
		return err
	}
	to := filepath.Join(k.out, filepath.Base(path))
	if err := os.Rename(path, to); err != nil {
		return err
	}
	st, err := os.Stat(to)
	if err != nil {
		return err
	}
	k.made.Days = append(k.made.Days, Day{to, st.Size(), values})
	k.made.Lasting, k.made.Short = k.lives.lasting, k.lives.short
	return nil
}

// leave ends as if killed: the contents of the journal are not committed.
func (k *maker) leave() error {
	k.waitQuiet()
	s := k.w.Status()
	k.made.Days = append(k.made.Days, Day{s.Path, s.Bytes + s.JournalBytes, k.values})
	k.made.Lasting, k.made.Short = k.lives.lasting, k.lives.short
	return nil
}
