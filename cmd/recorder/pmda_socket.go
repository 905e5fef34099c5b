package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/pcp/pcpserve"
)

const (
	// mostPmcds is the limit of connections at one time: pmcd's own, and old ones that have not
	// been found dead yet. No user and no address gets more than a share.
	mostPmcds = 16
	// greeting is how long a new connection may take to send anything.
	greeting = 10 * time.Second
)

// waitForPmcd answers pmcd each time it connects: it connects again after a restart, and after
// it has given up the agent.
func waitForPmcd(ctx context.Context, s *pcpserve.Server, d *door, log *slog.Logger) error {
	log = pcpserve.Sparing(log)
	var conns sync.WaitGroup
	defer conns.Wait()
	seats := listen.NewSeats(mostPmcds)
	for {
		c, err := d.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		who, err := listen.WhoIs(c, listen.PeerOf, os.Getuid())
		if err != nil {
			log.Warn("refused a connection: the kernel does not say which user it is from", "at", d.text, "why", err.Error())
			c.Close()
			continue
		}
		leave, ok := seats.Take(who)
		if !ok {
			log.Warn("refused a connection: there are too many", "at", d.text, "who", who.Name)
			c.Close()
			continue
		}
		conns.Go(func() {
			defer leave()
			defer func() {
				c.Close()
				// Pmcd removes the file of an agent's socket when it drops the agent, and also
				// when it is stopped itself.
				if l, ok := d.Listener.(*listen.Lasting); ok {
					l.Look()
				}
			}()
			c.SetReadDeadline(time.Now().Add(greeting))
			if err := s.Agent(ctx, &greeted{Conn: c}, d.domain); err != nil {
				log.Warn("a connection of pmcd's ended", "domain", d.domain, "why", err.Error())
			}
		})
	}
}

// greeted is a connection that must send something within the deadline.
type greeted struct {
	net.Conn
	once sync.Once
}

func (g *greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if n > 0 {
		g.once.Do(func() { g.SetReadDeadline(time.Time{}) })
	}
	return n, err
}

// standard is the pipe to pmcd on standard input and output.
type standard struct{}

func (standard) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (standard) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
