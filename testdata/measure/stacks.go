package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sampledPrograms are built from one text, sampled/calls.c.
var sampledPrograms = []struct{ label, flag string }{
	{"keeps frame pointers", "-fno-omit-frame-pointer"},
	{"has none", "-fomit-frame-pointer"},
}

// sampledSessions say how much of its own processor time a program works while it is sampled: so
// there are as many samples on a busy machine as on an idle one.
var sampledSessions = []struct {
	label             string
	seconds           float64
	bytesMust, cpuMax float64
}{
	{"10 s", 10, 60, 0},
	{"60 s", 60, 30, 1},
}

const (
	slowerMust = 2 // percent
	// roundsASecond is about how many rounds calls.c goes in a second of processor time.
	roundsASecond = 80_000
)

// session is what sampling a program once took.
type session struct {
	program, recorder float64 // seconds of processor time
	clock             float64 // percent of a core that the recorder took, by the time on the clock
	samples, bytes    float64
}

// stacks measures what sampling costs, at 99 times a second: the recorder, the program that is
// sampled, and the archive. Each is the least of several runs, with and without sampling in turns.
//
// What the recorder takes is compared with the time that the program has worked. That is too much on
// a busy machine, where the program waits for a processor and the recorder goes on looking; by the
// time on the clock it is too little there. On an idle one both are the same.
func (m *measure) stacks() error {
	cc, err := exec.LookPath("cc")
	if err != nil || !root() {
		m.say("left out: it needs root and a C compiler")
		return nil
	}
	t := newTable("program that", "works for", "samples", "recorder, % of a core, before", "now", "by the clock", "must", "", "program slower by, %, before", "now", "must", "", "bytes a sample, before", "now", "must", "")
	for i, p := range sampledPrograms {
		program := filepath.Join(m.work, fmt.Sprintf("sampled%d", i))
		if err := shell(`"$1" -O2 "$2" -Wl,--build-id -o "$3" testdata/measure/sampled/calls.c`, cc, p.flag, program); err != nil {
			return err
		}
		for _, s := range sampledSessions {
			if m.only != "" && !strings.Contains(p.label+", "+s.label, m.only) {
				continue
			}
			if m.short {
				s.seconds /= 50
			}
			m.say("%s, %s", p.label, s.label)
			alone, of := math.Inf(1), make(map[string]session)
			for range m.runs {
				one, err := m.sampledRun(program, s.seconds, nil)
				if err != nil {
					return err
				}
				alone = min(alone, one.program)
				for _, b := range m.builds {
					one, err := m.sampledRun(program, s.seconds, b)
					if err != nil {
						return err
					}
					least, known := of[b.name]
					if !known {
						least = one
					}
					least.program, least.recorder, least.clock = min(least.program, one.program), min(least.recorder, one.recorder), min(least.clock, one.clock)
					least.samples, least.bytes = max(least.samples, one.samples), min(least.bytes, one.bytes)
					of[b.name] = least
				}
			}
			figures := func(of session) (cpu, slower, bytes float64) {
				return 100 * of.recorder / of.program, 100 * (of.program/alone - 1), of.bytes
			}
			cpu, slower, bytes := figures(of["now"])
			cpuBefore, slowerBefore, bytesBefore := "-", "-", "-"
			if before, ok := of["before"]; ok {
				c, s, b := figures(before)
				cpuBefore, slowerBefore, bytesBefore = percent(c), percent(s), percent(b)
			}
			cpuMust := "-"
			if s.cpuMax > 0 {
				cpuMust = number(s.cpuMax)
			}
			t.row(p.label, s.label, number(of["now"].samples), cpuBefore, percent(cpu), percent(of["now"].clock), cpuMust, met(cpu, s.cpuMax),
				slowerBefore, percent(slower), number(slowerMust), met(slower, slowerMust),
				bytesBefore, percent(bytes), number(s.bytesMust), met(bytes, s.bytesMust))
		}
	}
	m.tables["stacks"] = t.String()
	return nil
}

// met is a verdict where there is no aim.
func met(got, must float64) string { return verdict(got, must, math.Inf(-1)) }

func percent(v float64) string { return fmt.Sprintf("%.1f", v) }

// sampledRun runs a program, sampled by the recorder of b, if that is not nil.
func (m *measure) sampledRun(program string, seconds float64, b *build) (s session, err error) {
	cmd := exec.Command(program, strconv.Itoa(int(seconds*roundsASecond)))
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() {
		forget(in)
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		return s, err
	}
	var recorder *exec.Cmd
	began := time.Now()
	var said bytes.Buffer
	file := filepath.Join(m.work, "sampled.tacho")
	if b != nil {
		_ = os.Remove(file)
		recorder = exec.Command(b.recorder(), "sample", strconv.Itoa(cmd.Process.Pid), "-o", file, "--for", "10m")
		recorder.Stdout, recorder.Stderr = &said, &said
		if err := recorder.Start(); err != nil {
			return s, err
		}
		m.wait(2 * time.Second) // it reads the kernel's names first
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		return s, err
	}
	line, err := lines.ReadString('\n')
	if err != nil {
		return s, err
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if err != nil {
		return s, err
	}
	s.program = ns / 1e9
	if b == nil {
		return s, nil
	}
	// The recorder ends with the program.
	forget(in)
	_ = cmd.Wait()
	if err := recorder.Wait(); err != nil {
		return s, fmt.Errorf("recorder sample: %w\n%s", err, said.Bytes())
	}
	took := time.Since(began).Seconds()
	if took > 600 {
		return s, fmt.Errorf("the program worked for %.0f s by the clock, and a session takes 600 at most: the machine is too busy", took)
	}
	used := recorder.ProcessState.SysUsage().(*syscall.Rusage)
	s.recorder = float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	s.clock = 100 * s.recorder / took
	// Before the work begins, the program is seen waiting. "vm  …, 102 samples of 1 process …"
	text, err := exec.Command(b.replay(), "stacks", "--archive", file, "--running").Output()
	if err != nil {
		return s, fmt.Errorf("replay stacks: %w", err)
	}
	head, _, _ := strings.Cut(string(text), " samples of ")
	number := head[strings.LastIndexByte(head, ' ')+1:]
	if s.samples, err = strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64); err != nil || s.samples == 0 {
		return s, fmt.Errorf("replay stacks said: %s", text)
	}
	st, err := os.Stat(file)
	if err != nil {
		return s, err
	}
	s.bytes = float64(st.Size()) / s.samples
	return s, nil
}
