package proc

import "fmt"

// refusals notes that the kernel keeps other users' processes from us, which an administrator
// can change.
type refusals struct {
	absent     string // what is absent for them
	privileged bool   // no user has more rights than the recorder
	notice     string
}

// countRefused makes the notice after a sweep that met all processes, once: the number changes
// all the time as processes come and go.
func (s *processes[P, R]) countRefused() {
	if s.counts.unread > 0 || s.refused.privileged || s.refused.notice != "" {
		return
	}
	n, all := 0, s.table.alive
	for _, p := range all {
		if s.k.refuses(p) {
			n++
		}
	}
	if n > 0 {
		s.refused.notice = fmt.Sprintf("%d of %d processes are other users' and could not be read: %s of theirs are absent; started with sudo, the recorder reads all", n, len(all), s.refused.absent)
	}
}
