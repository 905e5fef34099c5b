package answer

import (
	"math"
	"slices"

	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// A NetRow is a row of an answer on who used the network.
type NetRow struct {
	*query.NetUse
	Of *query.Traffic // the host's
	// Row says what the row is about: one of the constants below.
	Row      string
	Consumer *query.Consumer // nil except for a process or a group of them
	// Gains, by query's counters, Connections and Processes are the row's.
	Gains                  [query.NumProcessCounters]float64
	Connections, Processes float64
	Amount, Whole          float64 // of what the rows are ranked by: the row's, and that of the host's total
}

// The rows of such an answer. The others add up to RowTotal.
const (
	RowProcess      = "process"
	RowGroup        = "group"
	RowEnded        = "ended" // what processes did before they ended, and after they were last read
	RowUnattributed = "unattributed"
	RowTotal        = "total"
)

// NetRows returns the rows of an answer.
func NetRows(u *query.NetUse, by query.By, group query.Grouping) (rows []NetRow) {
	row := RowGroup
	if group == query.PerProcess {
		row = RowProcess
	}
	of := make(map[string]*query.Traffic)
	for _, t := range u.Hosts {
		of[t.Archive.Host.ID] = t
	}
	for _, c := range u.Consumers {
		rows = append(rows, NetRow{u, of[c.Archive.Host.ID], row, c, c.Gains, c.Connections, float64(c.Count), c.Amount(by), 0})
	}
	for _, t := range u.Hosts {
		rows = append(rows, netRest(u, t, by)...)
		for i, whole := range rows {
			if whole.Of == t {
				rows[i].Whole = rows[len(rows)-1].Amount
			}
		}
	}
	return rows
}

// netRest returns the rows of a host that are about no process in particular.
func netRest(u *query.NetUse, t *query.Traffic, by query.By) (rows []NetRow) {
	add := func(row string, connections, processes float64, gain func(query.ProcessCounter) float64) {
		r := NetRow{NetUse: u, Of: t, Row: row, Connections: connections, Processes: processes}
		something := row == RowTotal || connections > 0
		for f := range query.NumProcessCounters {
			r.Gains[f] = gain(f)
			something = something || r.Gains[f] != 0 && r.Gains[f] == r.Gains[f]
		}
		r.Amount = (&query.Consumer{Gains: r.Gains, Connections: connections}).Amount(by)
		if something {
			rows = append(rows, r)
		}
	}
	shown := query.Consumer{}
	for _, c := range u.Consumers {
		if c.Archive.Host.ID != t.Archive.Host.ID {
			continue
		}
		shown.Count += c.Count
		for f, x := range c.Gains {
			if x == x {
				shown.Gains[f] += x
			}
		}
		if c.Connections == c.Connections {
			shown.Connections += c.Connections
		}
	}
	all := t.Processes
	add(RowOthers, all.Connections-shown.Connections, float64(t.N-shown.Count), func(f query.ProcessCounter) float64 { return all.Gains[f] - shown.Gains[f] })
	nobodys := max(0, t.Connections-all.Connections)
	add(RowEnded, math.NaN(), math.NaN(), t.Ended)
	add(RowUnattributed, nobodys, math.NaN(), func(f query.ProcessCounter) float64 { return t.Unattributed[f] })
	total := all.Connections
	if t.Connections == t.Connections {
		total = t.Connections
	}
	add(RowTotal, total, float64(t.N), func(f query.ProcessCounter) float64 {
		if t.Total[f] == t.Total[f] {
			return t.Total[f]
		}
		return all.Gains[f]
	})
	return rows
}

// Resent is the share of what was sent that had to be sent again.
func (r NetRow) Resent() float64 { return Resent(r.Gains[query.NetOut], r.Gains[query.NetRetrans]) }

// Resent is the share of all bytes sent that were sent again; NaN where nothing was sent.
func Resent(sent, again float64) float64 {
	if !(sent+again > 0) {
		return math.NaN()
	}
	return again / (sent + again)
}

// share is the row's share of the host's total.
func (r NetRow) share() float64 {
	if !(r.Whole > 0) {
		return math.NaN()
	}
	return r.Amount / r.Whole
}

// ofConsumer is a field of the row's consumer.
func ofConsumer(word func(c *query.Consumer) string) func(NetRow) string {
	return func(r NetRow) string {
		if r.Consumer == nil {
			return ""
		}
		return word(r.Consumer)
	}
}

// single is a number of the row's process.
func single(of func(c *query.Consumer) float64) func(NetRow) float64 {
	return func(r NetRow) float64 {
		if r.Consumer == nil || r.Consumer.Count > 1 || r.Row != RowProcess {
			return math.NaN()
		}
		return of(r.Consumer)
	}
}

func netGain(f query.ProcessCounter) func(NetRow) float64 {
	return func(r NetRow) float64 { return r.Gains[f] }
}

func netRate(f query.ProcessCounter) func(NetRow) float64 {
	return func(r NetRow) float64 { return r.Gains[f] / r.Of.Seconds() }
}

// Net are the fields of a row about the use of the network.
var Net = slices.Concat([]Field[NetRow]{
	{Name: "from", Time: func(r NetRow) int64 { return r.Of.From }},
	{Name: "to", Time: func(r NetRow) int64 { return r.Of.To }},
	{Name: "row", Word: func(r NetRow) string { return r.Row }},
	{Name: "pid", Key: "pid", Unit: Number, Keep: 11, Of: single(func(c *query.Consumer) float64 { return float64(query.ProcessID(c.Instance)) })},
	{Name: "processes", Key: "processes", Unit: Number, Keep: 5, Of: func(r NetRow) float64 { return r.Processes }},
	{Name: "name", Word: ofConsumer(func(c *query.Consumer) string { return c.Name })},
	{Key: "name", Word: NetRow.title, Flex: true, Keep: out.Always},
	{Name: "kind", Key: "kind", Keep: 5, Word: ofConsumer(func(c *query.Consumer) string { return c.Owned })},
	{Name: "key", Word: func(r NetRow) string {
		if r.Row != RowProcess {
			return ""
		}
		return r.Consumer.Instance.Key
	}},
	{Name: "user", Key: "user", Word: ofConsumer(func(c *query.Consumer) string { return c.User }), Keep: 4, Flex: true},
	{Name: "in_bytes", Key: "in", Of: netGain(query.NetIn), Unit: Bytes, Keep: out.Always},
	{Name: "in_bytes_per_sec", Key: "in_rate", Title: "in/s", Of: netRate(query.NetIn), Unit: Speed, Keep: 4},
	{Name: "out_bytes", Key: "out", Of: netGain(query.NetOut), Unit: Bytes, Keep: out.Always},
	{Name: "out_bytes_per_sec", Key: "out_rate", Title: "out/s", Of: netRate(query.NetOut), Unit: Speed, Keep: 4},
	{Name: "share_percent", Key: "share", Of: NetRow.share, Unit: Share, Keep: 3},
	{Name: "retrans_bytes", Key: "retrans", Title: "resent", Of: netGain(query.NetRetrans), Unit: Bytes, Keep: 8},
	{Name: "retrans_percent", Key: "resent", Title: "of sent", Of: NetRow.Resent, Unit: Share, Keep: 9},
	{Name: "connections", Key: "connections", Title: "open", Of: func(r NetRow) float64 { return r.Connections }, Unit: Number, Keep: 10},
	{Name: "opened", Key: "opened", Of: netGain(query.NetOpened), Unit: Count, Keep: 6},
	{Name: "accepted", Key: "accepted", Of: netGain(query.NetAccepted), Unit: Count, Keep: 5},
	{Name: "refused", Key: "refused", Of: netGain(query.NetRefused), Unit: Count, Keep: 6},
	{Name: "failed", Key: "failed", Of: netGain(query.NetFailed), Unit: Count, Keep: 6},
}, owners(func(r NetRow, kind string) string {
	switch {
	case r.Consumer == nil:
		return ""
	case r.Row == RowGroup && r.Consumer.Owned == kind:
		return r.Consumer.Name
	case r.Row == RowGroup:
		return ""
	}
	return r.Consumer.Instance.Label(kind)
}))

// InNet are the keys of the columns that people see of the use of the network, after the pid or the number of
// processes and before the name.
var InNet = []string{"in", "in_rate", "out", "out_rate", "retrans", "resent", "connections", "opened", "accepted", "refused", "failed"}

// InNetAt are those about a moment.
var InNetAt = []string{"in_rate", "out_rate", "resent", "connections", "opened", "accepted", "refused", "failed"}

// title is what people see in the place of the name.
func (r NetRow) title() string {
	switch r.Row {
	case RowEnded:
		return "ended processes"
	case RowProcess, RowGroup:
		return r.Consumer.Name
	}
	return r.Row
}

// Something reports whether a field of any row has a value other than 0.
func Something[T any](f *Field[T], rows []T) bool {
	return slices.ContainsFunc(rows, func(row T) bool {
		if !f.Numeric() {
			return f.Known(row)
		}
		x := f.Of(row)
		return x == x && x != 0
	})
}
