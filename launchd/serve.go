package launchd

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// The names of the server: replay serve as a second service, beside the recorder's.
const (
	ServeLabel  = "org.tachograph.serve"
	ServeUnit   = "tachograph-serve.service"
	ServeSocket = "tachograph-serve.socket"
)

// Serve says how the server is installed. The manager of services owns its socket and starts
// the server at a connection; the server has no rights but to read archives.
type Serve struct {
	Archives string // directory
	// Group may read the archives: the server is in it, and in no other group.
	Group string
	// SocketGroup may connect, as may other users if Mode allows it.
	SocketGroup string
	Mode        fs.FileMode
}

const (
	// serveMemory is the most that the server may use: several times what it states.
	serveMemory = "512M"
	serveFiles  = 4096 // connections, archives and their journals
	serveExit   = 20   // seconds to finish current requests
	// serveUser is the server's user on a Mac. A user of its own would have to be made in the
	// directory of users, and be removed again; what belongs to this user the server can read
	// anyway, and the server has nothing that others of that name could take.
	serveUser = "nobody"
)

// command is what the service runs. socket is the value of --listen for the manager that passes
// the socket.
func (s Serve) command(l Layout, socket string) []string {
	words := []string{l.Replay(), "serve", "--listen", socket, "--archive", s.Archives}
	if s.SocketGroup != s.Group {
		words = append(words, "--allow-group", s.SocketGroup)
	}
	return words
}

func (s Serve) launchd(l Layout) ([]File, error) {
	text, err := l.ServePlist(s)
	return []File{
		{Path: l.ServeLog, Mode: 0o660, Group: s.Group, Content: []byte{}, Keep: true},
		{Path: l.ServeJob, Mode: 0o644, Content: text},
	}, err
}

// ServePlist is the server's description for launchd, which makes its socket. launchd need not
// keep the server alive: the next connection starts it again.
func (l Layout) ServePlist(s Serve) ([]byte, error) {
	gid, err := groupID(s.SocketGroup)
	if err != nil {
		return nil, err
	}
	return plist(dict{
		{"Label", ServeLabel},
		{"ProgramArguments", s.command(l, "launchd")},
		{"WorkingDirectory", "/"},
		{"UserName", serveUser},
		{"GroupName", s.Group},
		{"InitGroups", false},
		{"Sockets", dict{{"serve", dict{
			{"SockType", "stream"},
			{"SockFamily", "Unix"},
			{"SockPathName", l.ServeSocket},
			{"SockPathOwner", 0},
			{"SockPathGroup", gid},
			{"SockPathMode", int(s.Mode)},
		}}}},
		{"ThrottleInterval", throttleSeconds},
		{"ExitTimeOut", serveExit},
		{"ProcessType", "Standard"},
		{"Umask", 0o077},
		{"SoftResourceLimits", dict{{"NumberOfFiles", serveFiles}}},
		{"StandardOutPath", l.ServeLog},
		{"StandardErrorPath", l.ServeLog},
	}), nil
}

func (s Serve) systemd(l Layout) ([]File, error) {
	return []File{
		{Path: l.ServeJob, Mode: 0o644, Content: l.ServeSystemdUnit(s)},
		{Path: filepath.Join(filepath.Dir(l.ServeJob), ServeSocket), Mode: 0o644, Content: l.ServeSystemdSocket(s)},
	}, nil
}

// ServeSystemdSocket is the server's socket for systemd.
func (l Layout) ServeSystemdSocket(s Serve) []byte {
	return fmt.Appendf(nil, `[Unit]
Description=Socket of the Tachograph server

[Socket]
ListenStream=%s
SocketGroup=%s
SocketMode=%04o
DirectoryMode=0755
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`, quoteUnit(l.ServeSocket), quoteUnit(s.SocketGroup), s.Mode)
}

// ServeSystemdUnit is the server's description for systemd: a user that exists only while it
// runs, in the group that may read the archives, with no rights, no network, no devices, and no
// view of other processes. The socket that systemd passes to it works all the same.
//
// Users are those of the machine (no PrivateUsers): the server asks the kernel which user
// connects, and otherwise every user would appear as nobody. Files can be read everywhere, even
// in home directories or /tmp, which are usually hidden, and written nowhere.
func (l Layout) ServeSystemdUnit(s Serve) []byte {
	words := s.command(l, "systemd")
	for i, w := range words {
		words[i] = quoteUnit(w)
	}
	return fmt.Appendf(nil, `[Unit]
Description=Tachograph server
Requires=%s
After=%s

[Service]
ExecStart=%s
Restart=on-failure
RestartSec=%d
TimeoutStopSec=%d
DynamicUser=yes
SupplementaryGroups=%s
UMask=0077
LimitNOFILE=%d
MemoryMax=%s
TasksMax=256
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=tmpfs
BindReadOnlyPaths=%s
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
PrivateNetwork=yes
PrivateIPC=yes
IPAddressDeny=any
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
ProcSubset=pid
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
`, ServeSocket, ServeSocket, strings.Join(words, " "), throttleSeconds, serveExit, quoteUnit(s.Group), serveFiles, serveMemory, quoteUnit(s.Archives))
}
