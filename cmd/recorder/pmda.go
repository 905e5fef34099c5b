package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

func (a *app) pmdaCommand() *cobra.Command {
	var f pmdaFlags
	c := &cobra.Command{
		Use:   "pmda",
		Short: "Answer Performance Co-Pilot: as an agent of pmcd, or from an archive",
		Long: "pmda answers PCP's pmcd with everything that the recorder can read. It reads a metric\n" +
			"when pmcd asks for it, records nothing, and needs no running recorder. Pmcd\n" +
			"starts it and speaks to it by a pipe; with --socket it is a daemon that pmcd\n" +
			"connects to. recorder pmda install adds it to the pmcd of this machine.\n\n" +
			"On a Mac the metrics that PCP has there keep its names and numbers, in its domains\n" +
			"(" + pcpDomains() + "), and all others are below tachograph, in domain " + strconv.Itoa(metric.OwnDomain) + ". Each domain is a\n" +
			"line of pmcd.conf with a pipe or a socket. Elsewhere, and with --beside, where\n" +
			"PCP's own agents run, everything is below tachograph in that one domain.\n\n" +
			"With --archive it answers from a recording as if the machine were live: from\n" +
			"--from on, at --speed, up to the end. After it there are no values any more, or\n" +
			"with --loop it begins again. In a sleep or a gap there are no values either. With\n" +
			"--speed 0 the clock stays at --from. --listen answers PCP's tools themselves, without\n" +
			"any pmcd: pminfo -h, pmval, pmrep, pmie, and pmlogger at --speed 1. Values begin\n" +
			"with the present time, which then passes at --speed, so that rates are right; a\n" +
			"pmcd gives values its own time, and rates through it are too high by the speed.\n\n" +
			"Some values show what users do, such as the arguments of processes. Only root, the\n" +
			"user who runs pmda and the owner of a process get them, as far as pmcd or the\n" +
			"socket say which user asks.",
		Example: "  recorder pmda --archive incident.tacho --listen tcp:127.0.0.1:44321\n" +
			"  pminfo -h 127.0.0.1 -f kernel.all.load\n" +
			"  recorder pmda --archive incident.tacho --from 03:10 --speed 10 --loop --listen unix:/tmp/incident.sock\n" +
			"  pmrep -h local:/tmp/incident.sock -t 10 kernel.all.load\n" +
			"  recorder pmda --socket unix:/run/tachograph/pmda.sock\n" +
			"  recorder pmda --socket 78=unix:/tmp/78.sock --socket 3=unix:/tmp/3.sock --socket unix:/tmp/500.sock",
		Args: noArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.answer(&f, c.Flags()) },
	}
	fl := c.Flags()
	fl.Uint32VarP(&f.domain, "domain", "d", metric.OwnDomain, "`NUMBER` of PCP's domain to answer for; of an agent with several, by this pipe")
	fl.BoolVar(&f.native, "native", false, "use PCP's own names, numbers and domains for what PCP's agents for Darwin have (default on a Mac)")
	fl.BoolVar(&f.beside, "beside", false, "put everything below tachograph, in one domain (default elsewhere)")
	fl.StringVar(&f.prefix, "prefix", pcp.Root, "`NAME` below which that is: a recording can be beside the machine at hand")
	fl.BoolVar(&f.notReady, "notready", false, "pmcd.conf says notready of this agent: tell pmcd when it can answer")
	fl.StringArrayVar(&f.sockets, "socket", nil, "wait for pmcd at `[DOMAIN=]ADDRESS`, unix:PATH or tcp:HOST:PORT (repeatable; default: a pipe)")
	fl.StringArrayVar(&f.listen, "listen", nil, "answer PCP's tools themselves at `ADDRESS`, unix:PATH or tcp:HOST:PORT (repeatable; with --archive)")
	fl.StringVar(&f.mode, "socket-mode", "0660", "`MODE` of unix sockets")
	fl.StringVar(&f.group, "socket-group", "", "`GROUP` of unix sockets (default pcp, if there is one)")
	fl.BoolVar(&f.remote, "remote", false, "allow addresses that other machines can reach: any of them may then ask")
	fl.BoolVar(&f.allAccess, "all-access", false, "show every client what every user does")
	fl.StringVar(&f.config, "config", "", "configuration `FILE` (default "+config.DefaultFile()+", if it exists)")
	fl.StringVar(&f.logFile, "log-file", "", "append the log to `FILE`, which may be rotated (default: standard error)")
	fl.StringVar(&f.logFormat, "log-format", "text", "text or json")
	f.play.add(fl)
	c.AddCommand(a.siteInstallCommand(), a.siteRemoveCommand(), a.sitePackageCommand())
	return c
}

