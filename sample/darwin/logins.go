package darwin

import "tachograph/sample/darwin/decode"

// Kinds of login records. The others are notes about the machine: that it booted, that its clock
// was set, that a session ended.
const (
	utInitProcess  = 5
	utLoginProcess = 6
	utUserProcess  = 7
)

// loginCounts counts logged in users. A session is a record of something that still runs; PCP's
// count also includes the notes about boots and ends.
type loginCounts struct{ users, roots, sessions int }

func (n *loginCounts) add(utmpx []byte) {
	kind, _ := decode.UtType.Uint(utmpx)
	user, _ := decode.UtUser.Text(utmpx)
	switch kind {
	case utUserProcess:
		if len(user) == 0 {
			return
		}
		n.users++
		if string(user) == "root" {
			n.roots++
		}
		n.sessions++
	case utInitProcess, utLoginProcess:
		n.sessions++
	}
}
