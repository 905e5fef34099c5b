// Command conclusions asks replay's why and diff about labelled recordings, and prints in a
// table how often they are right. A recording is of a machine with ordinary work of some kind,
// to which a trouble of some kind is added, at a time, a strength and a length that follow from
// the seed.
//
//	go run ./testdata/measure/conclusions
//	go run ./testdata/measure/conclusions -only "fork storm" -noise compile -cases 3
//	go run ./testdata/measure/conclusions -show "tuned-fork storm-compile-1-0"
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/store"
	"tachograph/testdata/measure/conclusions/cases"
)

// bench is one run.
type bench struct {
	seed      uint64
	cases     int
	only      string
	noise     string
	set       string
	json      bool
	show      string
	keep      string
	replay    string
	workers   int
	sample    int
	tapes     string
	incidents string
	record    time.Duration
	verbose   bool
	diffs     bool
	began     time.Time
	done      atomic.Int32
}

func main() {
	b := &bench{}
	flag.Uint64Var(&b.seed, "seed", 1, "of all that is random")
	flag.IntVar(&b.cases, "cases", 1, "cases of each kind beside each noise")
	flag.StringVar(&b.only, "only", "", "only kinds of trouble that contain this; \"none\": no trouble")
	flag.StringVar(&b.noise, "noise", "", "only noises that contain this")
	flag.StringVar(&b.set, "set", "tuned", "tuned, or kept: others, that nothing is tuned on")
	flag.BoolVar(&b.json, "json", false, "print what came of each question, one object a line")
	flag.StringVar(&b.show, "show", "", "keep the archive of this case, and print the answers")
	flag.StringVar(&b.keep, "keep", "", "directory for archives that are kept")
	flag.StringVar(&b.replay, "replay", "", "the program to ask; empty: built of this tree")
	flag.IntVar(&b.workers, "workers", runtime.NumCPU(), "cases at a time")
	flag.IntVar(&b.sample, "sample", 0, "so many cases, drawn from all; 0: all")
	flag.StringVar(&b.tapes, "tapes", "", "directory of archives of real machines, which are noises, too")
	flag.StringVar(&b.incidents, "incidents", "", "directory of recorded incidents, which are cases, too")
	flag.DurationVar(&b.record, "record", 0, "record this machine for so long under each of some loads, into the directory that -tapes names, and do no more")
	flag.BoolVar(&b.verbose, "v", false, "print the first line of each answer that is not right, and what is false")
	flag.BoolVar(&b.diffs, "diffs", false, "ask diff only")
	flag.Parse()
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "conclusions:", err)
		os.Exit(1)
	}
}

// result is the result of a case.
type result struct {
	Case     *cases.Case
	Answers  []*answer
	Verdicts []*verdict
	Diffs    []*compared
	Err      error
}

func (b *bench) run() error {
	if b.record > 0 {
		return record(b.tapes, b.record)
	}
	work, err := os.MkdirTemp("", "conclusions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if b.replay == "" {
		b.replay = filepath.Join(work, "replay")
		if out, err := exec.Command("go", "build", "-o", b.replay, "tachograph/cmd/replay").CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	if b.keep != "" || b.show != "" {
		if b.keep == "" {
			b.keep = "."
		}
		work = b.keep
	}
	results, err := b.all(work)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return fmt.Errorf("%s: %w", r.Case.ID, r.Err)
		}
	}
	if b.json {
		return b.print(results)
	}
	fmt.Print(newTables(results))
	return nil
}

// job is a case to run.
type job struct {
	kind, noise string
	n           int
	recorded    *cases.Case // set if it exists and need not be made
	path        string
	tape        *cases.Tape
}

func (b *bench) jobs() (list []job, err error) {
	order := make(map[string]int)
	noises := make(map[string]*cases.Tape)
	var names []string
	for _, n := range cases.Noises {
		names = append(names, n.Name)
	}
	if b.tapes != "" {
		tapes, err := cases.Tapes(b.tapes)
		if err != nil {
			return nil, err
		}
		for _, t := range tapes {
			noises[t.Name], names = t, append(names, t.Name)
		}
	}
	for i, kind := range append([]string{cases.None}, cases.Kinds()...) {
		order[kind] = i
		for _, noise := range names {
			if b.only != "" && !strings.Contains(kind, b.only) || b.noise != "" && !strings.Contains(noise, b.noise) || noises[noise] != nil && slices.Contains(cases.Apart, kind) {
				continue
			}
			for n := range b.cases {
				j := job{kind: kind, noise: noise, n: n, tape: noises[noise]}
				if b.show == "" || b.show == b.id(j) {
					list = append(list, j)
				}
			}
		}
	}
	real, paths, err := cases.Recorded(".", b.incidents)
	if err != nil {
		return nil, err
	}
	for i, c := range real {
		set := "tuned"
		if strings.HasPrefix(c.Kind, "recorded: kept-") {
			set = "kept"
		}
		if order[c.Kind] = 1000 + i; b.set == set && strings.Contains(c.Kind, b.only) && strings.Contains(c.Noise, b.noise) && (b.show == "" || b.show == c.ID) {
			list = append(list, job{kind: c.Kind, noise: c.Noise, recorded: c, path: paths[i]})
		}
	}
	if b.sample > 0 && b.sample < len(list) {
		rnd := rand.New(rand.NewPCG(b.seed, 3))
		rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:b.sample]
		slices.SortStableFunc(list, func(x, y job) int { return cmp.Compare(order[x.kind], order[y.kind]) })
	}
	return list, nil
}

