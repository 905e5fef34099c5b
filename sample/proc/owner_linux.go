package proc

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// The file /proc/PID/cgroup says whose a process is. No notice says that a process was moved to
// another control group. systemd and container runtimes move a process just after they have
// started it: the file is read when a process is met, and once more when it is met again. Later
// moves are rare.
const (
	ownerEvery  = time.Minute     // how often the file is read again
	ownerAsleep = 5 * time.Minute // and of a process that has not run since
	// ownerSettled is the age at which a process is no longer moved by who started it.
	ownerSettled = 10 * time.Second
)

// groups are the control groups that some processes have in common: what one /proc/PID/cgroup
// says.
type groups struct {
	text      string // as ps writes it
	path      string // the one that says most
	container string // number of the container, or ""
	from      string // the file that has the name of the container, or ""
	found     owner.Found
	owner     owner.Owner
	// How often the name of the container has been looked for, 0 if it is known, and in which
	// sweep the last time.
	tries   int
	triedIn uint64
}

// mostTries is how often a container's name is looked for: a runtime may write it after it has
// started the container.
const mostTries = 4

// belongings are what linuxKernel knows of control groups.
type belongings struct {
	byText map[string]*groups // by the text of the file
	names  *owner.Names
	kernel owner.Owner
	// parents are those of the processes whose ends were heard of since the last sweep, by pid.
	parents map[int32]int32
}

func newBelongings(root string) belongings {
	b := belongings{names: owner.NewNames(root), kernel: owner.None(ofKernel), parents: make(map[int32]int32)}
	b.kernel.Put(owner.Service, "kernel")
	return b
}

// refresh forgets all groups: names may be readable now, and users may have other names.
func (b *belongings) refresh(root string) {
	clear(b.byText)
	b.names = owner.NewNames(root)
}

// lookAgain reads whose a process is that was met before, if it is time to. Of a process whose
// first thread has ended, version 1 says that it is in no group.
func (k *linuxKernel) lookAgain(p *process[linuxProcess], now metric.Stamp) {
	q := &p.platform
	age := time.Duration(now.Cont - q.ownerAt)
	if q.stat.State == 'Z' || q.stat.Flags&kernelThread != 0 && q.groups != nil {
		return
	}
	if q.ownerSettled && (age < ownerEvery || q.quiet > 0 && age < ownerAsleep) {
		return
	}
	q.ownerSettled = true
	if k.findOwner(p, now) {
		q.changed = k.table.sweeps
	}
}

// findOwner reads whose p is, and reports whether it is another's than before.
func (k *linuxKernel) findOwner(p *process[linuxProcess], now metric.Stamp) bool {
	q := &p.platform
	before := q.groups
	q.ownerAt = now.Cont
	k.findSpace(p)
	text, err := k.dir.readAt(pidPath(p.pid, "cgroup"))
	if err != nil {
		q.groupsWhy = reasonFor(err)
		if q.groups == nil {
			return p.own(k.owners.Of(owner.None(q.groupsWhy)))
		}
		return false // what was read before still holds
	}
	q.groups, q.groupsWhy = k.groupsOf(text), metric.Present
	if q.stat.State == 'Z' && q.groups.path == "/" {
		k.inheritOwner(p)
		return true
	}
	return p.own(k.owners.Of(k.ownerIn(p))) || q.groups != before
}

// ownerIn returns whose a process in its control groups is.
func (k *linuxKernel) ownerIn(p *process[linuxProcess]) owner.Owner {
	if p.platform.stat.Flags&kernelThread != 0 {
		return k.belong.kernel
	}
	o := p.platform.groups.owner
	if _, why := o.Get(owner.Session); why != metric.Present && p.platform.groups.container == "" && p.platform.stat.TTY != 0 {
		o.Put(owner.Session, k.tty(p))
	}
	return o
}

// foundBy implements kernel.
func (k *linuxKernel) foundBy(p *process[linuxProcess], f owner.Field) string {
	q := &p.platform
	switch {
	case q.stat.Flags&kernelThread != 0:
		return "flag of kernel threads"
	case q.groups == nil:
		return ""
	case f == owner.Session && q.groups.found.Session == "":
		return "terminal of the process"
	case f == owner.Container && q.groups.from != "":
		return q.groups.from
	}
	return "cgroup " + q.groups.path
}

