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
	out, dataset           string
	first, days            int
	day, system, processes time.Duration
	moments                time.Duration
	live                   bool
	play                   machine.Options
}

// Made is what was made.
type Made struct {
	Days    []Day `json:"days"`
	Seconds float64
	// From and To are the first instant, and the one after the last, in seconds since 1970;
	// Middle is one in the middle of the middle day, when the machine is awake.
	From, Middle, To int64
	// Lasting is the PID of a process that lives all the time, Named the name of such a one, and
	// Short the PID of one that lives for some minutes.
	Lasting, Named, Short string
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
	flag.StringVar(&o.dataset, "dataset", os.Getenv("TACHO_DATASET"), "what to play: a recording, an archive, a directory of archives, or workstation, server or month, which are made up; empty: workstation")
	flag.IntVar(&o.first, "first", 0, "days to leave out")
	flag.IntVar(&o.days, "days", 1, "days; an archive ends with a day or with a boot")
	flag.DurationVar(&o.day, "day", 24*time.Hour, "how long a day is")
	flag.DurationVar(&o.system, "system", time.Second, "of a machine that is made up: interval of the system's metrics")
	flag.DurationVar(&o.processes, "process", 10*time.Second, "interval of the processes' metrics, except in an archive")
	flag.BoolVar(&o.live, "live", false, "leave the last archive as a recorder leaves it that is killed a minute before the day ends")
	flag.DurationVar(&o.moments, "moments", 0, "with -live: copy the directory of the archive so often in the last hour")
	flag.BoolVar(&o.play.Plain, "once", false, "play the recording once, under its own names")
	flag.IntVar(&o.play.Processes, "processes", 0, "of a machine that is made up: processes at a time; 0: as many as such a machine has")
	flag.IntVar(&o.play.Round, "round", 2400, "of an archive or of a machine that is made up: seconds after which it begins again")
	flag.BoolVar(&o.play.Net, "net", false, "of a machine that is made up: its processes use the network")
	flag.Uint64Var(&o.play.Seed, "seed", 1, "of a machine that is made up: which")
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
	o.play.System, o.play.Process, o.play.Day = int(o.system/time.Second), int(o.processes/time.Second), o.day
	m, err := machine.Open(o.dataset, o.play)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(o.out, "work")
	if err := os.Mkdir(work, 0o750); err != nil {
		return nil, err
	}
	mk := &maker{options: o, m: m, work: work, length: m.Day(o.day), made: &Made{}, clock: new(clock)}
	m.SkipTo(int64(o.first) * mk.length)
	mk.made.From = m.Peek().At.Wall / 1e9
	began := time.Now()
	if err := mk.all(); err != nil {
		return nil, err
	}
	mk.made.Seconds = time.Since(began).Seconds()
	return mk.made, nil
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
	length   int64 // for how much of a day the machine is awake
	boot     int
	last     metric.Stamp
	made     *Made
	clock    *clock
	finished chan error // the end of the previous day
	values   int64
	lives    lives
	// nextMoment is when to take the next moment, on the continuous clock.
	nextMoment int64
}

func (k *maker) all() error {
	for n := range k.days {
		last := n == k.days-1
		if err := k.record(n, last); err != nil {
			return err
		}
		if last && k.live {
			return k.leave()
		}
		if err := k.finish("the day ends"); err != nil {
			return err
		}
	}
	if err := k.close(); err != nil {
		return err
	}
	return os.RemoveAll(k.work)
}

// close ends the Writer, after the last archive or before a boot.
func (k *maker) close() error {
	if err := <-k.finished; err != nil {
		return err
	}
	k.finished = nil
	s := k.w.Status()
	k.made.JournalWritten += s.JournalWritten
	k.made.CommitWritten += s.CommitWritten
	k.made.FinishWritten += s.FinishWritten
	return k.w.Close()
}

// record plays a day.
func (k *maker) record(n int, last bool) error {
	until := int64(k.first+n+1) * k.length
	if last && k.live {
		until -= int64(time.Minute)
	}
	for first := true; ; first = false {
		now := k.m.Peek()
		if k.play.Plain && k.m.AtEnd() || now.Ran >= until {
			return nil
		}
		k.clock.at.Store(&now.At)
		if err := k.arrive(now, first); err != nil {
			return err
		}
		t := k.m.Next()
		if t.Class == metric.Process {
			k.lives.note(t, n == 0)
		}
		if err := k.append(t); err != nil {
			return err
		}
		if k.last = now.At; k.made.Middle == 0 && now.Ran >= int64(k.first+k.days/2)*k.length+k.length/2 {
			k.made.Middle = now.At.Wall / 1e9
		}
		k.made.To = now.At.Wall/1e9 + 1
		if last && k.live && k.m.Peek().At != now.At {
			if err := k.moment(now.At, until-now.Ran); err != nil {
				return err
			}
		}
	}
}

// arrive does what comes before the first tick of a day, of a boot, or after the machine slept.
func (k *maker) arrive(now machine.Place, first bool) error {
	booted := k.w != nil && now.Boot != k.boot
	if booted {
		if !first {
			if err := k.finish("the machine shuts down"); err != nil {
				return err
			}
		}
		if err := k.close(); err != nil {
			return err
		}
	}
	var events []metric.Event
	if k.w == nil || booted {
		if err := k.create(now); err != nil {
			return err
		}
		if booted {
			off := time.Duration(now.At.Wall - k.last.Wall)
			events = append(events, metric.Ended(metric.Stamp{Wall: now.At.Wall - now.At.Cont}, metric.EventBoot, k.last.Time(), off, "the machine was started"))
		}
	} else if slept := now.At.Cont - k.last.Cont - (now.At.Awake - k.last.Awake); slept > 0 {
		events = append(events, metric.Event{At: k.last, Kind: metric.EventSleep, Text: "the machine went to sleep"},
			metric.Ended(now.At, metric.EventWake, k.last.Time(), time.Duration(slept), "the machine woke"))
	}
	for _, e := range events {
		if err := k.w.Event(e); err != nil {
			return err
		}
	}
	if !first && !booted {
		return nil
	}
	// What is read once per archive.
	for _, t := range k.m.Static(now.At) {
		if err := k.append(t); err != nil {
			return err
		}
	}
	return nil
}

// create makes the Writer of a boot.
func (k *maker) create(now machine.Place) (err error) {
	k.boot = now.Boot
	boot := "boot"
	if k.boot > 0 {
		boot += fmt.Sprint(k.boot)
	}
	k.w, err = recording.Create(recording.Options{
		Dir: k.work, Host: k.m.Host, BootID: boot, TimeZone: "UTC", Recorder: "measure", Now: k.clock.now, Intervals: k.m.Intervals,
	})
	return err
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
func (k *maker) finish(why string) error {
	if k.finished != nil {
		if err := <-k.finished; err != nil {
			return err
		}
	}
	r, err := k.w.BeginRotation(why)
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
	k.made.Lasting, k.made.Named, k.made.Short = k.lives.lasting, k.lives.named, k.lives.short
	return nil
}

// leave ends as if killed: the contents of the journal are not committed.
func (k *maker) leave() error {
	k.waitQuiet()
	s := k.w.Status()
	k.made.Days = append(k.made.Days, Day{s.Path, s.Bytes + s.JournalBytes, k.values})
	k.made.Lasting, k.made.Named, k.made.Short = k.lives.lasting, k.lives.named, k.lives.short
	return nil
}
