package proc

import "fmt"

// refusals notes that the kernel keeps other users' processes from us, which
// whoever runs the recorder can change.
type refusals struct {
	privileged bool // there is nobody to become who may read more
	notice     string
}

// lookAt counts the refused of a sweep that met all processes. Only the first
// such count is told: processes come and go, and it would be news all the time.
func lookAt[P any](r *refusals, all []*process[P], isRefused func(*P) bool, absent string) {
	if r.privileged || r.notice != "" {
		return
	}
	refused := 0
	for _, p := range all {
		if isRefused(&p.platform) {
			refused++
		}
	}
	if refused == 0 {
		return
	}
	r.notice = fmt.Sprintf("%d of %d processes are other users' and could not be read: %s of theirs are absent; started with sudo, the recorder reads all", refused, len(all), absent)
}
