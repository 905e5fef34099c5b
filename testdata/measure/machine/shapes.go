package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// A shape is the kind of a machine that is made up.
type shape struct {
	host      string
	groups    []inventedGroup
	processes int // at a time
	steady    int // how many of a hundred live from the first second to the last
	uptime    int // seconds, at the first second
	before    int // seconds that processes live before the first
	// lasts returns in how many seconds a process ends, less one.
	lasts func(*rand.Rand) int
	// people returns the name and the owner of a process; nil: it has no owner.
	people func(rnd *rand.Rand, place int, steady bool) person
	nights bool
}

// inventedGroup is a group of a machine that is made up: how many metrics it has besides those
// that questions are about, and its rows.
type inventedGroup struct {
	name    string
	others  int
	rows    []string
	metrics []string // those that questions are about
}

type person struct{ command, uid string }

// shapes are the machines that can be made up, by name.
var shapes = map[string]*shape{
	"":            &desk,
	"workstation": &desk,
	"server":      &server,
	"month":       &laptop,
}

var desk = shape{host: "workstation", groups: groups(2, deskDisks, deskNets, deskMounts), processes: 361, steady: 90, uptime: 86400, lasts: deskLife}

var laptop = shape{host: "laptop", groups: groups(2, deskDisks, deskNets, deskMounts), processes: 361, steady: 90, uptime: 30, lasts: deskLife, nights: true}

var (
	deskDisks  = []string{"vda", "loop0", "loop1", "loop2", "loop3", "loop4", "loop5", "loop6", "loop7", "zram0"}
	deskNets   = []string{"lo", "eth0", "ifb0", "ifb1"}
	deskMounts = []string{"/", "/dev", "/dev/shm", "/sys/fs/cgroup"}
)

// server has 64 processors and containers; 600 of its 2,000 processes come and go, 60 a second.
var server = shape{
	host: "server", processes: 2000, steady: 70, uptime: 40 * 86400, before: 1500, lasts: serverLife, people: serverPeople,
	groups: groups(64, append([]string{"sda", "sdb"}, numbered("nvme%dn1", 8)...), append([]string{"lo", "eth0", "eth1", "bond0"}, numbered("veth%04x", 24)...),
		append([]string{"/", "/boot", "/dev/shm", "/srv"}, numbered("/srv/data%d", 8)...)),
}

func numbered(format string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// groups returns the groups of a machine with so many processors and these devices.
func groups(processors int, disks, nets, mounts []string) []inventedGroup {
	return []inventedGroup{
		{"cpu", 3, append([]string{"cpu"}, numbered("cpu%d", processors)...), []string{"cpu.user", "cpu.nice", "cpu.system", "cpu.idle", "cpu.iowait"}},
		{"stat", 3, []string{""}, []string{"stat.processes", "stat.ctxt", "stat.intr"}},
		{"loadavg", 5, []string{""}, nil},
		{"meminfo", 51, []string{""}, []string{"meminfo.MemTotal", "meminfo.MemFree", "meminfo.MemAvailable"}},
		{"vmstat", 192, []string{""}, nil},
		{"netstat", 311, []string{""}, nil},
		{"disk", 14, disks, []string{"disk.sectors_read", "disk.sectors_written", "disk.ms_io"}},
		{"net", 14, nets, []string{"net.rx_bytes", "net.tx_bytes"}},
		{"filesystem", 3, mounts, []string{"fs.bavail", "fs.bfree"}},
		{"pressure", 4, []string{"cpu some", "cpu full", "io some", "io full", "memory some", "memory full"}, nil},
	}
}

// commands are names of processes; the first of them run all the time.
var commands = []string{"systemd", "sshd", "postgres", "redis-server", "nginx", "node", "python3", "perl", "bash", "sleep", "tail", "kworker/0:1",
	"rcu_sched", "dockerd", "cc1", "ld", "go", "compile", "git", "make", "cat", "ls", "date", "awk", "gzip", "pgbench"}

const everRunning = 14

func deskLife(rnd *rand.Rand) int {
	if rnd.IntN(3) > 0 {
		return 1 + rnd.IntN(30)
	}
	return 30 + rnd.IntN(300)
}

// serverLife is ten seconds on average: most processes are gone within a second, and few last
// for minutes.
func serverLife(rnd *rand.Rand) int {
	switch kind := rnd.IntN(1000); {
	case kind < 720:
		return 0
	case kind < 920:
		return 1 + rnd.IntN(4)
	case kind < 983:
		return 5 + rnd.IntN(55)
	default:
		return 60 + rnd.IntN(720)
	}
}

// daemons run on a server all the time, tasks come and go. %d is the number of a service.
var (
	daemons = []string{"redis-server", "postgres", "nginx", "java", "node", "php-fpm8.3", "gunicorn", "beam.smp", "containerd-shim", "envoy", "haproxy", "python3",
		"memcached", "kworker/%d:1-ev", "kworker/u130:%d", "ksoftirqd/%d", "migration/%d", "cpuhp/%d", "worker-%d", "svc-%d"}
	tasks = []string{"sh", "bash", "curl", "date", "grep", "sed", "awk", "cat", "sleep", "jq", "runc", "runc:[2:INIT]", "cron", "sshd", "git", "git-upload-pack", "python3", "convert", "ffmpeg",
		"logrotate", "ps", "df", "healthcheck", "pg_isready", "redis-cli", "openssl", "gzip", "job-%d", "build-%d", "php-fpm8.3", "postgres"}
)

// serverPeople makes the kernel's threads and the system's daemons root's, and all others those of
// 40 services and of 300 users.
func serverPeople(rnd *rand.Rand, place int, steady bool) person {
	if steady {
		p := person{daemons[place%len(daemons)], strconv.Itoa(990 - place%40)}
		if kernel := place % len(daemons); kernel >= 13 && kernel < 18 {
			p.uid = "0"
		}
		return p.numbered(place / len(daemons))
	}
	p := person{tasks[rnd.IntN(len(tasks))], "0"}
	switch rnd.IntN(4) {
	case 0:
		p.uid = strconv.Itoa(1000 + rnd.IntN(300))
	case 1, 2:
		p.uid = strconv.Itoa(990 - rnd.IntN(40))
	}
	return p.numbered(rnd.IntN(5000))
}

// numbered puts n into the command, which is at most as long as the kernel keeps.
func (p person) numbered(n int) person {
	if slices.Contains([]byte(p.command), '%') {
		p.command = fmt.Sprintf(p.command, n)
	}
	p.command = p.command[:min(15, len(p.command))]
	return p
}

// calendar returns when a machine of this kind runs; nil: always.
func (s *shape) calendar(day time.Duration) *calendar {
	if !s.nights {
		return nil
	}
	return &calendar{day: int64(day)}
}
