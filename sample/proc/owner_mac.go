package proc

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/libproc"
	"tachograph/sample/software"
)

// Why a process has no owner of a kind.
var (
	noApp     = metric.ReasonFor("works for no app")
	noJob     = metric.ReasonFor("no property list of launchd names its program")
	noSession = metric.ReasonFor("has no terminal and is not of the user at the screen")
	inApp     = metric.ReasonFor("has no terminal and works for an app")
	noOwner   = metric.ReasonFor("works for no app and no service")
)

// macGroup is a set of processes that launchd started as one job or one app, with all that
// they have started.
type macGroup struct {
	app     *macApp // of the first member that launchd started in an app
	first   uint64  // the member that launchd started for itself; 0 until one has been met
	service string
	signed  *macSignature
}

// macBelongings are what macKernel knows of owners.
type macBelongings struct {
	apps       macApps
	signatures map[string]*macSignature // by the path of the program
	coalitions map[uint64]*macGroup
	jobs       *owner.Jobs
	console    uint32 // the user at the screen
	atConsole  bool
	updates    []software.Change // of apps, that nobody has asked for
}

func newMacBelongings() macBelongings {
	return macBelongings{signatures: make(map[string]*macSignature), coalitions: make(map[uint64]*macGroup), jobs: new(owner.Jobs)}
}

// launchd is the number of the process that starts all apps and services.
const launchd = 1

// findOwners finds out whose the new processes are. A process that starts another is older and
// may be new as well, so the oldest comes first.
func (m *macKernel) findOwners(born []*process[macProcess]) {
	m.belong.console, m.belong.atConsole = m.calls.Console()
	byAge(born)
	for _, p := range born {
		m.findOwner(p)
	}
}

func byAge(list []*process[macProcess]) {
	slices.SortFunc(list, func(a, b *process[macProcess]) int { return cmp.Compare(a.start, b.start) })
}

// findOwner finds out whose p is. It is called when p is new, and after an exec.
func (m *macKernel) findOwner(p *process[macProcess]) {
	q := &p.platform
	q.group, q.signed = m.coalitionOf(q.coalition), nil
	place := owner.PlaceOf(q.program())
	responsible := m.responsible(p)
	q.app, q.appBy = m.appOf(p, place, responsible)
	q.alone = responsible == nil
	if q.byLaunchd() && q.group.app == nil && place.App != "" && !place.Tool {
		q.group.app = q.app
	}
	m.findService(p)
	p.own(m.owners.Of(m.ownerOf(p)))
}

// ownerOf puts together what has been found about p.
func (m *macKernel) ownerOf(p *process[macProcess]) owner.Owner {
	q := &p.platform
	o := owner.None(metric.Unsupported)
	o.Miss(owner.Service, noJob)
	o.Put(owner.Service, q.service)
	switch {
	case q.app != nil:
		o.Put(owner.App, q.app.name)
		q.app.bundle.put(&o, owner.Bundle)
		q.app.version.put(&o, owner.Version)
		q.app.team.put(&o, owner.Team)
	case q.signed != nil:
		o.Miss(owner.App, noApp)
		q.signed.bundle.put(&o, owner.Bundle)
		o.Miss(owner.Version, noBundle)
		q.signed.team.put(&o, owner.Team)
	default:
		why := noOwner
		if q.service != "" {
			why = noBundle
		}
		for _, f := range []owner.Field{owner.Bundle, owner.Version, owner.Team} {
			o.Miss(f, why)
		}
		o.Miss(owner.App, noApp)
		if q.program() == "" && p.pid != 0 {
			o.Miss(owner.App, q.exeWhy)
		}
	}
	m.putSession(&o, q)
	return o
}

// putSession says in which session a process is: its terminal, or the screen.
func (m *macKernel) putSession(o *owner.Owner, q *macProcess) {
	uid, _ := libproc.KRealUID.Uint(q.record)
	dev, atTerminal := q.record.Terminal()
	switch {
	case atTerminal:
		o.Put(owner.Session, m.calls.TerminalName(dev))
	case q.app != nil:
		o.Miss(owner.Session, inApp)
	case m.belong.atConsole && uint32(uid) == m.belong.console:
		o.Put(owner.Session, "console of "+m.calls.UserName(uint32(uid)))
	default:
		o.Miss(owner.Session, noSession)
	}
}

// program is the path of the program; of one whose file was deleted, what was given to exec.
func (q *macProcess) program() string {
	if q.exe == "" {
		return q.given
	}
	return q.exe
}

// coalitionOf returns the coalition with a number. A process whose coalition is not known is alone
// in one.
func (m *macKernel) coalitionOf(id uint64) *macGroup {
	c := m.belong.coalitions[id]
	if c == nil {
		c = new(macGroup)
		if id != 0 {
			m.belong.coalitions[id] = c
		}
	}
	return c
}

