package main

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/pcpserve"
)

const (
	// mostPmcds is how many connections there may be at once: one, and those of which it
	// is not known yet that they are gone.
	mostPmcds = 16
	// greeting is how long who connects may take to say anything.
	greeting = 10 * time.Second
)

// waitForPmcd answers pmcd wherever it connects again: it does after a restart, and after
// it has given the agent up.
func waitForPmcd(ctx context.Context, s *pcpserve.Server, d *door, log *slog.Logger) error {
	log = pcpserve.Sparing(log)
	var conns sync.WaitGroup
	defer conns.Wait()
	free := make(chan struct{}, mostPmcds)
	for {
		c, err := d.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case free <- struct{}{}:
		default:
			log.Warn("too many connections at once: one is refused", "at", d.text)
			c.Close()
			continue
		}
		conns.Go(func() {
			defer func() { <-free }()
			defer func() {
				c.Close()
				// Pmcd removes the file of an agent's socket when it lets go of that, also
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

// greeted is a connection that has said something in time.
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
