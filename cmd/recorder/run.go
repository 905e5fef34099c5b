package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/recorder/service"
	"tachograph/config"
	"tachograph/config/trust"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
)

type runFlags struct {
	config, archive, logFormat, logFile string
	length                              time.Duration
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Record until told to stop",
		Long: "run records in the foreground. It needs no configuration and no privileges; as\n" +
			"root it sees more. SIGINT and SIGTERM stop it with everything stored, SIGHUP\n" +
			"reads the configuration again, SIGUSR1 begins a new archive, and " + statusSignalName + "\n" +
			"prints the status line.",
		Example: "  recorder run --archive /var/tmp/archives --for 1m",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, args []string) error { return a.record(f) },
	}
	c.Flags().StringVar(&f.config, "config", "", "configuration `FILE` (default "+config.DefaultFile()+", if it exists)")
	c.Flags().StringVar(&f.archive, "archive", "", "`DIR` that holds the archives (default "+config.DefaultArchiveDir()+")")
	c.Flags().DurationVar(&f.length, "for", 0, "stop after this time (default: never)")
	c.Flags().StringVar(&f.logFile, "log-file", "", "append the log to `FILE`, which may be rotated (default: standard error)")
	c.Flags().StringVar(&f.logFormat, "log-format", "", "text or json (default text)")
	return c
}

// load reads the configuration and applies the command line to it.
func (f *runFlags) load() (*config.Config, error) {
	cfg, err := loadConfig(f.config)
	if err != nil {
		return nil, err
	}
	if f.logFormat != "" {
		cfg.Log.Format = f.logFormat
	}
	if f.archive != "" {
		cfg.Archive.Dir = f.archive
	}
	if cfg.Archive.Dir == "" {
		cfg.Archive.Dir = config.DefaultArchiveDir()
	}
	cfg.Archive.Dir, err = filepath.Abs(cfg.Archive.Dir)
	return cfg, err
}

func (a *app) record(f runFlags) error {
	if f.logFormat != "" && f.logFormat != "text" && f.logFormat != "json" {
		return fmt.Errorf("--log-format is text or json")
	}
	if f.length < 0 {
		return fmt.Errorf("--for %s: a recording cannot end before it begins (without --for it ends when it is told to)", f.length)
	}
	// From the first moment: a signal that arrives while the sources are being opened waits
	// until it can be handled.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGCONT, statusSignal)
	defer signal.Stop(signals)
	cfg, err := f.load()
	if err != nil {
		return err
	}
	if err := a.checkDir(cfg, f.archive); err != nil {
		return err
	}
	var to io.Writer = a.err
	if f.logFile != "" {
		file, err := openLog(f.logFile)
		if err != nil {
			return err
		}
		defer file.Close()
		to = visible.NewWriter(file, false)
	}
	screen := newScreen(to)
	level := new(slog.LevelVar)
	log := newLog(screen, cfg.Log.Format, level)
	if f.logFile == "" || runtime.GOOS == "darwin" {
		log = serviceLog(log, screen, cfg.Log.Format, level)
	}
	sources, done, err := a.open(cfg)
	if err != nil {
		return err
	}
	beFrugal()
	platform.SetNice(cfg.Budget.Nice)
	s, err := service.New(service.Options{
		Dir: cfg.Archive.Dir, Config: cfg, Load: f.load, Version: sample.Version(), Sources: sources, Rows: a.catalog(), Stacks: a.stacks,
		Reconfigure: func(opt platform.Options) error { return platform.Reconfigure(sources, opt) }, Log: log, Level: level,
		Open: service.OpenStore(cfg, sample.Version(), a.now, log),
		Machine: service.Machine{
			Now: a.now, Zone: platform.Zone, Slept: platform.Slept, WakeReason: platform.WakeReason, Usage: platform.Usage, Worked: platform.Worked, OnBattery: platform.OnBattery,
			BootID: platform.BootID(), Host: platform.ThisHost(), History: history(sources), TCPGate: platform.TCPGate,
		},
	})
	if err != nil {
		done()
		return err
	}
	log.Info(startMessage, "archives", cfg.Archive.Dir, "configuration", cfg.File, "pid", os.Getpid())
	return serve(s, f.length, signals, screen, log)
}

// history returns a function for what happened to the machine since the last run, which also says to
// the sources since when.
func history(sources []sample.Source) func(past time.Time, sameBoot bool) []metric.Event {
	return func(past time.Time, sameBoot bool) []metric.Event {
		platform.Since(sources, past)
		return platform.History(past, sameBoot)
	}
}

