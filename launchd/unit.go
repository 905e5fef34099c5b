package launchd

import (
	"fmt"
	"strings"
)

// SystemdUnit is the service's description for systemd. The recorder only
// looks at the machine and writes to one directory, and is held to that. The
// network stays open to it for the command that ships finished archives. The
// slack of its timers spares wakeups, and it may not set that by itself here.
func (l Layout) SystemdUnit() []byte {
	words := l.Command()
	for i, w := range words {
		words[i] = quoteUnit(w)
	}
	return fmt.Appendf(nil, `[Unit]
Description=Tachograph recorder
After=local-fs.target

[Service]
ExecStart=%s
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=%d
TimeoutStopSec=%d
Environment=GOMEMLIMIT=%s
TimerSlackNSec=1ms
UMask=0077
LimitNOFILE=%d
StateDirectory=tachograph
StateDirectoryMode=0750
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_READ_SEARCH CAP_KILL CAP_NET_ADMIN CAP_SYS_PTRACE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths=%s
PrivateTmp=yes
ProtectClock=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`, strings.Join(words, " "), throttleSeconds, exitSeconds, memoryLimit, openFiles, quoteUnit(l.Archives))
}

// quoteUnit quotes a word for a unit file, where % begins a specifier.
func quoteUnit(w string) string {
	w = strings.ReplaceAll(w, "%", "%%")
	if strings.ContainsAny(w, " \t\"'\\$;") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `$$`).Replace(w) + `"`
	}
	return w
}
