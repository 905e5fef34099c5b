package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"os/user"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/visible"
	"tachograph/config"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// pmdaFlags are the flags of recorder pmda.
type pmdaFlags struct {
	domain         uint32
	native, beside bool
	prefix         string
	notReady       bool
	sockets        []string
	listen         []string
	mode, group    string
	remote         bool
	allAccess      bool
	config         string
	logFile        string
	logFormat      string
	play           playFlags
}

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

// prefixes matches names that PCP's name space allows.
var prefixes = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// layout returns where pmcd finds the metrics.
func (f *pmdaFlags) layout() (pcp.Layout, error) {
	if f.native && f.beside {
		return pcp.Layout{}, errors.New("--native and --beside name two places for the same metrics: choose one")
	}
	if err := checkDomain(uint64(f.domain), "--domain"); err != nil {
		return pcp.Layout{}, err
	}
	if !prefixes.MatchString(f.prefix) {
		return pcp.Layout{}, fmt.Errorf("--prefix %s is no name that PCP could have: letters, digits and _, and a letter first", f.prefix)
	}
	l := pcp.Beside(f.domain)
	if f.native || !f.beside && runtime.GOOS == "darwin" {
		l = pcp.Native(metric.OwnDomain)
		if !slices.Contains(l.Keep, f.domain) {
			l.Domain = f.domain
		}
	}
	l.Prefix = f.prefix
	return l, nil
}

func checkDomain(n uint64, what string) error {
	if n < 1 || n > 510 {
		return fmt.Errorf("%s %d: PCP's domains are 1 to 510, and 385 to 510 are free for all", what, n)
	}
	return nil
}

// A door is a socket at which pmcd, or PCP's tools, connect.
type door struct {
	net.Listener
	text    string
	clients bool
	domain  uint32
}

// host is the door's name for -h of PCP's tools.
func (d *door) host() string {
	if path, ok := strings.CutPrefix(d.text, "unix:"); ok {
		return "local:" + path
	}
	return strings.TrimPrefix(d.text, "tcp:")
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	beFrugal()
	if f.play.archive != nil {
		return a.playBack(ctx, f, layout, pipe, doors, log)
	}
	return a.answerLive(ctx, f, layout, pipe, doors, log)
}

// log returns the log: pmcd collects what agents write to standard error.
func (f *pmdaFlags) log(a *app) (*slog.Logger, func(), error) {
	var to io.Writer = a.err
	done := func() {}
	if f.logFile != "" {
		file, err := openLog(f.logFile)
		if err != nil {
			return nil, nil, err
		}
		done = func() { file.Close() }
		to = visible.NewWriter(file, false)
	}
	return newLog(to, f.logFormat, slog.LevelInfo), done, nil
}

// doors opens all sockets to listen at.
func (f *pmdaFlags) doors(layout pcp.Layout, log *slog.Logger) (doors []*door, err error) {
	defer func() {
		if err != nil {
			for _, d := range doors {
				d.Close()
			}
		}
	}()
	taken := make(map[uint32]bool)
	for _, text := range f.sockets {
		domain, address := layout.Domain, text
		if n, rest, ok := strings.Cut(text, "="); ok {
			if d, err := strconv.ParseUint(n, 10, 32); err == nil {
				if err := checkDomain(d, "--socket"); err != nil {
					return doors, err
				}
				domain, address = uint32(d), rest
			}
		}
		if domain != layout.Domain && !slices.Contains(layout.Keep, domain) {
			return doors, fmt.Errorf("--socket %s: there is nothing in domain %d; there is in %s", text, domain, domains(layout))
		}
		if taken[domain] {
			return doors, fmt.Errorf("--socket %s: domain %d has a socket already; write DOMAIN=ADDRESS for others, of %s", text, domain, domains(layout))
		}
		taken[domain] = true
		d, err := f.open("--socket", address, log)
		if err != nil {
			return doors, err
		}
		d.domain = domain
		doors = append(doors, d)
	}
	for _, text := range f.listen {
		d, err := f.open("--listen", text, log)
		if err != nil {
			return doors, err
		}
		d.clients = true
		doors = append(doors, d)
	}
	return doors, nil
}

func domains(l pcp.Layout) string {
	var list []string
	for _, d := range l.Domains() {
		list = append(list, strconv.Itoa(int(d)))
	}
	return strings.Join(list, ", ")
}

