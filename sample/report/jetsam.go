package report

import (
	"math"
	"slices"
	"strconv"
	"time"
)

const (
	largestShown = 10
	mostKilled   = 64
)

// jetsamList collects a list of processes. Sizes are in pages until the size of a page is known.
type jetsamList struct {
	seen     bool
	pageSize uint64
	list     Jetsam
}

func (p *parser) memory(key []byte) bool {
	in, j := p.in, &p.jetsam.list
	switch string(key) {
	case "pageSize":
		return in.number(&p.jetsam.pageSize)
	case "compressorSize":
		return in.number(&j.Compressor)
	case "uncompressed":
		return in.number(&j.Uncompressed)
	case "compressions":
		return in.number(&j.Compressions)
	case "decompressions":
		return in.number(&j.Decompressions)
	case "memoryPages":
		return in.object(p.pages)
	}
	return in.skip()
}

func (p *parser) pages(key []byte) bool {
	in, pages := p.in, &p.jetsam.list.Pages
	switch string(key) {
	case "active":
		return in.number(&pages.Active)
	case "inactive":
		return in.number(&pages.Inactive)
	case "speculative":
		return in.number(&pages.Speculative)
	case "throttled":
		return in.number(&pages.Throttled)
	case "free":
		return in.number(&pages.Free)
	case "wired":
		return in.number(&pages.Wired)
	case "purgeable":
		return in.number(&pages.Purgeable)
	case "anonymous":
		return in.number(&pages.Anonymous)
	case "fileBacked":
		return in.number(&pages.FileBacked)
	}
	return in.skip()
}

// resident reads a process of the list.
func (p *parser) resident(int) bool {
	in := p.in
	var k Killed
	var age uint64
	ok := in.object(func(key []byte) bool {
		switch string(key) {
		case "pid":
			return in.pid(&k.PID)
		case "name":
			return in.text(&k.Name)
		case "rpages":
			return in.number(&k.Bytes)
		case "lifetimeMax":
			return in.number(&k.MaxBytes)
		case "coalition":
			return in.number(&k.Coalition)
		case "age":
			return in.number(&age)
		case "cpuTime":
			b, ok := in.scalar(longestNumber)
			k.CPU = seconds(string(b))
			return ok
		case "reason":
			return in.text(&k.Reason)
		}
		return in.skip()
	})
	if !ok {
		return false
	}
	k.Age = time.Duration(min(age, math.MaxInt64))
	p.jetsam.list.add(k)
	return true
}

func (j *Jetsam) add(k Killed) {
	j.Processes++
	larger := func(r Resident) bool { return r.Bytes < k.Bytes }
	at := slices.IndexFunc(j.Top, larger)
	if at < 0 {
		at = len(j.Top)
	}
	if at < largestShown {
		j.Top = slices.Insert(j.Top[:min(len(j.Top), largestShown-1)], at, k.Resident)
	}
	if k.Reason == "" {
		return
	}
	j.KilledCount++
	k.Housekeeping = Housekeeping(k.Reason)
	if len(j.Killed) == mostKilled {
		// Those that were idle make room.
		idle := slices.IndexFunc(j.Killed, func(k Killed) bool { return k.Housekeeping })
		if idle < 0 || k.Housekeeping {
			return
		}
		j.Killed = slices.Delete(j.Killed, idle, idle+1)
	}
	j.Killed = append(j.Killed, k)
}

// Housekeeping reports whether a reason of a jetsam list means that the process was idle, and was
// ended to tidy up.
func Housekeeping(reason string) bool { return reason == "idle-exit" || reason == "long-idle-exit" }

func (p *parser) finishJetsam() {
	if !p.jetsam.seen || p.r.Kind != Killing {
		return
	}
	j := &p.jetsam.list
	j.PageSize = p.jetsam.pageSize
	for i := range j.Top {
		j.Top[i].inBytes(j.PageSize)
	}
	for i := range j.Killed {
		j.Killed[i].inBytes(j.PageSize)
	}
	p.r.Jetsam = j
}

func (r *Resident) inBytes(page uint64) {
	r.Bytes, r.MaxBytes = product(r.Bytes, page), product(r.MaxBytes, page)
}

// product multiplies, and returns the largest number if the product is larger.
func product(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// seconds reads a number of seconds, "28.00" or "28.00s".
func seconds(s string) time.Duration {
	n := len(s)
	if n > 0 && s[n-1] == 's' {
		s = s[:n-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) {
		return 0
	}
	if f *= 1e9; f >= 1<<63 {
		return math.MaxInt64
	}
	return time.Duration(f)
}
