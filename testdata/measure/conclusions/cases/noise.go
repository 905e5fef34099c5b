package cases

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tachograph/testdata/measure/conclusions/sim"
)

// A Noise is what a machine does besides any trouble.
type Noise struct {
	Name string
	// Add starts what runs on the machine, and returns a function that is called each second.
	Add func(m *sim.Machine) func(m *sim.Machine, t int)
}

// Noises are the kinds of background.
var Noises = []Noise{
	{"idle", idle},
	{"compile", compile},
	{"database", database},
	{"polling", polling},
	{"churn", churn},
	{"cron", cron},
	{"browser", browser},
	{"web", web},
	{"mixed", mixed},
}

// size returns a random machine.
func size(rnd *rand.Rand) sim.Size {
	cores := []int{2, 4, 4, 8}[rnd.IntN(4)]
	memory := []float64{8192, 8192, 16384, 32768}[rnd.IntN(4)]
	s := sim.Size{Name: "build-03", Cores: cores, MemoryMB: memory - 200, SwapMB: memory / 4}
	s.Disks = []sim.Disk{{Name: "vda", Bandwidth: 250e6, IOPS: 6000}, {Name: "vdb", Bandwidth: 180e6, IOPS: 3000}}
	gb := float64(1 << 20)
	s.Volumes = []sim.Volume{
		{Mount: "/", Device: "/dev/vda1", Type: "ext4", Capacity: 60 * gb, Used: (20 + 15*rnd.Float64()) * gb, Files: 400e3, MaxFiles: 4e6},
		{Mount: "/srv", Device: "/dev/vdb", Type: "xfs", Capacity: 20 * gb, Used: (6 + 6*rnd.Float64()) * gb, Files: 90e3, MaxFiles: 1e6},
		{Mount: "/var/log", Device: "/dev/vda3", Type: "ext4", Capacity: 4 * gb, Used: (1 + rnd.Float64()) * gb, Files: 900, MaxFiles: 262144},
		{Mount: "/dev/shm", Device: "tmpfs", Type: "tmpfs", Capacity: memory / 2 * 1024, Used: 200, Files: 4, MaxFiles: 1e6},
		{Mount: "/tmp", Device: "tmpfs", Type: "tmpfs", Capacity: memory / 4 * 1024, Used: 6000, Files: 60, MaxFiles: 1e6},
	}
	s.Nets = []sim.Net{{Name: "eth0", Packets: 4, Bytes: 600}, {Name: "lo"}}
	return s
}

// wander is a factor around 1 that changes slowly.
type wander struct{ x, spread float64 }

func (w *wander) next(rnd *rand.Rand) float64 {
	w.x = 0.9*w.x + 0.45*rnd.NormFloat64()*w.spread
	return math.Exp(w.x)
}

// steady makes a process do about the same all the time.
func steady(p *sim.Proc, w sim.Want, spread float64) *sim.Proc {
	drift := &wander{spread: spread}
	base := w
	if base.Memory == 0 {
		base.Memory, base.Shared = p.Memory, p.Shared
	}
	p.Want = base
	memory := base.Memory
	p.Live = func(p *sim.Proc) {
		f := drift.next(random(p))
		p.Want = base
		p.User, p.Sys, p.Read, p.Write = base.User*f, base.Sys*f, base.Read*f, base.Write*f
		p.Syncs, p.Switches, p.Packets, p.Bytes, p.Faults, p.Requests = base.Syncs*f, base.Switches*f, base.Packets*f, base.Bytes*f, base.Faults*f, base.Requests*f
		memory += base.Memory * 0.002 * random(p).NormFloat64()
		memory += (base.Memory - memory) * 0.02
		p.Opened, p.Accepted = base.Opened*f, base.Accepted*f
		p.Memory = memory
	}
	return p
}

func random(p *sim.Proc) *rand.Rand { return p.Machine().Rand }

