package demand

import (
	"sync"
	"time"
)

const (
	// burst is how long unused budget accumulates: a user who looks around for a while gets
	// everything at once.
	burst = 30 * time.Second
	// mostRepay limits how long a value is shared because of its cost.
	mostRepay = time.Minute
)

// budget is the processor time that reading may take: a share of each second, accumulated for a
// while.
type budget struct {
	most float64 // cores; 0: no bound

	mu    sync.Mutex
	saved time.Duration
	at    int64 // awake clock
	short bool
}

func (b *budget) begin(most float64, now int64) {
	b.most, b.at = most, now
	b.saved = b.scale(burst)
}

func (b *budget) scale(d time.Duration) time.Duration { return time.Duration(float64(d) * b.most) }

// broke reports whether the budget is used up, and whether that has just changed.
func (b *budget) broke(now int64) (is, news bool) {
	if b.most <= 0 {
		return false, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saved = min(b.saved+b.scale(time.Duration(now-b.at)), b.scale(burst))
	b.at = now
	// A used up budget stays so until a quarter of the burst is saved again.
	is = b.saved <= 0 || b.short && b.saved < b.scale(burst)/4
	news, b.short = is != b.short, is
	return is, news
}

// spend subtracts work from the budget. It returns how long the result is to be shared while the
// budget is used up.
func (b *budget) spend(work time.Duration) (repay time.Duration) {
	if b.most <= 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saved = max(b.saved-work, -b.scale(burst))
	return min(time.Duration(float64(work)/b.most), mostRepay)
}
