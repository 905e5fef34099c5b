package engine

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"tachograph/sample/metric"
)

const (
	// settling is how long after the start the budget is not enforced: opening everything costs
	// more than reading it.
	settling = time.Minute
	// patienceOver is for how many looks in a row the budget must be exceeded.
	patienceOver = 3
	// patienceUpkeep is for how many looks in a row the upkeep of an archive excuses the
	// recorder: five minutes. To read less often would not speed that up.
	patienceUpkeep = 30
	// patienceUnder is for how many looks in a row there must be room before a class returns to
	// its previous interval; it doubles each time that such a return fails.
	patienceUnder    = 30
	maxPatienceUnder = 360
	maxStretch       = 64
	// usualLooks is the number of looks that usual averages over: a minute.
	usualLooks = 6
	// lighter is the share of the memory that may at most remain in use for a stretched interval
	// to have helped.
	lighter = 0.95
	// room is the share of the budget that must suffice before an interval returns.
	room = 0.9
)

// budget compares what the recorder uses with what it may use, and stretches the interval of the
// class that costs most, usually by a factor of two at a time.
type budget struct {
	e *Engine

	mu        sync.Mutex
	maxCPU    float64
	maxMemory int64
	at        int64 // awake clock of the last look
	cpu       time.Duration
	spent     [metric.NumClasses]time.Duration
	cost      [metric.NumClasses]float64 // cores, over the last look
	share     float64                    // cores, all of the recorder
	resident  int64
	// usual and usualCost are share and cost averaged over some looks: a class that is read once
	// a minute fills one look and leaves five empty.
	usual     float64
	usualCost [metric.NumClasses]float64
	over      int
	excused   int // looks in a row that upkeep excused
	under     int
	patience  int
	returned  int64 // awake clock of the last return
	// saved is the processor time that the budget allowed and the recorder did not use, see
	// Spare.
	saved time.Duration
	// heavy is the memory in use when an interval was stretched because of it; futile says that
	// stretching has freed none.
	heavy  int64
	futile bool
}

func newBudget(e *Engine) budget {
	return budget{e: e, maxCPU: e.plan.MaxCPU, maxMemory: e.plan.MaxMemory, patience: patienceUnder,
		saved: time.Duration(e.plan.MaxCPU * float64(thrifty))}
}

// limit changes the limits.
func (b *budget) limit(p Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.maxCPU, b.maxMemory = p.MaxCPU, p.MaxMemory
}

// police is one look at the budget.
func (b *budget) police(now metric.Stamp) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.e.opt.Usage == nil || !b.measure(now) || time.Duration(now.Awake-b.e.started.Awake) < settling {
		return
	}
	if b.e.bursting(now) || b.e.opt.Spending != nil && b.e.opt.Spending() {
		// Spare limits that, and it passes.
		b.over = 0
		return
	}
	tooMuchMemory := b.maxMemory > 0 && b.resident > b.maxMemory
	// Spare also limits what reading ahead of triggers takes.
	ahead := b.e.rings(now, b.saved, tooMuchMemory)
	tooMuchCPU := b.maxCPU > 0 && b.share > b.maxCPU && !ahead
	if !tooMuchMemory {
		b.heavy, b.futile = 0, false
	}
	if !tooMuchCPU && (!tooMuchMemory || b.futile) {
		b.over = 0
		b.tryReturn(now)
		return
	}
	if b.e.opt.Upkeep == nil || !b.e.opt.Upkeep() {
		b.excused = 0
	} else if b.excused < patienceUpkeep {
		b.excused++
		b.over = 0
		return
	}
	if b.over++; b.over < patienceOver {
		if tooMuchMemory && !b.futile {
			// Memory that the program has freed counts until the kernel has it back.
			debug.FreeOSMemory()
		}
		return
	}
	b.over, b.under = 0, 0
	why := fmt.Sprintf("the recorder used %.3g %% of a core, more than its budget of %.3g %%", b.share*100, b.maxCPU*100)
	if tooMuchMemory && !b.futile {
		why = fmt.Sprintf("the recorder used %d MB of memory, more than its budget of %d MB", b.resident>>20, b.maxMemory>>20)
		if b.heavy != 0 && float64(b.resident) > lighter*float64(b.heavy) {
			b.giveUp(now, why)
			if !tooMuchCPU {
				return
			}
		}
		b.heavy = b.resident
	}
	b.stretch(now, why)
}

// giveUp reports that reading less often does not make the recorder smaller. What it knows of
// each of very many processes stays in memory however seldom it reads: it would only record
// less.
func (b *budget) giveUp(now metric.Stamp, why string) {
	b.futile = true
	text := why + "; reading less often has not changed that and is not taken further"
	b.e.log.Warn(text)
	b.e.event(metric.Event{At: now, Kind: metric.EventBudget, Text: text})
}