func (b *bench) id(j job) string {
	return fmt.Sprintf("%s-%s-%s-%d-%d", b.set, j.kind, j.noise, b.seed, j.n)
}

func (b *bench) all(work string) ([]*result, error) {
	list, err := b.jobs()
	if err != nil {
		return nil, err
	}
	b.began = time.Now()
	results := make([]*result, len(list))
	next := make(chan int)
	var wait sync.WaitGroup
	for range b.workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range next {
				results[i] = b.one(list[i], work)
				if n := b.done.Add(1); n%10 == 0 {
					fmt.Fprintf(os.Stderr, "%s: %d of %d cases\n", time.Since(b.began).Round(time.Second), n, len(list))
				}
			}
		}()
	}
	for i := range list {
		next <- i
	}
	close(next)
	wait.Wait()
	return results, nil
}

func (b *bench) one(j job, work string) *result {
	c, path, err := j.recorded, j.path, error(nil)
	if c == nil {
		if j.tape != nil {
			c, path, err = cases.MakeOver(b.set, b.seed, j.n, j.kind, j.tape, work)
		} else {
			c, path, err = cases.Make(b.set, b.seed, j.n, j.kind, j.noise, work)
		}
		if b.keep == "" {
			defer os.Remove(path)
		}
	}
	r := &result{Case: c, Err: err}
	if c == nil {
		r.Case = &cases.Case{ID: b.id(j)}
		return r
	}
	if err != nil {
		return r
	}
	archive, err := store.Open(path)
	if err != nil {
		r.Err = err
		return r
	}
	defer archive.Close()
	for _, q := range b.questions(c) {
		a, err := ask(b.replay, path, q)
		if err != nil {
			r.Err = err
			return r
		}
		v := judge(c, a, archive)
		r.Answers, r.Verdicts = append(r.Answers, a), append(r.Verdicts, v)
	}
	for _, s := range comparisons(c) {
		d, err := compare(b.replay, path, c, s)
		if err != nil {
			r.Err = err
			return r
		}
		r.Diffs = append(r.Diffs, d)
	}
	if b.show != "" || b.verbose {
		b.tell(r, path)
	}
	c.M, c.Ledger = nil, nil // They are large.
	return r
}

// questions returns the questions for why.
func (b *bench) questions(c *cases.Case) []question {
	if b.diffs {
		return nil
	}
	return questions(c)
}

var telling sync.Mutex

// tell prints the answers about a case.
func (b *bench) tell(r *result, path string) {
	telling.Lock()
	defer telling.Unlock()
	c := r.Case
	fmt.Printf("== %s: strength %.2f, %d s from %s on, who %v what %v\n", path, c.Strength, c.Length, stamp(c.Wall(c.Onset)), c.Truth.Who, c.Truth.What)
	for i, a := range r.Answers {
		v := r.Verdicts[i]
		for _, f := range v.False {
			fmt.Println("   FALSE", f)
		}
		for _, f := range v.Usual {
			fmt.Println("   USUAL", f)
		}
		if b.show == "" && (v.First == a.Wants && (a.Wants || v.Outcome == nothing)) {
			continue
		}
		fmt.Printf("-- %s, status %d\n", a.Name, a.Status)
		for n, l := range a.Lines {
			if n > 0 && b.show == "" && !v.Any {
				break
			}
			fmt.Printf("   %d. %.2f %s: %s\n", n+1, l.Weight, l.Kind, l.Text)
		}
	}
	for _, d := range r.Diffs {
		b.tellDiff(d)
	}
}

// tellDiff prints what diff said about two windows.
func (b *bench) tellDiff(d *compared) {
	for _, f := range d.False {
		fmt.Println("   FALSE diff", f)
	}
	if b.show == "" && (len(d.Said) == 0 && !d.Injected || d.Right > 0 && d.Right <= 3) {
		return
	}
	if !d.Injected {
		fmt.Printf("-- diff, %s: %d lines\n", d.Name, len(d.Said))
	} else {
		fmt.Printf("-- diff, %s: right in line %d of %d\n", d.Name, d.Right, len(d.Said))
	}
	for n, line := range d.Said {
		if n < 8 || b.show != "" {
			fmt.Printf("   %d. %s\n", n+1, line)
		}
	}
}

func (b *bench) print(results []*result) error {
	out := json.NewEncoder(os.Stdout)
	for _, r := range results {
		for i, a := range r.Answers {
			v := r.Verdicts[i]
			if err := out.Encode(struct {
				Case     *cases.Case
				Question string
				Wants    bool
				Verdict  *verdict
				Lines    []line
			}{r.Case, a.Name, a.Wants, v, a.Lines}); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindsOf returns the kinds of results, in their order.
func kindsOf(results []*result) (list []string) {
	for _, r := range results {
		if !slices.Contains(list, r.Case.Kind) {
			list = append(list, r.Case.Kind)
		}
	}
	return list
}

func noisesOf(results []*result) (list []string) {
	for _, r := range results {
		if !slices.Contains(list, r.Case.Noise) {
			list = append(list, r.Case.Noise)
		}
	}
	return list
}
