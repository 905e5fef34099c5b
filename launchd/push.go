package launchd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The names of the push: replay push --follow as a service, beside the recorder's.
const (
	PushLabel = "org.tachograph.push"
	PushUnit  = "tachograph-push.service"
)

// Push says how the push is installed. Its only rights are to read archives, to connect to
// servers, and to store its progress.
type Push struct {
	URL      string
	Archives string // directory
	// Group may read the archives: the push is in it, and in no other group.
	Group string
	// State is the name of the file in Layout.PushState.
	State string
	// TokenFile and PasswordFile hold secrets that only root can read; empty: there are none.
	// User is the user of the password.
	TokenFile, PasswordFile, User string
	// Options are further words of the command.
	Options []string
}

// command is what the service runs; secret returns where it finds the file with a secret.
func (p Push) command(l Layout, secret func(name, path string) string) []string {
	words := []string{l.Replay(), "push", "--follow", "--to", p.URL, "--archive", p.Archives, "--state", filepath.Join(l.PushState, p.State)}
	if p.TokenFile != "" {
		words = append(words, "--token-file", secret("token", p.TokenFile))
	}
	if p.PasswordFile != "" {
		words = append(words, "--user", p.User, "--password-file", secret("password", p.PasswordFile))
	}
	return append(words, p.Options...)
}

func (p Push) launchd(l Layout) ([]File, error) {
	return []File{
		{Path: l.PushLog, Mode: 0o640, Content: []byte{}, Keep: true},
		{Path: l.PushJob, Mode: 0o644, Content: l.PushPlist(p)},
	}, nil
}

// PushPlist is the description of the push for launchd, which cannot hand a secret to a process
// that may not read its file: root starts the push, and it becomes the user nobody, in the
// group of the archives, once it has read what it needs.
func (l Layout) PushPlist(p Push) []byte {
	words := p.command(l, func(_, path string) string { return path })
	return plist(dict{
		{"Label", PushLabel},
		{"ProgramArguments", append(words, "--run-as", serveUser)},
		{"WorkingDirectory", "/"},
		{"RunAtLoad", true},
		{"KeepAlive", dict{{"SuccessfulExit", false}}},
		{"ThrottleInterval", throttleSeconds},
		{"ExitTimeOut", serveExit},
		{"ProcessType", "Background"},
		{"LowPriorityIO", true},
		{"Umask", 0o077},
		{"SoftResourceLimits", dict{{"NumberOfFiles", serveFiles}}},
		{"StandardOutPath", l.PushLog},
		{"StandardErrorPath", l.PushLog},
	})
}

func (p Push) systemd(l Layout) ([]File, error) {
	return []File{{Path: l.PushJob, Mode: 0o644, Content: l.PushSystemdUnit(p)}}, nil
}

// PushSystemdUnit is the description of the push for systemd: it has a user that exists only
// while it runs, in the group that may read the archives, and is as restricted as the server
// except for the network. systemd passes it the secrets, whose files it reads as root.
func (l Layout) PushSystemdUnit(p Push) []byte {
	const directory = "$CREDENTIALS_DIRECTORY/"
	words := p.command(l, func(name, _ string) string { return directory + name })
	for i, w := range words {
		if name, ok := strings.CutPrefix(w, directory); ok {
			words[i] = "${CREDENTIALS_DIRECTORY}/" + name
		} else {
			words[i] = quoteUnit(w)
		}
	}
	secrets := ""
	for _, s := range [][2]string{{"token", p.TokenFile}, {"password", p.PasswordFile}} {
		if s[1] != "" {
			secrets += "LoadCredential=" + s[0] + ":" + strings.ReplaceAll(s[1], "%", "%%") + "\n"
		}
	}
	return fmt.Appendf(nil, `[Unit]
Description=Tachograph push
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=%s
%sRestart=on-failure
RestartSec=%d
TimeoutStopSec=%d
DynamicUser=yes
SupplementaryGroups=%s
StateDirectory=%s
StateDirectoryMode=0700
UMask=0077
Nice=5
IOSchedulingClass=idle
LimitNOFILE=%d
MemoryMax=%s
TasksMax=64
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=tmpfs
BindReadOnlyPaths=%s
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
PrivateIPC=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
ProcSubset=pid
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
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

[Install]
WantedBy=multi-user.target
`, strings.Join(words, " "), secrets, throttleSeconds, serveExit, quoteUnit(p.Group), filepath.Base(l.PushState), serveFiles, serveMemory, quoteUnit(p.Archives))
}

// pushDirs are the directories that an installation makes for the push; systemd makes its own.
func (in *Installer) pushDirs() []Dir {
	if in.Push == nil || in.Layout.PushLog == "" {
		return nil
	}
	return []Dir{{Path: in.Layout.PushState, Mode: 0o770, Group: in.Push.Group}}
}

// purgePush removes the push's progress. It follows no links; the one exception is the
// directory in which systemd keeps the files of users that exist only for a while.
func (in *Installer) purgePush(p fileRoot) error {
	dirs := []string{in.Layout.PushState, filepath.Join(filepath.Dir(in.Layout.PushState), "private", filepath.Base(in.Layout.PushState))}
	if in.Layout.PushLog != "" {
		dirs = dirs[:1]
	}
	for _, dir := range dirs {
		if err := p.safe(filepath.Dir(dir)); err != nil {
			continue // it is not there, or root should not follow it
		}
		path := p.at(dir)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			err = os.Remove(path)
		} else {
			err = os.RemoveAll(path)
		}
		if err != nil {
			return fmt.Errorf("%s is not removed: %w", path, cause(err))
		}
		in.Say("removed %s", path)
	}
	return nil
}
