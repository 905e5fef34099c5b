package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tachograph/cmd/replay/internal/browse"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
)

// browsing shows what was recorded of one host or, with --follow, what is still being recorded.
type browsing struct {
	a      *app
	at     string // where the cursor begins; "" for the end
	follow bool
}

// host returns a function that opens the chosen host.
func (b *browsing) host() (open func() (browse.Opened, error), err error) {
	a := b.a
	w, err := a.Window()
	if err != nil {
		return nil, err
	}
	host, note, err := oneHost(a.Archive, w)
	if err != nil {
		return nil, err
	}
	a.Choose(host)
	defs, err := a.Definitions()
	if err != nil {
		return nil, err
	}
	o := browse.Opened{Zone: a.Zone(), From: w.From, To: w.To, Note: note}
	if b.at != "" {
		if o.At, err = a.Instant("at", b.at); err != nil {
			return nil, err
		}
	}
	return func() (browse.Opened, error) {
		r, err := moment.Open(a.Archive, host, defs)
		if err == nil {
			o.Engine = r
		}
		return o, err
	}, nil
}

// instant parses a time that the user types while looking at the moment at.
func (b *browsing) instant(text string, at int64) (int64, error) {
	t, err := b.a.Reference().Beside(text, time.Unix(0, at))
	return t.UnixNano(), err
}

// show runs the browser and then prints the command that shows the last moment again.
func (b *browsing) show(ctx context.Context, opt browse.Options) error {
	a := b.a
	answer, err := browse.Run(ctx, opt)
	if answer.Busy {
		a.Close = nil // Reads still under way end with the process.
	}
	if err == nil && answer.At != 0 {
		a.stdout.Println("# " + opt.Command("browse", "--at", a.In(answer.At).Format(time.RFC3339Nano)))
	}
	return err
}

// oneHost chooses the host to show: of the hosts that w accepts, the one recorded last.
func oneHost(a query.Archive, w query.Window) (host, note string, err error) {
	last := int64(0)
	names := make(map[string]string)
	for _, info := range a.Archives() {
		if !w.Wants(info.Host.ID) {
			continue
		}
		names[info.Host.ID] = info.Host.Name
		if info.To >= last || host == "" {
			host, last = info.Host.ID, info.To
		}
	}
	if host == "" {
		return "", "", errors.New("nothing was recorded of this host")
	}
	if n := len(names) - 1; n > 0 {
		note = fmt.Sprintf("this is %s, recorded last; --host shows one of the other %d", names[host], n)
	}
	return host, note, nil
}