// daemons starts what runs on every machine.
func daemons(m *sim.Machine) {
	for _, d := range []struct {
		name, user string
		want       sim.Want
	}{
		{"systemd-journald", "root", sim.Want{User: 0.001, Sys: 0.001, Write: 3000, Switches: 4, Memory: 9000, Shared: 20000}},
		{"systemd-udevd", "root", sim.Want{Memory: 4000, Shared: 4000}},
		{"dbus-daemon", "daemon", sim.Want{User: 0.0005, Switches: 3, Memory: 2500, Shared: 3000}},
		{"cron", "root", sim.Want{Memory: 900, Shared: 2000}},
		{"sshd", "root", sim.Want{Switches: 0.2, Memory: 2200, Shared: 6000}},
		{"agetty", "root", sim.Want{Memory: 500, Shared: 1500}},
		{"recorder", "root", sim.Want{User: 0.004, Sys: 0.005, Write: 9000, Switches: 30, Memory: 12000, Shared: 9000}},
		{"chronyd", "daemon", sim.Want{Switches: 0.3, Memory: 1500, Shared: 2500}},
	} {
		steady(m.Start(nil, d.name, d.user), d.want, 0.4)
	}
	if jbd := m.Find("jbd2/vda1-8"); jbd != nil {
		jbd.Live = func(p *sim.Proc) {
			p.Write = 0
			if random(p).IntN(5) == 0 {
				p.Write = 60e3
			}
		}
	}
}

func idle(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	steady(m.Start(nil, "gnome-shell", "ada"), sim.Want{User: 0.012, Sys: 0.004, Switches: 40, Memory: 260e3, Shared: 90e3}, 0.6)
	steady(m.Start(nil, "Xwayland", "ada"), sim.Want{User: 0.004, Switches: 15, Memory: 60e3, Shared: 40e3}, 0.5)
	steady(m.Start(nil, "pipewire", "ada"), sim.Want{User: 0.002, Switches: 20, Memory: 9e3, Shared: 8e3}, 0.2)
	shell := m.Start(nil, "bash", "ada")
	return func(m *sim.Machine, t int) {
		if m.Rand.IntN(40) == 0 {
			m.Brief(shell, []string{"ls", "git", "date", "less"}[m.Rand.IntN(4)], "ada", 1+float64(m.Rand.IntN(3)), 0.05, sim.Want{User: 0.01, Sys: 0.01, Faults: 200}, "exit 0")
		}
	}
}

// compile is a workstation whose user builds and tests again and again.
func compile(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	editor := m.Start(nil, "nvim", "ada")
	steady(editor, sim.Want{User: 0.01, Switches: 10, Memory: 40e3, Shared: 20e3}, 0.8)
	steady(m.Start(editor, "gopls", "ada"), sim.Want{User: 0.05, Sys: 0.01, Switches: 60, Memory: 700e3, Shared: 30e3, Faults: 50}, 1)
	shell := m.Start(nil, "bash", "ada")
	var build *sim.Proc
	until, next := 0, m.Rand.IntN(40)
	phase := 0
	return func(m *sim.Machine, t int) {
		switch {
		case build == nil && t >= next:
			build = m.Start(shell, "go", "ada")
			build.Want = sim.Want{User: 0.15, Sys: 0.1, Read: 4e5, Memory: 60e3, Shared: 30e3, Faults: 200, Switches: 300}
			build.Threads = 12
			until, phase = t+8+m.Rand.IntN(40), 0
		case build != nil && t < until:
			n := float64(m.Cores) * (0.5 + m.Rand.Float64())
			m.Brief(build, "compile", "ada", n, 0.9, sim.Want{User: 0.75, Sys: 0.1, Read: 3e5, Write: 9e5, Faults: 14000, Memory: 130e3, Shared: 20e3}, "exit 0")
			if m.Rand.IntN(4) == 0 {
				m.Brief(build, "asm", "ada", 2, 0.05, sim.Want{User: 0.02, Sys: 0.01, Faults: 500}, "exit 0")
			}
		case build != nil && phase == 0:
			m.Brief(build, "link", "ada", 1, 2.5, sim.Want{User: 2, Sys: 0.5, Read: 30e6, Write: 25e6, Faults: 90000, Memory: 600e3, Shared: 40e3}, "exit 0")
			phase, until = 1, t+3
		case build != nil && phase == 1 && m.Rand.IntN(2) == 0:
			phase, until = 2, t+3+m.Rand.IntN(20)
			m.Brief(build, []string{"store.test", "query.test", "replay.test"}[m.Rand.IntN(3)], "ada", 1, float64(until-t), sim.Want{User: float64(until-t) * 0.9, Sys: float64(until-t) * 0.15,
				Write: 20e6, Faults: 50000, Memory: 180e3, Shared: 12e3}, "exit 0")
		case build != nil:
			build.End([]string{"exit 0", "exit 0", "exit 0", "exit 1"}[m.Rand.IntN(4)])
			build, next = nil, t+5+m.Rand.IntN(70)
		}
	}
}

