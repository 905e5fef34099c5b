package live

import (
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// A wish is what a stream asks for.
type wish struct {
	metrics  []*metric.Desc // by name
	wanted   map[string]*metric.Desc
	instance func(indom string, in *metric.Instance) bool // nil: all
	exact    bool                                         // send the time of each reading, too
}

// mostOfMessage is the approximate size at which a message ends and the next begins.
const mostOfMessage = 512 << 10

// An encoder sends a client the changes since its last message. It keeps no copies of values: it
// remembers the blocks that it sent, which never change, and compares the new ones with them.
type encoder struct {
	wish
	plan   *plan
	told   *archive.Info
	tables []*table                        // by place; nil: the client wants nothing of it
	absent map[string]string               // the metrics that were announced as absent, with the reasons
	number uint32                          // number of the last table
	rows   uint32                          // number of the last row
	series uint32                          // number of the last series
	time   int64                           // time of the previous frame
	out    *tachographv1.SubscribeResponse // the last message; nil: a frame begins
	spare  *tachographv1.SubscribeResponse
	before func(*tachographv1.SubscribeResponse) error // sends a message that is not the last of its frame
	sent   int                                         // how many messages of this frame before has sent
	err    error                                       // the error of before
	size   int                                         // approximate size of the last message
	at     uint32                                      // the last series in gaps of the last message
	missed map[metric.Reason]*absence                  // in the last message
	work   []rowWork
}

// A table is a table that was announced to the client.
type table struct {
	id     placeID
	number uint32
	group  *metric.Group
	cols   []int         // the columns of the group that the client wants
	last   *metric.Block // the last block that was sent; nil: none
	rows   []*row        // parallel to the rows of last; nil: an instance that the client does not want
}

// A row is an instance in a table. Its series are numbered from first+1.
type row struct{ number, first uint32 }

// rowWork is a row that may have changed: old and now are its places in the blocks from and to;
// old is -1 if the row is new.
type rowWork struct {
	row      *row
	table    *table
	from, to *metric.Block
	old, now int
	cols     []int // the columns of the table that may have changed; nil: all
}

func newEncoder(w wish) *encoder {
	w.wanted = make(map[string]*metric.Desc, len(w.metrics))
	for _, d := range w.metrics {
		w.wanted[d.Name] = d
	}
	return &encoder{wish: w, absent: make(map[string]string), missed: make(map[metric.Reason]*absence)}
}

// frame returns the last message of a frame with the changes from what was sent to s. The
// message is valid until the next call. If the frame takes more messages, before gets the
// earlier ones. There is a message even if nothing has changed. time is that of the tick that
// led to the frame, 0 if no tick did.
func (e *encoder) frame(s *State, time int64, before func(*tachographv1.SubscribeResponse) error) (*tachographv1.SubscribeResponse, error) {
	e.out, e.work, e.before, e.sent, e.err = nil, e.work[:0], before, 0, nil
	m := e.message()
	if s.Archive != e.told {
		e.turn(m, s.Archive)
	}
	if s.plan != e.plan {
		e.replan(m, s)
	}
	for i, t := range e.tables {
		if t != nil {
			e.compare(m, t, s.blocks[i])
		}
	}
	if !slices.IsSortedFunc(e.work, byNumber) {
		slices.SortFunc(e.work, byNumber)
	}
	e.size = len(m.Tables)*60*8 + len(m.Gone)*4
	for i := range e.work {
		e.cells(&e.work[i])
		if e.err != nil {
			return nil, e.err
		}
	}
	last := e.out
	if time != 0 {
		last.ElapsedNs, e.time = time-e.time, time
	}
	if e.exact {
		e.times(last, s)
	}
	for i, t := range e.tables {
		if t != nil && e.fresh(t, s.blocks[i]) {
			t.last = s.blocks[i]
		}
	}
	return last, nil
}

func byNumber(a, b rowWork) int { return int(int64(a.row.number) - int64(b.row.number)) }

// message begins a new message, after passing the current one to before.
func (e *encoder) message() *tachographv1.SubscribeResponse {
	if e.out != nil {
		e.out.More = true
		e.err = e.before(e.out)
		e.sent++
	}
	if e.spare == nil {
		e.spare = new(tachographv1.SubscribeResponse)
	}
	m := e.spare
	gaps, by, gone, read, ns := m.Gaps[:0], m.By[:0], m.Gone[:0], m.Read[:0], m.ReadNs[:0]
	m.Reset()
	m.Gaps, m.By, m.Gone, m.Read, m.ReadNs = gaps, by, gone, read, ns
	e.out = m
	e.size, e.at = 0, 0
	clear(e.missed)
	return m
}

// slim releases the memory that a snapshot took: frames are far smaller.
func (e *encoder) slim() { e.out, e.spare, e.work = nil, nil, nil }

// turn announces another archive. If it is of another boot or host, all tables end.
func (e *encoder) turn(m *tachographv1.SubscribeResponse, now *archive.Info) {
	before := e.told
	e.told = now
	if before != nil && before.ID == now.ID {
		return // another follower of the same archive; it was announced
	}
	m.Archive = wire.Archive(now)
	if before != nil && (before.BootID != now.BootID || before.Host.ID != now.Host.ID) {
		for _, t := range e.tables {
			e.drop(m, t)
		}
		e.tables, e.plan, e.absent = nil, nil, make(map[string]string)
	}
}

// drop ends the rows of a table.
func (e *encoder) drop(m *tachographv1.SubscribeResponse, t *table) {
	if t == nil {
		return
	}
	for _, r := range t.rows {
		if r != nil {
			m.Gone = append(m.Gone, r.number)
		}
	}
}

// replan announces tables for metrics that are now read in other groups than before.
func (e *encoder) replan(m *tachographv1.SubscribeResponse, s *State) {
	old := make(map[placeID]*table, len(e.tables))
	for _, t := range e.tables {
		if t != nil {
			old[t.id] = t
		}
	}
	cols := make([][]int, len(s.plan.groups))
	for _, d := range e.metrics {
		if w, ok := s.plan.metrics[d.Name]; ok {
			cols[w.place] = append(cols[w.place], w.column)
			delete(e.absent, d.Name)
		}
	}
	e.plan, e.tables = s.plan, make([]*table, len(s.plan.groups))
	for i, g := range s.plan.groups {
		if len(cols[i]) == 0 {
			continue
		}
		slices.Sort(cols[i])
		id := idOf(g.class, g.group)
		t := old[id]
		if t == nil || !slices.Equal(t.cols, cols[i]) || t.group != g.group && !t.group.Same(g.group) {
			t = e.announce(m, &table{id: id, group: g.group, cols: cols[i]})
		} else {
			delete(old, id)
		}
		e.tables[i] = t
	}
	for _, t := range old {
		e.drop(m, t)
	}
	slices.Sort(m.Gone)
	e.lacking(m, s)
}

func (e *encoder) announce(m *tachographv1.SubscribeResponse, t *table) *table {
	a := &tachographv1.AnnouncedTable{InstanceDomain: wire.Text(t.group.Indom)}
	for _, c := range t.cols {
		a.Metrics = append(a.Metrics, metricMessage(t.group.Metrics[c]))
	}
	e.number++
	t.number = e.number
	m.Tables = append(m.Tables, a)
	return t
}

// lacking announces the metrics that are not recorded, with the reasons.
func (e *encoder) lacking(m *tachographv1.SubscribeResponse, s *State) {
	type kind struct{ why, indom string }
	made := make(map[kind]*tachographv1.AnnouncedTable)
	for _, d := range e.metrics {
		if _, ok := s.plan.metrics[d.Name]; ok {
			continue
		}
		why := s.Why(d)
		if e.absent[d.Name] == why {
			continue
		}
		e.absent[d.Name] = why
		k := kind{why, d.Indom}
		if made[k] == nil {
			e.number++
			made[k] = &tachographv1.AnnouncedTable{InstanceDomain: wire.Text(d.Indom), Absent: wire.Text(why)}
			m.Tables = append(m.Tables, made[k])
		}
		made[k].Metrics = append(made[k].Metrics, metricMessage(d))
	}
}

// fresh reports whether b is newer than the block of t that was sent last.
func (e *encoder) fresh(t *table, b *metric.Block) bool {
	// Two followers may have read different amounts of one archive. What they read at the same
	// instant is the same.
	return b != nil && b != t.last && (t.last == nil || b.At.Cont > t.last.At.Cont)
}

// compare finds the rows of a table that may have changed, and announces rows that came, went or
// were renamed.
func (e *encoder) compare(m *tachographv1.SubscribeResponse, t *table, b *metric.Block) {
	if !e.fresh(t, b) {
		return
	}
	if t.last != nil && sameSlice(t.last.Rows, b.Rows) {
		changed := make([]int, 0, len(t.cols))
		for _, c := range t.cols {
			if o, n := &t.last.Cols[c], &b.Cols[c]; !sameSlice(o.Bits, n.Bits) || !sameSlice(o.Miss, n.Miss) || !sameSlice(o.Words, n.Words) {
				changed = append(changed, c)
			}
		}
		if len(changed) == 0 {
			return
		}
		for i, r := range t.rows {
			if r != nil {
				e.work = append(e.work, rowWork{r, t, t.last, b, i, i, changed})
			}
		}
		return
	}
	e.members(m, t, b)
}

// members is compare for a block with other instances than the last.
func (e *encoder) members(m *tachographv1.SubscribeResponse, t *table, b *metric.Block) {
	var before []*metric.Instance
	if t.last != nil {
		before = t.last.Rows
	}
	places := make(map[string]int, len(before))
	for i, in := range before {
		places[keyOf(in)] = i
	}
	rows, stayed := make([]*row, len(b.Rows)), make([]bool, len(before))
	for i, in := range b.Rows {
		old, ok := places[keyOf(in)]
		if ok && !stayed[old] {
			stayed[old] = true
			was := before[old]
			if t.rows[old] != nil {
				rows[i] = t.rows[old]
				if in != was && renamed(was, in) {
					m.Renamed = append(m.Renamed, &tachographv1.RenamedRow{Row: rows[i].number, Instance: wire.Instance(in)})
				}
				e.work = append(e.work, rowWork{rows[i], t, t.last, b, old, i, nil})
				continue
			}
			if in == was || !renamed(was, in) {
				continue // still not wanted
			}
		}
		if in != nil && e.instance != nil && !e.instance(t.group.Indom, in) {
			continue
		}
		e.rows++
		rows[i] = &row{e.rows, e.series}
		e.series += uint32(len(t.cols))
		e.work = append(e.work, rowWork{rows[i], t, nil, b, -1, i, nil})
	}
	for i, r := range t.rows {
		if r != nil && !stayed[i] {
			m.Gone = append(m.Gone, r.number)
		}
	}
	t.rows = rows
}

// renamed reports whether an instance has a new name or new labels.
func renamed(was, now *metric.Instance) bool {
	return was != nil && now != nil && (was.Name != now.Name || !slices.Equal(was.Labels, now.Labels))
}

func keyOf(in *metric.Instance) string {
	if in == nil {
		return ""
	}
	return in.Key
}

func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 && (a == nil) == (b == nil) || len(a) > 0 && &a[0] == &b[0])
}

