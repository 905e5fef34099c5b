// Package launchd installs the recorder as a service of the machine: a daemon
// of launchd on macOS, a unit of systemd on Linux.
//
// # How the daemon runs
//
// The recorder is needed most in the minute in which the machine is at its limits, so nothing
// in its job may make it the first victim then:
//
//   - ProcessType is Interactive. Background would move it to the efficiency
//     cores, throttle its I/O and coalesce its timers exactly when the machine
//     is busy; Standard does the same more gently. The recorder bounds itself
//     instead (budget in the configuration), and records how late it is
//     (recorder.class.lateness), so that this choice can be checked.
//   - KeepAlive is {SuccessfulExit: false}: a crash is answered by a restart, a
//     clean exit, which is what `recorder stop` brings about, is respected.
//     ThrottleInterval makes a start that fails again and again harmless.
//   - ExitTimeOut is longer than the worst flush of an archive to a slow disk.
//   - SoftResourceLimits raises the 256 files that launchd allows: the recorder
//     keeps files open that it reads every second.
//   - Umask is 077; the recorder opens what a group may read itself.
//   - StandardErrorPath is for what a crash says. The recorder writes its log to
//     the same file by name, so that newsyslog can rotate it; launchd does not.
//
// launchd has no counterpart to the restrictions in the unit for systemd: a job of root's has
// all of root's rights. What limits the recorder there is that it obeys only root's files,
// listens to nothing, and starts nothing but the commands of its configuration (for finished
// archives and for triggers), in a clean environment.
//
// The binaries are below a directory that only root can write, all the way up. If root ran a
// daemon from a directory of Homebrew's, the owner of that directory could become root.
//
// launchctl's exit codes are read as hints only: after every command the
// resulting state (launchctl print) decides.
package launchd
