package answer

import (
	"math"
	"strconv"

	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// A LedgerRow is a row of an energy ledger.
type LedgerRow struct {
	*query.Ledger
	// Row says what the row is about: one of the constants below.
	Row    string
	Taker  *query.Taker // nil except for an owner
	Energy query.MicroJoules
}

// The rows of a ledger. Owner, Others, Asleep and Residual add up to Given.
const (
	RowOwner    = "owner"
	RowOthers   = "others" // all owners that were left out
	RowAsleep   = "asleep"
	RowResidual = "residual"
	RowGiven    = "given"
)

// LedgerRows returns the rows of a ledger, with the n owners that took most; n is 0 for all.
func LedgerRows(l *query.Ledger, n int) (rows []LedgerRow) {
	list, others := l.Largest(n)
	for _, t := range list {
		rows = append(rows, LedgerRow{l, RowOwner, t, t.Energy})
	}
	if others != nil {
		rows = append(rows, LedgerRow{l, RowOthers, others, others.Energy})
	}
	if l.Asleep > 0 {
		rows = append(rows, LedgerRow{l, RowAsleep, nil, l.Sleep})
	}
	return append(rows, LedgerRow{l, RowResidual, nil, l.Residual()}, LedgerRow{l, RowGiven, nil, l.Given()})
}

// Rounded rounds the energies of a ledger's rows to mWh, so that what people see adds up, too: the
// residual takes what the others lost or won.
func Rounded(rows []LedgerRow) []LedgerRow {
	left := query.MicroJoules(0)
	residual := -1
	for i := range rows {
		r := &rows[i]
		r.Energy = query.MicroJoules(math.Round(float64(r.Energy)/float64(query.PerMilliwattHour))) * query.PerMilliwattHour
		switch r.Row {
		case RowResidual:
			residual = i
		case RowGiven:
			left += r.Energy
		default:
			left -= r.Energy
		}
	}
	rows[residual].Energy = left
	return rows
}

// part is a part of what an owner took, unknown if known says so.
func part(of func(*query.Taker) query.MicroJoules, known func(*query.Taker) bool) func(LedgerRow) float64 {
	return func(r LedgerRow) float64 {
		if r.Taker == nil || !known(r.Taker) {
			return math.NaN()
		}
		return of(r.Taker).Joules()
	}
}

// Ledger are the fields of a row of a ledger.
var Ledger = []Field[LedgerRow]{
	{Name: "from", Time: func(r LedgerRow) int64 { return r.From }},
	{Name: "to", Time: func(r LedgerRow) int64 { return r.To }},
	{Name: "row", Word: func(r LedgerRow) string { return r.Row }},
	{Name: "owner", Word: func(r LedgerRow) string {
		if r.Taker == nil {
			return ""
		}
		return r.Taker.Name
	}},
	{Key: "owner", Word: LedgerRow.title, Flex: true, Keep: out.Always},
	{Name: "kind", Key: "kind", Keep: 2, Word: func(r LedgerRow) string {
		if r.Taker == nil {
			return ""
		}
		return r.Taker.Kind
	}},
	{Name: "processes", Key: "processes", Keep: 3, Unit: Number, Of: func(r LedgerRow) float64 {
		if r.Taker == nil {
			return math.NaN()
		}
		return float64(r.Taker.Processes)
	}},
	{Name: "energy_joules", Key: "energy", Keep: out.Always, Unit: WattHours, Of: func(r LedgerRow) float64 { return r.Energy.Joules() }},
	{Name: "share_percent", Key: "share", Keep: 7, Unit: Share, Of: func(r LedgerRow) float64 {
		if r.Given() <= 0 {
			return math.NaN()
		}
		return r.Energy.Joules() / r.Given().Joules()
	}},
	{Name: "cpu_joules", Key: "cpu", Keep: 6, Unit: WattHours,
		Of: part(func(t *query.Taker) query.MicroJoules { return t.CPU }, func(*query.Taker) bool { return true })},
	{Name: "gpu_joules", Key: "gpu", Keep: 5, Unit: WattHours,
		Of: part(func(t *query.Taker) query.MicroJoules { return t.GPU }, func(t *query.Taker) bool { return t.HasGPU })},
	{Name: "ane_joules", Key: "ane", Keep: 4, Unit: WattHours,
		Of: part(func(t *query.Taker) query.MicroJoules { return t.ANE }, func(t *query.Taker) bool { return t.HasANE })},
	{Name: "battery_joules", Unit: Joules, Of: func(r LedgerRow) float64 {
		if r.BatteryFrom == "" {
			return math.NaN()
		}
		return r.Battery.Joules()
	}},
	{Name: "system_joules", Unit: Joules, Of: func(r LedgerRow) float64 {
		if r.SystemFrom == "" {
			return math.NaN()
		}
		return r.System.Joules()
	}},
}

// InLedger are the keys of the columns that people see of a ledger.
var InLedger = []string{"owner", "kind", "processes", "energy", "share", "cpu", "gpu", "ane"}

// title is what people see in the place of the owner.
func (r LedgerRow) title() string {
	if r.Row != RowOwner {
		return r.Row
	}
	return r.Taker.Name
}

// LedgerColumns are the columns of a ledger for programs.
func LedgerColumns() (columns []out.Column) {
	for _, f := range Named(Ledger) {
		columns = append(columns, out.Column{Name: f.Name, Kind: f.Kind()})
	}
	return append(columns, out.Column{Name: "estimated"})
}

// LedgerCells are the cells of these columns.
func LedgerCells(r LedgerRow) (cells []out.Cell) {
	for _, f := range Named(Ledger) {
		cells = append(cells, f.Cell(r))
	}
	estimated := strconv.FormatBool(r.Taker != nil && r.Estimated != "")
	return append(cells, out.Cell{Kind: out.Detail, Raw: []byte(estimated)})
}
