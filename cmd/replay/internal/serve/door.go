package serve

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"tachograph/cmd/internal/listen"
)

// A Door is a listener for a protocol other than the server's own, without tokens and
// encryption. On a unix socket it accepts the users who may use the server; on TCP it accepts
// every user of this machine, and other machines only if DoorOptions.Beyond is set.
type Door struct {
	net.Listener
	opt    DoorOptions
	listen listen.Address
	access *gatekeeper
	places *places
	// The times of the last warnings about a refused user and about too many connections.
	refused, full time.Time
}

// DoorOptions say how a door is opened.
type DoorOptions struct {
	// Option is the option that the user gave Listen with, as in --option ADDRESS.
	Option string
	// Listen, Mode, Group and Access are like those of Options.
	Listen string
	Mode   os.FileMode
	Group  string
	Access Access
	// Beyond allows other machines to connect, and BeyondOption is the option that sets it.
	Beyond       bool
	BeyondOption string
	// Connections is the most connections at a time; 0: as many as a server allows.
	Connections int
	// Refused and Full are the protocol's messages to a client that may not ask, and to a client
	// beyond the limit of connections.
	Refused, Full []byte
	// Use is called for each accepted connection, and the function it returns when that
	// connection closes.
	Use func() (release func())
	Log *slog.Logger
}

// OpenDoor opens a door: clients may connect from then on.
func OpenDoor(opt DoorOptions) (*Door, error) {
	if opt.Connections == 0 {
		opt.Connections = Limits{}.orDefaults().Connections
	}
	d := &Door{opt: opt, places: &places{most: opt.Connections, within: Limits{}.orDefaults().Header}}
	var err error
	if d.listen, err = listen.Parse(opt.Option, opt.Listen); err != nil {
		return nil, err
	}
	if d.access, err = newGatekeeper(opt.Access); err != nil {
		return nil, err
	}
	if d.listen.Unix {
		s, err := listen.Unix(opt.Option, d.listen.Path, opt.Mode, opt.Group)
		if err != nil {
			return nil, err
		}
		d.Listener = s
		return d, nil
	}
	if !opt.Beyond && !d.listen.Loopback() {
		return nil, d.notBeyond()
	}
	if opt.Mode != 0 || opt.Group != "" || len(opt.Access.Users)+len(opt.Access.Groups) > 0 {
		return nil, fmt.Errorf("TCP does not show which user asks: --mode, --group, --allow-user and --allow-group are for a unix socket, as in %s unix:PATH", opt.Option)
	}
	if d.Listener, err = net.Listen("tcp", net.JoinHostPort(d.listen.Host, d.listen.Port)); err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", opt.Listen, err)
	}
	if a, ok := d.Listener.Addr().(*net.TCPAddr); !opt.Beyond && (!ok || !a.IP.IsLoopback()) {
		d.Listener.Close() // the name resolved to an address that is not loopback
		return nil, d.notBeyond()
	}
	return d, nil
}

// notBeyond returns the error for a listener that other machines could reach without Beyond.
func (d *Door) notBeyond() error {
	return fmt.Errorf("%s can be reached from other machines, and this protocol knows no token and no encryption: listen at a loopback address, as in %s tcp:127.0.0.1:%s, or say with %s that whoever reaches it may read everything",
		d.opt.Listen, d.opt.Option, d.listen.Port, d.opt.BeyondOption)
}

// Unix reports whether the door is a unix socket, where the kernel identifies the peer.
func (d *Door) Unix() bool { return d.listen.Unix }

// Path returns the file of the unix socket.
func (d *Door) Path() string { return d.listen.Path }

// farewell is how long writing the reason may take to a client that is sent away.
const farewell = 100 * time.Millisecond

// Accept returns the next connection from a client that may ask.
func (d *Door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		w, err := d.access.whoIs(c)
		if err != nil {
			sendOff(c, d.opt.Refused)
			d.tell(&d.refused, "the kernel does not say who asks", "error", err)
			continue
		}
		if w.Peer != nil && !d.access.admits(w.Peer) {
			sendOff(c, d.opt.Refused)
			d.tell(&d.refused, "a user who may not read these archives was refused", "user", w.Peer.UID)
			continue
		}
		release := sync.OnceFunc(d.opt.Use())
		g := d.places.let(c, w, release)
		if g == nil {
			release()
			sendOff(c, d.opt.Full)
			d.tell(&d.full, "too many connections: further ones are closed", "limit", d.places.most, "who", w.Name)
			continue
		}
		return &visitor{g}, nil
	}
}

// tell logs a warning about clients, at most once a minute for each kind.
func (d *Door) tell(last *time.Time, what string, more ...any) {
	if time.Since(*last) > time.Minute {
		*last = time.Now()
		d.opt.Log.Warn(what, append([]any{"at", d.opt.Listen}, more...)...)
	}
}

func sendOff(c net.Conn, word []byte) {
	c.SetWriteDeadline(time.Now().Add(farewell))
	c.Write(word)
	c.Close()
}

// Close closes the door and removes its socket. Accepted connections stay open.
func (d *Door) Close() error {
	if s, ok := d.Listener.(*listen.Socket); ok {
		s.Remove()
	}
	return d.Listener.Close()
}

// A visitor is a guest that counts as having asked for something once it has sent any byte.
type visitor struct{ *guest }

// Who returns the peer.
func (v *visitor) Who() *listen.Who { return v.who }

func (v *visitor) Read(b []byte) (int, error) {
	n, err := v.guest.Read(b)
	if n > 0 {
		v.asked.Store(true)
	}
	return n, err
}
