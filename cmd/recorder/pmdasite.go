package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/pcp/pmda"
	"tachograph/cmd/internal/pcp/site"
	"tachograph/config"
	"tachograph/config/trust"
	"tachograph/launchd"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/platform"
)

// siteFlags say how to put the agent into a PCP.
type siteFlags struct {
	root     string
	domain   uint32
	beside   bool
	replace  bool
	daemon   bool
	recorder string
	dry      bool
}

func (f *siteFlags) names(flags *pflag.FlagSet) {
	flags.Uint32Var(&f.domain, "domain", metric.OwnDomain, "the agent's own `NUMBER` among PCP's domains")
	flags.BoolVar(&f.beside, "beside", runtime.GOOS != "darwin", "put all metrics below tachograph, beside PCP's own agents")
	flags.StringVar(&f.recorder, "recorder", "", "`FILE` that pmcd is to start, where that is not the recorder that install put in place")
}

func (f *siteFlags) place(flags *pflag.FlagSet) {
	flags.StringVar(&f.root, "root", "", "change files below `DIR` and leave pmcd alone, for packages and tests")
	flags.BoolVar(&f.dry, "dry-run", false, "show what would change, and change nothing")
}

// layout returns where the metrics will be in PCP's name space.
func (f *siteFlags) layout() (pcp.Layout, error) {
	if f.domain < 1 || f.domain > 510 {
		return pcp.Layout{}, fmt.Errorf("--domain %d: PCP's domains are 1 to 510, and 385 to 510 are free for all", f.domain)
	}
	if f.beside {
		return pcp.Beside(f.domain), nil
	}
	if runtime.GOOS != "darwin" {
		return pcp.Layout{}, errors.New("--beside=false is for a Mac: here PCP's own agents have these names and domains")
	}
	return pcp.Native(f.domain), nil
}

// site returns the PCP of this machine, or the one below --root.
func (a *app) site(f *siteFlags) (*site.Site, *host, error) {
	h, err := a.host()
	if err != nil {
		return nil, nil, err
	}
	s := &site.Site{
		Root: h.root, EUID: h.euid, Owners: trust.RootAndAsker(h.asker),
		Say: func(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) },
	}
	if f.root != "" {
		s.Root, s.Stage = f.root, true
	}
	if s.Stage || h.euid != 0 {
		s.Owners = trust.Running(-1) // writes only what this user may write anyway
	}
	s.Paths, err = site.Find(s.Root, os.Getenv, s.Owners)
	return s, &h, err
}

// program returns the path of the recorder that pmcd will start.
func (f *siteFlags) program(s *site.Site, h *host) (string, error) {
	path := cmp.Or(f.recorder, h.layout.Recorder())
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("--recorder %s: pmcd wants a whole path", path)
	}
	if s.Stage {
		return path, nil
	}
	full := filepath.Join(h.root, path)
	if _, err := os.Stat(full); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no recorder at %s for pmcd to start: run `sudo recorder install` first, or say where it is with --recorder", full)
	}
	if h.euid == 0 {
		// Pmcd starts it as root.
		if _, err := trust.Root().Resolve(full); err != nil {
			return "", err
		}
	}
	return path, nil
}

// catalogue returns the metrics that the agent will offer here or, with general, those that it
// may offer on machines of this kind.
func (a *app) catalogue(general bool) ([]*metric.Desc, *config.Config, error) {
	if general {
		own, err := a.offered(nil)
		if err != nil {
			return nil, nil, err
		}
		// Without sources there are only the agent's own metrics.
		own = slices.DeleteFunc(own, func(d *metric.Desc) bool { return d.Unsupported != "" || d.Formula != "" })
		return append(own, a.catalog()...), config.Default(), nil
	}
	cfg, err := loadConfig("")
	if err != nil {
		return nil, nil, err
	}
	sources, done, err := a.open(cfg)
	if err != nil {
		return nil, nil, err
	}
	descs, err := a.offered(sources)
	if err != nil {
		done()
	}
	return descs, cfg, err
}

// offered returns the metrics that the agent offers with these sources, which it closes.
func (a *app) offered(sources []sample.Source) ([]*metric.Desc, error) {
	m, err := pmda.New(sources, pmda.Options{
		Rows: a.catalog, Now: a.now, Worked: platform.Worked, Host: platform.ThisHost(),
		SetThreads: func([]string) error { return nil },
	})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Catalog().Descs, nil
}

// packaged returns the agent's files for PCP, with these metrics under the numbers that the
// agent gives them.
func packaged(l pcp.Layout, recorder string, descs []*metric.Desc, cfg *config.Config) *site.Package {
	s := pcpserve.NewServer(&described{Descs: descs}, pcpserve.Options{Names: l})
	p := &site.Package{
		Domain: l.Domain, Recorder: recorder, Args: agentArgs(l),
		Class: cfg.Class, Every: metric.Class.Interval, Indom: pcpserve.IndomHelp,
	}
	for _, d := range descs {
		if m := s.Metric(d.Name); m != nil && d.Unsupported == "" {
			p.Metrics = append(p.Metrics, m)
		}
	}
	return p
}

