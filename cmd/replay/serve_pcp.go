package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/pcplive"
	"tachograph/sample"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// check refuses options for PCP's tools if those are not answered.
func (o *pcpOptions) check() error {
	switch {
	case o.listen != "":
	case o.remote:
		return errors.New("--pcp-remote is about PCP's tools: say where they are answered, as in --pcp tcp:0.0.0.0:44321")
	case o.allAccess:
		return errors.New("--pcp-all-access is about PCP's tools: say where they are answered, as in --pcp tcp:127.0.0.1:44321")
	}
	return nil
}

// share settles which listener the flags for unix sockets are for: if one of the two listens at
// TCP, they are for the other.
func (o *pcpOptions) share(server, door *serve.Options, alone bool) {
	switch tcp := strings.HasPrefix(server.Listen, "tcp:"); {
	case alone:
	case strings.HasPrefix(o.listen, "tcp:"):
		withoutSocket(door)
	case tcp:
		withoutSocket(server)
	}
}

func withoutSocket(opt *serve.Options) {
	opt.Mode, opt.Group, opt.Access.Users, opt.Access.Groups = 0, "", nil, nil
}

func (s *serving) openPCP(opt serve.Options, how pcpOptions) error {
	// A client that is refused, or is one too many, gets the error in place of the greeting.
	word := func(code int32) []byte { return pdu.Append(nil, 0, &pdu.Greeting{Code: code, Version: pdu.Version}) }
	door, err := serve.OpenDoor(serve.DoorOptions{
		Option: "--pcp", Listen: how.listen, Mode: opt.Mode, Group: opt.Group, Access: opt.Access,
		Beyond: how.remote, BeyondOption: "--pcp-remote",
		Refused: word(pcp.ErrPermission), Full: word(pcp.ErrConnLimit), Use: s.hub.Use, Log: s.log,
	})
	if err != nil {
		return err
	}
	machine := pcplive.New(pcplive.Options{Hub: s.hub, Known: s.keeper.Known, Clock: s.a.Now, Version: sample.Version()})
	// A client that the unix socket admits may read the archives themselves anyway.
	s.pcp = &pcpServer{door, pcpserve.NewServer(machine, pcpserve.Options{AllAccess: door.Unix() || how.allAccess, Log: s.log})}
	return nil
}

// runPCP answers PCP's tools until ctx is done.
func (s *serving) runPCP(ctx context.Context) error {
	defer s.pcp.door.Close()
	err := s.pcp.server.Clients(ctx, s.pcp.door)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// tellPCP prints the address at which PCP's tools are answered.
func (s *serving) tellPCP() {
	host := s.pcp.door.Addr().String()
	if s.pcp.door.Unix() {
		host = "local:" + s.pcp.door.Path()
	}
	s.a.stdout.Printf("serving %s to PCP's tools: pminfo -h %s\n", strings.Join(s.served, ", "), host)
	s.a.stdout.Flush()
	known, err := s.keeper.Known()
	if err != nil || known.Info == nil {
		return // the clients get the error
	}
	if at := time.Unix(0, known.Info.To); s.a.Now().Sub(at) > 3*live.Seldom {
		s.log.Warn("PCP's tools get no values until a recorder writes here; recorder pmda --archive plays back what was recorded", "ended", at.UTC().Format(time.RFC3339))
	}
}
