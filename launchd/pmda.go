package launchd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The names of the agent for Performance Co-Pilot: recorder pmda as a service, beside the
// recorder's.
const (
	PMDALabel = "org.tachograph.pmda"
	PMDAUnit  = "tachograph-pmda.service"
)

// PMDA says how that agent is installed where pmcd does not start it.
type PMDA struct {
	// Program is the path of the recorder that runs as the agent.
	Program string
	// Domains are the domains of PCP that it answers for, each at a socket of its own.
	Domains []uint32
	// Group may connect to the sockets: it is pmcd's group.
	Group string
	// Options are further words of the command.
	Options []string
}

// PMDASocket is the socket at which the agent waits for pmcd's connection for a domain.
func (l Layout) PMDASocket(domain uint32) string {
	return strings.ReplaceAll(l.PMDASockets, "*", strconv.FormatUint(uint64(domain), 10))
}

func (p PMDA) command(l Layout) []string {
	words := append([]string{p.Program, "pmda"}, p.Options...)
	for _, d := range p.Domains {
		words = append(words, "--socket", fmt.Sprintf("%d=unix:%s", d, l.PMDASocket(d)))
	}
	words = append(words, "--socket-group", p.Group)
	if l.PMDALog != "" {
		words = append(words, "--log-file", l.PMDALog)
	}
	return words
}

func (p PMDA) launchd(l Layout) ([]File, error) {
	return []File{{Path: l.PMDAJob, Mode: 0o644, Content: l.PMDAPlist(p)}}, nil
}

// PMDAPlist is the description of the agent for launchd. It runs as root, as the recorder does,
// because it reads the same.
func (l Layout) PMDAPlist(p PMDA) []byte {
	return plist(dict{
		{"Label", PMDALabel},
		{"ProgramArguments", p.command(l)},
		{"WorkingDirectory", "/"},
		{"RunAtLoad", true},
		{"KeepAlive", dict{{"SuccessfulExit", false}}},
		{"ThrottleInterval", throttleSeconds},
		{"ExitTimeOut", serveExit},
		{"ProcessType", "Background"},
		{"Umask", 0o077},
		{"SoftResourceLimits", dict{{"NumberOfFiles", openFiles}}},
		{"StandardOutPath", l.PMDALog},
		{"StandardErrorPath", l.PMDALog},
	})
}

func (p PMDA) systemd(l Layout) ([]File, error) {
	return []File{{Path: l.PMDAJob, Mode: 0o644, Content: l.PMDASystemdUnit(p)}}, nil
}

// PMDASystemdUnit is the description of the agent for systemd. It keeps the same of root's
// rights as the recorder does, because it reads the same; it writes nothing, and accepts input
// only from its sockets.
func (l Layout) PMDASystemdUnit(p PMDA) []byte {
	words := p.command(l)
	for i, w := range words {
		words[i] = quoteUnit(w)
	}
	return fmt.Appendf(nil, `[Unit]
Description=Tachograph agent for Performance Co-Pilot
After=local-fs.target
Before=pmcd.service

[Service]
ExecStart=%s
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=%d
TimeoutStopSec=%d
UMask=0077
LimitNOFILE=%d
RuntimeDirectory=%s
RuntimeDirectoryMode=0755
%s
[Install]
WantedBy=multi-user.target
`, strings.Join(words, " "), throttleSeconds, serveExit, openFilesLinux, filepath.Base(filepath.Dir(l.PMDASockets)), readsAll)
}