// checkDir refuses an archive directory that other users could replace. If root works in
// another user's directory and types a relative path there, as in a trial, checkDir only prints
// a note: a user who may write there can use that only against the person who typed the path.
func (a *app) checkDir(cfg *config.Config, typed string) error {
	err := cfg.CheckDir(cfg.Archive.Dir)
	var foreign *trust.Error
	if typed == "" || filepath.IsAbs(typed) || !errors.As(err, &foreign) || config.CheckOwnDir(cfg.Archive.Dir) != nil {
		return err
	}
	fmt.Fprintf(a.err, "recorder: note: %v\n", foreign)
	return nil
}

// beFrugal sets the runtime up for a program that is always running and does little.
func beFrugal() {
	// The heap is small, most of it lives long, and little is allocated except in a commit:
	// collecting three times as often costs some milliseconds per collection, and keeps the
	// recorder small when a commit takes a multiple for a moment.
	debug.SetGCPercent(30)
	// So only a part of what lives is allocated between two collections, whatever else there
	// is. A limit, also one from the environment, would count all that the runtime maps:
	// stacks, and pages not yet given back. When these come near it nothing is left for the
	// heap, and the collector runs without end. What bounds the recorder's memory is the engine
	// (budget.max_memory), which sees what is resident and reads less.
	debug.SetMemoryLimit(math.MaxInt64)
	runtime.GOMAXPROCS(min(platform.Processors, runtime.GOMAXPROCS(0)))
	platform.LooseTimers()
}

// What giveBack looks for, and how often.
const (
	giveBackEvery = 10 * time.Second
	giveBackFrom  = 8 << 20
)

// giveBack returns memory to the kernel that the heap needed for a moment, as for the first sweep
// or for a commit. The runtime keeps as much as the heap may grow to before the next collection,
// and beside thousands of processes that collection comes after a minute. Giving back costs a
// collection, and a fault for each page that is used again. So there must be much, and more than
// what was used since the last look: a recorder beside fewer processes never has that, and one
// that reads often would need it again at once.
func giveBack(ctx context.Context) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	every := time.NewTicker(giveBackEvery)
	defer every.Stop()
	before := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		metrics.Read(heap)
		free, used := heap[0].Value.Uint64(), heap[1].Value.Uint64()
		if free >= giveBackFrom+used-before {
			debug.FreeOSMemory()
		}
		before = used
	}
}

// serve runs s and obeys signals.
func serve(s *service.Service, length time.Duration, signals <-chan os.Signal, screen *screen, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if length > 0 {
		ctx, cancel = context.WithTimeout(ctx, length)
		defer cancel()
	}
	return endWithin(ctx, s.StopWithin, func() error {
		var helpers sync.WaitGroup
		helpers.Go(func() { giveBack(ctx) })
		helpers.Go(func() { obey(ctx, cancel, s, signals, screen, log) })
		helpers.Go(func() { screen.follow(ctx, func() string { st := s.Status(); return st.Line() }) })
		err := s.Run(ctx)
		cancel()
		helpers.Wait()
		st := s.Status()
		screen.clear()
		if err == nil {
			log.Info("stopped, everything is stored", "values", st.Values, "errors", st.Errors, "archive", st.Archive.Path)
		}
		return err
	})
}

// endWithin runs fn, which should end when ctx does, and after that waits for it no longer than
// within says: a file that does not answer must not keep the recorder from being stopped.
func endWithin(ctx context.Context, within func() time.Duration, fn func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- fn() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit := within()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return fmt.Errorf("stopping took longer than %s and was given up: a disk or a file does not answer; the next start takes over what stands in the journal", limit)
	}
}

// obey carries out signals. A signal to stop is obeyed at once, even while another signal is
// being carried out.
func obey(ctx context.Context, stop func(), s *service.Service, signals <-chan os.Signal, screen *screen, log *slog.Logger) {
	orders := make(chan os.Signal, cap(signals))
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case sig := <-orders:
				carryOut(ctx, sig, s, screen, log)
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-signals:
			if sig == syscall.SIGINT || sig == syscall.SIGTERM {
				log.Info("stopping", "signal", sig.String())
				stop()
				continue
			}
			select {
			case orders <- sig:
			default: // as many are waiting already
			}
		}
	}
}

func carryOut(ctx context.Context, sig os.Signal, s *service.Service, screen *screen, log *slog.Logger) {
	switch sig {
	case syscall.SIGHUP:
		if err := s.Reload(); err != nil {
			for line := range strings.Lines(err.Error()) {
				log.Error(strings.TrimSpace(line))
			}
		}
	case syscall.SIGUSR1:
		// The new archive begins at once, finishing the old one takes its
		// time; the next signal must not wait for it.
		go s.Rotate("command")
	case syscall.SIGCONT:
		go s.SampleAsked(ctx)
	case statusSignal:
		st := s.Status()
		screen.line(st.Line())
	}
}