func database(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	main := m.Start(nil, "postgres", "postgres")
	steady(main, sim.Want{User: 0.002, Sys: 0.002, Switches: 10, Memory: 20e3, Shared: 200e3}, 0.3)
	for range 10 {
		p := steady(m.Start(main, "postgres", "postgres"), sim.Want{User: 0.03 + 0.03*m.Rand.Float64(), Sys: 0.015, Read: 2e5, Write: 1e5, Syncs: 5, Switches: 150, Packets: 80, Bytes: 20e3,
			Memory: 14e3, Shared: 180e3, Faults: 40}, 0.5)
		p.Disk, p.Into, p.Sockets, p.Files = m.Disks[1], m.Nets[1], 1, 40
	}
	checkpointer := m.Start(main, "postgres", "postgres")
	checkpointer.Disk, checkpointer.Shared = m.Disks[1], 190e3
	steady(m.Start(nil, "redis-server", "redis"), sim.Want{User: 0.04, Sys: 0.03, Switches: 300, Packets: 200, Bytes: 30e3, Memory: 300e3, Shared: 6e3}, 0.4)
	for range 6 {
		p := steady(m.Start(nil, "orderapi", "app"), sim.Want{User: 0.05, Sys: 0.02, Switches: 200, Packets: 90, Bytes: 22e3, Memory: 120e3, Shared: 30e3}, 0.5)
		p.Sockets, p.Files = 20, 60
	}
	for i, p := range m.Procs {
		if p.Name == "orderapi" {
			m.Connect(p, "net-51c0ffee", 443, false, 900)
			m.Connect(p, "localhost", 5432, false, 9000)
			m.Connect(p, fmt.Sprintf("lan-0000%04x", i), 50000+i, true, 4000)
		}
	}
	m.Listen(main, 5432, 244)
	m.Established = 90
	cycle := 60 + m.Rand.IntN(120)
	return func(m *sim.Machine, t int) {
		checkpointer.Write, checkpointer.Sys = 0, 0
		if t%cycle < 12 {
			checkpointer.Write, checkpointer.Sys = 12e6, 0.02
		}
		m.Accepts, m.Opens = 2+m.Rand.Float64(), 2+m.Rand.Float64()
	}
}