// open opens one door.
func (f *pmdaFlags) open(option, text string, log *slog.Logger) (*door, error) {
	at, err := listen.Parse(option, text)
	if err != nil {
		return nil, err
	}
	if at.Unix {
		mode, err := strconv.ParseUint(f.mode, 8, 32)
		if err != nil || mode&^0o666 != 0 || mode == 0 {
			return nil, fmt.Errorf("--socket-mode %s is no mode of a socket: write it as chmod does, 0660", f.mode)
		}
		l, err := listen.Last(option, at.Path, os.FileMode(mode), f.socketGroup(), log)
		if err != nil {
			return nil, err
		}
		return &door{Listener: l, text: "unix:" + at.Path}, nil
	}
	beyond := fmt.Errorf("%s %s can be reached from other machines, and nothing that is said there is secret: say --remote if that is meant, or listen at tcp:127.0.0.1:%s", option, text, at.Port)
	if !f.remote && !at.Loopback() {
		return nil, beyond
	}
	l, err := net.Listen("tcp", net.JoinHostPort(at.Host, at.Port))
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if t, ok := l.Addr().(*net.TCPAddr); !f.remote && (!ok || !t.IP.IsLoopback()) {
		l.Close() // a name with more than one meaning
		return nil, beyond
	}
	return &door{Listener: l, text: "tcp:" + l.Addr().String()}, nil
}

// socketGroup is the group of unix sockets: where pmcd is installed it runs as pcp, and only
// root or a member of that group can give it to a socket.
func (f *pmdaFlags) socketGroup() string {
	if f.group != "" {
		return f.group
	}
	if g, err := user.LookupGroup("pcp"); err == nil && (os.Geteuid() == 0 || ofGroup(g.Gid)) {
		return "pcp"
	}
	return ""
}

func ofGroup(gid string) bool {
	list, err := os.Getgroups()
	for _, g := range list {
		if err == nil && strconv.Itoa(g) == gid {
			return true
		}
	}
	return false
}

// greetWithin is how long the greeting to pmcd may be delayed while sources are opened: pmcd
// waits 3 s for a greeting, and its clients get no values while it knows that an agent is not
// ready.
const greetWithin = 1500 * time.Millisecond

func settle(ctx context.Context, ready <-chan struct{}) {
	timer := time.NewTimer(greetWithin)
	defer timer.Stop()
	select {
	case <-ready:
	case <-ctx.Done():
	case <-timer.C:
	}
}

// who asks the kernel which user is at the other end of a unix socket.
func who(c net.Conn) (uid uint32, known bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	p, err := listen.PeerOf(u)
	if err != nil {
		return 0, false
	}
	return uint32(p.UID), true
}

// standard is the pipe to pmcd on standard input and output.
type standard struct{}

func (standard) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (standard) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

// serveAll answers at all doors, or through the pipe, until ctx or the pipe ends. tell wraps m
// for PCP's tools.
func (f *pmdaFlags) serveAll(ctx context.Context, m pcpserve.Metrics, tell func(pcpserve.Metrics) pcpserve.Metrics, opt pcpserve.Options, layout pcp.Layout, pipe bool, doors []*door) error {
	opt.AllAccess = f.allAccess
	agent := opt
	agent.Names = layout
	s := pcpserve.NewServer(m, agent)
	if pipe {
		ended := make(chan error, 1)
		// A pipe that is being read cannot be closed: it ends with the process.
		go func() {
			if !f.notReady {
				settle(ctx, opt.Ready)
			}
			ended <- s.Agent(ctx, standard{}, f.domain)
		}()
		select {
		case err := <-ended:
			if errors.Is(err, syscall.EPIPE) {
				return nil // Pmcd has gone.
			}
			return err
		case <-ctx.Done():
			return nil
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	for _, d := range doors {
		go func() {
			defer func() { ended <- struct{}{} }()
			var err error
			switch {
			case d.clients:
				tools := opt
				if f.native || f.beside {
					tools.Names = layout
				}
				opt.Log.Info("PCP's tools may connect", "at", d.text, "try", "pminfo -h "+d.host()+" -f kernel.all.load")
				tools.Who = who
				err = pcpserve.NewServer(tell(m), tools).Clients(ctx, d)
			default:
				opt.Log.Info("waiting for pmcd", "at", d.text, "domain", d.domain)
				err = waitForPmcd(ctx, s, d, opt.Log)
			}
			if err != nil && ctx.Err() == nil {
				cancel(err)
			}
		}()
	}
	<-ctx.Done()
	for _, d := range doors {
		d.Close()
	}
	for range doors {
		<-ended
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
