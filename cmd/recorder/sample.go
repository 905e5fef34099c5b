package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/recorder/service"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/sample/probe"
	"tachograph/sample/stack"
	"tachograph/store/rewrite"
)

type sampleFlags struct {
	dir, file, reason string
	length            time.Duration
	rate              int
	all, check        bool
}

func (a *app) sampleCommand() *cobra.Command {
	var f sampleFlags
	c := &cobra.Command{
		Use:   "sample PID|NAME",
		Short: "Look at the stacks of a process, or of all, for some seconds",
		Long: "sample looks at the stacks of a process again and again: what its threads do, and\n" +
			"what they wait for. The recorder that writes to an archive directory does it and\n" +
			"puts what it sees into its archive; with -o FILE it is done here and now, into an\n" +
			"archive of its own. `replay stacks` shows it.\n\n" +
			"Other users' processes take root. On macOS a process that may not be opened, and\n" +
			"--all, is looked at from within the kernel, not more often than twice a second.\n\n" +
			"--self-check prints what was taken, what was not, and how long the process was\n" +
			"stopped each time. The answer is yes if half of that took at most 100 µs.",
		Example: "  sudo recorder sample Safari --for 5s\n  sudo recorder sample --all --for 10s -o hang.tacho",
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return fmt.Errorf("--all is every process: leave %s out", args[0])
			case !f.all && len(args) == 0:
				return errors.New("say whose stacks: a pid or the name of a process, or --all")
			case f.all && f.check:
				return errors.New("--self-check is about one process: name one instead of --all")
			case f.file != "" && f.check:
				return fmt.Errorf("--self-check keeps nothing: leave --output %s out", f.file)
			case len(args) > 1:
				return fmt.Errorf("one process at a time: %s is too much", args[1])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.sample(f, args) },
	}
	c.Flags().StringVar(&f.dir, "archive", config.ReadArchiveDir(), "`DIR` that the recorder writes to")
	c.Flags().StringVarP(&f.file, "output", "o", "", "sample here and now, into a new archive `FILE`")
	c.Flags().DurationVar(&f.length, "for", 5*time.Second, "how long")
	c.Flags().IntVar(&f.rate, "rate", 99, "how often a second")
	c.Flags().BoolVar(&f.all, "all", false, "all processes")
	c.Flags().BoolVar(&f.check, "self-check", false, "sample here and now, keep nothing, and say how long the process was stopped")
	c.Flags().StringVar(&f.reason, "reason", "asked for by hand", "`TEXT` that is kept with it")
	return c
}

func (a *app) sample(f sampleFlags, args []string) error {
	w := service.StackWish{Rate: f.rate, Seconds: f.length.Seconds(), About: "all processes", Reason: f.reason}
	wish := stack.Wish{Rate: f.rate, For: f.length}
	if err := wish.Check(); err != nil {
		return err
	}
	if len(args) > 0 {
		pid, name, err := a.process(args[0])
		if err != nil {
			return err
		}
		w.PID, w.About = pid, fmt.Sprintf("%s (pid %d)", name, pid)
		wish.PID = pid
	}
	if f.check {
		return a.checkSampler(wish, w.About, w.Reason)
	}
	if f.file != "" {
		return a.sampleInto(f.file, wish, w)
	}
	return a.sampleThere(f.dir, w, f.length)
}

// process finds the process with that name or number.
func (a *app) process(wanted string) (int32, string, error) {
	sources, done, err := a.open(config.Default())
	if err != nil {
		return 0, "", err
	}
	defer done()
	p := probe.New(sources, a.now, func(d *metric.Desc) bool { return d.Name == "proc.psinfo.pid" })
	found := make(map[int32]string)
	number, numberErr := strconv.ParseInt(wanted, 10, 32)
	for _, v := range p.Take().Readings {
		if v.Instance == nil || v.Value.Miss != metric.Present {
			continue
		}
		pid, name := int32(v.Value.Bits), v.Instance.Title()
		if numberErr == nil && pid == int32(number) || numberErr != nil && strings.EqualFold(name, wanted) {
			found[pid] = name
		}
	}
	switch {
	case len(found) == 1:
		for pid, name := range found {
			return pid, name, nil
		}
	case len(found) > 1:
		var pids []int32
		for pid := range found {
			pids = append(pids, pid)
		}
		slices.Sort(pids)
		list := strings.Trim(fmt.Sprint(pids[:min(len(pids), 10)]), "[]")
		return 0, "", fmt.Errorf("%d processes are called %s: say which by its number (%s)", len(found), wanted, list)
	case numberErr == nil:
		return 0, "", fmt.Errorf("there is no process %d", number)
	}
	return 0, "", fmt.Errorf("no process is called %s", wanted)
}

// sampleThere has the recorder that writes to dir sample.
func (a *app) sampleThere(dir string, w service.StackWish, length time.Duration) error {
	if _, err := a.running(dir); err != nil {
		return fmt.Errorf("%w; with -o FILE stacks are sampled without one", err)
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, service.WishName)
	err = os.WriteFile(path, text, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("no permission to ask the recorder that writes to %s: run the same with sudo", dir)
	} else if err != nil {
		return err
	}
	defer os.Remove(path)
	st, err := a.ask(dir, syscall.SIGCONT, length+time.Minute, func(st *service.Status) time.Time {
		if st.LastSampling == nil {
			return time.Time{}
		}
		return st.LastSampling.At
	})
	if err != nil {
		return err
	}
	did := st.LastSampling
	if did.Error != "" {
		return noError{errors.New(did.Error)}
	}
	_, err = fmt.Fprintf(a.out, "%s\n", did.Text)
	return err
}

// sampleInto samples in this process, into an archive of its own.
func (a *app) sampleInto(file string, wish stack.Wish, w service.StackWish) (err error) {
	sampler, err := a.stacks()
	if err != nil {
		return err
	}
	// Before the file is made, so that an error leaves none behind.
	ctx, stop := interrupted()
	defer stop()
	out, err := rewrite.Create(file, rewrite.About{
		Host: platform.ThisHost(), Boot: platform.BootID(), TimeZone: platform.Zone(), Recorder: "recorder " + sample.Version(),
		Intervals: metric.Intervals{metric.Thread: time.Second}, Created: a.now().Wall,
	})
	if err != nil {
		return err
	}
	from := a.now()
	r := stack.Recording{Now: a.now, Append: out.Append}
	stats, err := r.Run(ctx, sampler, wish)
	if err != nil {
		out.Abort()
		return err
	}
	e := stats.Event(from, a.now(), wish, w.About, w.Reason)
	if err := out.Event(&e); err != nil {
		out.Abort()
		return err
	}
	if err := out.Finish(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\nin %s: `replay stacks --archive %s` shows them\n", e.Text, file, file)
	return err
}
