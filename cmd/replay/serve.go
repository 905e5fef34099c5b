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

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/store/follow"
	"tachograph/store/query"
)

func serveCommand(a *app) *cobra.Command {
	s := &serving{a: a, opt: serve.Options{Version: sample.Version()}}
	opt, pcp := &s.opt, &s.pcpOptions
	mode, open := "", false
	cmd := &cobra.Command{
		Use:   "serve [ARCHIVE...]",
		Short: "Answer programs: present values, what changes, and what was recorded",
		Long: `serve answers programs, by gRPC and by JSON over HTTP, from archives that are
finished or being written. It only reads files, and costs the recorder nothing.

It listens at a unix socket: for root at /var/run/tachograph/serve.sock, for other
users at $XDG_RUNTIME_DIR/tachograph/serve.sock or, without that, in their directory
of caches. The kernel says which user connects. Root, the user who runs the server, the
owner of the archives and members of their group have access; --allow-user and
--allow-group name others. With --listen tcp:127.0.0.1:PORT every user of this machine
has access or, with --token-file, every client that sends the token. To listen to other
machines, give --tls-cert, --tls-key and --token-file.

If root starts it, it becomes another user once the socket is open: --user, or
nobody with the group of the archives. It then cannot remove the socket when it
ends; the next server does.

--open is for looking: it makes a token, serves at a loopback address, prints the
address of a page that shows the recording, live and past, and opens it where there is
a browser. Every server that listens on TCP has that page at /.

--pcp answers the tools of Performance Co-Pilot as its pmcd does, without one and
without an agent: pminfo, pmval, pmrep, pmlogger, pmie, pmproxy. Without --listen,
only PCP is served. On a unix socket the same users have access. On TCP every user of
this machine has, as that protocol has neither tokens nor encryption; serve then leaves
out what concerns single processes, unless --pcp-all-access is given. To listen to
other machines, give --pcp-remote.`,
		Example: `  replay serve --open
  replay serve demo.d --open
  replay serve demo.d --listen unix:/tmp/tacho.sock
  replay serve --listen tcp:127.0.0.1:9847 --token-file ~/.tacho-token
  replay serve --pcp tcp:127.0.0.1:44321`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"from", "to", "host", "format", "spreadsheet", "utc", "tz", "show-command"} {
				if cmd.Flags().Changed(name) {
					return fmt.Errorf("serve has no use for --%s: each question of a client says what of the archives is meant", name)
				}
			}
			if err := pcp.check(); err != nil {
				return err
			}
			if mode != "" {
				m, err := strconv.ParseUint(mode, 8, 32)
				if err != nil || m == 0 || m > 0o777 {
					return fmt.Errorf("--mode %s is no mode of a file: write it as chmod does, 0660", mode)
				}
				opt.Mode = os.FileMode(m)
			}
			if open {
				s.showing = new(showing)
				if err := s.showing.atLoopback(opt); err != nil {
					return err
				}
			}
			return s.serve(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.Listen, "listen", "", "where: unix:PATH, tcp:HOST:PORT, or systemd, or launchd, for a socket of its (default: a unix socket, see above)")
	f.StringVar(&mode, "mode", "", "mode of the unix socket (default 0666: the server looks at which user connects)")
	f.StringVar(&opt.Group, "group", "", "group of the unix socket, whose members may ask")
	f.StringArrayVar(&opt.Access.Users, "allow-user", nil, "user with access to the unix socket (repeatable)")
	f.StringArrayVar(&opt.Access.Groups, "allow-group", nil, "group whose members may ask by the unix socket (repeatable)")
	f.StringVar(&opt.TokenFile, "token-file", "", "file with the token that clients by TCP must send")
	f.StringVar(&opt.TLSCert, "tls-cert", "", "file with the certificate for TCP")
	f.StringVar(&opt.TLSKey, "tls-key", "", "file with its key")
	f.StringArrayVar(&opt.Names, "name", nil, "host name that clients by TCP may use besides localhost (repeatable)")
	f.BoolVar(&open, "open", false, "serve at a loopback address and open the page that shows what is recorded")
	f.StringVar(&pcp.listen, "pcp", "", "answer the tools of Performance Co-Pilot: unix:PATH or tcp:HOST:PORT")
	f.BoolVar(&pcp.remote, "pcp-remote", false, "let --pcp listen to other machines: any of them may then read everything, unencrypted")
	f.BoolVar(&pcp.allAccess, "pcp-all-access", false, "tell clients of --pcp by TCP of single processes, too")
	f.StringVar(&s.user, "user", "", "user to become if root starts serve (default: nobody, with the group of the archives)")
	cli.Once(f, "listen", "pcp")
	return cmd
}

