package main

import (
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store"
)

func eventColumns() []out.Column {
	return []out.Column{
		{Name: "time", Width: timeWidth}, {Name: "kind", Width: len(metric.EventProcessStart), Keep: out.Always}, {Name: "text"},
		{Name: "indom", Only: out.InMachine}, {Name: "key", Only: out.InMachine}, {Name: "labels", Only: out.InMachine},
	}
}

func eventCells(e *store.Event, text string) []out.Cell {
	return []out.Cell{
		hostCell(&e.Archive.Host), out.At(e.At.Wall), out.Str(string(e.Kind)).If(alarmingEvent(e)), out.Str(text),
		out.Str(e.Indom), out.Str(e.Key), out.Labels(e.Labels),
	}
}
