package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// build is a built version of the programs.
type build struct {
	name string // "before" or "now"
	dir  string // of the programs
}

func (b *build) replay() string   { return filepath.Join(b.dir, "replay") }
func (b *build) recorder() string { return filepath.Join(b.dir, "recorder") }

// buildAll builds this tree and, if there is one to compare with, an earlier commit, to which
// the makers of days are added.
func (m *measure) buildAll() error {
	if m.before != "" {
		b, err := m.buildBefore()
		if err != nil {
			return err
		}
		m.builds = append(m.builds, b)
	}
	m.say("building this tree")
	b := &build{"now", filepath.Join(m.work, "now")}
	m.builds = append(m.builds, b)
	if err := compile(".", b.dir, "./cmd/recorder", "./cmd/replay", "./testdata/measure/makedays"); err != nil {
		return err
	}
	return compile(".", filepath.Join(m.work, "tools"), "./testdata/measure/load", "./testdata/measure/plain")
}

func (m *measure) buildBefore() (*build, error) {
	out, err := exec.Command("git", "rev-parse", "--short=10", m.before+"^{commit}").Output()
	if err != nil {
		return nil, fmt.Errorf("no commit %q: %w", m.before, err)
	}
	m.before = string(bytes.TrimSpace(out))
	makers, err := exec.Command("/bin/sh", "-c", "cat testdata/measure/machine/*.go testdata/measure/makedays/*.go").Output()
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(makers)
	b := &build{"before", filepath.Join(m.work, fmt.Sprintf("before-%s-%x", m.before, key[:4]))}
	if _, err := os.Stat(b.replay()); err == nil {
		return b, nil
	}
	m.say("building %s", m.before)
	src, err := os.MkdirTemp(m.work, "src")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(src)
	if err := shell(`git archive "$1" | tar -x -C "$2" && mkdir -p "$2/testdata/measure" && cp -R testdata/measure/machine testdata/measure/makedays "$2/testdata/measure/" &&
{ [ -d "$2/store/rewrite" ] || rm "$2/testdata/measure/machine/archive.go"; }`,
		m.before, src); err != nil {
		return nil, err
	}
	return b, compile(src, b.dir, "./cmd/recorder", "./cmd/replay", "./testdata/measure/makedays")
}

// compile builds packages as for a release.
func compile(tree, to string, packages ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-o", to + "/"}, packages...)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func shell(script string, args ...string) error {
	if out, err := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	return nil
}

// made is the output of makedays.
type made struct {
	Days []struct {
		File          string
		Bytes, Values int64
	}
	Seconds                                      float64
	From, Middle, To                             int64
	Lasting, Named, Short                        string
	JournalWritten, CommitWritten, FinishWritten int64
	Moments                                      []struct {
		Dir string
		At  int64
	}

	dir  string
	args []string
}

// values returns the number of values of all days.
func (d *made) values() (n int64) {
	for _, day := range d.Days {
		n += day.Values
	}
	return n
}

func (d *made) bytes() (n int64) {
	for _, day := range d.Days {
		n += day.Bytes
	}
	return n
}

// make makes archives in a directory called name, or finds them there, made by the same program
// with the same arguments.
func (m *measure) make(b *build, name string, args ...string) (*made, error) {
	return m.makeOf(b, m.dataset.path, name, append(slices.Clone(m.dataset.args), args...)...)
}

func (m *measure) makeOf(b *build, dataset, name string, args ...string) (*made, error) {
	program := filepath.Join(b.dir, "makedays")
	code, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	defer forget(code)
	args = append(args, "-dataset", dataset)
	key := sha256.New()
	if _, err := io.Copy(key, io.MultiReader(code, strings.NewReader(fmt.Sprint(args)))); err != nil {
		return nil, err
	}
	dir := filepath.Join(m.work, fmt.Sprintf("%s-%s-%.10x", name, b.name, key.Sum(nil)[:5]))
	facts := dir + ".json"
	if text, err := os.ReadFile(facts); err == nil {
		return parseMade(text, dir, args)
	}
	m.say("making %s, %s: %v", name, b.name, args)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(args, "-out", dir)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("makedays: %w", err)
	}
	if err := os.WriteFile(facts, text, 0o644); err != nil {
		return nil, err
	}
	return parseMade(text, dir, args)
}

func parseMade(text []byte, dir string, args []string) (*made, error) {
	d := &made{dir: dir, args: args}
	return d, json.Unmarshal(text, d)
}

// spans makes days in as many parts as there are processors, and a directory of links for each
// of the given numbers of days, the last of which is all of them.
func (m *measure) spans(b *build, numbers []int) (map[int]*made, error) {
	length := m.day()
	days := numbers[len(numbers)-1]
	parts := min(processors(), days)
	type result struct {
		d   *made
		err error
	}
	results := make([]chan result, parts)
	for p := range parts {
		results[p] = make(chan result, 1)
		from, to := p*days/parts, (p+1)*days/parts
		args := []string{"-first", strconv.Itoa(from), "-days", strconv.Itoa(to - from)}
		go func() {
			d, err := m.make(b, fmt.Sprintf("days%d", p), args...)
			results[p] <- result{d, err}
		}()
	}
	all := &made{}
	var failed error
	for p := range parts {
		r := <-results[p]
		if r.err != nil {
			failed = r.err
			continue
		}
		if p == 0 {
			all.From, all.Lasting, all.Named, all.Short = r.d.From, r.d.Lasting, r.d.Named, r.d.Short
		}
		all.Days = append(all.Days, r.d.Days...)
	}
	if failed != nil {
		return nil, failed
	}
	out := make(map[int]*made)
	for _, n := range numbers {
		d := *all
		d.Days = all.Days[:min(n, len(all.Days))]
		d.dir, d.To = filepath.Join(m.work, fmt.Sprintf("span%d-%s", n, b.name)), all.From+int64(len(d.Days))*int64(length/time.Second)
		d.Middle = (d.From + d.To) / 2
		if err := link(&d); err != nil {
			return nil, err
		}
		out[n] = &d
	}
	return out, nil
}

// link makes a directory of links for d.
func link(d *made) error {
	if err := os.RemoveAll(d.dir); err != nil {
		return err
	}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		return err
	}
	for _, day := range d.Days {
		if err := os.Link(day.File, filepath.Join(d.dir, filepath.Base(day.File))); err != nil {
			return err
		}
	}
	return nil
}
