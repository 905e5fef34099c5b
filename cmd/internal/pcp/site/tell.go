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

// answerFor is how long pmcd and the agent may take to answer.
const answerFor = 20 * time.Second

// SignalPMCD makes the running pmcd read its configuration and name space again, and waits
// until a metric (or, without one, pmcd itself) has values.
func SignalPMCD(metric string) func(Paths, bool) (string, error) {
	return func(p Paths, ended bool) (string, error) {
		pid := p.pmcd()
		if pid == 0 {
			return "pmcd does not run: it reads this when it starts", nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerFor)
		defer cancel()
		if ended {
			p.probe(ctx, metric) // this makes pmcd notice that the agent has gone
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

// endAgents ends the agents that a pmcd has started with these lines, and reports whether there
// were any.
func endAgents(lines []Line) (any bool) {
	for _, p := range agents(lines) {
		any = syscall.Kill(p.pid, syscall.SIGTERM) == nil || any
	}
	return any
}

// outdated reports whether one of them runs a program whose file was replaced by an upgrade.
func outdated(lines []Line) bool {
	return slices.ContainsFunc(agents(lines), func(p process) bool { return p.replaced })
}

// agents returns the processes that a pmcd has started with these lines.
func agents(lines []Line) []process {
	return slices.DeleteFunc(processes(), func(p process) bool {
		return !slices.ContainsFunc(lines, func(l Line) bool { return l.starts(p.words) })
	})
}

// process is a running process, with its command line.
type process struct {
	pid   int
	words string // joined by blanks
	// replaced says that its program's file has been replaced, if that can be known.
	replaced bool
}

// starts reports whether pmcd starts that command for a line.
func (l Line) starts(words string) bool {
	command, ok := strings.CutPrefix(l.How, "pipe\tbinary\t")
	return ok && strings.NewReplacer(`\"`, `"`, `"`, "").Replace(command) == words
}

// pmcd returns the pid of the running pmcd; 0 if there is none. A pmcd that systemd or a
// supervisor runs in the foreground writes no file, but has its pid as a metric.
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
			// The first request after an agent was lost is answered with "try again".
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
	out, _ := c.Output() // Its output says more than its exit status.
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

// probed reads pmprobe's output for one metric: its name, and the number of values, or a
// negative number and its meaning, or the value if that was asked for.
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