// polling runs scripts that wait for something: until grep -q ...; do sleep; done.
func polling(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	type script struct {
		shell    *sim.Proc
		command  string
		how      string
		every    float64
		from, to int
	}
	var scripts []*script
	for range 3 + m.Rand.IntN(4) {
		from := m.Rand.IntN(1200) - 500
		scripts = append(scripts, &script{command: []string{"grep", "grep", "curl", "test", "pgrep", "ss"}[m.Rand.IntN(6)], how: []string{"exit 1", "exit 1", "exit 2", "exit 7"}[m.Rand.IntN(4)],
			every: []float64{0.2, 0.5, 1, 1}[m.Rand.IntN(4)], from: from, to: from + 60 + m.Rand.IntN(900)})
	}
	base := idleWork(m)
	return func(m *sim.Machine, t int) {
		base(m, t)
		for _, s := range scripts {
			if t < s.from || t > s.to {
				if s.shell != nil && t > s.to {
					s.shell.End("exit 0")
					s.shell = nil
				}
				continue
			}
			if s.shell == nil {
				s.shell = m.Start(nil, "bash", "ci")
			}
			n := 1 / s.every
			m.Brief(s.shell, s.command, "ci", n, 0.004, sim.Want{User: 0.001, Sys: 0.002, Faults: 150}, s.how)
			m.Brief(s.shell, "sleep", "ci", n, s.every, sim.Want{Sys: 0.001, Faults: 90}, "exit 0")
			if m.Rand.IntN(30) == 0 {
				m.Brief(s.shell, s.command, "ci", 1, 0.004, sim.Want{User: 0.001, Sys: 0.002, Faults: 150}, "exit 0")
			}
		}
	}
}

// idleWork does various small tasks.
func idleWork(m *sim.Machine) func(*sim.Machine, int) {
	app := steady(m.Start(nil, "node", "app"), sim.Want{User: 0.02, Sys: 0.005, Switches: 60, Packets: 12, Bytes: 3e3, Memory: 180e3, Shared: 40e3}, 0.7)
	app.Threads = 11
	burst := 0
	return func(m *sim.Machine, t int) {
		if m.Rand.IntN(50) == 0 {
			burst = t + 2 + m.Rand.IntN(8)
		}
		if t < burst {
			app.User += 0.4
		}
	}
}

// churn is a build server whose scripts start very many small programs.
func churn(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	runner := m.Start(nil, "ci-runner", "ci")
	steady(runner, sim.Want{User: 0.02, Sys: 0.01, Switches: 50, Memory: 60e3, Shared: 20e3}, 0.5)
	names := []string{"sh", "sed", "awk", "git", "grep", "cat", "mkdir", "rm", "head", "tr", "python3", "tar"}
	level := &wander{spread: 0.6}
	rate := 15 + 40*m.Rand.Float64()
	var shell *sim.Proc
	next := 0
	return func(m *sim.Machine, t int) {
		if t >= next {
			if shell != nil {
				shell.End("exit 0")
			}
			shell, next = m.Start(runner, "bash", "ci"), t+10+m.Rand.IntN(60)
		}
		n := rate * level.next(m.Rand)
		for _, name := range names {
			how := "exit 0"
			if (name == "grep" || name == "git") && m.Rand.IntN(3) == 0 {
				how = "exit 1"
			}
			m.Brief(shell, name, "ci", n/float64(len(names)), 0.03, sim.Want{User: 0.004, Sys: 0.006, Read: 9e3, Write: 2e3, Faults: 250, Memory: 2500, Shared: 2000}, how)
		}
	}
}

// cron is a server that starts a program every few minutes.
func cron(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	work := idleWork(m)
	parent := m.Find("cron")
	minute, five := m.Rand.IntN(60), m.Rand.IntN(300)
	return func(m *sim.Machine, t int) {
		work(m, t)
		if t%60 == minute {
			m.Brief(parent, "sessionclean", "root", 1, 1.5, sim.Want{User: 0.3, Sys: 0.4, Read: 2e6, Faults: 3000}, "exit 0")
			m.Brief(parent, "run-parts", "root", 3, 0.05, sim.Want{User: 0.005, Sys: 0.01, Faults: 300}, "exit 0")
		}
		if t%300 == five {
			m.Brief(parent, "nightly-dump", "root", 1, 14, sim.Want{User: 4, Sys: 2, Read: 160e6, Write: 70e6, Faults: 20000, Memory: 50e3}, "exit 0")
			m.Brief(parent, "gzip", "root", 1, 15, sim.Want{User: 12, Sys: 0.6, Write: 20e6, Memory: 2e3}, "exit 0")
		}
	}
}

