package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/pcp/pmda"
	"tachograph/cmd/recorder/service"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/platform"
)

// answerLive answers for this machine. It opens the sources while pmcd is already being
// greeted: drivers may take their time, and pmcd waits only for seconds.
func (a *app) answerLive(ctx context.Context, f *pmdaFlags, layout pcp.Layout, pipe bool, doors []*door, log *slog.Logger) error {
	cfg, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := &opening{ready: make(chan struct{})}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if err := m.open(ctx, a, f, cfg, log); err != nil {
			cancel(err)
		}
	}()
	err = f.serveAll(ctx, m, nil, pcpserve.Options{Log: log, Ready: m.ready, Announce: f.notReady}, layout, pipe, doors)
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	select {
	case <-opened:
		if m := m.now.Load(); m != nil {
			m.Close()
		}
	default: // A driver that does not answer must not keep the agent from ending.
	}
	return err
}

// An opening is a machine whose sources are being opened, and later the opened machine.
type opening struct {
	ready chan struct{}
	now   atomic.Pointer[pmda.Machine]
}

func (o *opening) open(ctx context.Context, a *app, f *pmdaFlags, cfg *config.Config, log *slog.Logger) error {
	sources, done, err := a.open(cfg)
	if err != nil {
		return err
	}
	t := &tuning{sources: sources, log: log}
	t.cfg.Store(cfg)
	m, err := pmda.New(sources, pmda.Options{
		Rows: a.catalog, Now: a.now, Worked: platform.Worked, Usage: platform.Usage, Host: platform.ThisHost(), Labels: machineLabels(),
		SetThreads: t.threads, MaxCPU: cfg.Budget.MaxCPU, Log: log,
	})
	if err != nil {
		done()
		return err
	}
	o.now.Store(m)
	close(o.ready)
	go t.obey(ctx, f)
	return nil
}

// machineLabels say which boot this is, which recorder answers, and the machine's time zone.
func machineLabels() []metric.Label {
	list := []metric.Label{{Name: pcp.SaysBoot, Value: platform.BootID()}, {Name: pcp.SaysZone, Value: platform.Zone()}, {Name: pcp.SaysRecorder, Value: sample.Version()}}
	return slices.DeleteFunc(list, func(l metric.Label) bool { return l.Value == "" })
}

// Catalog returns nil until the catalog is known.
func (o *opening) Catalog() *pcpserve.Catalog {
	if m := o.now.Load(); m != nil {
		return m.Catalog()
	}
	return nil
}

// wait waits until the sources are open.
func (o *opening) wait(ctx context.Context) (*pmda.Machine, error) {
	select {
	case <-o.ready:
		return o.now.Load(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (o *opening) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	m, err := o.wait(ctx)
	if err != nil {
		return nil, err
	}
	return m.Fetch(ctx, want)
}

func (o *opening) Instances(ctx context.Context, indom string) ([]*metric.Instance, error) {
	m, err := o.wait(ctx)
	if err != nil {
		return nil, err
	}
	return m.Instances(ctx, indom)
}

func (o *opening) Store(ctx context.Context, d *metric.Desc, in *metric.Instance, v metric.Value) error {
	m, err := o.wait(ctx)
	if err != nil {
		return err
	}
	return m.Store(ctx, d, in, v)
}

// tuning is what may change about reading while it is under way.
type tuning struct {
	sources []sample.Source
	cfg     atomic.Pointer[config.Config]
	log     *slog.Logger
}

// threads has the threads of other processes read; nil means the configured ones.
func (t *tuning) threads(patterns []string) error {
	opt := service.PlatformOptions(t.cfg.Load())
	if patterns != nil {
		opt.Threads = patterns
	}
	return platform.Reconfigure(t.sources, opt)
}

// obey reads the configuration again at each SIGHUP.
func (t *tuning) obey(ctx context.Context, f *pmdaFlags) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		cfg, err := loadConfig(f.config)
		if err == nil {
			err = platform.Reconfigure(t.sources, service.PlatformOptions(cfg))
		}
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				t.log.Error(strings.TrimSpace(line))
			}
			continue
		}
		t.cfg.Store(cfg)
		t.log.Info("the configuration was read again", "configuration", cfg.File)
	}
}
