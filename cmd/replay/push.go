package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pushstate"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/push"
	"tachograph/cmd/replay/internal/push/clickhouse"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/config"
	"tachograph/sample/catalog"
	"tachograph/store/fault"
	"tachograph/store/follow"
)

func pushCommand(a *app) *cobra.Command {
	p := &pushing{a: a}
	f := &p.pushFlags
	cmd := &cobra.Command{
		Use:   "push [ARCHIVE...] --to URL",
		Short: "Bring what is recorded to a server: Prometheus, ClickHouse, OpenTelemetry",
		Long: `push sends every recorded value to a server: what archives hold, and with --follow
what the recorder goes on to record, until Ctrl-C. Servers speak one of

  remote-write  Prometheus, VictoriaMetrics, Mimir, Thanos: system metrics under the
                names of /metrics (replay serve), and with --processes totals of processes
  otlp          collectors of OpenTelemetry, by HTTP: the same, as they call it
  clickhouse    ClickHouse, by HTTP: everything, every process with it

which --protocol says where the address does not.

What the server has acknowledged is kept in a small file (--state; root's are in
/var/lib/tachograph-push, or /Library/Application Support/Tachograph/Push on a Mac,
others' in ~/.local/state/tachograph-push or below their ~/Library), and the next push
to this server goes on there. The one batch that was on its way when push was killed, or
the answer to it lost, is sent again as it was: servers that know a value by its series
and time keep it once. Without a state it begins with the oldest archive, or at
--from, which may be now. What a server does not take now, push tries again, ever less
often. What the server refuses for good, push reports and sets aside; it stays in the
archive. The archive is the buffer: while a server is away nothing piles up. recorder
status says how far each push is behind. --status says so without a recorder, too, and
lists what was set aside and why. Once the server would take that (its configuration was
mended, its time window is wider), --again pushes it once more, and nothing else.

push reads secrets from files, never from the command line. If root starts it, it reads
them and then becomes the user that --run-as names.

--processes N sends totals by process name, for the N names with the most processor time
and the N with the most memory at each reading, and one total of all others.`,
		Example: `  replay push --to http://127.0.0.1:9090/api/v1/write
  replay push --to https://metrics.example/api/v1/write --token-file ~/.push-token --follow --processes 10
  replay push --status
  replay push --to http://127.0.0.1:9090/api/v1/write --again
  replay push demo.d --to http://127.0.0.1:8428/api/v1/write --from -2h
  replay push --to clickhouse://127.0.0.1:8123/tachograph --create --follow
  replay push --to https://collector.example/v1/metrics --header-file ~/.push-headers --follow`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"format", "spreadsheet", "show-command", "derived"} {
				if cmd.Flags().Changed(name) {
					return fmt.Errorf("push has no use for --%s: it sends what was recorded, as it was recorded", name)
				}
			}
			if f.status {
				return p.tellStatus(args)
			}
			return p.run(args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.to, "to", "", "address of the server: http://HOST:PORT/PATH, https://... or clickhouse://HOST:PORT/DATABASE")
	fl.StringVar(&f.protocol, "protocol", "", strings.Join(protocolNames(), ", ")+" (default: as the address looks)")
	fl.BoolVarP(&f.follow, "follow", "f", false, "go on with what is being recorded, until Ctrl-C")
	fl.StringVar(&f.state, "state", "", "file that says how far the server has acknowledged (default: one for each server, see above)")
	fl.IntVar(&f.processes, "processes", 0, "totals of so many names of processes (remote-write, otlp)")
	fl.BoolVar(&f.computed, "computed", true, "metrics that are computed of those that were recorded, too (remote-write, otlp)")
	fl.StringVar(&f.names, "names", "own,node", "names of metrics: own, node (those of node_exporter) or both (remote-write)")
	fl.StringArrayVar(&f.labels, "label", nil, "NAME=VALUE put to every series (repeatable; remote-write)")
	fl.BoolVar(&f.create, "create", false, "make the tables (clickhouse)")
	fl.BoolVar(&f.createOnly, "create-only", false, "make the tables and end: once on each server of a cluster (clickhouse)")
	fl.StringVar(&f.database, "database", "tachograph", "database with the tables (clickhouse)")
	fl.StringVar(&f.cluster, "cluster", "", "cluster whose shards have the tables, by the servers' configuration (clickhouse)")
	fl.StringVar(&f.keep, "keep", "", "how long the tables that --create makes keep rows, in days: 30d (clickhouse 19.14 and later)")
	fl.StringVar(&f.access.TokenFile, "token-file", "", "file with the token that the server wants")
	fl.StringVar(&f.access.User, "user", "", "name of the user at the server; needs --password-file")
	fl.StringVar(&f.access.PasswordFile, "password-file", "", "file with the password of --user")
	fl.StringVar(&f.access.HeaderFile, "header-file", "", "file with headers to send, NAME: VALUE a line")
	fl.StringVar(&f.access.CAFile, "tls-ca", "", "file with the certificate that signed the server's")
	fl.StringVar(&f.access.CertFile, "tls-cert", "", "file with our certificate")
	fl.StringVar(&f.access.KeyFile, "tls-key", "", "file with its key")
	fl.BoolVar(&f.access.Insecure, "insecure", false, "send secrets by http:// to other machines, too")
	fl.IntVar(&f.values, "batch", 0, fmt.Sprintf("values of a batch at most (default %d; clickhouse %d)", push.Default.MaxValues, clickhouse.Batch.Values))
	fl.StringVar(&f.age, "every", "", fmt.Sprintf("a batch is sent at the latest when it is so old (default %s; clickhouse %s)", push.Default.MaxAge, clickhouse.Batch.Age))
	fl.BoolVar(&f.again, "again", false, "push what the server refused and what is set aside once more, and forget what it takes")
	fl.BoolVar(&f.status, "status", false, "say how far pushes are and what is set aside: all of this user's and root's, or that of --to or --state")
	fl.BoolVar(&f.stop, "stop-refused", false, "end where the server refuses something, instead of setting it aside")
	fl.StringVar(&f.giveUp, "give-up", "", "end when nothing was acknowledged for so long (default 5m; with --follow never)")
	fl.StringVar(&f.timeout, "timeout", "", fmt.Sprintf("how long the server may take for an answer (default %s)", push.DefaultTimeout))
	fl.StringVar(&f.runAs, "run-as", "", "user to become if root starts push; nobody also gets the group of the archives")
	cli.Once(fl, "to")
	return cmd
}

