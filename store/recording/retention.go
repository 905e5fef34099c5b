package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// Prune is Prune for the Writer's own directory and host.
func (w *Writer) Prune(limits Limits, now metric.Stamp) (Pruned, error) {
	return Prune(w.dir.path, Retention{Limits: limits, Host: w.opt.Host, BootID: w.opt.BootID, Now: now})
}

// Own gives a file of the Writer's directory the group and mode of archives.
func (w *Writer) Own(path string) error { return w.dir.own(path, fileMode) }

// Limits are how long archives are kept.
type Limits struct {
	// KeepFor is the age, KeepSize the size of all archives of the host
	// together, beyond which the oldest are removed; zero: no limit.
	KeepFor  time.Duration
	KeepSize int64
	// Reduce means that an archive is to be reduced before it is removed. The reduced archive is
	// kept for KeepReducedFor; only a limit of zero keeps it longer.
	Reduce         bool
	KeepReducedFor time.Duration
	// Irreducible are archives that cannot be reduced, and why: they are removed without that.
	// Crowded are archives for whose reduction there was no room: they are removed without it
	// only if the size limit demands it.
	Irreducible, Crowded map[string]string
}

// Retention says which finished archives may be removed from a directory.
type Retention struct {
	Limits
	// Host is the host whose archives these limits are for. The archives of other hosts are
	// neither counted nor removed.
	Host metric.Host
	// BootID and Now are the present boot and its clocks.
	BootID string
	Now    metric.Stamp
}

// A Removal is an archive that was removed.
type Removal struct {
	Path     string
	From, To time.Time
	Bytes    int64
	Why      string
	// Reduced is the archive that was made of it and stays; empty if there is none.
	Reduced string
}

// Pruned is what Prune did.
type Pruned struct {
	Removed []Removal
	// Due are the archives that would have been removed if they had been reduced already.
	Due []string
	// Kept says why archives whose time is over were kept all the same; empty if there are none.
	Kept string
}

const (
	// passPart is the part of the archives that one pass removes at most, so that a wrong limit
	// or a wrong clock never takes everything at once.
	passPart = 4
	// keepNewest is how many of the archives recorded last are never removed for their age.
	// Size, which no clock can get wrong, spares only the last one.
	keepNewest = 2
)

// Prune removes archives as the limits say, those recorded first before the others. It never
// removes an archive being written, a file whose name or content is not an archive's, anything
// but a regular file, or another host's archive.
//
// A wrong clock must not erase a history. Age counts only as far as the clock is believed (see
// doubt), and each call removes only a part of the archives: the next call goes on.
func Prune(dir string, rule Retention) (Pruned, error) {
	list, live, err := stored(dir)
	if err != nil {
		return Pruned{}, err
	}
	list, steps := apart(list)
	list, steps = recordedBy(list, rule), recordedBy(steps, rule)
	p := pruning{rule: rule, list: list, steps: steps, most: max(1, len(list)/passPart)}
	for _, l := range live {
		if l.hostPart() == layout.HostPart(rule.Host.Name) {
			p.total += l.size
		}
	}
	for _, a := range slices.Concat(list, steps) {
		p.total += a.size
	}
	p.byAge(live)
	p.stepsByAge()
	p.bySize()
	return p.done, errors.Join(p.errs...)
}

// pruning is one pass of Prune.
type pruning struct {
	rule  Retention
	list  []*storedArchive // in the order in which they were recorded
	steps []*storedArchive // the reduced archives
	total int64            // bytes, live archives included
	most  int
	done  Pruned
	errs  []error
}