// cells sends the changed values of a row.
func (e *encoder) cells(w *rowWork) {
	m := e.out
	if e.size > mostOfMessage {
		m = e.message()
	}
	if w.old < 0 {
		r := &tachographv1.AnnouncedRow{Table: w.table.number}
		if in := w.to.Rows[w.now]; in != nil {
			r.Instance = wire.Instance(in)
			e.size += len(in.Key) + len(in.Name) + 20 + 30*len(in.Labels)
		}
		m.Rows = append(m.Rows, r)
	}
	k := 0
	for n, c := range w.table.cols {
		if w.cols != nil {
			if k == len(w.cols) {
				break
			}
			if w.cols[k] != c {
				continue
			}
			k++
		}
		var old metric.Value
		if w.old >= 0 {
			old = w.from.Cols[c].At(w.table.group.Metrics[c].Type, w.old)
		}
		e.cell(m, w.row.first+uint32(n)+1, w.table.group.Metrics[c].Type, old, w.to.Cols[c].At(w.table.group.Metrics[c].Type, w.now))
	}
}

// cell sends the value of a series, if it has changed.
func (e *encoder) cell(m *tachographv1.SubscribeResponse, series uint32, typ metric.Type, old, now metric.Value) {
	switch {
	case now.Miss != metric.Present:
		if old.Miss != now.Miss {
			e.missing(m, series, now.Miss)
		}
	case typ == metric.String:
		if old.Miss == metric.Present && old.Str == now.Str {
			return
		}
		change := &tachographv1.TextChange{Series: series}
		if utf8.ValidString(now.Str) {
			change.Text = now.Str
		} else {
			change.NotUtf8 = []byte(now.Str)
		}
		m.Texts = append(m.Texts, change)
		e.size += len(now.Str) + 10
	default:
		by := int64(now.Bits - old.Bits)
		if by == 0 && old.Miss == metric.Present {
			return
		}
		if typ == metric.F32 {
			by = int64(int32(by))
		}
		gap := series - e.at - 1
		m.Gaps, m.By = append(m.Gaps, gap), append(m.By, by)
		e.at = series
		e.size += protowire.SizeVarint(uint64(gap)) + protowire.SizeVarint(protowire.EncodeZigZag(by))
	}
}