// described are metrics that are never read.
type described pcpserve.Catalog

// Catalog returns the same catalog each time: a new one would be numbered again.
func (d *described) Catalog() *pcpserve.Catalog { return (*pcpserve.Catalog)(d) }

func (*described) Fetch(context.Context, []*metric.Desc) (*pcpserve.View, error) {
	return &pcpserve.View{}, nil
}

func (*described) Instances(context.Context, string) ([]*metric.Instance, error) { return nil, nil }

// agentArgs are the arguments that tell the agent where its metrics are.
func agentArgs(l pcp.Layout) []string {
	if len(l.Keep) > 0 {
		return []string{"--native"}
	}
	return []string{"--beside"}
}

// daemonArgs are those arguments for a daemon, which serves all domains.
func daemonArgs(l pcp.Layout) []string {
	args := agentArgs(l)
	if l.Domain != metric.OwnDomain {
		args = append(args, "--domain", strconv.FormatUint(uint64(l.Domain), 10))
	}
	return args
}

// agentLines are the lines in pmcd's configuration for the agent, one per domain: how to start
// it or, for a daemon, where to connect to it.
func agentLines(l pcp.Layout, recorder string, socket func(domain uint32) string) []site.Line {
	var lines []site.Line
	for _, domain := range l.Domains() {
		line := site.Line{Label: site.Agent, Domain: domain}
		if domain != l.Domain {
			line.Label = site.DarwinLabel(domain)
		}
		if socket != nil {
			line.How = "socket\tunix\t" + site.Words(socket(domain))
		} else {
			words := append([]string{recorder, "pmda"}, agentArgs(l)...)
			words = append(words, "--domain", strconv.FormatUint(uint64(domain), 10))
			line.How = "pipe\tbinary\t" + site.Words(words...)
		}
		lines = append(lines, line)
	}
	return lines
}

func (a *app) siteInstallCommand() *cobra.Command {
	var f siteFlags
	c := &cobra.Command{
		Use:   "install",
		Short: "Make Performance Co-Pilot know this machine's metrics",
		Long: "install puts the agent into the PCP of this machine: a line in pmcd.conf, the names\n" +
			"of its metrics, templates for pmlogger (pmlogconf) and rules for pmie (pmieconf). A\n" +
			"pmcd that runs is told, and install waits until it has values. Where PCP is, its\n" +
			"pcp.conf says: $PCP_CONF, $PCP_DIR/etc/pcp.conf, or /etc/pcp.conf and what package\n" +
			"managers make of it. Done again it changes nothing, or what is new since; remove\n" +
			"gives back every byte.\n\n" +
			"On Linux, where PCP has agents of its own, all metrics are below tachograph, in one\n" +
			"domain. On a Mac those that PCP's agents for macOS have get PCP's names and\n" +
			"numbers. Where these agents run, say --replace to take their place until remove\n" +
			"gives it back, or --beside to have all below tachograph.\n\n" +
			"On Linux pmcd starts the agent and speaks to it by a pipe. With --daemon, as on a\n" +
			"Mac, the agent is a service of its own (" + launchd.PMDAUnit + ", " + launchd.PMDALabel + "):\n" +
			"one process for all domains, which pmcd connects to.",
		Example: "  sudo recorder pmda install\n  recorder pmda install --dry-run\n  sudo recorder pmda install --beside --domain 499\n  recorder pmda install --root /tmp/stage --recorder /usr/local/lib/tachograph/recorder",
		Args:    noArgs, ValidArgsFunction: cli.CompleteNothing,
		RunE: func(c *cobra.Command, args []string) error { return a.siteInstall(&f) },
	}
	f.names(c.Flags())
	f.place(c.Flags())
	c.Flags().BoolVar(&f.daemon, "daemon", runtime.GOOS == "darwin", "make the agent a service of its own, which pmcd connects to")
	c.Flags().BoolVar(&f.replace, "replace", false, "take the place of PCP's own agents for macOS")
	return c
}