// groupsOf returns the groups that the text of a file names.
func (k *linuxKernel) groupsOf(text []byte) *groups {
	b := &k.belong
	g := b.byText[string(text)]
	if g == nil {
		if b.byText == nil {
			b.byText = make(map[string]*groups)
		}
		path := owner.Path(text)
		g = &groups{text: owner.Line(text), path: path, found: owner.OfPath(path)}
		g.container = g.found.Container.Number()
		b.byText[string(text)] = g
		k.name(g)
	} else if g.tries > 0 && g.tries < mostTries && g.triedIn != k.table.sweeps {
		k.name(g)
	}
	return g
}

// name looks for the names of the container and the user of g.
func (k *linuxKernel) name(g *groups) {
	var names owner.Named
	// The groups below an ordinary user's may be called as the user likes, and the names of a
	// user's containers are not in the files of root.
	if c := &g.found.Container; c.ID != "" && c.Name == "" && (g.found.UID == "" || g.found.UID == "0") {
		names = k.belong.names.Of(*c)
		g.from = names.From
		g.tries, g.triedIn = g.tries+1, k.table.sweeps
		if names.Container != "" {
			g.tries = 0
		}
	}
	g.owner = g.found.Owner(names, func(uid string) string {
		if id, err := strconv.ParseUint(uid, 10, 32); err == nil {
			return k.users.name(uint32(id))
		}
		return uid
	})
}

// forgetGroups drops groups that no process is in, once there are many of them.
func (k *linuxKernel) forgetGroups() {
	if len(k.belong.byText) <= 2*len(k.table.byPID)+few {
		return
	}
	used := make(map[*groups]bool)
	for _, p := range k.table.byPID {
		used[p.platform.groups] = true
	}
	for text, g := range k.belong.byText {
		if !used[g] {
			delete(k.belong.byText, text)
		}
	}
}

var (
	ofKernel    = metric.ReasonFor("the process is a thread of the kernel")
	noContainer = metric.ReasonFor("the process runs in no container")
)

var ownerFields = []owner.Field{owner.App, owner.Service, owner.Container, owner.Pod, owner.Session, owner.Bundle}

// groupColumns are what /proc/PID/cgroup says.
var groupColumns = slices.Concat(ownerColumns(func(r *reading) *owner.Owner { return r.p.owners() }, ownerFields...), []column[reading]{
	{name: "proc.psinfo.cgroups", text: func(r *reading) string { return r.p.platform.groups.text }, missing: (*reading).groupsMissing},
	{name: "proc.id.container", text: func(r *reading) string { return r.p.platform.groups.container },
		missing: func(r *reading) metric.Reason {
			if why := r.groupsMissing(); why != metric.Present {
				return why
			}
			if r.p.platform.groups.container == "" {
				return noContainer
			}
			return metric.Present
		}},
})

// groupsMissing returns why the control groups of the process are not known.
func (r *reading) groupsMissing() metric.Reason {
	switch q := &r.p.platform; {
	case q.groups != nil:
		return metric.Present
	case q.groupsWhy == metric.Present:
		return metric.NotRead
	default:
		return q.groupsWhy
	}
}

// inheritOwner gives a process that no sweep has met the owners of the process that started it,
// if that is known.
func (k *linuxKernel) inheritOwner(p *process[linuxProcess]) {
	q := &p.platform
	parent := k.ancestor(p)
	if parent == nil || startsForOthers(parent) {
		q.groupsWhy = neverMet
		p.own(k.owners.Of(owner.None(neverMet)))
		return
	}
	q.groups, q.groupsWhy = parent.platform.groups, parent.platform.groupsWhy
	p.own(parent.owners())
}

var neverMet = metric.ReasonFor("no sweep has met the process, nor the one that started it")

// mostAncestors is how many generations that no sweep has met are followed.
const mostAncestors = 16

// ancestor returns the nearest ancestor of a process that a sweep has met. Those between them
// ended in the same interval.
func (k *linuxKernel) ancestor(p *process[linuxProcess]) *process[linuxProcess] {
	pid := p.platform.stat.PPID
	for range mostAncestors {
		if found := k.table.lookup(pid); found != nil && found.start <= p.start {
			return found
		}
		for _, gone := range k.table.gone {
			if gone.pid == pid && gone.start <= p.start {
				return gone
			}
		}
		next, heard := k.belong.parents[pid]
		if !heard || next == pid {
			break
		}
		pid = next
	}
	return nil
}

// startsForOthers reports whether the children of a process are most likely another's: the
// first process and the manager of a user adopt orphans, and move what they start to groups of
// its own, as do the programs that start containers.
func startsForOthers(p *process[linuxProcess]) bool {
	switch p.name {
	case "systemd", "conmon", "runc", "crun", "lxc-start":
		return true
	}
	return p.pid == 1 || strings.HasPrefix(p.name, "containerd-shim")
}
