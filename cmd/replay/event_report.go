package main

import (
	"fmt"
	"io"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// eventReport prints the text of a report that was kept. A file or a pipe gets it as it is.
func (a *app) eventReport(w query.Window, id string) error {
	sel := w.Selection(metric.ReportText)
	sel.Metrics = append(sel.Metrics, metric.ReportSize)
	sel.Instance = func(indom string, in *metric.Instance) bool {
		return indom == metric.DomainReport && (in.Key == id || in.Name == id)
	}
	var key, text, why string
	var size uint64
	others := make(map[string]bool)
	for run := range a.Archive.Select(sel) {
		if run.Instance == nil || len(run.Wall) == 0 {
			continue
		}
		others[run.Instance.Key] = true
		if key == "" {
			key = run.Instance.Key
		}
		if run.Instance.Key != key {
			continue
		}
		switch v := run.At(0); {
		case run.Metric.Name == metric.ReportSize && v.Miss == metric.Present:
			size = v.Bits
		case run.Metric.Name == metric.ReportText && v.Miss != metric.Present:
			why = v.Miss.String()
		case run.Metric.Name == metric.ReportText:
			text = v.Str
		}
	}
	switch {
	case key == "":
		return nothing("no text of a report %s in this window; the label \"text\" of an event has the names of those that were kept (--format json)", id)
	case len(others) > 1:
		return fmt.Errorf("%d reports are called %s: give the label \"text\" of the event (--format json)", len(others), id)
	case text == "":
		return nothing("the text of %s was not kept: %s", id, why)
	}
	if size != uint64(len(text)) {
		whole := "a report whose length is not known"
		if size > 0 {
			whole = human.Bytes(float64(size))
		}
		a.warn(fmt.Sprintf("this is the beginning, %s of %s: no more was kept", human.Bytes(float64(len(text))), whole))
	}
	to := io.Writer(a.stdout)
	if !a.terminalOut {
		to = a.stdout.Unwrap()
	}
	_, err := io.WriteString(to, text)
	return err
}
