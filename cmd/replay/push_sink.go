package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tachograph/cmd/internal/pushstate"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/push"
	"tachograph/cmd/replay/internal/push/clickhouse"
	"tachograph/cmd/replay/internal/push/otlp"
	"tachograph/cmd/replay/internal/push/remote"
	"tachograph/store/query"
)

// pushFlags say what to push, and where.
type pushFlags struct {
	to, protocol, state  string
	follow, stop, create bool
	again, status        bool
	createOnly           bool
	processes            int
	computed             bool
	names                string
	labels               []string
	database, cluster    string
	keep                 string
	values               int
	age, giveUp, timeout string
	runAs                string
	access               push.Access
}

// A protocol is a language that receivers speak.
type protocol struct {
	name string
	// fits reports whether an address looks like one of its receivers.
	fits func(u *url.URL) bool
	make func(f *pushFlags, to *push.Endpoint) (push.Sink, error)
	// whole is set if the protocol takes what is recorded of every process and thread.
	whole bool
}

// protocols returns all protocols.
func protocols() []protocol {
	return []protocol{
		{name: "remote-write", make: newRemoteWrite, fits: func(u *url.URL) bool {
			return strings.HasSuffix(u.Path, "/write") || strings.HasSuffix(u.Path, "/push") || strings.HasSuffix(u.Path, "/receive")
		}},
		{name: "otlp", make: newOTLP, fits: func(u *url.URL) bool { return strings.HasSuffix(u.Path, "/v1/metrics") }},
		{name: "clickhouse", make: newClickHouse, whole: true, fits: func(u *url.URL) bool {
			return (u.Port() == "8123" || u.Port() == "8443") && strings.Trim(u.Path, "/") == ""
		}},
	}
}

func protocolNames() (names []string) {
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	return names
}

func newRemoteWrite(f *pushFlags, to *push.Endpoint) (push.Sink, error) {
	opt := remote.SinkOptions{Processes: f.processes, Computed: f.computed}
	for name := range strings.SplitSeq(f.names, ",") {
		switch strings.TrimSpace(name) {
		case "own":
			opt.Own = true
		case "node":
			opt.Node = true
		default:
			return nil, fmt.Errorf("--names %s: write own, node, or both as own,node", f.names)
		}
	}
	for _, text := range f.labels {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !naming.ValidLabel(name) {
			return nil, fmt.Errorf("--label %s: write NAME=VALUE, the name of letters, digits and _", text)
		}
		opt.Labels = append(opt.Labels, naming.Label{Name: name, Value: value})
	}
	return remote.NewSink(to, opt), nil
}

func newOTLP(f *pushFlags, to *push.Endpoint) (push.Sink, error) {
	return otlp.New(to, otlp.Options{Processes: f.processes, Computed: f.computed}), nil
}

func newClickHouse(f *pushFlags, to *push.Endpoint) (push.Sink, error) {
	to.Within(f.database)
	layout := clickhouse.Layout{Database: f.database, Cluster: f.cluster}
	if f.keep != "" {
		var err error
		if layout.Keep, err = when.Duration(f.keep); err != nil || layout.Keep <= 0 {
			return nil, fmt.Errorf("--keep %s is no length of time: write 30d", f.keep)
		}
	}
	return clickhouse.New(clickhouse.Options{Endpoint: to, Create: f.create || f.createOnly, Layout: layout}), nil
}

// pushing brings what is recorded to a server.
type pushing struct {
	a *app
	pushFlags
}

// sink returns the receiver at the address --to. The bool is whether it takes every process and
// thread.
func (f *pushFlags) sink() (push.Sink, *push.Endpoint, bool, error) {
	if f.to == "" {
		return nil, nil, false, errors.New("push needs an address: --to http://HOST:PORT/PATH")
	}
	address, spoken := f.to, f.protocol
	if strings.HasPrefix(address, "clickhouse") && (spoken == "" || spoken == "clickhouse") {
		var err error
		if address, f.database, err = clickhouse.Target(f.to); err != nil {
			return nil, nil, false, err
		}
		spoken = "clickhouse"
	}
	if f.timeout != "" {
		var err error
		if f.access.Timeout, err = when.Duration(f.timeout); err != nil || f.access.Timeout <= 0 {
			return nil, nil, false, fmt.Errorf("--timeout %s is no length of time: write 30s or 2m", f.timeout)
		}
	}
	to, err := push.NewEndpoint(address, f.access)
	if err != nil {
		return nil, nil, false, err
	}
	all := protocols()
	i := slices.IndexFunc(all, func(p protocol) bool { return p.name == spoken })
	if spoken == "" {
		u, _ := url.Parse(address)
		i = slices.IndexFunc(all, func(p protocol) bool { return p.fits(u) })
	}
	switch {
	case i < 0 && spoken != "":
		return nil, nil, false, fmt.Errorf("there is no protocol %q: there are %s%s", spoken, strings.Join(protocolNames(), ", "), query.Suggest(spoken, protocolNames()))
	case i < 0:
		return nil, nil, false, fmt.Errorf("what is spoken at %s cannot be told from the address (Prometheus takes remote write at /api/v1/write): say --protocol %s", to, strings.Join(protocolNames(), "|"))
	}
	sink, err := all[i].make(f, to)
	return sink, to, all[i].whole, err
}

func upToWords(c *clock, s *pushstate.State) string {
	if s.AckedWall == 0 {
		return ""
	}
	return ", up to " + c.Show(s.AckedWall)
}
