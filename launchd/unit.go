package launchd

import (
	"fmt"
	"strings"
)

// SystemdUnit is the service's description for systemd. The recorder only reads the machine and
// writes to one directory, and the unit allows no more.
//
// What it keeps of root's rights, and for what:
//
//   - CAP_SYS_PTRACE: I/O, memory maps, open files and sockets of the processes
//     of all users (/proc/PID/io, smaps_rollup, fd), also where /proc hides them.
//   - CAP_DAC_READ_SEARCH: the directories above and around those (/proc/PID/fd
//     is its owner's alone), the size of volumes below private directories, and what the system
//     has written down: its journal, core dumps and crash files.
//   - CAP_NET_ADMIN: to hear of the end of every process (taskstats).
//   - CAP_CHOWN: to give archives to the group that may read them.
//   - CAP_PERFMON: the kernel's sampler of running threads (perf_event_open), and its tracepoints.
//   - CAP_CHECKPOINT_RESTORE: the files that code was mapped from although they have been removed
//     since (/proc/PID/map_files), as every library has been that an update replaced.
//
// What it keeps, although systemd would rate the unit as safer without it: the network
// (interfaces and sockets are those of the host; finished archives are shipped over it), the
// whole of /proc (ProcSubset=pid would leave only processes), the view of /home (volumes are
// mounted there), the host's name (ProtectHostname would freeze it), users (PrivateUsers would
// show all of them as nobody), and the calls that change a file's owner, which systemd counts
// among the privileged ones.
//
// The slack of its timers saves wakeups; in this unit the recorder may not set it itself.
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
TimerSlackNSec=1ms
UMask=0077
LimitNOFILE=%d
StateDirectory=tachograph
StateDirectoryMode=0750
%s%sReadWritePaths=%s

[Install]
WantedBy=multi-user.target
`, strings.Join(words, " "), throttleSeconds, exitSeconds, openFilesLinux, readsAll, samplesStacks, quoteUnit(l.Archives))
}

// readsAll are the settings for services that read everything and change nothing.
const readsAll = `CapabilityBoundingSet=CAP_CHOWN CAP_DAC_READ_SEARCH CAP_NET_ADMIN CAP_SYS_PTRACE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
ProtectClock=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
`

// samplesStacks adds to readsAll what sampling stacks needs. The kernel writes samples into memory
// that cannot be swapped; the limit is what sample/stack/perf takes at most.
//
// The names of the kernel's functions are in a file that shows addresses only to a process that opens it
// with CAP_SYSLOG, and ProtectKernelTunables= hides it. So systemd opens it, and the recorder keeps neither the
// right nor the view. Before 253 systemd knows no OpenFile=, says so in its journal and goes on: then the
// kernel's functions have addresses without names.
const samplesStacks = `CapabilityBoundingSet=CAP_CHECKPOINT_RESTORE CAP_PERFMON
SystemCallFilter=perf_event_open
LimitMEMLOCK=64M
OpenFile=/proc/kallsyms:kallsyms:read-only,graceful
`

// quoteUnit quotes a word for a unit file, where % begins a specifier.
func quoteUnit(w string) string {
	w = strings.ReplaceAll(w, "%", "%%")
	if strings.ContainsAny(w, " \t\"'\\$;") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `$$`).Replace(w) + `"`
	}
	return w
}