// services returns the functions that add each service to a server.
func services() []func(*serving) {
	return []func(*serving){(*serving).serveCatalogue, (*serving).serveLive, (*serving).serveQuestions, (*serving).serveMetrics, (*serving).serveTelemetry, (*serving).serveHistory, (*serving).servePage}
}

// serve opens the archives and the addresses, and serves until a signal ends it.
func (s *serving) serve(ctx context.Context, args []string) error {
	a := s.a
	paths, err := a.Locate(args)
	if err != nil {
		return err
	}
	a.collector.later()
	if err := canOpen(paths); err != nil {
		return err
	}
	s.of(paths)
	clean := func() {}
	defer func() { clean() }()
	s.opt.Ready = func(address string) {
		a.stdout.Printf("serving %s at %s\n", strings.Join(paths, ", "), address)
		a.stdout.Flush()
		if s.showing != nil {
			clean = s.look(address)
		}
	}
	if err := s.listen(); err != nil {
		return err
	}
	if err := serve.Become(s.user, paths); err != nil {
		s.close()
		return err
	}
	a.collector.serving()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return s.run(ctx)
}

// of sets which archives are served.
func (s *serving) of(paths []string) {
	s.served, s.log = paths, slog.New(slog.NewTextHandler(s.a.stderr, nil))
	s.opt.Log, s.opt.Access.Paths = s.log, paths
	s.hub = live.NewHub(live.Options{Open: func(from follow.Position) (live.Follower, error) {
		return follow.Open(follow.Options{From: from, Standing: true, Complete: catalog.Complete, Wait: true}, paths...)
	}, Distrusted: func() (query.Distrusted, error) { return lastingDistrusts(paths...) }})
	s.keeper = catalogue.NewKeeper(func() (catalogue.Recording, error) { return openArchives(paths...) }, s.a.Now)
}

// canOpen refuses files that are no archives. A directory may have no archive yet.
func canOpen(paths []string) error {
	for _, p := range paths {
		if st, err := os.Stat(p); err != nil || st.IsDir() {
			continue
		}
		r, err := openArchives(p)
		if err != nil {
			return err
		}
		_ = r.Close()
	}
	return nil
}

// listen opens the addresses: from then on clients may connect, and wait.
func (s *serving) listen() (err error) {
	opt, pcp := s.opt, s.pcpOptions
	alone := pcp.listen != "" && opt.Listen == ""
	if opt.Listen == "" {
		opt.Listen = serve.DefaultAddress()
	}
	if pcp.listen != "" {
		door := opt
		pcp.share(&opt, &door, alone)
		if err := s.openPCP(door, pcp); err != nil {
			return err
		}
	}
	if !alone {
		if s.server, err = serve.New(opt); err != nil {
			s.close()
		}
	}
	return err
}

// close closes what was opened and is not run.
func (s *serving) close() {
	if s.server != nil {
		s.server.Close()
	}
	if s.pcp != nil {
		s.pcp.door.Close()
	}
}

// run serves until ctx is done.
func (s *serving) run(ctx context.Context) error {
	if s.pcp != nil {
		s.tellPCP()
	}
	if s.server == nil {
		go s.hub.Run(ctx)
		return s.runPCP(ctx)
	}
	for _, add := range services() {
		add(s)
	}
	stopping := s.server.Stopping()
	go s.hub.Run(stopping)
	if s.pcp == nil {
		return s.server.Run(ctx)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.runPCP(stopping) }()
	err := s.server.Run(ctx)
	return errors.Join(err, <-ended)
}

// look prints the page's address, and opens it.
func (s *serving) look(server string) (clean func()) {
	a := s.a
	address := s.showing.address(server)
	a.stdout.Printf("look at %s\n", address)
	a.stdout.Flush()
	clean, err := s.showing.open(address)
	if err != nil {
		a.tell("the page is not opened by itself: " + err.Error())
		a.stderr.Flush()
	}
	return clean
}