// measure computes the use since the last look; false when there is none to compare with.
func (b *budget) measure(now metric.Stamp) bool {
	u := b.e.opt.Usage()
	cpu, elapsed := u.User+u.System, float64(now.Awake-b.at)
	first := b.at == 0 || elapsed <= 0
	if !first {
		b.share = float64(cpu-b.cpu) / elapsed
		b.save(int64(elapsed), cpu-b.cpu)
	}
	for _, id := range read {
		c := b.e.classes[id]
		c.mu.Lock()
		spent := c.stats.TotalDuration
		if c.reading {
			spent += time.Duration(now.Awake - c.begun.Awake)
		}
		c.mu.Unlock()
		spent = max(spent, b.spent[id]) // a tick that is just being stored counts in neither
		if !first {
			b.cost[id] = float64(spent-b.spent[id]) / elapsed
		}
		b.spent[id] = spent
	}
	if !first {
		b.chargeAbandoned(time.Duration(elapsed), cpu-b.cpu)
		b.usual += (b.share - b.usual) / usualLooks
		for i, cost := range b.cost {
			b.usualCost[i] += (cost - b.usualCost[i]) / usualLooks
		}
	}
	b.at, b.cpu, b.resident = now.Awake, cpu, u.Resident
	return !first
}

// chargeAbandoned charges the classes for readings that they have given up: it divides the
// processor time that no class accounts for among them. Most such readings wait and cost
// nothing, but a source that is merely slow goes on working, and its cost would otherwise go
// uncharged.
func (b *budget) chargeAbandoned(elapsed, cpu time.Duration) {
	var to []metric.Class
	for _, s := range b.e.sources {
		if id, is := s.abandoned(); is {
			to = append(to, id)
		}
	}
	rest := min(float64(cpu)/float64(elapsed), 1)
	for _, id := range read {
		rest -= b.cost[id]
	}
	for _, id := range to {
		b.cost[id] += max(0, rest) / float64(len(to))
	}
}

func (b *budget) stretch(now metric.Stamp, why string) {
	var worst *class
	dearest := 0.0
	for _, id := range read {
		c := b.e.classes[id]
		c.mu.Lock()
		can := c.interval != 0 && c.interval != metric.Once && c.stretch < maxStretch && len(c.sources) > 0
		c.mu.Unlock()
		dearest = max(dearest, b.cost[id])
		if can && (worst == nil || b.cost[id] > b.cost[worst.id]) {
			worst = c
		}
	}
	// When the most expensive class is already stretched to the limit, do not stretch cheap ones
	// in its place.
	if worst == nil || b.cost[worst.id] < dearest/10 {
		return
	}
	// A return that must be undone was too early.
	if b.returned != 0 && time.Duration(now.Awake-b.returned) < 10*time.Minute {
		b.patience = min(2*b.patience, maxPatienceUnder)
	}
	b.change(worst, now, b.factor(worst), 1, why)
}

// factor is how much less often to read the most expensive class: half as often is enough,
// unless it alone takes many times the budget.
func (b *budget) factor(c *class) int {
	times := 2
	for b.maxCPU > 0 && times < 8 && b.cost[c.id] > 2*float64(times)*b.maxCPU {
		times *= 2
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(times, maxStretch/c.stretch)
}

// tryReturn speeds up the stretched class that costs least, when the budget has had room for it
// long enough.
func (b *budget) tryReturn(now metric.Stamp) {
	var best *class
	for _, id := range read {
		c := b.e.classes[id]
		c.mu.Lock()
		stretched := c.stretch > 1
		c.mu.Unlock()
		if stretched && (best == nil || b.usualCost[id] < b.usualCost[best.id]) {
			best = c
		}
	}
	if best == nil {
		b.under = 0
		return
	}
	// Twice as often costs as much again.
	if b.maxCPU > 0 && b.usual+b.usualCost[best.id] > room*b.maxCPU ||
		b.maxMemory > 0 && float64(b.resident) > room*float64(b.maxMemory) {
		b.under = 0
		return
	}
	if b.under++; b.under < b.patience {
		return
	}
	b.under = 0
	b.returned = now.Awake
	b.change(best, now, 1, 2, "the recorder's budget has room for it again")
}

func (b *budget) change(c *class, now metric.Stamp, times, by int, why string) {
	c.mu.Lock()
	before := c.effective()
	c.stretch = c.stretch * times / by
	after := c.effective()
	c.replan(now)
	c.wake()
	c.mu.Unlock()
	text := fmt.Sprintf("%s: read every %s instead of %s: %s", c.id, after, before, why)
	b.e.log.Warn(text)
	b.e.event(metric.Event{At: now, Kind: metric.EventBudget, Text: text, Labels: []metric.Label{
		{Name: "class", Value: c.id.String()},
		{Name: "seconds", Value: strconv.FormatFloat(after.Seconds(), 'g', -1, 64)},
	}})
}