// An absence is one of the last message's absences; at is the last series in it.
type absence struct {
	*tachographv1.Absence
	at uint32
}

// missing sends that a series has no value. Series with the same reason share an absence.
func (e *encoder) missing(m *tachographv1.SubscribeResponse, series uint32, why metric.Reason) {
	a := e.missed[why]
	if a == nil {
		a = &absence{Absence: &tachographv1.Absence{Reason: wire.Text(why.String())}}
		e.missed[why] = a
		m.Absences = append(m.Absences, a.Absence)
		e.size += len(a.Reason)
	}
	a.Gaps = append(a.Gaps, series-a.at-1)
	a.at = series
	e.size += protowire.SizeVarint(uint64(a.Gaps[len(a.Gaps)-1]))
}

// times sends when the new blocks of the tables were read.
func (e *encoder) times(m *tachographv1.SubscribeResponse, s *State) {
	type read struct {
		number uint32
		at     int64
	}
	var list []read
	for i, t := range e.tables {
		if t != nil && e.fresh(t, s.blocks[i]) {
			list = append(list, read{t.number, s.blocks[i].At.Wall})
		}
	}
	slices.SortFunc(list, func(a, b read) int { return int(int64(a.number) - int64(b.number)) })
	before := uint32(0)
	for _, r := range list {
		m.Read, m.ReadNs = append(m.Read, r.number-before-1), append(m.ReadNs, r.at-e.time)
		before = r.number
	}
}
