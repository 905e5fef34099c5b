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

// A Door is a listener for another protocol than the server's own, one that has neither
// tokens nor encryption. Whom it lets in may ask: at a unix socket who may ask the server,
// at TCP every user of this machine, and nobody else's unless that is said.
type Door struct {
	net.Listener
	opt    DoorOptions
	listen listen.Address
	access *gatekeeper
	places *places
	// When it was told that somebody was refused, and that there was no place.
	refused, full time.Time
}

// DoorOptions say how a door is opened.
type DoorOptions struct {
	// Option is what the user wrote before Listen.
	Option string
	// Listen, Mode, Group and Access are as those of Options.
	Listen string
	Mode   os.FileMode
	Group  string
	Access Access
	// Beyond says that other machines may connect, and BeyondOption how that is said.
	Beyond       bool
	BeyondOption string
	// Connections is how many there may be at a time; 0: as many as a server's.
	Connections int
	// Refused and Full are sent, as the protocol has it, to who may not ask and who is
	// one too many.
	Refused, Full []byte
	// Use is called for each connection that is let in, and what it returns when that is
	// closed.
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
		d.Listener.Close() // a name that means more than it says
		return nil, d.notBeyond()
	}
	return d, nil
}

// notBeyond refuses to listen to other machines unasked.
func (d *Door) notBeyond() error {
	return fmt.Errorf("%s can be reached from other machines, and this protocol knows no token and no encryption: listen at a loopback address, as in %s tcp:127.0.0.1:%s, or say with %s that whoever reaches it may read everything",
		d.opt.Listen, d.opt.Option, d.listen.Port, d.opt.BeyondOption)
}

// Unix reports whether the door is a unix socket, of which the kernel says who connects.
func (d *Door) Unix() bool { return d.listen.Unix }

// Path is the file of the unix socket.
func (d *Door) Path() string { return d.listen.Path }

// farewell is how long who is sent away may take to be told why.
const farewell = 100 * time.Millisecond

// Accept is the next connection of who may ask.
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

// tell warns of what clients do, once a minute.
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

// Close closes the door and takes its socket away. Who is in stays.
func (d *Door) Close() error {
	if s, ok := d.Listener.(*listen.Socket); ok {
		s.Remove()
	}
	return d.Listener.Close()
}

// A visitor is a guest who has asked for something when he has said anything.
type visitor struct{ *guest }

// Who is at the other end.
func (v *visitor) Who() *listen.Who { return v.who }

func (v *visitor) Read(b []byte) (int, error) {
	n, err := v.guest.Read(b)
	if n > 0 {
		v.asked.Store(true)
	}
	return n, err
}