func (a *app) siteInstall(f *siteFlags) error {
	l, err := f.layout()
	if err != nil {
		return err
	}
	if f.replace && f.beside {
		return errors.New("--replace is for a Mac, and without --beside: beside PCP's agents it replaces none")
	}
	s, h, err := a.site(f)
	if err != nil {
		return err
	}
	recorder, err := f.program(s, h)
	if err != nil {
		return err
	}
	descs, cfg, err := a.catalogue(s.Stage)
	if err != nil {
		return err
	}
	p := packaged(l, recorder, descs, cfg)
	var socket func(uint32) string
	if f.daemon {
		socket = h.layout.PMDASocket
	}
	s.Lines, s.Names, s.Replace = agentLines(l, recorder, socket), p.Names(), f.replace
	s.Files = s.Put(p)
	if f.daemon {
		files, err := h.manager.Describe(h.layout, launchd.PMDA{Program: recorder, Domains: l.Domains(), Group: s.Paths.Group, Options: daemonArgs(l)})
		if err != nil {
			return err
		}
		for _, file := range files {
			s.Files = append(s.Files, site.File{Path: file.Path, Mode: file.Mode, Content: file.Content})
		}
	}
	if !s.Stage {
		s.Tell = site.SignalPMCD(p.Probe())
		if f.daemon {
			agent := h.manager.Job(h.layout, launchd.Agent)
			if _, err := agent.State(); err != nil && !f.dry {
				return fmt.Errorf("--daemon makes the agent a service, and %s does not answer: %w (with --daemon=false pmcd starts the agent itself)", h.manager.Name(), err)
			}
			s.Start = agent.Load
		} else if err := h.forgetAgent(f); err != nil {
			return err
		}
	}
	return s.Install(f.dry)
}

// forgetAgent ends the agent's service, if there is one.
func (h *host) forgetAgent(f *siteFlags) error {
	if _, err := os.Lstat(filepath.Join(h.root, h.layout.PMDAJob)); err != nil || f.dry || h.euid != 0 {
		return nil
	}
	return h.manager.Job(h.layout, launchd.Agent).Unload()
}

// removeFrom removes the agent from a PCP, even if the service cannot be ended.
func (h *host) removeFrom(s *site.Site, f *siteFlags) error {
	var unloaded error
	if !s.Stage {
		s.Tell = site.SignalPMCD("")
		unloaded = h.forgetAgent(f)
	}
	return errors.Join(s.Remove(f.dry), unloaded)
}

// forgetPCP removes the agent from the PCP of a machine from which the recorder, which is the
// agent's program, is being removed.
func (a *app) forgetPCP(root string) error {
	f := siteFlags{root: root}
	s, h, err := a.site(&f)
	if err != nil || !s.Installed() {
		return nil // there is no PCP, or the agent is not in it
	}
	return h.removeFrom(s, &f)
}

func (a *app) siteRemoveCommand() *cobra.Command {
	var f siteFlags
	c := &cobra.Command{
		Use:   "remove",
		Short: "Take the metrics out of Performance Co-Pilot again",
		Long: "remove takes away what recorder pmda install put into the PCP of this machine, and\n" +
			"gives back what had its place. Files that nobody else has changed since get their\n" +
			"old bytes; in others only what is ours goes.",
		Example: "  sudo recorder pmda remove\n  recorder pmda remove --dry-run",
		Args:    noArgs, ValidArgsFunction: cli.CompleteNothing,
		RunE: func(c *cobra.Command, args []string) error {
			s, h, err := a.site(&f)
			if err != nil {
				return err
			}
			return h.removeFrom(s, &f)
		},
	}
	f.place(c.Flags())
	return c
}

func (a *app) sitePackageCommand() *cobra.Command {
	var f siteFlags
	var here bool
	c := &cobra.Command{
		Use:   "package DIR",
		Short: "Write the agent's directory for packagers of Performance Co-Pilot",
		Long: "package writes what belongs into PCP's directory of agents, as \"tachograph\" there:\n" +
			"Install and Remove by PCP's own scripts, domain.h, pmns, root, help, the program\n" +
			"that pmcd starts, and, in pmlogconf and pmieconf, a template for pmlogger for each\n" +
			"class of metrics and rules for pmie. Its metrics are those that machines of this\n" +
			"system may have. Install, which needs the recorder where --recorder says, writes\n" +
			"what the very machine has in their place, with --here.",
		Example: "  recorder pmda package /tmp/tachograph\n  recorder pmda package --recorder /usr/bin/recorder debian/tachograph/var/lib/pcp/pmdas/tachograph",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one argument, the directory to write to", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			l, err := f.layout()
			if err != nil {
				return err
			}
			h, err := a.host()
			if err != nil {
				return err
			}
			descs, cfg, err := a.catalogue(!here)
			if err != nil {
				return err
			}
			p := packaged(l, cmp.Or(f.recorder, h.layout.Recorder()), descs, cfg)
			for _, file := range append(p.Files(), p.Templates()...) {
				changed, err := site.Write(filepath.Join(args[0], file.Path), file)
				if err != nil {
					return err
				}
				if changed {
					fmt.Fprintf(a.out, "wrote %s\n", filepath.Join(args[0], file.Path))
				}
			}
			return nil
		},
	}
	f.names(c.Flags())
	c.Flags().BoolVar(&here, "here", false, "write the metrics of this very machine, not of all of its kind")
	return c
}