// byAge removes archives that ended more than KeepFor ago.
func (p *pruning) byAge(live []*storedArchive) {
	if p.rule.KeepFor <= 0 {
		return
	}
	var due []*storedArchive
	for _, a := range p.list[:max(0, len(p.list)-keepNewest)] {
		if !a.ended.IsZero() && p.rule.Now.Time().Sub(a.ended) > p.rule.KeepFor {
			due = append(due, a)
		}
	}
	if len(due) == 0 {
		return
	}
	// Checking the clock against the archives means reading them, so it is done only if it
	// matters.
	if jump := doubt(p.list, live, p.rule); jump.by > 0 {
		before := len(due)
		due = slices.DeleteFunc(due, func(a *storedArchive) bool { return slices.Index(p.list, a) < jump.before })
		if len(due) < before {
			p.done.Kept = fmt.Sprintf("the clock is %s ahead of what was recorded last (%s): until it has stood for %s of recording it is not believed, and no archive from before is removed for its age",
				fault.Roughly(jump.by), jump.at.UTC().Format(time.RFC3339), fault.Roughly(standing))
		}
	}
	for _, a := range due {
		age := p.rule.Now.Time().Sub(a.ended)
		if !p.replace(a, fmt.Sprintf("it ended %s ago, and keep_for is %s", fault.Roughly(age), fault.Roughly(p.rule.KeepFor)), false) {
			return
		}
	}
}

// bySize removes the oldest archives while all together are larger than KeepSize.
func (p *pruning) bySize() {
	if p.rule.KeepSize <= 0 {
		return
	}
	for _, a := range p.list[:max(0, len(p.list)-1)] {
		if p.total <= p.rule.KeepSize {
			return
		}
		if !a.gone && !p.replace(a, p.tooLarge(), true) {
			return
		}
	}
	// Archives that are due make room when they have been reduced. Only then is it the turn of
	// the reduced ones, which are small already.
	for _, a := range p.steps {
		if p.total <= p.rule.KeepSize || len(p.done.Due) > 0 {
			return
		}
		if !a.gone && !p.remove(a, p.tooLarge(), "") {
			return
		}
	}
	if p.total > p.rule.KeepSize && p.done.Kept == "" {
		p.done.Kept = fmt.Sprintf("all archives together have more than keep_size, %d bytes, but what is being written and the last finished archive are always kept", p.rule.KeepSize)
	}
}

func (p *pruning) tooLarge() string {
	return fmt.Sprintf("all archives together have %d bytes, and keep_size is %d", p.total, p.rule.KeepSize)
}

// stepsByAge removes reduced archives that ended more than KeepReducedFor ago. If the clock is
// in doubt, nothing was removed for its age, and reduced archives are not either.
func (p *pruning) stepsByAge() {
	if p.rule.KeepReducedFor <= 0 || p.done.Kept != "" {
		return
	}
	for _, a := range p.steps {
		age := p.rule.Now.Time().Sub(a.ended)
		if a.ended.IsZero() || age <= p.rule.KeepReducedFor {
			continue
		}
		if !p.remove(a, fmt.Sprintf("it ended %s ago, and keep_reduced_for is %s", fault.Roughly(age), fault.Roughly(p.rule.KeepReducedFor)), "") {
			return
		}
	}
}

// replace removes a if a reduced archive was made of it, or if none is needed. It reports
// whether to go on.
func (p *pruning) replace(a *storedArchive, why string, crowded bool) bool {
	if !p.rule.Reduce {
		return p.remove(a, why, "")
	}
	for _, s := range p.steps {
		if a.head != nil && !s.gone && slices.Contains(s.head.Reduced.Of, a.head.ID) {
			return p.remove(a, why, s.path)
		}
	}
	if not := p.rule.Irreducible[a.path]; not != "" {
		return p.remove(a, why+"; it cannot be reduced: "+not, "")
	}
	if a.head == nil {
		return p.remove(a, why+"; it is too damaged to be reduced", "")
	}
	if not := p.rule.Crowded[a.path]; not != "" && crowded {
		return p.remove(a, why+"; there is no room to reduce it: "+not, "")
	}
	if len(p.done.Removed)+len(p.done.Due) < p.most && !slices.Contains(p.done.Due, a.path) {
		p.done.Due = append(p.done.Due, a.path)
	}
	if crowded {
		p.total -= a.size // It will be gone soon.
	}
	return true
}

// apart separates archives from the reduced ones that were made of them.
func apart(list []*storedArchive) (whole, steps []*storedArchive) {
	for _, a := range list {
		if h, err := layout.ReadHeader(a.path); err == nil && h.Reduced != nil {
			steps = append(steps, a)
		} else {
			whole = append(whole, a)
		}
	}
	return whole, steps
}

