package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

func energyCommand(a *app) *cobra.Command {
	var group string
	var n int
	var onBattery bool
	cmd := &cobra.Command{
		Use:   "energy",
		Short: "What the battery gave, and who took it",
		Long: `energy says what the battery lost in the window, or on mains power what the
machine or its processor package used, and how much of it each owner of processes
took: an app, a service, a container, a pod or a session. The rows of a table add
up to what was given, to the last mWh.

What was lost in sleep is a row of its own. The residual is what nobody is known to
have taken: the screen, memory, radios and disks, and what an idle machine needs. It
is never spread over owners.

On macOS with Apple silicon, an owner has what the kernel counted for its processes,
and graphics and neural engine where they are recorded. Work that a process asks
others to do is in the counts of these. Elsewhere it is an estimate: an owner gets
the share of the energy that its CPU time is of the time that all processors had
together, busy or idle, so that the idle time stays in the residual.

--on-battery leaves out the time on mains power. While a battery is charged it
gives nothing. energy makes a ledger for each of several hosts by itself.`,
		Example: `  replay energy --from 09:00 --to 17:00 --on-battery
  replay energy --from -24h --group service -n 10
  replay energy --on-battery --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			by := query.Grouping(group)
			if err := choice("group", by, query.LedgerGroupings); err != nil {
				return err
			}
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			if err := a.energy(w, onBattery, by, n); err != nil {
				return err
			}
			a.tellDoubtsOf(w, (*query.Distrust).OfProcesses)
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&onBattery, "on-battery", false, "only the time in which the machine ran on its battery")
	fl.StringVar(&group, "group", string(query.PerOwner), "owner, app, service, container, pod, session or name")
	fl.IntVarP(&n, "number", "n", 20, "how many owners; 0 for all")
	return cmd
}

// energy writes the ledgers of a window.
func (a *app) energy(w query.Window, onBattery bool, by query.Grouping, n int) error {
	all, err := query.Ledgers(a.Archive, w, onBattery, by)
	if err != nil {
		return err
	}
	var list []*query.Ledger
	for _, l := range all {
		switch {
		case l.Why == "":
			list = append(list, l)
		case len(all) == 1:
			return nothing("%s", ledgerWhy(l))
		default:
			a.tell(ledgerWhy(l))
		}
	}
	if len(list) == 0 {
		return nothing("there is no host of whose energy the archives say enough")
	}
	for _, l := range list {
		a.ledgerNotes(l)
	}
	return a.present(func() error { return a.ledgerTable(list, n) }, func() error {
		rows, err := a.rows(answer.LedgerColumns()...)
		if err != nil {
			return err
		}
		for _, l := range list {
			for _, r := range answer.LedgerRows(l, n) {
				if err := rows.Row(append([]out.Cell{hostCell(&l.Archive.Host)}, answer.LedgerCells(r)...)); err != nil {
					return err
				}
			}
		}
		return rows.Close()
	})
}

// ledgerWhy is why a host has no ledger.
func ledgerWhy(l *query.Ledger) string { return "no ledger of " + l.Archive.Host.Name + ": " + l.Why }

// ledgerNotes says what a ledger lacks.
func (a *app) ledgerNotes(l *query.Ledger) {
	host := ""
	if a.ManyHosts() {
		host = l.Archive.Host.Name + ": "
	}
	if l.Ownerless {
		a.tell(host + "owners are not recorded in this archive: processes are grouped by name")
	}
	if l.Estimated != "" {
		a.tell(host + "what was taken is estimated by CPU time: " + l.Estimated)
	}
	if l.SleepUnknown {
		a.tell(host + "what the battery lost in sleep is not in it: its charge was not recorded")
	}
	if l.Residual() < 0 {
		a.tell(host + "more was taken than given: the battery shows its charge in steps that are too coarse for this window, or a reading is wrong")
	}
}

// ledgerTable prints ledgers below sentences on what was given.
func (a *app) ledgerTable(list []*query.Ledger, n int) error {
	for _, l := range list {
		host := ""
		if a.ManyHosts() {
			host = l.Archive.Host.Name + ": "
		}
		a.prose(host + a.ledgerText(l))
	}
	a.stdout.Println()
	var shown []answer.LedgerRow
	for _, l := range list {
		shown = append(shown, answer.Rounded(answer.LedgerRows(l, n))...)
	}
	var columns []out.Column
	fields := answer.Used(answer.Ledger, answer.InLedger, shown)
	for _, f := range fields {
		columns = append(columns, f.Column())
	}
	rows, err := a.rows(columns...)
	if err != nil {
		return err
	}
	for _, r := range shown {
		cells := []out.Cell{hostCell(&r.Archive.Host)}
		for _, f := range fields {
			cells = append(cells, answer.Text(f.Text(r)))
		}
		if err := rows.Row(cells); err != nil {
			return err
		}
	}
	return rows.Close()
}

// ledgerText says when what was given.
func (a *app) ledgerText(l *query.Ledger) string {
	text := fmt.Sprintf("%s to %s (%s)", a.Show(l.From), a.Show(l.To), durationText(l.To-l.From))
	length := func(ns int64) string { return human.Duration(time.Duration(ns)) }
	if l.OnBattery > 0 {
		text += fmt.Sprintf(", the battery gave %s in %s", answer.WattHours.Text(l.Battery.Joules()), length(l.OnBattery))
		if l.Asleep > 0 {
			text += fmt.Sprintf(", of which %s asleep", length(l.Asleep))
		}
	}
	if l.OnSystem > 0 {
		what := "the machine used"
		if l.SystemFrom == query.PackageEnergy {
			what = "the processor used"
		}
		text += fmt.Sprintf(", %s %s in %s", what, answer.WattHours.Text(l.System.Joules()), length(l.OnSystem))
		if l.BatteryFrom != "" {
			text += " on mains power"
		}
	}
	return text
}
