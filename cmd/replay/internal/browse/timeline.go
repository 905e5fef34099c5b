package browse

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
)

const titleWidth = 13 // of the titles in front of the lanes

// valueWidth returns the width of the values behind lanes with that many lines each.
func valueWidth(each int) int {
	if each > 1 {
		return len("of 1023 MB/s")
	}
	return len("1023 MB/s") + 1
}

// laneRanks has the lanes in order of importance: the first ones stay if there is no room for
// all.
var laneRanks = []string{"cpu", "memory", "disk", "network", "pressure", "temperature", "power", "gpu", "swap", "compressor", "busy"}

// laneValue writes a value of a lane.
func laneValue(l moment.Lane, x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return human.Value(x, l.Units, l.Share)
}

// tracks returns the lanes to show in that many lines: the pinned ones, and the machine's.
func (a *app) tracks(room int) []moment.Track {
	if a.shownTimeline == nil {
		return nil
	}
	var pinned []moment.Track
	for _, key := range a.pins {
		if t, ok := a.pinned[key]; ok {
			pinned = append(pinned, t)
		}
	}
	list := slices.Clone(a.shownTimeline.Lanes)
	chosen := a.laneName()
	for len(list) > 1 && len(list)+len(pinned) > room {
		worst := 0
		for i, t := range list {
			if laneRank(t.Name, chosen) >= laneRank(list[worst].Name, chosen) {
				worst = i
			}
		}
		list = slices.Delete(list, worst, worst+1)
	}
	return append(list, pinned[:min(len(pinned), max(room-len(list), 0))]...)
}

func laneRank(name, chosen string) int {
	if name == chosen {
		return -1
	}
	if i := slices.Index(laneRanks, name); i >= 0 {
		return i
	}
	return len(laneRanks)
}

// laneName returns the name of the chosen lane.
func (a *app) laneName() string {
	if len(a.lanes) == 0 {
		return ""
	}
	return a.lanes[a.lane%len(a.lanes)].Name
}

// timelineHeight returns how many lines the timeline takes, and each lane of it.
func (a *app) timelineHeight(height int) (lines, each int) {
	room := min(max(height*2/5-3, 3), 22)
	want := len(a.lanes) + len(a.pins)
	if want == 0 {
		want = 6
	}
	n := min(want, room)
	each = min(max(room/max(n, 1), 1), 3)
	return n*each + 2, each
}

// columnAt returns the column of the timeline that contains an instant, -1 if none does.
func (a *app) columnAt(at int64) int {
	w := a.timelineRect.w
	if w <= 0 || at < a.from || at > a.to || a.to <= a.from {
		return -1
	}
	return min(int(float64(at-a.from)/float64(a.to-a.from)*float64(w)), w-1)
}

// instantAt returns the instant at the middle of a column of the timeline, or at the end of the
// last column.
func (a *app) instantAt(column int) int64 {
	w := a.timelineRect.w
	if w <= 0 {
		return a.at
	}
	column = min(max(column, 0), w-1)
	if column == w-1 {
		return a.to
	}
	if column == 0 {
		return a.from
	}
	return a.from + int64(float64(a.to-a.from)*(float64(column)+0.5)/float64(w))
}

// drawTimeline draws the lanes, the marks and the axis.
func (a *app) drawTimeline(r rect, each int) {
	c := a.c
	behind := valueWidth(each)
	inner := rect{r.x + titleWidth + 1, r.y, max(r.w-titleWidth-1-behind, 4), r.h}
	a.timelineRect = inner
	a.hit(inner, a.clickTimeline)
	lanes := inner.h - 2
	cursor := a.columnAt(a.at)
	tracks := a.tracks(lanes / each)
	for i, t := range tracks {
		y := r.y + i*each
		st := c.theme.plain
		if t.Name == a.laneName() {
			st = c.theme.head
		}
		c.text(r.x, y, titleWidth, t.Title, st)
		name := t.Name
		a.hit(rect{r.x, y, titleWidth, each}, func(int, int, bool) { a.chooseLane(name) })
		a.drawTrack(rect{inner.x, y, inner.w, each}, &t)
		x := a.valueNow(&t)
		c.padded(inner.x+inner.w, y, behind, laneValue(t.Lane, x), true, a.levelStyle(&t, x))
		if each > 1 {
			c.padded(inner.x+inner.w, y+1, behind, "of "+laneValue(t.Lane, t.Scale), true, c.theme.faint)
		}
	}
	y := r.y + lanes
	a.drawMarks(rect{inner.x, y, inner.w, 1})
	a.drawAxis(r, y+1)
	if cursor >= 0 {
		c.restyle(rect{inner.x + cursor, r.y, 1, lanes + 1}, func(st tcell.Style) tcell.Style { return st.Reverse(true) })
	}
	if d := a.drag; d != nil && d.to != d.from {
		from, to := min(d.from, d.to), max(d.from, d.to)
		c.restyle(rect{inner.x + from, r.y, to - from + 1, lanes + 1}, func(st tcell.Style) tcell.Style { return st.Reverse(true) })
	}
}

