package main

import (
	"fmt"
	"strings"

	"tachograph/testdata/measure/conclusions/cases"
)

// tally counts the results of the questions about one kind.
type tally struct {
	asked, first, any, nothing, untold int
	strong, strongFirst                int // of a tenth of its resource or more
	quiet, quietFound                  int // windows without trouble
	slid, same                         int
	sentences, wrong                   int
	lines, usual                       int
	cpu                                float64
	answers                            int
}

func (t *tally) add(r *result) {
	by := make(map[string]*answer)
	for i, a := range r.Answers {
		v := r.Verdicts[i]
		by[a.Name] = a
		t.sentences, t.wrong = t.sentences+v.Sentences, t.wrong+len(v.False)
		t.lines, t.usual = t.lines+v.Lines, t.usual+len(v.Usual)
		t.cpu, t.answers = t.cpu+a.Took.Seconds(), t.answers+1
		if before := by[a.Slid]; a.Slid != "" && before != nil {
			if t.slid++; same(before, a) {
				t.same++
			}
		}
		if !a.Wants {
			if t.quiet++; v.Outcome == found {
				t.quietFound++
			}
			continue
		}
		t.asked++
		t.first, t.any = t.first+one(v.First), t.any+one(v.Any)
		t.nothing, t.untold = t.nothing+one(v.Outcome == nothing), t.untold+one(v.Outcome == untold)
		if r.Case.Strength >= 0.1 {
			t.strong, t.strongFirst = t.strong+1, t.strongFirst+one(v.First)
		}
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// newTables returns the tables of a run.
func newTables(results []*result) string {
	var out strings.Builder
	row := func(name string, t *tally) {
		fmt.Fprintf(&out, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, t.asked, part(t.first, t.asked), part(t.strongFirst, t.strong), part(t.any, t.asked),
			part(t.nothing, t.asked), part(t.untold, t.asked), part(t.wrong, t.sentences), part(t.usual, t.lines), part(t.same, t.slid), part(t.quietFound, t.quiet))
	}
	fmt.Fprintln(&out, "| trouble | asked | line 1 right | of a tenth or more | any line right | \"nothing\" | cannot be told | false sentences | lines on what is usual | same when slid | found where nothing was |")
	fmt.Fprintln(&out, "|---|---|---|---|---|---|---|---|---|---|---|")
	all, none := &tally{}, &tally{}
	for _, kind := range kindsOf(results) {
		t := &tally{}
		for _, r := range results {
			if r.Case.Kind == kind {
				t.add(r)
				if kind == cases.None {
					none.add(r)
				} else {
					all.add(r)
				}
			}
		}
		row(kind, t)
	}
	row("**all troubles**", all)
	fmt.Fprintf(&out, "\n| noise | asked | line 1 right | of a tenth or more | any line right | \"nothing\" | cannot be told | false sentences | lines on what is usual | same when slid | found where nothing was |\n")
	fmt.Fprintln(&out, "|---|---|---|---|---|---|---|---|---|---|---|")
	for _, noise := range noisesOf(results) {
		t := &tally{}
		for _, r := range results {
			if r.Case.Noise == noise {
				t.add(r)
			}
		}
		if t.answers > 0 {
			row(noise, t)
		}
	}
	diffTables(&out, results)
	fmt.Fprintf(&out, "\n%d cases, %d answers, %.2f s of processor time for each\n", len(results), all.answers+none.answers, (all.cpu+none.cpu)/float64(max(all.answers+none.answers, 1)))
	return out.String()
}

// part returns a share in percent.
func part(x, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(x)/float64(of))
}

// diffTally counts the results of comparisons.
type diffTally struct {
	like, lines, wrong, withWrong, quiet int
	injected, third                      int
	strong, strongThird                  int
}

func (t *diffTally) add(r *result) {
	for _, d := range r.Diffs {
		if !d.Injected {
			t.like++
			t.lines, t.wrong, t.withWrong, t.quiet = t.lines+len(d.Said), t.wrong+len(d.False), t.withWrong+one(len(d.False) > 0), t.quiet+one(len(d.Said) == 0)
			continue
		}
		ok := one(d.Right > 0 && d.Right <= 3)
		if t.injected, t.third = t.injected+1, t.third+ok; r.Case.Strength >= 0.1 {
			t.strong, t.strongThird = t.strong+1, t.strongThird+ok
		}
	}
}

// diffTables writes the tables of diff: of like windows by noise, and of injected changes by
// kind.
func diffTables(out *strings.Builder, results []*result) {
	fmt.Fprintln(out, "\n| diff of like windows beside | pairs | lines for each | false lines for each | pairs with a false line | \"nothing changed\" |\n|---|---|---|---|---|---|")
	all := &diffTally{}
	row := func(name string, t *diffTally) {
		n := float64(max(t.like, 1))
		fmt.Fprintf(out, "| %s | %d | %.1f | %.2f | %s | %s |\n", name, t.like, float64(t.lines)/n, float64(t.wrong)/n, part(t.withWrong, t.like), part(t.quiet, t.like))
	}
	for _, noise := range noisesOf(results) {
		t := &diffTally{}
		for _, r := range results {
			if r.Case.Noise == noise {
				t.add(r)
				all.add(r)
			}
		}
		if t.like > 0 {
			row(noise, t)
		}
	}
	row("**all**", all)
	fmt.Fprintln(out, "\n| diff before and after | pairs | within three lines | of a tenth or more |\n|---|---|---|---|")
	for _, kind := range kindsOf(results) {
		t := &diffTally{}
		for _, r := range results {
			if r.Case.Kind == kind {
				t.add(r)
			}
		}
		if t.injected > 0 {
			fmt.Fprintf(out, "| %s | %d | %s | %s |\n", kind, t.injected, part(t.third, t.injected), part(t.strongThird, t.strong))
		}
	}
	fmt.Fprintf(out, "| **all** | %d | %s | %s |\n", all.injected, part(all.third, all.injected), part(all.strongThird, all.strong))
}
