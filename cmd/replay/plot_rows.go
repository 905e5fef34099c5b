package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/out"
)

// checkPoints refuses flags that are of charts for people where programs ask, and the other way
// round.
func (p *plotting) checkPoints(cmd *cobra.Command) error {
	const most = 10000
	switch {
	case p.a.table() && cmd.Flags().Changed("points"):
		return errors.New("--points is of csv and json: charts and pictures have as many points as they have room for")
	case !p.a.table() && p.file.path != "":
		return fmt.Errorf("--output writes a picture: leave --format %s out", p.a.format)
	case p.points < 1 || p.points > most:
		return fmt.Errorf("--points %d: use 1 to %d", p.points, most)
	}
	return nil
}

// rows writes the series for programs.
func (p *plotting) rows(args []string) error {
	list, w, err := p.read(args, p.points)
	if err != nil {
		return err
	}
	rows, err := p.a.rows(out.Metric, out.Instance, out.Column{Name: "units"}, out.Column{Name: "from"}, out.Column{Name: "to"}, out.Column{Name: "values"})
	if err != nil {
		return err
	}
	for _, s := range list {
		units := s.Units.String()
		if err := rows.Row([]out.Cell{out.Str(s.Host), out.Str(s.Name), out.Str(s.Instance), out.Str(units), out.At(w.From), out.At(w.To), numbers(s.Values)}); err != nil {
			return err
		}
	}
	return rows.Close()
}

// numbers is a cell with an array of numbers; those that are absent are null.
func numbers(list []float64) out.Cell {
	b := []byte{'['}
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, x, 'g', -1, 64)
		}
	}
	return out.Cell{Kind: out.Detail, Raw: append(b, ']')}
}