// valueNow returns the value of a lane, or of a pinned process, at the moment that is shown
// below the timeline.
func (a *app) valueNow(t *moment.Track) float64 {
	m := a.shownMoment
	if m == nil {
		return math.NaN()
	}
	for i, l := range a.lanes {
		if l.Name == t.Name && i < len(m.Lanes) {
			return m.Lanes[i]
		}
	}
	for _, p := range m.Processes {
		if "process "+p.Key == t.Name {
			return p.CPU()
		}
	}
	return math.NaN()
}

// fresh reports whether the timeline that was read last is the one to show.
func (a *app) fresh() bool {
	t := a.shownTimeline
	return t != nil && t.From == a.from && t.To == a.to && t.Columns == a.timelineRect.w
}

// levelStyle returns the style of a value of a lane, to highlight what is nearly used up.
func (a *app) levelStyle(t *moment.Track, x float64) tcell.Style {
	if t.Supply {
		x = 1 - x
	}
	if t.Share && x >= 0.9 {
		return a.c.theme.alarm
	}
	return a.c.theme.plain
}

var levels = []rune("▁▂▃▄▅▆▇█")

// drawTrack draws the course of a lane: in each column the mean, and above it, faintly, the
// highest value. On a single line a bar cannot show both: it is as high as the highest value,
// and faint if the mean is lower.
func (a *app) drawTrack(r rect, t *moment.Track) {
	old := a.shownTimeline
	for x := range r.w {
		// Until the new timeline is there, the previous one is shown in its place.
		k := x
		if !a.fresh() {
			span := float64(old.To - old.From)
			at := float64(a.from) + float64(a.to-a.from)*(float64(x)+0.5)/float64(r.w)
			k = int(math.Floor((at - float64(old.From)) / span * float64(old.Columns)))
		}
		if k < 0 || k >= len(t.Mean) {
			continue
		}
		mean, high := t.Mean[k], t.High[k]
		if math.IsNaN(mean) {
			if !a.c.ascii { // In ASCII it would look like a low bar.
				a.c.text(r.x+x, r.y+r.h-1, 1, "·", a.c.theme.faint)
			}
			continue
		}
		st := a.levelStyle(t, mean)
		m, h := level(mean, t.Scale, r.h), level(high, t.Scale, r.h)
		if r.h == 1 && h > m+1 {
			m, st = h, a.c.theme.faint
		}
		for line := range r.h {
			y, base := r.y+r.h-1-line, line*len(levels)
			switch {
			case m > base || line == 0:
				a.c.text(r.x+x, y, 1, string(levels[min(max(m-base-1, 0), len(levels)-1)]), st)
			case h > base:
				a.c.text(r.x+x, y, 1, "░", a.c.theme.faint)
			}
		}
	}
}

// join fills the columns between samples that are more than a column apart, each with the sample
// that it belongs to. A longer distance is a gap, and stays one.
func join(t *moment.Track) {
	distance, last := 0, -1
	for k, v := range t.Mean {
		if math.IsNaN(v) {
			continue
		}
		if last >= 0 && (distance == 0 || k-last < distance) {
			distance = k - last
		}
		last = k
	}
	last = -1
	for k, v := range t.Mean {
		if math.IsNaN(v) {
			continue
		}
		if last >= 0 && k-last <= 2*distance {
			for hole := last + 1; hole < k; hole++ {
				t.Mean[hole], t.High[hole] = v, t.High[k]
			}
		}
		last = k
	}
}

// level returns how many eighths of a line a value fills, of that many lines.
func level(x, scale float64, lines int) int {
	if math.IsNaN(x) || x <= 0 || scale <= 0 {
		return 0
	}
	top := len(levels) * lines
	return min(int(math.Ceil(min(x/scale, 1)*float64(top))), top)
}

