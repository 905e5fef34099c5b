package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// everySecond makes a recorder read everything each second, whatever that costs.
const everySecond = `[classes]
polled = "1s"
fast = "1s"
process = "1s"
[budget]
max_cpu = "50%"
`

// contender is a recorder that is measured.
type contender struct {
	label     string
	build     *build // nil: another project's
	dir       string // working directory; empty: the present one
	archive   string // directory
	commands  []*exec.Cmd
	began     time.Time
	minutes   []float64       // processor seconds
	seen      map[int]float64 // processor time of each of its processes
	peak      float64
	exit      time.Duration
	must, aim float64
	peakMust  float64
}

func (c *contender) pids() (pids []int) {
	for _, cmd := range c.commands {
		pids = append(pids, cmd.Process.Pid)
	}
	return pids
}

// spent returns the processor time since the last call, without that of processes that have
// ended in between.
func (c *contender) spent(all map[int]process) (seconds float64) {
	if c.seen == nil {
		c.seen = make(map[int]float64)
	}
	for _, root := range c.pids() {
		for _, p := range below(all, root) {
			seconds += p.cpu - c.seen[p.pid]
			c.seen[p.pid] = p.cpu
		}
	}
	return seconds
}

// start runs a command of c, in its own process group.
func (c *contender) start(env []string, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = append(os.Environ(), env...), c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.began = time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	c.commands = append(c.commands, cmd)
	return nil
}