// remove removes a and reports whether more may be removed in this pass.
func (p *pruning) remove(a *storedArchive, why, reduced string) bool {
	if len(p.done.Removed) >= p.most {
		p.done.Kept = "more archives are due than the quarter that is removed at a time; the next look goes on"
		return false
	}
	if err := os.Remove(a.path); err != nil {
		p.errs = append(p.errs, fmt.Errorf("an archive that is due cannot be removed: %w", err))
		return true
	}
	a.gone = true
	p.total -= a.size
	p.done.Removed = append(p.done.Removed, Removal{Path: a.path, From: a.from, To: a.to, Bytes: a.size, Why: why, Reduced: reduced})
	return true
}

// A storedArchive is an archive's file as retention sees it.
type storedArchive struct {
	path     string
	from, to time.Time // from the name
	size     int64
	head     *layout.Header // nil if it cannot be read
	// ended is when its recording ended, as far as is known; zero if that is unknown.
	ended time.Time
	gone  bool
}

func (a *storedArchive) hostPart() string {
	name := filepath.Base(a.path)
	name, _, _ = strings.Cut(name, layout.LiveSuffix)
	name, _, _ = strings.Cut(name, "--")
	host, _, _ := layout.CutLast(name, "-")
	return host
}

// stored lists the finished archives of a directory, and the files of those being written.
func stored(dir string) (finished, live []*storedArchive, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("archive directory: %w", err)
	}
	for _, e := range entries {
		from, to, isFinished := layout.ParseFinishedName(e.Name())
		if !e.Type().IsRegular() || !isFinished && !strings.Contains(e.Name(), layout.LiveSuffix) {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		a := &storedArchive{path: filepath.Join(dir, e.Name()), from: from, to: to, size: st.Size()}
		if isFinished {
			finished = append(finished, a)
		} else {
			live = append(live, a)
		}
	}
	return finished, live, nil
}

// firstPossible is before anything was recorded in this format: a wall clock before it was never
// set.
var firstPossible = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// recordedBy returns the archives of list that rule.Host recorded, in the order of recording,
// and sets when each ended. The order does not depend on the wall clock if the archives have
// serial numbers.
func recordedBy(list []*storedArchive, rule Retention) []*storedArchive {
	var known, unread []*storedArchive
	for _, a := range list {
		h, err := layout.ReadHeader(a.path)
		switch {
		case err == nil && h.Host.ID == rule.Host.ID && (h.Host.ID != "" || layout.HostPart(h.Host.Name) == layout.HostPart(rule.Host.Name)):
			a.head = h
			known = append(known, a)
		case err != nil && a.hostPart() == layout.HostPart(rule.Host.Name) && ours(a.path):
			unread = append(unread, a)
		}
	}
	now := rule.Now.Time()
	slices.SortStableFunc(known, func(a, b *storedArchive) int {
		return cmp.Or(cmp.Compare(a.head.Serial, b.head.Serial), isTrue(a.head.BootID == rule.BootID)-isTrue(b.head.BootID == rule.BootID),
			a.to.Compare(b.to), cmp.Compare(a.path, b.path))
	})
	// What was recorded later did not end earlier, whatever its clock said.
	var latest time.Time
	for _, a := range known {
		if a.ended = a.to; a.ended.Before(latest) {
			a.ended = latest
		}
		if !a.ended.After(now) {
			latest = a.ended
		}
	}
	slices.SortFunc(unread, func(a, b *storedArchive) int { return a.to.Compare(b.to) })
	for _, a := range unread {
		a.ended = a.to
		at := slices.IndexFunc(known, func(b *storedArchive) bool { return b.ended.After(a.to) })
		if at < 0 {
			at = len(known)
		}
		known = slices.Insert(known, at, a)
	}
	for _, a := range known {
		if a.ended.Before(firstPossible) {
			a.ended = time.Time{}
		}
	}
	return known
}

func isTrue(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ours reports whether the file at path, whose header cannot be read, was an archive before it
// was damaged: then one of its first two pages is a bbolt meta page.
func ours(path string) bool {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	for page := range int64(2) {
		var head [24]byte
		if _, err := f.ReadAt(head[:], page*disk.PageSize); err == nil && [4]byte(head[16:20]) == boltMagic {
			return true
		}
	}
	return false
}

// boltMagic begins the content of bbolt's meta pages.
var boltMagic = [4]byte{0xed, 0xda, 0x0c, 0xed}
