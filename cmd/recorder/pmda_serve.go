package main

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/pcp"
)

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

// userOf asks the kernel which user is at the other end of a unix socket.
func userOf(c net.Conn) (uid uint32, known bool) {
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
				tools.Who = userOf
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