// run checks the flags, and pushes.
func (p *pushing) run(args []string) error {
	a := p.a
	sink, to, whole, err := p.sink()
	if err != nil {
		return err
	}
	if p.createOnly {
		return p.makeTables(sink, to, whole)
	}
	opt, err := p.options(sink, to, whole)
	if err != nil {
		return err
	}
	paths, err := a.Locate(args)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		opt.Archives = append(opt.Archives, path)
	}
	host, err := p.host(args, &opt)
	if err != nil {
		return err
	}
	opt.Open, opt.Oldest = push.Archives(follow.Options{Host: host, Complete: catalog.Complete, Wait: p.follow}, paths...)
	if p.runAs != "" {
		if err := to.Keep(); err != nil {
			return err
		}
		name := p.runAs
		if name == "nobody" {
			name = ""
		}
		if err := serve.Become(name, paths); err != nil {
			return err
		}
	}
	if opt.State = p.state; p.state == "" {
		dir := config.PushDir()
		if err := push.EnsureDir(dir); err != nil {
			return err
		}
		opt.State = filepath.Join(dir, pushstate.Name(to.String(), host))
	}
	a.collector.later()
	ctx, stop := a.untilEnded()
	defer stop()
	if p.again {
		return p.pushAgain(ctx, opt)
	}
	engine := push.New(opt)
	err = engine.Run(ctx)
	s := engine.State()
	if err != nil && (s.Batches == 0 || !errors.Is(err, context.Canceled)) {
		return err
	}
	a.stdout.Printf("%s has %s of %s%s\n", opt.Target, cli.Count(s.Values, "value"), visible.Text(s.Name), upToWords(a.clock, &s))
	if err == nil && s.Refused+s.RefusedValues > 0 {
		a.tell("refused until now: " + cli.Count(s.RefusedValues, "value") + " (--status says why, --again pushes once more what is set aside)")
		return errNo
	}
	return err
}

// makeTables makes the tables of a receiver that has some.
func (p *pushing) makeTables(sink push.Sink, to *push.Endpoint, tables bool) error {
	if !tables {
		return fmt.Errorf("%s has no tables to make: --create-only is for clickhouse", to)
	}
	ctx, stop := p.a.untilEnded()
	defer stop()
	if err := sink.Prepare(ctx); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	p.a.stdout.Printf("%s has its tables\n", to)
	return nil
}

// options returns what the flags say of how to push.
func (p *pushing) options(sink push.Sink, to *push.Endpoint, whole bool) (push.Options, error) {
	opt := push.Options{Target: to.String(), Sink: sink, Forever: p.follow, Again: p.again, StopRefused: p.stop, MaxValues: p.values, Note: func(text string) {
		p.a.tell(visible.Text(text))
		p.a.stderr.Flush()
	}}
	if p.again && (p.follow || p.a.From != "") {
		return opt, errors.New("--again pushes what is set aside and nothing else: leave --follow and --from out")
	}
	if !p.follow {
		opt.GiveUp = 5 * time.Minute
	}
	if whole { // few large inserts, or ClickHouse has more parts to merge than it can
		opt.MaxAge = clickhouse.Batch.Age
		if opt.MaxValues == 0 {
			opt.MaxValues = clickhouse.Batch.Values
		}
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"every", p.age, &opt.MaxAge}, {"give-up", p.giveUp, &opt.GiveUp}} {
		if d.text == "" {
			continue
		}
		length, err := when.Duration(d.text)
		if err != nil || length <= 0 {
			return opt, fmt.Errorf("--%s %s is no length of time: write 10s, 5m or 1h", d.name, d.text)
		}
		*d.to = length
	}
	if p.values < 0 || p.processes < 0 || p.processes > mostProcesses {
		return opt, fmt.Errorf("--batch is 1 or more, --processes 0 to %d", mostProcesses)
	}
	return opt, nil
}

// mostProcesses bounds the number of process names that have series.
const mostProcesses = 1000

// host resolves --host and --from with the archives that exist now.
func (p *pushing) host(args []string, opt *push.Options) (host string, err error) {
	a := p.a
	err = a.load(args...)
	if a.Close != nil {
		defer func() {
			a.Zone() // remembers the archives' zone
			_ = a.Close()
			a.Close, a.Archive = nil, nil
		}()
	}
	if err != nil && p.follow && len(a.Hosts) == 0 && (a.From == "" || a.From == "now") && (fault.Of(err) == fault.NotFound || a.Archive != nil) {
		return "", nil // there will be one
	}
	if err != nil {
		return "", err
	}
	ids, err := a.HostIDs()
	if err != nil {
		return "", err
	}
	if len(ids) > 1 {
		return "", errors.New("a push is of one host: choose it with --host")
	}
	if a.From != "" {
		if opt.Since, err = a.Instant("from", a.From); err != nil {
			return "", err
		}
	}
	if len(ids) == 1 {
		return ids[0], nil
	}
	return "", nil
}