// stop ends what c started, the last first, and notes how long that took.
func (c *contender) stop() {
	began := time.Now()
	for i := len(c.commands) - 1; i >= 0; i-- {
		cmd := c.commands[i]
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(30*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		_ = cmd.Wait()
		kill.Stop()
	}
	c.exit = time.Since(began)
}

// scene is the load that recorders are measured beside.
type scene struct {
	name      string
	load      []string // of the load generator
	minutes   int
	defaults  bool // also at the default intervals
	others    bool
	must, aim [2]float64 // at 1 s, at the default intervals
}

func (m *measure) live() error {
	s := scene{"live", []string{"-processes", "440", "-forks", "60"}, m.minutes, true, true,
		[2]float64{0.9, 0.3}, [2]float64{0.5, 0.15}}
	if m.short {
		s.load = []string{"-processes", "40", "-forks", "6"}
	}
	return m.watch(s)
}

func (m *measure) sleepers() error {
	few := scene{"sleepers", []string{"-sleepers", "400"}, min(3, m.minutes), false, true, [2]float64{0.35}, [2]float64{0.3}}
	many := scene{"crowd", []string{"-sleepers", "5000"}, min(3, m.minutes), false, false, [2]float64{}, [2]float64{}}
	if m.short {
		few.load, many.load = []string{"-sleepers", "40"}, []string{"-sleepers", "100"}
	}
	if err := m.watch(few); err != nil {
		return err
	}
	return m.watch(many)
}

// watch runs all recorders side by side, and measures them.
func (m *measure) watch(s scene) error {
	if !root() {
		m.say("left out: it needs root")
		return nil
	}
	dir, err := os.MkdirTemp(m.work, s.name)
	if err != nil {
		return err
	}
	m.scratch = append(m.scratch, func() { os.RemoveAll(dir) })
	load := &contender{}
	if err := load.start(nil, filepath.Join(m.work, "tools", "load"), s.load...); err != nil {
		return err
	}
	defer load.stop()
	m.wait(15 * time.Second)
	list, err := m.contenders(s, dir)
	defer func() {
		for _, c := range list {
			if c.exit == 0 {
				c.stop()
			}
		}
	}()
	if err != nil {
		return err
	}
	m.wait(20 * time.Second)
	all := listProcesses()
	for _, c := range list {
		c.spent(all)
	}
	count, born, began := 0, forks(), time.Now()
	for range s.minutes {
		from := time.Now()
		m.wait(time.Minute)
		took := time.Since(from).Seconds()
		all = listProcesses()
		count += len(all)
		var line strings.Builder
		for _, c := range list {
			c.minutes = append(c.minutes, c.spent(all)*60/took)
			c.peak = peakOf(all, c.pids()...)
			fmt.Fprintf(&line, " %s %.2f", c.label, c.minutes[len(c.minutes)-1])
		}
		m.say("minute%s", line.String())
	}
	pace := (forks() - born) / time.Since(began).Seconds()
	profiles := m.recorderProfiles(list)
	for _, c := range list {
		c.stop()
	}
	m.tables[s.name+"profile"] = profiles
	m.tables[s.name], err = m.liveTable(list, fmt.Sprintf("%d processes, %.0f forks a second", count/s.minutes, pace))
	return err
}

// recorderProfiles shows what this tree's recorders spend their time on.
func (m *measure) recorderProfiles(list []*contender) string {
	t := newTable("CPU time of", "where it goes")
	for _, c := range list {
		if c.build == m.now() {
			t.row(c.label, orDash(m.profile(c.pids()[0], "sleep", "20")))
		}
	}
	return t.String()
}

// wait waits; when trying things out, a shorter time.
func (m *measure) wait(d time.Duration) {
	if m.short {
		d /= 10
	}
	time.Sleep(d)
}

func (m *measure) contenders(s scene, dir string) (list []*contender, err error) {
	config := filepath.Join(dir, "1s.toml")
	if err := os.WriteFile(config, []byte(everySecond), 0o644); err != nil {
		return nil, err
	}
	add := func(c *contender, program string, args ...string) error {
		list = append(list, c)
		return c.start(nil, program, args...)
	}
	for _, b := range m.builds {
		archive := filepath.Join(dir, b.name+"-1s")
		c := &contender{label: b.name + ", all at 1 s", build: b, archive: archive, must: s.must[0], aim: s.aim[0], peakMust: 45}
		if err := add(c, b.recorder(), "run", "--archive", archive, "--config", config); err != nil {
			return list, err
		}
		if !s.defaults {
			continue
		}
		archive = filepath.Join(dir, b.name+"-defaults")
		c = &contender{label: b.name + ", defaults", build: b, archive: archive, must: s.must[1], aim: s.aim[1], peakMust: 45}
		if err := add(c, b.recorder(), "run", "--archive", archive); err != nil {
			return list, err
		}
	}
	if !s.others || !m.peers {
		return list, nil
	}
	if atop, err := exec.LookPath("atop"); err == nil {
		if err := add(&contender{label: "atop -w, 1 s"}, atop, "-w", filepath.Join(dir, "atop"), "1"); err != nil {
			return list, err
		}
	}
	if c, err := pmlogger(dir); err != nil {
		m.say("left out: pmlogger: %v", err)
	} else if c != nil {
		list = append(list, c)
	}
	return list, nil
}

// pcpMetrics are nearly the same metrics that recorder records.
const pcpMetrics = `log mandatory on 1 sec {
	proc.psinfo.utime proc.psinfo.stime proc.psinfo.sname proc.psinfo.minflt proc.psinfo.maj_flt proc.psinfo.threads
	proc.psinfo.vctxsw proc.psinfo.nvctxsw proc.memory.vmsize proc.memory.rss proc.io.read_bytes proc.io.write_bytes
	kernel.all kernel.percpu mem.util mem.vmstat disk.dev disk.all network.interface network.tcp network.udp network.ip filesys
}
`

// pmlogger starts PCP's collector and its logger. Without an empty file of derived metrics its
// version 6.0 stops at the second sample.
func pmlogger(dir string) (*contender, error) {
	const bin = "/usr/lib/pcp/bin/"
	if _, err := os.Stat(bin + "pmcd"); err != nil {
		return nil, nil
	}
	config := filepath.Join(dir, "pmlogger.conf")
	if err := os.WriteFile(config, []byte(pcpMetrics), 0o644); err != nil {
		return nil, err
	}
	const names = "/var/lib/pcp/pmns"
	if _, err := os.Stat(names + "/root"); err != nil {
		if err := shell(`cd "$1" && ./Rebuild -u`, names); err != nil {
			return nil, err
		}
	}
	env := []string{"PMCD_PORT=44399", "PCP_DERIVED_CONFIG="}
	socket := filepath.Join(dir, "pmcd.socket")
	c := &contender{label: "pmlogger with pmcd, 1 s", dir: dir}
	if err := c.start(env, bin+"pmcd", "-f", "-A", "-U", "root", "-l", filepath.Join(dir, "pmcd.log"), "-s", socket); err != nil {
		return nil, err
	}
	time.Sleep(3 * time.Second)
	if err := c.start(env, bin+"pmlogger", "-h", "unix:"+socket, "-U", "root", "-c", config, "-l", filepath.Join(dir, "pmlogger.log"), "-t", "1sec",
		filepath.Join(dir, "pcp")); err != nil {
		c.stop()
		return nil, err
	}
	time.Sleep(3 * time.Second)
	if _, err := os.Stat(filepath.Join(dir, "pcp.0")); err != nil {
		c.stop()
		said, _ := os.ReadFile(filepath.Join(dir, "pmlogger.log"))
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return c, nil
}

func (m *measure) liveTable(list []*contender, beside string) (string, error) {
	t := newTable("beside "+beside, "CPU s a minute", "least to most", "must", "aim", "", "peak MB", "must", "",
		"collections a minute", "sweeps of processes", "missed", "longest interval", "first tick, ms", "exit, ms")
	for _, c := range list {
		sum, least, most := 0.0, c.minutes[0], c.minutes[0]
		for _, v := range c.minutes {
			sum, least, most = sum+v, min(least, v), max(most, v)
		}
		mean := sum / float64(len(c.minutes))
		cells := []string{c.label, number(mean), number(least) + " to " + number(most), "", "", "", number(c.peak)}
		if c.build != nil && c.build.name == "now" && c.must > 0 {
			cells[3], cells[4], cells[5] = number(c.must), number(c.aim), verdict(mean, c.must, c.aim)
		}
		if c.build != nil {
			facts, err := m.selfFacts(c)
			if err != nil {
				return "", err
			}
			judged := []string{"", ""}
			if c.build.name == "now" {
				judged = []string{"45", verdict(c.peak, c.peakMust, 40)}
			}
			cells = append(append(cells, judged...), facts...)
		}
		t.row(cells...)
	}
	return t.String(), nil
}

// selfFacts returns what a recorder's archive contains about the recorder itself.
func (m *measure) selfFacts(c *contender) ([]string, error) {
	out, err := exec.Command(m.now().replay(), "info", "--format", "json", "--archive", c.archive).Output()
	if err != nil {
		return nil, fmt.Errorf("info: %w", err)
	}
	var info struct{ From time.Time }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&info); err != nil {
		return nil, err
	}
	out, err = exec.Command(m.now().replay(), "values", "recorder.collections", "recorder.class.*", "--from", "start", "--format", "csv", "--archive", c.archive).Output()
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	first, last, most := make(map[string]float64), make(map[string]float64), make(map[string]float64)
	var from, to time.Time
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ",")
		v, err := strconv.ParseFloat(f[len(f)-1], 64)
		if err != nil || len(f) != 4 {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, f[0])
		if err != nil {
			return nil, err
		}
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(to) {
			to = at
		}
		key := f[1] + " " + f[2]
		if _, ok := first[key]; !ok {
			first[key] = v
		}
		last[key], most[key] = v, max(most[key], v)
	}
	gained := func(key string) float64 { return last[key] - first[key] }
	return []string{
		number(gained("recorder.collections ") / to.Sub(from).Minutes()),
		number(gained("recorder.class.ticks process")) + " in " + number(to.Sub(from).Seconds()) + " s",
		number(gained("recorder.class.overruns process") + gained("recorder.class.overruns fast")),
		number(most["recorder.class.interval process"]/1e3) + " s",
		number(float64(info.From.Sub(c.began).Milliseconds())),
		number(float64(c.exit.Milliseconds())),
	}, nil
}
