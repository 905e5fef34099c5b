package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/redact"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/query"
	"tachograph/store/rewrite"
)

// snapshot cuts a window out.
type snapshot struct {
	a                    *app
	dst                  string
	instances, processes []string
	redact, keyFile      string
}

func snapshotCommand(a *app) *cobra.Command {
	s := &snapshot{a: a}
	cmd := &cobra.Command{
		Use:   "snapshot [METRIC...] [--from TIME] [--to TIME] [-o FILE]",
		Short: "Cut a window out, as an archive of its own",
		Long: `snapshot cuts the time from --from to --to out of archives, also out of one that is
being written. Its archive is small enough to mail and answers every question about the
window as the whole archives do.

Besides the readings in the window it holds what is needed to understand them: the
descriptions of the metrics and the machine, the configuration, and the last values
before the window, so that the first rate is known and rarely read metrics have a value.
If a part of the sources cannot be read, snapshot says which, and the exit status is 1.

With METRICs (names, beginnings of names or patterns) it holds only these; with
--instance only instances of matching names, of whatever kind; with --process it leaves
out all other processes.

A window of several boots, or of several hosts, becomes a bundle: a tar file of
archives, which replay reads like an archive and tar unpacks.

Without -o the file is named after the host and the window, in the current directory.
snapshot overwrites nothing. Names of processes, users, volumes and hosts are in it
as they were recorded, unless --redact replaces them with pseudonyms: host-4f2a,
user-9c01. A name has the same pseudonym throughout, and with --key-file in all snapshots
made with that file; without the file a pseudonym cannot be traced back to its name.
--redact leaves command lines out. It keeps names that identify no person, such as those
of the system's own programs, so that the archive still shows what happened;
--redact=all replaces these, too. At the end snapshot lists what is left that could show
whose machine it was.`,
		Example: `  replay snapshot --from 03:00 --to 03:10 -o incident.tacho
  replay snapshot --from -10m
  replay snapshot 'kernel.*' 'mem.*' --from yesterday -o system.tacho
  replay snapshot --redact --from 03:00 --to 03:10 -o incident.tacho
  replay snapshot --redact --key-file fleet.key --from -10m
  replay snapshot --process Safari --from 03:00 --to +1h -o safari.tacho`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&s.dst, "output", "o", "", "file to write, which must not exist; - is standard output")
	fl.StringArrayVarP(&s.instances, "instance", "i", nil, "only instances whose name matches: a glob, or /regexp/ (repeatable)")
	fl.StringArrayVar(&s.processes, "process", nil, "of processes only those whose name matches (repeatable)")
	fl.StringVar(&s.redact, "redact", "", "pseudonyms for names that could identify; =all for well-known ones as well")
	fl.Lookup("redact").NoOptDefVal = redactNames
	fl.StringVar(&s.keyFile, "key-file", "", "with --redact: a secret, which gives a name the same pseudonym wherever it is used")
	return cmd
}

func (s *snapshot) run(cmd *cobra.Command, args []string) error {
	a := s.a
	if err := a.noRows("snapshot writes an archive; other commands answer"); err != nil {
		return err
	}
	if err := a.noTerminal(s.dst, "the archive"); err != nil {
		return err
	}
	if err := a.load(); err != nil {
		return err
	}
	w, err := a.Window()
	if err != nil {
		return err
	}
	opt := rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{Hosts: w.Hosts, From: w.From, To: w.To}}
	if opt.Metrics, err = chosenMetrics(&a.session, args); err != nil {
		return err
	}
	if opt.Instance, err = s.instance(); err != nil {
		return err
	}
	mapping, err := mappingOf(s.redact, s.keyFile)
	if err != nil {
		return err
	}
	if mapping != nil {
		opt.Mapping = mapping
	}
	dst := s.dst
	switch dst {
	case "":
		dst = snapshotName(&a.session, w, mapping)
	case "-":
		at := filepath.Join(os.TempDir(), "replay-snapshot")
		disk.Clear(at)
		dir, remove, err := disk.MkdirScratch(at)
		if err != nil {
			return err
		}
		defer remove()
		dst = filepath.Join(dir, "snapshot.tacho")
	}
	report, err := copyArchives(a, dst, opt)
	if err != nil {
		return err
	}
	if s.dst == "-" {
		if err := send(a.stdout.Unwrap(), dst); err != nil {
			return err
		}
		return missing(a, report)
	}
	a.stdout.Println(dst + ": " + copied(a.clock, report))
	left(&a.page, mapping)
	a.finish(cmd, args, false)
	return missing(a, report)
}

// chosenMetrics returns a function that accepts the named metrics, and those that they are
// computed from; nil accepts all.
func chosenMetrics(s *session, args []string) (func(*metric.Desc) bool, error) {
	if len(args) == 0 {
		return nil, nil
	}
	chosen := make(map[string]bool)
	list, err := s.named(args)
	if err != nil {
		return nil, err
	}
	var add func(name, formula string)
	add = func(name, formula string) {
		if chosen[name] {
			return
		}
		chosen[name] = true
		for _, operand := range metricName.FindAllString(formula, -1) {
			if d := s.Archive.Lookup(operand); d != nil {
				add(d.Name, d.Formula)
			}
		}
	}
	for _, d := range list {
		add(d.Name, d.Formula)
	}
	return func(d *metric.Desc) bool { return chosen[d.Name] }, nil
}

var metricName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*`)

// instance returns a function that accepts the chosen instances; nil accepts all.
func (s *snapshot) instance() (func(string, *metric.Instance) bool, error) {
	all, _, err := query.InstanceFilter(s.instances)
	if err != nil {
		return nil, err
	}
	process, _, err := query.InstanceFilter(s.processes)
	if err != nil {
		return nil, err
	}
	if process == nil {
		return all, nil
	}
	return func(indom string, in *metric.Instance) bool {
		// The stacks of all processes share calls; only the stacks themselves name their
		// process.
		shared := metric.OfStacks(indom) && indom != stack.DomainStack
		if all != nil && !all(indom, in) {
			return false
		}
		switch indom {
		case metric.DomainReport:
			return false // its text has other processes in it
		case "connection", "listener":
			return process("process", itsProcess(in))
		}
		return !metric.PerBoot(indom) || shared || process(indom, in)
	}, nil
}

// itsProcess returns the process of a connection or of a port that is listened on, as its labels
// say.
func itsProcess(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: in.Label("process"), Name: fmt.Sprintf("%06s %s", in.Label("pid"), in.Label("name")), Labels: in.Labels}
}

// snapshotName returns the name of a snapshot if none was given.
func snapshotName(s *session, w query.Window, mapping *redact.Mapping) string {
	from, to, list := query.Covered(s.Archive, w)
	if w.From != 0 {
		from = max(from, w.From)
	}
	if w.To != 0 {
		to = min(to, w.To)
	}
	host := "hosts"
	if len(list) > 0 && !s.ManyHosts() {
		host = list[0].Host.Name
		if mapping != nil {
			host = mapping.Name(list[0].Host)
		}
	}
	return layout.FinishedName(host, from, to, 0)
}

// send copies a file to the output.
func send(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}
