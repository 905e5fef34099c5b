// Command measure makes the tables of docs/MEASUREMENTS.md: what recording costs beside other
// recorders, what whole commands of replay take over days that were made through the ordinary
// Writer, and how large archives are. Each is measured for this tree, for an earlier commit, and
// for other projects that are installed.
//
//	go run ./testdata/measure -before v0.9 all
//
// prints the tables in Markdown; with -write it puts them into the documents. The flags say what
// to leave out; -short tries everything out in seconds.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// documents are the files that have places for tables.
var documents = []string{"docs/MEASUREMENTS.md"}

// measure is one run.
type measure struct {
	before  string // commit
	work    string
	dataset dataset
	runs    int
	days    int
	minutes int
	only    string // question
	short   bool
	write   bool
	peers   bool
	cold    bool
	busy    bool

	builds  []*build // the earlier one, if there is one, and this tree's
	tables  map[string]string
	missed  []missed
	scratch []func()
}

// A command measures one thing.
type command struct {
	name, what string
	do         func(*measure) error
}

// commands are the possible measurements, in the order in which all runs them.
var commands = []command{
	{"questions", "whole commands over one day, and over one with an hour of journal", (*measure).questions},
	{"days", "the same questions over 1, 7 and 30 archives", (*measure).manyDays},
	{"size", "bytes per value", (*measure).size},
	{"moments", "questions about an archive that is being written, at many moments of an hour", (*measure).atMoments},
	{"conclusions", "how often why and diff are right about recordings whose trouble is known", (*measure).conclusions},
	{"stacks", "what sampling the stacks of a program costs; needs root", (*measure).stacks},
	{"live", "recorders side by side under load; needs root", (*measure).live},
	{"sleepers", "the same beside 400 and 5,000 sleeping processes; needs root", (*measure).sleepers},
	{"device", "what a block device sees; needs root", (*measure).device},
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == timedCommand {
		if err := timed(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m := &measure{tables: make(map[string]string)}
	flag.StringVar(&m.before, "before", "", "commit to compare with")
	flag.StringVar(&m.work, "work", "", "directory that keeps programs and archives for the next run; empty: a temporary one")
	from := flag.String("dataset", os.Getenv("TACHO_DATASET"), "what days are made of: a recording, an archive, a directory of archives, or workstation, server, month (made up) or mac (recorded on the simulated one); empty: workstation")
	flag.IntVar(&m.runs, "n", 7, "runs of each command")
	flag.IntVar(&m.days, "days", 30, "archives of the longest span")
	flag.IntVar(&m.minutes, "minutes", 10, "minutes of a live run")
	flag.StringVar(&m.only, "only", "", "only questions that contain this")
	flag.BoolVar(&m.short, "short", false, "minutes instead of days, seconds instead of minutes: for trying out")
	flag.BoolVar(&m.write, "write", false, "put the tables into docs/MEASUREMENTS.md")
	flag.BoolVar(&m.peers, "peers", true, "ask others, too, where they are installed")
	flag.BoolVar(&m.cold, "cold", false, "drop the pages of archives before each command")
	flag.BoolVar(&m.busy, "busy", false, "the machine is busy: show the least processor time of each command, not the time on the clock")
	flag.Usage = usage
	flag.Parse()
	if err := m.run(*from, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: go run ./testdata/measure [flags] all | COMMAND...")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.what)
	}
	flag.PrintDefaults()
}

func (m *measure) run(dataset string, names []string) error {
	defer func() {
		for _, f := range slices.Backward(m.scratch) {
			f()
		}
	}()
	if len(names) == 0 {
		usage()
		return fmt.Errorf("what is to be measured?")
	}
	for _, name := range names {
		if name != "all" && !slices.ContainsFunc(commands, func(c command) bool { return c.name == name }) {
			return fmt.Errorf("%q is nothing that can be measured: go run ./testdata/measure lists what is", name)
		}
	}
	if err := m.prepare(dataset); err != nil {
		return err
	}
	for _, c := range commands {
		if !slices.Contains(names, c.name) && !slices.Contains(names, "all") {
			continue
		}
		m.say("== %s", c.what)
		if err := c.do(m); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return m.finish()
}

func (m *measure) prepare(dataset string) (err error) {
	if m.short {
		m.runs, m.days, m.minutes = min(m.runs, 2), min(m.days, 3), min(m.minutes, 1)
	}
	if m.work == "" {
		if m.work, err = os.MkdirTemp("", "measure"); err != nil {
			return err
		}
		m.scratch = append(m.scratch, func() { os.RemoveAll(m.work) })
	} else if m.work, err = filepath.Abs(m.work); err != nil {
		return err
	}
	if err := os.MkdirAll(m.work, 0o755); err != nil {
		return err
	}
	if err := m.chooseDataset(dataset); err != nil {
		return err
	}
	if err := m.buildAll(); err != nil {
		return err
	}
	m.table("machine", aboutMachine(m))
	return nil
}

// finish prints the tables, and puts them into the documents.
func (m *measure) finish() error {
	for _, name := range sorted(m.tables) {
		if _, err := fmt.Printf("<!-- table: %s -->\n%s<!-- end -->\n\n", name, m.tables[name]); err != nil {
			return err
		}
	}
	if !m.write {
		return nil
	}
	for _, path := range documents {
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(refresh(string(page), m.tables)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// table notes a table of the dataset.
func (m *measure) table(name, text string) { m.tables[name+m.dataset.tables] = text }

// say prints the progress of the run.
func (m *measure) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}

// now returns this tree's build.
func (m *measure) now() *build { return m.builds[len(m.builds)-1] }

// aboutMachine returns a table of what the figures were measured on.
func aboutMachine(m *measure) string {
	model := field("/proc/cpuinfo", "model name")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	memory := field("/proc/meminfo", "MemTotal")
	t := newTable("measured on", "")
	t.row("processor", fmt.Sprintf("%s, %d of them", model, processors()))
	t.row("memory", memory)
	t.row("kernel", "Linux "+strings.TrimSpace(string(release)))
	t.row("date", time.Now().UTC().Format("2006-01-02 15:04 MST"))
	t.row("before", orDash(m.before))
	t.row("days of", m.dataset.title())
	return t.String()
}

// field returns the first value called name in a file of /proc.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// forget closes c and ignores the error.
func forget(c io.Closer) { _ = c.Close() }
