package sim

import (
	"math"
	"slices"
)

// A Ledger is what processes used, second by second, by name: the truth by which answers are
// judged.
type Ledger map[string][]Used

// Used is what processes of one name used in a second.
type Used struct {
	Second          int
	User, Sys, Wait float64 // cores
	Read, Write     float64 // bytes
	Memory          float64 // KB; shared memory counts once
	shared          float64
	Blocked         float64
	Processes       int
	Births          int
}

func (l Ledger) add(second int, p *Proc) {
	list := l[p.Name]
	if n := len(list); n == 0 || list[n-1].Second != second {
		list = append(list, Used{Second: second})
	}
	u := &list[len(list)-1]
	u.User, u.Sys, u.Wait = u.User+p.got.user, u.Sys+p.got.sys, u.Wait+p.got.wait
	u.Read, u.Write, u.Memory, u.Blocked = u.Read+p.got.read, u.Write+p.got.write, u.Memory+p.own(), u.Blocked+p.blocked
	if p.Shared > u.shared {
		u.Memory, u.shared = u.Memory+p.Shared-u.shared, p.Shared
	}
	u.Processes++
	if p.born == second {
		u.Births++
	}
	l[p.Name] = list
}

// Mean returns what processes of a name used on average from one second to another.
func (l Ledger) Mean(name string, from, to int) Used {
	var u Used
	for _, x := range l[name] {
		if x.Second >= from && x.Second < to {
			u.User, u.Sys, u.Wait, u.Read, u.Write = u.User+x.User, u.Sys+x.Sys, u.Wait+x.Wait, u.Read+x.Read, u.Write+x.Write
			u.Memory, u.Blocked, u.Births = u.Memory+x.Memory, u.Blocked+x.Blocked, u.Births+x.Births
		}
	}
	n := float64(max(to-from, 1))
	u.User, u.Sys, u.Wait, u.Read, u.Write, u.Memory, u.Blocked = u.User/n, u.Sys/n, u.Wait/n, u.Read/n, u.Write/n, u.Memory/n, u.Blocked/n
	return u
}

// Least returns the least processor time that processes of a name used in any stretch of this
// many seconds.
func (l Ledger) Least(name string, seconds, all int) float64 {
	least := math.Inf(1)
	for from := 0; from+seconds <= all; from += seconds / 3 {
		u := l.Mean(name, from, from+seconds)
		least = min(least, u.User+u.Sys)
	}
	return least
}

// Most returns the most memory, in KB, that processes of a name held at once from one second to
// another.
func (l Ledger) Most(name string, from, to int) (most float64) {
	for _, u := range l[name] {
		if u.Second >= from && u.Second < to {
			most = max(most, u.Memory)
		}
	}
	return most
}

// Usual returns what a name used at most in the nine quietest of ten stretches of this many
// seconds in the recording, for each resource by itself.
func (l Ledger) Usual(name string, seconds, all int) Used {
	var of [6][]float64
	for from := 0; from+seconds <= all; from += seconds / 2 {
		u := l.Mean(name, from, from+seconds)
		for i, x := range u.things() {
			of[i] = append(of[i], x)
		}
	}
	var q [6]float64
	for i := range of {
		if slices.Sort(of[i]); len(of[i]) > 0 {
			q[i] = of[i][len(of[i])*9/10]
		}
	}
	return Used{User: q[0], Read: q[1], Write: q[2], Memory: q[3], Births: int(q[4]), Blocked: q[5]}
}

func (u *Used) things() [6]float64 {
	return [6]float64{u.User + u.Sys + u.Wait, u.Read, u.Write, u.Memory, float64(u.Births), u.Blocked}
}

// Beyond reports whether u is more of any resource than usual, by more than a negligible amount.
func (u *Used) Beyond(usual Used) bool {
	floor := [6]float64{0.05, 256 << 10, 256 << 10, 16 << 10, 3, 0.05}
	now, then := u.things(), usual.things()
	for i := range now {
		if now[i] > 1.25*then[i]+floor[i] {
			return true
		}
	}
	return false
}
