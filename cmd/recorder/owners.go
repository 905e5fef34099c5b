package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// ofOwners reports whether a metric says whose a process is.
func ofOwners(d *metric.Desc) bool { return strings.HasPrefix(d.Name, "proc.owner.") }

// ownersOf returns the owners that the sources have found.
func ownersOf(sources []sample.Source) ([]owner.Count, error) {
	for _, s := range sources {
		if s, ok := s.(interface{ Owners() []owner.Count }); ok {
			return s.Owners(), nil
		}
	}
	return nil, errors.New("the processes of this machine cannot be read")
}

func printOwners(out io.Writer, counts []owner.Count, width int) error {
	t := table{head: []string{"KIND", "NAME", "PROCESSES", "FOUND BY"}, drop: []int{3}, cut: []int{3, 1}}
	for _, c := range counts {
		t.rows = append(t.rows, []string{dash(c.Kind), dash(visible.Text(c.Name)), strconv.Itoa(c.Processes), visible.Text(c.FoundBy)})
	}
	return t.write(out, width)
}

// ownerLine is the printed form of an owner; programs rely on its field names.
type ownerLine struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Processes int    `json:"processes"`
	FoundBy   string `json:"found_by"`
}

func printOwnersJSON(out io.Writer, counts []owner.Count) error {
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, c := range counts {
		if err := enc.Encode(ownerLine(c)); err != nil {
			return err
		}
	}
	return w.Flush()
}
