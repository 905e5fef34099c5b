package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// pmdaFlags are the flags of recorder pmda.
type pmdaFlags struct {
	domain         uint32
	native, beside bool
	prefix         string
	notReady       bool
	sockets        []string
	listen         []string
	mode, group    string
	remote         bool
	allAccess      bool
	config         string
	logFile        string
	logFormat      string
	play           playFlags
}

// prefixes matches names that PCP's name space allows.
var prefixes = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// layout returns where pmcd finds the metrics.
func (f *pmdaFlags) layout() (pcp.Layout, error) {
	if f.native && f.beside {
		return pcp.Layout{}, errors.New("--native and --beside name two places for the same metrics: choose one")
	}
	if err := checkDomain(uint64(f.domain), "--domain"); err != nil {
		return pcp.Layout{}, err
	}
	if !prefixes.MatchString(f.prefix) {
		return pcp.Layout{}, fmt.Errorf("--prefix %s is no name that PCP could have: letters, digits and _, and a letter first", f.prefix)
	}
	l := pcp.Beside(f.domain)
	if f.native || !f.beside && runtime.GOOS == "darwin" {
		l = pcp.Native(metric.OwnDomain)
		if !slices.Contains(l.Keep, f.domain) {
			l.Domain = f.domain
		}
	}
	l.Prefix = f.prefix
	return l, nil
}

func checkDomain(n uint64, what string) error {
	if n < 1 || n > 510 {
		return fmt.Errorf("%s %d: PCP's domains are 1 to 510, and 385 to 510 are free for all", what, n)
	}
	return nil
}

// A door is a socket at which pmcd, or PCP's tools, connect.
type door struct {
	net.Listener
	text    string
	clients bool
	domain  uint32
}

// log returns the log: pmcd collects what agents write to standard error.
func (f *pmdaFlags) log(a *app) (*slog.Logger, func(), error) {
	var to io.Writer = a.err
	done := func() {}
	if f.logFile != "" {
		file, err := openLog(f.logFile)
		if err != nil {
			return nil, nil, err
		}
		done = func() { file.Close() }
		to = visible.NewWriter(file, false)
	}
	return newLog(to, f.logFormat, slog.LevelInfo), done, nil
}

// doors opens all sockets to listen at.
func (f *pmdaFlags) doors(layout pcp.Layout, log *slog.Logger) (doors []*door, err error) {
	defer func() {
		if err != nil {
			for _, d := range doors {
				d.Close()
			}
		}
	}()
	taken := make(map[uint32]bool)
	for _, text := range f.sockets {
		domain, address := layout.Domain, text
		if n, rest, ok := strings.Cut(text, "="); ok {
			if d, err := strconv.ParseUint(n, 10, 32); err == nil {
				if err := checkDomain(d, "--socket"); err != nil {
					return doors, err
				}
				domain, address = uint32(d), rest
			}
		}
		if domain != layout.Domain && !slices.Contains(layout.Keep, domain) {
			return doors, fmt.Errorf("--socket %s: there is nothing in domain %d; there is in %s", text, domain, domains(layout))
		}
		if taken[domain] {
			return doors, fmt.Errorf("--socket %s: domain %d has a socket already; write DOMAIN=ADDRESS for others, of %s", text, domain, domains(layout))
		}
		taken[domain] = true
		d, err := f.open("--socket", address, log)
		if err != nil {
			return doors, err
		}
		d.domain = domain
		doors = append(doors, d)
	}
	for _, text := range f.listen {
		d, err := f.open("--listen", text, log)
		if err != nil {
			return doors, err
		}
		d.clients = true
		doors = append(doors, d)
	}
	return doors, nil
}

func domains(l pcp.Layout) string {
	var list []string
	for _, d := range l.Domains() {
		list = append(list, strconv.Itoa(int(d)))
	}
	return strings.Join(list, ", ")
}

// open opens one door.
func (f *pmdaFlags) open(option, text string, log *slog.Logger) (*door, error) {
	at, err := listen.Parse(option, text)
	if err != nil {
		return nil, err
	}
	if at.Unix {
		mode, err := strconv.ParseUint(f.mode, 8, 32)
		if err != nil || mode&^0o666 != 0 || mode == 0 {
			return nil, fmt.Errorf("--socket-mode %s is no mode of a socket: write it as chmod does, 0660", f.mode)
		}
		l, err := listen.Last(option, at.Path, os.FileMode(mode), f.socketGroup(), log)
		if err != nil {
			return nil, err
		}
		return &door{Listener: l, text: "unix:" + at.Path}, nil
	}
	beyond := fmt.Errorf("%s %s can be reached from other machines, and nothing that is said there is secret: say --remote if that is meant, or listen at tcp:127.0.0.1:%s", option, text, at.Port)
	if !f.remote && !at.Loopback() {
		return nil, beyond
	}
	l, err := net.Listen("tcp", net.JoinHostPort(at.Host, at.Port))
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if t, ok := l.Addr().(*net.TCPAddr); !f.remote && (!ok || !t.IP.IsLoopback()) {
		l.Close() // a name with more than one meaning
		return nil, beyond
	}
	return &door{Listener: l, text: "tcp:" + l.Addr().String()}, nil
}

// socketGroup is the group of unix sockets: where pmcd is installed it runs as pcp, and only
// root or a member of that group can give it to a socket.
func (f *pmdaFlags) socketGroup() string {
	if f.group != "" {
		return f.group
	}
	if g, err := user.LookupGroup("pcp"); err == nil && (os.Geteuid() == 0 || ofGroup(g.Gid)) {
		return "pcp"
	}
	return ""
}

func ofGroup(gid string) bool {
	list, err := os.Getgroups()
	for _, g := range list {
		if err == nil && strconv.Itoa(g) == gid {
			return true
		}
	}
	return false
}

// host is the door's name for -h of PCP's tools.
func (d *door) host() string {
	if path, ok := strings.CutPrefix(d.text, "unix:"); ok {
		return "local:" + path
	}
	return strings.TrimPrefix(d.text, "tcp:")
}
