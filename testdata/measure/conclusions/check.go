package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/testdata/measure/conclusions/cases"
)

// checked is the result of checking the sentences of a line.
type checked struct {
	count int
	wrong []string
	usual []string // names that are blamed for what they always do
}

func (k *checked) say(format string, args ...any) {
	k.wrong = append(k.wrong, fmt.Sprintf(format, args...))
}

var (
	usedCPU  = regexp.MustCompile(`used ([\d.]+) % of a core`)
	calm     = regexp.MustCompile(`used [\d.]+ % of a core[^(]*\(calm: ([\d.]+) %\)`)
	together = regexp.MustCompile(`held ([\d.]+) ([KMGT]?B) together`)
	leading  = regexp.MustCompile(`^(?:\d+ processes called )?(\S+)(?: \(pid (\d+)[^)]*\))?`)
	glued    = regexp.MustCompile(`; (processors .* busy|the kernel took .*|load .*|memory .* full|disk \S+ .* busy|[\d.k]+ context switches.*|stalls for .*)`)
	again    = regexp.MustCompile(`^(\S+) failed and was started again`)
)

var scales = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}

// check checks the claims of a line that the truth covers: what a process used, and whether it
// really caused what the line blames it for.
func check(c *cases.Case, a *answer, l *line) *checked {
	k := &checked{}
	parts := strings.Split(l.Text, "; ")
	k.count = len(parts)
	m := leading.FindStringSubmatch(parts[0])
	if m == nil {
		return k
	}
	name := m[1]
	from, to := c.Second(parse(l.Since)), c.Second(parse(l.Until))
	if to <= from {
		to = from + 1
	}
	if u := usedCPU.FindStringSubmatch(parts[0]); u != nil && c.Ledger[name] != nil {
		said, _ := strconv.ParseFloat(u[1], 64)
		// Sweeps are five seconds apart.
		best := 0.0
		for _, by := range []int{0, 5, -5} {
			mean := c.Ledger.Mean(name, from-5, to+by)
			best = max(best, mean.User+mean.Sys)
		}
		if said/100 > 1.4*best+0.1 {
			k.say("%s: %s used %.0f %% of a core then", a.Name, name, best*100)
		}
	}
	if u := calm.FindStringSubmatch(parts[0]); u != nil && c.Ledger[name] != nil {
		said, _ := strconv.ParseFloat(u[1], 64)
		if least := c.Ledger.Least(name, 30, c.Seconds); least > said/100+0.15 {
			k.say("%s: %s never used less than %.0f %% of a core in half a minute: %q", a.Name, name, least*100, parts[0])
		}
	}
	if u := together.FindStringSubmatch(parts[0]); u != nil && c.Ledger[name] != nil {
		said, _ := strconv.ParseFloat(u[1], 64)
		if most := c.Ledger.Most(name, from-5, to+5) * 1024; said*scales[u[2]] > 1.3*most+64<<20 {
			k.say("%s: %s never held more than %.0f MB: %q", a.Name, name, most/(1<<20), parts[0])
		}
	}
	if c.Ledger[name] != nil && to-from >= 5 && !known(c, name) && ordinary(c, name, from, to) {
		k.usual = append(k.usual, fmt.Sprintf("%s: %s did then what it does at other times: %q", a.Name, name, l.Text))
	}
	if m := again.FindStringSubmatch(l.Text); m != nil && c.Kind != "group oom" && !c.Truth.Right(l.Text) {
		k.say("%s: %s is no crash loop: %s", a.Name, m[1], l.Text)
	}
	for _, part := range parts[1:] {
		if glued.MatchString("; "+part) && c.Ledger[name] != nil {
			if share, what := carries(c, name, part, from, to); what != "" && share < 0.2 {
				k.say("%s: %s had %.0f %% of %s: %q", a.Name, name, share*100, what, part)
			}
		}
	}
	return k
}

// known reports whether the truth of a case has a name.
func known(c *cases.Case, name string) bool {
	return slices.Contains(c.Truth.Who, name) || slices.Contains(c.Truth.Near, name)
}

// ordinary reports whether processes of a name used no more of anything than in most stretches
// of the same length, at most half a minute.
func ordinary(c *cases.Case, name string, from, to int) bool {
	long := min(max(to-from, 10), 30)
	usual := c.Ledger.Usual(name, long, c.Seconds)
	for at := from - 5; at < to+5; at += long / 2 {
		if u := c.Ledger.Mean(name, at, at+long); u.Beyond(usual) {
			return false
		}
	}
	return true
}

// carries returns the share of what a process is blamed for that it really accounts for.
func carries(c *cases.Case, name, part string, from, to int) (share float64, what string) {
	var mine, all float64
	add := func(what string, of func(user, sys, wait, disk float64) float64) (float64, string) {
		for n := range c.Ledger {
			u := c.Ledger.Mean(n, from-5, to+5)
			x := of(u.User, u.Sys, u.Wait, u.Read+u.Write)
			if all += x; n == name {
				mine += x
			}
		}
		return mine / max(all, 1e-9), what
	}
	switch {
	case strings.HasPrefix(part, "the kernel took"):
		return add("the kernel's time", func(_, sys, _, _ float64) float64 { return sys })
	case strings.HasPrefix(part, "processors"), strings.HasPrefix(part, "load"):
		return add("the processors' time", func(user, sys, wait, _ float64) float64 { return user + sys + wait })
	case strings.HasPrefix(part, "disk"):
		return add("what disks moved", func(_, _, _, disk float64) float64 { return disk })
	}
	return 0, ""
}

func parse(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return t.UnixNano()
}
