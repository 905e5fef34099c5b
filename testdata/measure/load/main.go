// Command load is a busy workstation for recorders to measure: a number of processes, most of
// them idle as on any machine, some that compute, write, read and talk to each other, and a
// number of short-lived ones a second. It runs until it gets a signal, and ends everything that
// it started.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func main() {
	processes := flag.Int("processes", 0, "processes at a time")
	forks := flag.Int("forks", 0, "short-lived processes a second")
	sleepers := flag.Int("sleepers", 0, "processes that only sleep")
	part := flag.String("part", "", "what this process does")
	flag.Parse()
	if *part != "" {
		play(*part, flag.Args())
		return
	}
	if err := run(*processes, *forks, *sleepers); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// crowd is everything that was started.
type crowd struct {
	dir  string
	kids []*exec.Cmd
	rnd  *rand.Rand
	err  error
}

func run(processes, forks, sleepers int) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &crowd{dir: dir, rnd: rand.New(rand.NewPCG(1, 1))}
	defer c.end()
	for range sleepers {
		c.start("/bin/sleep", "100000")
	}
	if processes > 0 {
		c.workstation(processes)
	}
	if c.err != nil {
		return c.err
	}
	if forks == 0 {
		<-stop
		return nil
	}
	// Three for each call: a shell, and two that it starts.
	tick := time.NewTicker(3 * time.Second / time.Duration(forks))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
			go func() { _ = exec.Command("/bin/sh", "-c", "/bin/true; /bin/cat /proc/self/stat >/dev/null; :").Run() }()
		}
	}
}

// workstation starts n processes.
func (c *crowd) workstation(n int) {
	for range n * 20 / 100 {
		c.start("/bin/sh", "-c", "while :; do sleep "+strconv.Itoa(20+c.rnd.IntN(600))+"; done") // and its sleep
	}
	for range n * 28 / 100 {
		c.start("/bin/sleep", "100000")
	}
	for range n * 3 / 100 {
		c.start("/usr/bin/tail", "-f", "/dev/null")
	}
	periods := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, time.Hour}
	for i := range n * 23 / 100 {
		c.play([]string{"indexer", "syncd", "mailer", "watcher"}[i%4], "worker", periods[c.rnd.IntN(len(periods))].String(), strconv.Itoa(1+c.rnd.IntN(12)))
	}
	for range n * 3 / 100 {
		c.play("browser", "threads", "100ms")
	}
	for _, duty := range []string{"5", "12", "20"} {
		c.play("compiler", "pulse", duty)
	}
	c.play("logger", "writer", filepath.Join(c.dir, "log"))
	c.play("backup", "reader", "/usr/lib")
	c.play("database", "server")
}

// play starts this program as name, to play a part.
func (c *crowd) play(name, part string, args ...string) {
	path := filepath.Join(c.dir, name)
	self, err := os.Executable()
	if err == nil {
		if _, missing := os.Lstat(path); missing != nil {
			err = os.Symlink(self, path)
		}
	}
	if err != nil {
		c.err = err
		return
	}
	c.start(path, append([]string{"-part", part}, args...)...)
}

func (c *crowd) start(program string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400")
	if err := cmd.Start(); err != nil {
		c.err = err
		return
	}
	c.kids = append(c.kids, cmd)
}

// end ends them, and their children.
func (c *crowd) end() {
	for _, k := range c.kids {
		_ = syscall.Kill(-k.Process.Pid, syscall.SIGKILL)
	}
	for _, k := range c.kids {
		_ = k.Wait()
	}
}
