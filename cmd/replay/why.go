package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/why"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func whyCommand(a *app) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "why [--at TIME | --from TIME --to TIME] [ARCHIVE...]",
		Short: "What was out of the ordinary then, the cause first",
		Long: `why says in at most ten lines what was out of the ordinary at a time: that the
machine was asleep, off or not recorded; else what differs from a calm stretch near
that time, which why finds by itself and names. The first line explains the others.
Below each line is the command that shows more.

Without --at and --from it looks at the minutes before the last unclean end of the
recording, else at the worst minutes, and if these show nothing, at all of it. It says
which.

The exit status is 0 if something was out of the ordinary, 1 if nothing was, and
2 if the recording does not show it; the answer then gives the reason.`,
		Example: `  replay why
  replay why --at 03:12
  replay why --from 03:00 --to 03:30 laptop.tacho`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at != "" && (a.From != "" || a.To != "") {
				return fmt.Errorf("--at names an instant, --from and --to a window: give one of them")
			}
			if err := notArchives(args); err != nil {
				return err
			}
			if err := a.load(args...); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil && !a.betweenArchives(w, err) {
				return err
			}
			var instant int64
			if at != "" {
				if instant, err = a.moment(at, w); err != nil {
					return err
				}
			}
			q := &whyAnswer{a: a, w: w, at: instant}
			if q.defs, err = a.Definitions(); err != nil {
				return err
			}
			if err := a.present(q.text, q.rows); err != nil {
				return err
			}
			a.finish(cmd, args, true)
			switch {
			case q.found:
				return nil
			case q.untold:
				return errUntold
			}
			return errNo
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the instant in question")
	return cmd
}

// betweenArchives reports whether a window was refused because no archive overlaps it, although
// there are some before and after. These then show what the machine did.
func (s *session) betweenArchives(w query.Window, err error) bool {
	var outside *scope.Error
	if !errors.As(err, &outside) || outside.Kind != scope.Outside || w.To == 0 {
		return false
	}
	from, to, _ := query.Covered(s.Archive, query.Window{Hosts: w.Hosts})
	return w.From > from && w.To < to
}

// whyAnswer explains what each host of a window did. found is set if something was out of the
// ordinary, untold if the recording cannot answer the question for some host.
type whyAnswer struct {
	a             *app
	w             query.Window
	at            int64
	defs          *query.Definitions
	claims        bool // the answer has the claims, each with its values
	found, untold bool
}

// each calls fn with the answer for each host.
func (q *whyAnswer) each(fn func(*why.Answer) error) error {
	for _, h := range q.a.hostsOf(q.w) {
		one := query.Window{Hosts: []string{h.ID}, From: q.w.From, To: q.w.To}
		if _, _, list := query.Covered(q.a.Archive, query.Window{Hosts: one.Hosts}); len(list) == 0 {
			continue
		}
		answer, err := why.Ask(q.a.ctx, q.a.Archive, why.Request{Host: h.ID, At: q.at, Window: one, Defs: q.defs, Format: q.a.TimeOfDay, Zone: q.a.Zone(), Claims: q.claims})
		if err != nil {
			return err
		}
		q.found, q.untold = q.found || answer.Found, q.untold || answer.Untold
		if err := fn(answer); err != nil {
			return err
		}
	}
	return nil
}

func (q *whyAnswer) text() error {
	shown := 0
	return q.each(func(w *why.Answer) error {
		if shown++; shown > 1 {
			q.a.stdout.Println()
		}
		q.page(w)
		return nil
	})
}

