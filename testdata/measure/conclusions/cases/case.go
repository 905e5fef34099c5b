// Package cases makes labelled recordings: of a machine with ordinary work on it and, at a known
// time, a trouble with a known cause.
package cases

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"regexp"

	"tachograph/testdata/measure/conclusions/sim"
)

// A Case is a recording, and the truth about it.
type Case struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"` // of the trouble, or "none"
	Noise    string  `json:"noise"`
	Strength float64 `json:"strength"` // share of the resource
	Seconds  int     `json:"seconds"`
	Onset    int     `json:"onset"`
	Length   int     `json:"length"`
	Slept    int     `json:"slept,omitempty"`   // seconds that the machine was asleep
	Stepped  int     `json:"stepped,omitempty"` // seconds that the clock was set by

	// Said says that the system wrote down what it met.
	Said bool `json:"said,omitempty"`
	// Instant says that the trouble was over at once.
	Instant bool `json:"instant,omitempty"`

	Truth Truth        `json:"truth"`
	M     *sim.Machine `json:"-"`
	// Ledger is what processes used, if that is known.
	Ledger sim.Ledger `json:"-"`
	start  int64
	rnd    *rand.Rand
	names  []string
}

// Truth is what a right answer says.
type Truth struct {
	// A right line has one of the names in Who, and matches one of the patterns in What.
	Who  []string `json:"who"`
	What []string `json:"what"`
	// Near are names that may also be blamed: children, victims, waiting processes.
	Near []string `json:"near"`
	// All are patterns that a right line matches, all of them, if Who and What are not known.
	All []string `json:"all,omitempty"`
}

// Right reports whether a line is right about the case.
func (t *Truth) Right(text string) bool {
	for _, p := range t.All {
		if !regexp.MustCompile("(?i)" + p).MatchString(text) {
			return false
		}
	}
	who := len(t.Who) == 0
	for _, name := range t.Who {
		who = who || mentions(text, name)
	}
	if !who {
		return false
	}
	for _, p := range t.What {
		if regexp.MustCompile("(?i)" + p).MatchString(text) {
			return true
		}
	}
	return len(t.What) == 0
}

// mentions reports whether a text contains a name as a separate word.
func mentions(text, name string) bool {
	return regexp.MustCompile(`(^|[^\w/.-])` + regexp.QuoteMeta(name) + `($|[^\w/-])`).MatchString(text)
}

// From and To are the wall clocks at which the trouble begins and ends.
func (c *Case) From() int64 { return c.at(c.Onset) }
func (c *Case) To() int64   { return c.at(c.Onset + c.Length) }

// At returns the wall clock of a second of the recording.
func (c *Case) At(second int) int64 { return c.at(second) }

func (c *Case) at(second int) int64 { return c.start + int64(second)*1e9 }

// Active reports whether the trouble is active in a second.
func (c *Case) Active(t int) bool { return t >= c.Onset && t < c.Onset+c.Length }

// newCase makes the random choices for a case.
func newCase(set string, seed uint64, n int, kind, noise string) *Case {
	h := fnv.New64a()
	fmt.Fprint(h, set, kind, noise, n)
	rnd := rand.New(rand.NewPCG(seed, h.Sum64()))
	c := &Case{ID: fmt.Sprintf("%s-%s-%s-%d-%d", set, kind, noise, seed, n), Kind: kind, Noise: noise, rnd: rnd, names: names(set)}
	rnd.Shuffle(len(c.names), func(i, j int) { c.names[i], c.names[j] = c.names[j], c.names[i] })
	c.Onset = 240 + rnd.IntN(420)
	c.Length = []int{45, 70, 120, 200, 320}[rnd.IntN(5)]
	c.Strength = []float64{0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1}[rnd.IntN(8)]
	return c
}

// seldom: one recording in this many lasts hours, the others minutes.
const seldom = 20

// Make makes up a case and writes its recording into dir.
func Make(set string, seed uint64, n int, kind, noise, dir string) (*Case, string, error) {
	c := newCase(set, seed, n, kind, noise)
	c.M = sim.New(size(c.rnd), c.rnd.Uint64())
	var add func(*sim.Machine) func(*sim.Machine, int)
	for i := range Noises {
		if Noises[i].Name == noise {
			add = Noises[i].Add
		}
	}
	if add == nil {
		return nil, "", fmt.Errorf("no noise %q", noise)
	}
	if c.rnd.IntN(seldom) == 0 { // The recording lasts hours.
		c.Onset += 3600 * (1 + c.rnd.IntN(2))
	}
	c.Seconds = c.Onset + c.Length + []int{20, 60, 150, 300}[c.rnd.IntN(4)]
	if kind == None {
		c.Seconds = 1500
	}
	path, err := c.record(dir, add(c.M))
	return c, path, err
}

// record adds the trouble to a noise and writes what the machine does.
func (c *Case) record(dir string, noise func(*sim.Machine, int)) (string, error) {
	c.start, c.Ledger = c.M.Begin(), c.M.Ledger
	works := []func(*sim.Machine, int){noise}
	if c.Kind != None {
		t := find(c.Kind)
		if t == nil {
			return "", fmt.Errorf("no trouble %q", c.Kind)
		}
		c.Strength, c.Instant = max(c.Strength, t.least), t.instant
		c.Seconds += max(t.lasts-c.Length, 0)
		c.Length = max(c.Length, t.lasts)
		works = append(works, t.begin(c), c.says())
		c.Truth.What = append(c.Truth.What, t.what...)
	} else {
		c.Strength, c.Length, c.Onset = 0, 0, c.Seconds
	}
	path := filepath.Join(dir, c.ID+".tacho")
	return path, c.M.Record(path, c.Seconds, works...)
}

// None is the kind of a case without trouble.
const None = "none"

// names returns names for culprits: different ones in each set.
func names(set string) []string {
	if set == "kept" {
		return []string{"quotemill", "stitchd", "harvester", "vaultsync", "beaconsrv", "rollupd", "photoindex", "cartographer", "mailsieve", "bidengine", "thumbworker", "statrelay"}
	}
	return []string{"pricecalc", "reportgen", "tilerender", "ledgerd", "invoiced", "geocoder", "feedparser", "sessiond", "trackmerge", "auditlogd", "renderd", "indexer"}
}

// name returns the next name.
func (c *Case) name() string {
	n := c.names[0]
	c.names = c.names[1:]
	return n
}

// Wall returns the wall clock of a second of the recording, as a user knows it: later after a
// sleep, and shifted after the clock was set.
func (c *Case) Wall(second int) int64 {
	wall := c.at(second)
	if second > c.Onset {
		wall += int64(c.Slept+c.Stepped) * 1e9
	}
	return wall
}

// Second returns the second of the recording for a wall clock.
func (c *Case) Second(wall int64) int {
	s := int((wall - c.start) / 1e9)
	if s > c.Onset {
		s = max(s-c.Slept-c.Stepped, c.Onset)
	}
	return s
}
