package service

import (
	"testing"

	"tachograph/sample/metric"
)

// deaf is an archive that only takes events.
type deaf struct{ Archive }

func (deaf) Event(...metric.Event) error { return nil }

func TestOwnersOfAStatus(t *testing.T) {
	w := &watched{Archive: deaf{}}
	if w.status() != nil {
		t.Error("it has owners before anything happened")
	}
	of := func(wall int64, text string, labels ...string) metric.Event {
		e := metric.Event{Kind: metric.EventOwner, At: metric.Stamp{Wall: wall}, Text: text}
		for i := 0; i < len(labels); i += 2 {
			e.Labels = append(e.Labels, metric.Label{Name: labels[i], Value: labels[i+1]})
		}
		return e
	}
	for _, e := range []metric.Event{
		of(1, "a", metric.OwnerWhat, metric.OwnerCame), of(2, "b", metric.OwnerWhat, metric.OwnerWent),
		of(3, "many", metric.OwnerWhat, metric.OwnerCame, metric.OwnerCame, "40", metric.OwnerWent, "30"),
		of(4, "c", metric.OwnerWhat, metric.OwnerRestarted), of(5, "d", metric.OwnerWhat, metric.OwnerKilled),
		{Kind: metric.EventMount, Text: "no owner"},
		of(6, "e", metric.OwnerWhat, metric.OwnerThrottled), of(7, "f", metric.OwnerWhat, metric.OwnerLimit),
	} {
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	o := w.status()
	if o.Came != 41 || o.Went != 31 || o.Restarted != 1 || o.Killed != 1 || o.Throttled != 1 {
		t.Errorf("%+v", *o)
	}
	last := ""
	for _, e := range o.Last {
		last += e.Text
	}
	if last != "def" {
		t.Errorf("the last events are %q, want def", last)
	}
}
