package proc

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

func TestAppEvents(t *testing.T) {
	app := func(id uint64, name string, living uint32) *coalition {
		co := &coalition{id: id, living: living, instance: metric.Instance{ID: id, Key: fmt.Sprint(id)}}
		if name != "" {
			co.instance.Labels = []metric.Label{{Name: "app", Value: name}, {Name: "service", Value: "com." + name}}
		}
		return co
	}
	var w appWatch
	now := metric.Stamp{Cont: 1e12}
	for i, step := range []struct {
		listed []*coalition
		want   string
	}{
		{[]*coalition{app(1, "Mail", 3), app(2, "", 1)}, ""},
		{[]*coalition{app(1, "Mail", 3), app(2, "", 1), app(3, "Safari", 1)}, ""},
		{[]*coalition{app(1, "Mail", 3), app(3, "Safari", 9)}, ""},
		{[]*coalition{app(1, "Mail", 3), app(3, "Safari", 9)}, "Safari started (came)"},
		{[]*coalition{app(1, "Mail", 0), app(3, "Safari", 9), app(4, "Notes", 1)}, "Mail ended (went)"},
		{[]*coalition{app(3, "Safari", 9)}, ""}, // Notes was there for a moment
		{[]*coalition{app(5, "Mail", 1)}, "Safari ended (went)"},
		{[]*coalition{app(5, "Mail", 1), app(6, "", 1)}, ""},
		{[]*coalition{app(5, "Mail", 1), app(6, "Late", 1)}, "Mail was restarted (restarted)"},
		{[]*coalition{app(5, "Mail", 1), app(6, "Late", 1)}, ""},
		{[]*coalition{app(5, "Mail", 1), app(6, "Late", 1)}, "Late started (came)"},
	} {
		var got []string
		c := &sample.Context{Emit: func(e metric.Event) {
			if e.Kind != metric.EventOwner || e.At != now || e.Indom != "coalition" || e.Label("service") != "com."+e.Label("app") {
				t.Errorf("step %d: %+v", i, e)
			}
			got = append(got, e.Text+" ("+e.Label(metric.OwnerWhat)+")")
		}}
		w.look(c, now, step.listed)
		if text := strings.Join(got, ", "); text != step.want {
			t.Errorf("step %d: %q, want %q", i, text, step.want)
		}
		now.Cont += 5e9
	}
	// Where many come at once, only some have an event each.
	var many []*coalition
	for i := range uint64(30) {
		many = append(many, app(100+i, fmt.Sprint("App ", i), 1))
	}
	events, rest := 0, ""
	c := &sample.Context{Emit: func(e metric.Event) {
		if events++; strings.Contains(e.Text, " more ") {
			rest = e.Text
		}
	}}
	for range 30 {
		w.look(c, now, many)
		now.Cont += 5e9
	}
	if events > 14 || !strings.Contains(rest, "more owners came") {
		t.Errorf("%d events, and %q", events, rest)
	}
}