// responsible returns the process that macOS holds responsible for p; nil if that is p itself, or
// has ended. The number may be that of a later process by now, but what is responsible for p was
// there before p.
func (m *macKernel) responsible(p *process[macProcess]) *process[macProcess] {
	pid, errno := m.calls.Responsible(p.pid)
	if errno != 0 || pid == p.pid {
		return nil
	}
	if r := m.table.lookup(pid); r != nil && r.start < p.start {
		return r
	}
	return nil
}

// How an owner was found, in the words of recorder probe.
const (
	byBundle      = "bundle of the program"
	byResponsible = "responsible process"
	byCoalition   = "resource coalition"
	byEnvironment = "XPC_SERVICE_NAME of the process"
	byList        = "property list of launchd"
	byAppsList    = "property list in the app"
	byService     = "bundle of the service"
	byParent      = "parent of the process"
	byNumber      = "number of the process"
)

// appOf returns the app that p works for, and how that was found: its own, that of the process
// responsible for it, or that of its coalition. A tool in an app's bundle works for the app that
// starts it.
func (m *macKernel) appOf(p *process[macProcess], place owner.Place, responsible *process[macProcess]) (app *macApp, by string) {
	other, by := p.platform.group.app, byCoalition
	if responsible != nil && responsible.platform.app != nil {
		other, by = responsible.platform.app, byResponsible
	}
	switch {
	case other == nil && place.App == "":
		return nil, ""
	case place.App == "" || place.Tool && other != nil:
		return other, by
	case other != nil && other.path == place.App:
		return other, byBundle
	}
	return m.appAt(p, place), byBundle
}

// findService finds the job of launchd that p belongs to: its own, or that of what started it.
func (m *macKernel) findService(p *process[macProcess]) {
	q := &p.platform
	label, _ := owner.LabelOf(q.job)
	q.service, q.serviceBy = "", ""
	switch {
	case p.pid == 0:
		q.service, q.serviceBy = "kernel", byNumber
		return
	case p.pid == launchd:
		q.service, q.serviceBy = "launchd", byNumber
	case q.byLaunchd():
		q.tell(label, byEnvironment)
		q.tell(m.belong.jobs.Label(q.program()), byList)
		q.tell(m.jobInApp(q), byAppsList)
		q.tell(owner.PlaceOf(q.program()).Service, byService)
		q.tell(q.group.service, byCoalition)
	default:
		q.signed = q.group.signed
		if parent := m.parentOf(p); parent != nil && parent.platform.group == q.group {
			q.signed = parent.platform.signed
			q.tell(parent.platform.service, byParent)
		}
		q.tell(q.group.service, byCoalition)
		q.tell(label, byEnvironment)
		return
	}
	if q.app == nil && q.service != "" && q.signed == nil {
		q.signed = m.signatureOf(p)
	}
	if q.alone && (q.group.first == 0 || q.group.first == p.start) {
		q.group.first, q.group.service, q.group.signed = p.start, q.service, q.signed
	}
}

// tell takes a service in, unless one is known already.
func (q *macProcess) tell(service, by string) {
	if q.service == "" && service != "" {
		q.service, q.serviceBy = service, by
	}
}

// foundBy implements kernel.
func (m *macKernel) foundBy(p *process[macProcess], f owner.Field) string {
	q := &p.platform
	switch f {
	case owner.App:
		return q.appBy
	case owner.Service:
		return q.serviceBy
	case owner.Session:
		if _, ok := q.record.Terminal(); ok {
			return "terminal of the process"
		}
		return "user of /dev/console"
	}
	return ""
}

// byLaunchd reports whether launchd is the parent: it has started the process, or has taken it on
// after its parent ended.
func (q *macProcess) byLaunchd() bool {
	pid, ok := libproc.KParent.Uint(q.record)
	return ok && pid == launchd
}

func (m *macKernel) parentOf(p *process[macProcess]) *process[macProcess] {
	pid, _ := libproc.KParent.Uint(p.platform.record)
	if parent := m.table.lookup(int32(pid)); parent != nil && parent.start == p.platform.parent {
		return parent
	}
	return nil
}

// lookForJobs takes in the jobs of launchd once they have been read, and again after a change.
func (m *macKernel) lookForJobs(now metric.Stamp) {
	jobs := m.calls.Jobs(now)
	if jobs == m.belong.jobs {
		return
	}
	m.belong.jobs = jobs
	old := slices.Clone(m.table.alive)
	byAge(old)
	for _, p := range old {
		if p.platform.group != nil {
			m.findService(p)
			p.own(m.owners.Of(m.ownerOf(p)))
		}
	}
}

// forgetCoalitions drops coalitions without living members, once there are many of them.
func (m *macKernel) forgetCoalitions() {
	all := m.belong.coalitions
	if len(all) <= 2*len(m.table.byPID)+few {
		return
	}
	clear(all)
	for _, p := range m.table.byPID {
		if id := p.platform.coalition; id != 0 && p.platform.group != nil {
			all[id] = p.platform.group
		}
	}
}