func pcpDomains() string {
	var list []string
	for _, d := range pcp.Native(metric.OwnDomain).Keep {
		list = append(list, strconv.Itoa(int(d)))
	}
	return strings.Join(list, " and ")
}

// check refuses flags that contradict each other, before anything is opened.
func (f *pmdaFlags) check(fl *pflag.FlagSet) error {
	for _, name := range []string{"from", "to", "speed", "loop", "host"} {
		if fl.Changed(name) && f.play.archive == nil {
			return fmt.Errorf("--%s is of a recording: add --archive FILE", name)
		}
	}
	switch {
	case f.logFormat != "text" && f.logFormat != "json":
		return errors.New("--log-format is text or json")
	case len(f.listen) > 0 && f.play.archive == nil:
		return errors.New("--listen is for --archive: the machine itself is answered for through pmcd (--socket), or without one by replay serve --pcp")
	case len(f.listen) > 0 && len(f.sockets) == 0 && f.notReady:
		return errors.New("--notready is about pmcd, and --listen does without")
	}
	return f.play.check()
}

// answer answers until it is stopped, or until pmcd ends.
func (a *app) answer(f *pmdaFlags, fl *pflag.FlagSet) error {
	if err := f.check(fl); err != nil {
		return err
	}
	layout, err := f.layout()
	if err != nil {
		return err
	}
	pipe := len(f.sockets)+len(f.listen) == 0
	if pipe && columns(os.Stdin) > 0 {
		return errors.New("this speaks the protocol of PCP's agents on standard input and output, where pmcd should be and a terminal is: let sudo recorder pmda install tell pmcd about it, or use --socket, or --archive FILE --listen ADDRESS (see recorder pmda --help)")
	}
	log, done, err := f.log(a)
	if err != nil {
		return err
	}
	defer done()
	doors, err := f.doors(layout, log)
	if err != nil {
		return err
	}
	defer func() {
		for _, d := range doors {
			d.Close()
		}
	}()
	// The end of a peer shows in reads and writes, not as a signal; and SIGHUP is handled only
	// by code that has something to read again.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	ctx, stop := interrupted()
	defer stop()
	beFrugal()
	if f.play.archive != nil {
		return a.playBack(ctx, f, layout, pipe, doors, log)
	}
	return a.answerLive(ctx, f, layout, pipe, doors, log)
}

// playBack answers from a recording.
func (a *app) playBack(ctx context.Context, f *pmdaFlags, layout pcp.Layout, pipe bool, doors []*door, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := f.play.open(time.Unix(0, a.now().Wall), log)
	if err != nil {
		return err
	}
	played := make(chan struct{})
	go func() {
		defer close(played)
		if err := p.Run(ctx); err != nil {
			cancel(err)
		}
	}()
	own := func(m pcpserve.Metrics) pcpserve.Metrics { return pcpserve.WithOwn(m, p.Own(sample.Version())) }
	err = f.serveAll(ctx, p, own, pcpserve.Options{Log: log, Ready: p.Ready(), Announce: f.notReady}, layout, pipe, doors)
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	<-played
	p.Close()
	return err
}