// signs has the signs of marks, the gravest first.
var signs = []struct {
	kind moment.MarkKind
	sign string
	word string
}{
	{moment.MarkPanic, "P", "panic"}, {moment.MarkCrash, "!", "crash of a process"}, {moment.MarkOff, "_", "off"},
	{moment.MarkBoot, "^", "boot"}, {moment.MarkShutdown, "v", "shutdown"}, {moment.MarkSleep, "z", "asleep"},
	{moment.MarkGap, "-", "gap: nothing recorded"}, {moment.MarkLost, "?", "a reading was lost"}, {moment.MarkEvent, "*", "another event"},
}

func signOf(k moment.MarkKind) (rank int, sign string) {
	for i, s := range signs {
		if s.kind == k {
			return i, s.sign
		}
	}
	return len(signs), "*"
}

// markStyle returns the style of a mark.
func (a *app) markStyle(k moment.MarkKind) tcell.Style {
	switch k {
	case moment.MarkPanic, moment.MarkCrash:
		return a.c.theme.alarm
	case moment.MarkLost, moment.MarkGap:
		return a.c.theme.warn
	}
	return a.c.theme.mark
}

// drawMarks draws the marks, of several in a column the gravest. A break gets its word if there
// is room for it.
func (a *app) drawMarks(r rect) {
	t := a.shownTimeline
	if t == nil {
		return
	}
	best := make([]int, r.w)
	for i := range best {
		best[i] = len(signs) + 1
	}
	for _, m := range t.Marks {
		from, to := a.columnAt(max(m.From, a.from)), a.columnAt(min(m.To, a.to))
		if m.From > a.to || m.To < a.from || from < 0 || to < 0 {
			continue
		}
		rank, sign := signOf(m.Kind)
		for x := from; x <= to; x++ {
			if rank < best[x] {
				best[x] = rank
				a.c.text(r.x+x, r.y, 1, sign, a.markStyle(m.Kind))
			}
		}
		word := " " + breakWord(m.Kind) + " " + human.Duration(time.Duration(m.To-m.From)) + " "
		if n := to - from + 1; m.Break() && n >= human.Width(word)+2 && !slices.ContainsFunc(best[from:to+1], func(x int) bool { return x != rank }) {
			a.c.text(r.x+from+(n-human.Width(word))/2, r.y, human.Width(word), word, a.markStyle(m.Kind))
		}
	}
}

// breakWord names a break in a word.
func breakWord(k moment.MarkKind) string {
	switch k {
	case moment.MarkSleep:
		return "asleep"
	case moment.MarkOff:
		return "off"
	}
	return "gap"
}

// drawAxis draws round times, the ends, and the user's two marks.
func (a *app) drawAxis(r rect, y int) {
	c, inner := a.c, a.timelineRect
	layout := "Jan 2 15:04"
	if a.to-a.from < int64(10*time.Minute) {
		layout = "15:04:05"
	}
	begin, end := a.in(a.from).Format(layout), a.in(a.to).Format(layout)
	c.text(r.x, y, titleWidth, begin, c.theme.faint)
	free := make([]bool, inner.w+1)
	for i := range free {
		free[i] = true
	}
	endAt := r.x + r.w - human.Width(end)
	for i := range free {
		free[i] = inner.x+i < endAt-1
	}
	c.text(endAt, y, human.Width(end), end, c.theme.faint)
	for i, at := range a.marks {
		if k := a.columnAt(at); k >= 0 {
			c.text(inner.x+k, y, 1, string(rune('A'+i)), c.theme.head)
			free[k] = false
		}
	}
	for _, t := range ticks(a.from, a.to, inner.w, a.Zone) {
		k := a.columnAt(t.at)
		text := "│" + t.label
		n := human.Width(text)
		if k < 0 || k+n > inner.w || slices.Contains(free[k:k+n], false) {
			continue
		}
		c.text(inner.x+k, y, n, text, c.theme.faint)
	}
}

// chooseLane chooses the lane that keys act on.
func (a *app) chooseLane(name string) {
	for i, l := range a.lanes {
		if l.Name == name {
			a.lane = i
			a.tell("chosen: "+l.Title+" (x goes to its peak)", false)
		}
	}
}

// nextLane chooses the next lane.
func (a *app) nextLane() {
	if len(a.lanes) > 0 {
		a.chooseLane(a.lanes[(a.lane+1)%len(a.lanes)].Name)
	}
}

// markText describes a mark in a line.
func (a *app) markText(m *moment.Mark) string {
	if !m.Break() {
		return m.Text
	}
	return strings.TrimSpace(breakWord(m.Kind) + " " + a.spanText(m.From, m.To))
}