func (q *whyAnswer) rows() error {
	q.claims = q.a.sink != nil || q.a.format == string(out.JSON)
	rows, err := q.a.rows(out.Column{Name: "kind"}, out.Column{Name: "weight"}, out.Column{Name: "since"}, out.Column{Name: "until"},
		out.Column{Name: "text"}, out.Column{Name: "command"}, out.Column{Name: "claims", Only: out.InJSON})
	if err != nil {
		return err
	}
	err = q.each(func(w *why.Answer) error {
		for _, l := range w.Lines {
			if err := rows.Row([]out.Cell{hostCell(&w.Host), out.Str(l.Kind), out.Number(l.Weight), out.At(l.Since), out.At(l.Until),
				out.Str(l.Text), out.Str(q.a.moreCommand(w.Host.Name, l.More, false)), q.claimsCell(w, l.Claims)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return rows.Close()
}

// A claim is a number that a sentence rests on, as programs get it.
type claim struct {
	Metric    string     `json:"metric"`
	Instance  string     `json:"instance,omitempty"`
	Key       string     `json:"key,omitempty"`
	From      time.Time  `json:"from"`
	To        time.Time  `json:"to"`
	Of        string     `json:"of"`
	Units     string     `json:"units,omitempty"`
	Value     float64    `json:"value"`
	At        *time.Time `json:"at"`
	Usual     *float64   `json:"usual"`
	UsualFrom *time.Time `json:"usual_from"`
	UsualTo   *time.Time `json:"usual_to"`
	Command   string     `json:"command"`
}

// claimsCell holds the numbers that a sentence rests on, each with what it was in the calm stretch and
// the command that shows it.
func (q *whyAnswer) claimsCell(w *why.Answer, list []why.Claim) out.Cell {
	instant := func(wall int64) time.Time { return time.Unix(0, wall).UTC() }
	told := make([]claim, 0, len(list))
	for _, c := range list {
		if math.IsInf(c.Value, 0) || math.IsNaN(c.Value) {
			continue
		}
		one := claim{Metric: c.Metric, Instance: c.Instance, Key: c.Key, From: instant(c.From), To: instant(c.To), Of: c.Of, Units: c.Units, Value: c.Value}
		if c.At != 0 {
			at := instant(c.At)
			one.At = &at
		}
		if !math.IsInf(c.Usual, 0) && !math.IsNaN(c.Usual) {
			from, to := instant(w.Calm.From), instant(w.Calm.To)
			one.Usual, one.UsualFrom, one.UsualTo = &c.Usual, &from, &to
		}
		more := c.More
		if more == nil {
			more = q.a.rangeWords([]string{c.Metric}, cmp.Or(c.Key, c.Instance), c.From, c.To)
		}
		one.Command = q.a.moreCommand(w.Host.Name, more, false)
		told = append(told, one)
	}
	text, err := json.Marshal(told)
	if err != nil {
		return out.Cell{}
	}
	return out.Cell{Kind: out.Detail, Raw: text}
}

// rangeWords are the arguments that show what metrics of an instance came to. What is read once,
// when the recorder starts, is shown from then on.
func (s *session) rangeWords(metrics []string, instance string, from, to int64) []string {
	words := append([]string{"ranges"}, metrics...)
	if instance != "" {
		words = append(words, "--instance", instance)
	}
	span := spanWords(from, to)
	if len(metrics) == 1 {
		if m := s.Archive.Lookup(metrics[0]); m != nil && m.Class == metric.Static {
			span = span[2:]
		}
	}
	return append(words, span...)
}

func (q *whyAnswer) page(w *why.Answer) {
	head := q.a.Show(w.Window.From)
	if to := q.a.In(w.Window.To); to.Format(time.DateOnly) != q.a.In(w.Window.From).Format(time.DateOnly) {
		head += " to " + to.Format(time.DateTime)
	} else if w.Window.To > w.Window.From {
		head += " to " + to.Format(time.TimeOnly)
	}
	if w.How != "" {
		head += ", " + w.How
	}
	if w.Calm.To != 0 {
		head += fmt.Sprintf("; calm: %s to %s", q.a.TimeOfDay(w.Calm.From), q.a.TimeOfDay(w.Calm.To))
	}
	q.a.headed(w.Host.Name, head, 0)
	for i, l := range w.Lines {
		for k, line := range human.Wrap(visible.Text(l.Text), q.a.textWidth(80)-4) {
			if k == 0 && w.Found {
				q.a.stdout.Printf("%2d. %s\n", i+1, line)
			} else {
				q.a.stdout.Printf("    %s\n", line)
			}
		}
		q.a.stdout.Println("    " + q.a.moreCommand(w.Host.Name, l.More, true))
	}
}
