package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tachograph/sample/pcp"
)

// answerFor is how long pmcd and the agent have to come up.
const answerFor = 20 * time.Second

// SignalPMCD makes the pmcd that runs read its configuration and name space again, and
// waits until a metric (or, without one, pmcd itself) has values.
func SignalPMCD(metric string) func(Paths, bool) (string, error) {
	return func(p Paths, ended bool) (string, error) {
		pid := p.pmcd()
		if pid == 0 {
			return "pmcd does not run: it reads this when it starts", nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerFor)
		defer cancel()
		if ended {
			p.probe(ctx, metric) // by which pmcd notices that the agent has gone
		}
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			return "", fmt.Errorf("pmcd (pid %d) cannot be told to read its configuration again: %w", pid, err)
		}
		told := fmt.Sprintf("told pmcd (pid %d) to read its configuration again", pid)
		if _, err := exec.LookPath(p.prober()); err != nil || metric == "" {
			return told, nil
		}
		last := ""
		for ctx.Err() == nil {
			if n, said := p.probe(ctx, metric); n > 0 {
				return told + ", and the agent answers", nil
			} else if said != "" {
				last = said
			}
			pause(ctx)
		}
		return told, fmt.Errorf("pmcd has no values of %s after %v%s: see %s; sudo recorder pmda remove takes the agent away again",
			metric, answerFor, why(last), filepath.Join(p.Log, "pmcd", "pmcd.log"))
	}
}

// endAgents ends the agents that a pmcd has started with these lines, and reports whether
// there were any.
func endAgents(lines []Line) (any bool) {
	for _, p := range agents(lines) {
		any = syscall.Kill(p.pid, syscall.SIGTERM) == nil || any
	}
	return any
}

// outdated reports whether one of them runs a program that is no longer there: it was
// upgraded.
func outdated(lines []Line) bool {
	return slices.ContainsFunc(agents(lines), func(p process) bool { return p.replaced })
}

// agents are the processes that a pmcd has started with these lines.
func agents(lines []Line) []process {
	return slices.DeleteFunc(processes(), func(p process) bool {
		return !slices.ContainsFunc(lines, func(l Line) bool { return l.starts(p.words) })
	})
}

// process is one that runs, with its command line.
type process struct {
	pid   int
	words string // joined by blanks
	// replaced says that its program's file is another one now, where that can be known.
	replaced bool
}

// starts reports whether pmcd starts that command for a line.
func (l Line) starts(words string) bool {
	command, ok := strings.CutPrefix(l.How, "pipe\tbinary\t")
	return ok && strings.NewReplacer(`\"`, `"`, `"`, "").Replace(command) == words
}

// pmcd is the number of the pmcd that runs; 0 if there is none. One that systemd or
// a supervisor holds in the foreground writes no file, but says its number.
func (p Paths) pmcd() int {
	pid := 0
	if text, err := os.ReadFile(filepath.Join(p.Run, "pmcd.pid")); err == nil {
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), answerFor)
		defer cancel()
		for {
			n, said := p.probe(ctx, "pmcd.pid", "-v")
			if n == 1 {
				pid, _ = strconv.Atoi(said)
			}
			// Who asks first after an agent was lost is told to try again.
			if n != pcp.ErrAgain || ctx.Err() != nil {
				break
			}
			pause(ctx)
		}
	}
	if pid <= 1 || !isPMCD(pid) {
		return 0
	}
	return pid
}

func (p Paths) prober() string { return filepath.Join(p.Bin, "pmprobe") }

// probe asks pmcd for one metric.
func (p Paths) probe(ctx context.Context, metric string, flags ...string) (values int, said string) {
	c := exec.CommandContext(ctx, p.prober(), append(flags, metric)...)
	c.Env = append(os.Environ(), "PCP_CONF="+p.Conf, "PMCD_CONNECT_TIMEOUT=2")
	c.WaitDelay = time.Second
	out, _ := c.Output() // What it says tells more than how it ends.
	return probed(string(out))
}

func why(said string) string {
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}

func pause(ctx context.Context) {
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// probed reads what pmprobe says of one metric: its name, how many values it has, or a
// number below zero and what that means, or its value where that was asked for.
func probed(out string) (values int, said string) {
	words := strings.SplitN(strings.TrimSpace(out), " ", 3)
	if len(words) < 2 {
		return 0, ""
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return 0, ""
	}
	if len(words) > 2 {
		said = words[2]
	}
	return n, said
}
