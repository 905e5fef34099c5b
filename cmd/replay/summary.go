package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

func summaryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "summary [ARCHIVE...]",
		Short: "One line for each archive: a day, or a fleet",
		Long: `summary prints a line for each archive: its host, span and size, the mean use
of the CPU, the most memory in use, what was read and written, received and
sent, and how often the recording was interrupted. It reads stored summaries
only, so a directory of many hosts and days takes little time.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(args...); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			if err := a.summary(w); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
}

func (a *app) summary(w query.Window) error {
	right := func(name string, keep int) out.Column { return out.Column{Name: name, Right: true, Keep: keep} }
	rows, err := a.rows(out.Column{Name: "archive_host", Title: "HOST", Only: a.onlyOneHost(), Flex: true}, out.Column{Name: "from", Keep: 12}, out.Column{Name: "to", Keep: 1},
		right("length", 11), right("bytes", 7), right("cpu", 9), right("memory_max", 8), right("memory", 2), right("read", 3), right("written", 4), right("received", 6),
		right("sent", 5), right("breaks", 10), right("damage", 0), out.Column{Name: "id", Only: out.InMachine}, out.Column{Name: "path", Only: out.InMachine})
	if err != nil {
		return err
	}
	size := func(x float64) out.Cell { return answer.Whole(x).As(answer.Bytes.Text(x)) }
	_, _, list := query.Covered(a.Archive, w)
	done := 0
	err = query.Digests(a.Archive, w, func(d *query.Digest) error {
		i := d.Archive
		done++
		a.showProgress(done, len(list))
		share := answer.Real(d.CPU)
		if !math.IsNaN(d.CPU) {
			share = share.As(human.Percent(d.CPU))
		}
		seconds := float64(d.To-d.From) / 1e9
		return rows.Row([]out.Cell{hostCell(&i.Host), out.Str(i.Host.Name), out.At(d.From), out.At(d.To),
			out.Number(seconds).As(durationText(d.To - d.From)), out.Whole(i.Bytes).As(human.Bytes(float64(i.Bytes))), share,
			size(d.Memory), size(d.OfMemory), size(d.Read), size(d.Written), size(d.Received), size(d.Sent),
			out.Whole(int64(d.Breaks)), out.Whole(int64(len(i.Damage))).If(len(i.Damage) > 0), out.Str(i.ID), out.Str(i.Path)})
	})
	if err != nil {
		return err
	}
	a.showProgress(0, 0)
	return rows.Close()
}

// onlyOneHost says where to show a column of the host's name: only where the table has no
// leading column for it.
func (s *session) onlyOneHost() out.Only {
	if s.ManyHosts() {
		return out.Nowhere
	}
	return out.Everywhere
}

// showProgress shows on a terminal how far long work has come; zero of zero erases that.
func (p *page) showProgress(done, of int) {
	switch {
	case !p.progress || of > 0 && of < 5:
	case of == 0:
		fmt.Fprint(p.stderr, visible.EraseLine)
	default:
		p.stderr.Printf(visible.EraseLine+"%d of %s", done, cli.Count(of, "archive"))
	}
}