func browser(m *sim.Machine) func(*sim.Machine, int) {
	work := idle(m)
	main := steady(m.Start(nil, "chromium", "ada"), sim.Want{User: 0.04, Sys: 0.02, Switches: 300, Packets: 20, Bytes: 20e3, Memory: 400e3, Shared: 150e3}, 0.8)
	main.Threads, main.Files = 35, 300
	type helper struct {
		p      *sim.Proc
		active int
	}
	var helpers []*helper
	for range 14 {
		p := m.Start(main, "chromium", "ada")
		p.Threads, p.Memory, p.Shared = 14, 60e3+160e3*m.Rand.Float64(), 90e3
		helpers = append(helpers, &helper{p: p})
	}
	video := m.Rand.IntN(2) == 0
	return func(m *sim.Machine, t int) {
		work(m, t)
		for i, h := range helpers {
			if m.Rand.IntN(60) == 0 {
				h.active = t + 1 + m.Rand.IntN(12)
			}
			h.p.User, h.p.Sys, h.p.Switches, h.p.Packets, h.p.Bytes = 0.002, 0.001, 8, 0, 0
			if t < h.active || video && i == 0 {
				h.p.User, h.p.Sys, h.p.Switches = 0.15+0.4*m.Rand.Float64(), 0.04, 500
				h.p.Packets, h.p.Bytes = 150, 140e3
				h.p.Memory = min(h.p.Memory+4e3*m.Rand.Float64(), 500e3)
			} else if m.Rand.IntN(40) == 0 {
				h.p.Memory *= 0.8
			}
		}
		if m.Rand.IntN(90) == 0 { // A page is closed, and another opened.
			h := helpers[1+m.Rand.IntN(len(helpers)-1)]
			h.p.End("exit 0")
			h.p = m.Start(main, "chromium", "ada")
			h.p.Threads, h.p.Memory, h.p.Shared = 14, 80e3, 90e3
		}
	}
}

func web(m *sim.Machine) func(*sim.Machine, int) {
	daemons(m)
	front := m.Start(nil, "nginx", "root")
	for range m.Cores {
		p := steady(m.Start(front, "nginx", "www-data"), sim.Want{User: 0.05, Sys: 0.06, Switches: 500, Packets: 700, Bytes: 400e3, Memory: 12e3, Shared: 9e3, Write: 20e3}, 0.4)
		p.Sockets, p.Files, p.Volume = 120, 160, m.Volumes[2]
	}
	for range 8 {
		p := steady(m.Start(nil, "gunicorn", "app"), sim.Want{User: 0.11, Sys: 0.02, Switches: 120, Packets: 60, Bytes: 50e3, Memory: 140e3, Shared: 20e3, Faults: 30}, 0.6)
		p.Into, p.Sockets = m.Nets[1], 6
	}
	queue := m.Listen(front, 443, 511)
	var visits []*sim.Conn
	workers := 0
	for _, p := range m.Procs {
		if p.Name == "nginx" && p != front {
			p.Want.Accepted = 40 / float64(m.Cores)
			steady(p, p.Want, 0.4)
			for range 6 {
				workers++
				visits = append(visits, m.Connect(p, fmt.Sprintf("net-%08x", 0x11111111*workers), 40000+workers, true, 20e3))
			}
		}
	}
	m.Established = 400
	return func(m *sim.Machine, t int) {
		queue.Backlog = float64(t * 7 % 30)
		for i, c := range visits { // Visitors go away without a word, and some are far away.
			c.Silent, c.RTT, c.Resent = (t+i*97)/240%23 == i%23, 9+float64(i*17%160), 0.004
		}
		m.Accepts, m.Opens = 40+10*m.Rand.NormFloat64(), 6
		m.Established = 400 + 30*m.Rand.NormFloat64()
	}
}

func mixed(m *sim.Machine) func(*sim.Machine, int) {
	a, b := compile(m), polling(m)
	return func(m *sim.Machine, t int) { a(m, t); b(m, t) }
}
