package main

import (
	"fmt"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/recorder/trigger"
)

// triggerRows describe the triggers: how many there are, and more about those that fired lately
// or were kept from it.
func triggerRows(all []trigger.Status, now time.Time) (rows []string) {
	watched := 0
	for i := range all {
		t := &all[i]
		if t.Idle == "" {
			watched++
		}
		if n := len(t.Fired); n > 0 {
			last := t.Fired[n-1]
			rows = append(rows, fmt.Sprintf("%s: fired %s in a day, last at %s (%s ago)%s", t.Name, cli.Count(n, "time"), clock(last), ago(now, last), standing(t)))
			if t.Last != "" {
				rows = append(rows, t.Last)
			}
		} else if t.Holds > 0 {
			rows = append(rows, t.Name+": not fired"+standing(t))
		}
	}
	if len(all) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d watched", watched)
	if idle := len(all) - watched; idle > 0 {
		text += fmt.Sprintf(", %d idle: recorder check says why", idle)
	}
	return append([]string{text}, rows...)
}

// standing says why a trigger fires or does not fire now.
func standing(t *trigger.Status) string {
	text := ""
	if t.Holds > 0 {
		text = "; its condition holds now"
	}
	if t.Wait != "" {
		text += "; " + t.Wait
	}
	if t.Refused > 0 {
		text += fmt.Sprintf("; not fired again %s because of that", cli.Count(t.Refused, "time"))
	}
	return text
}
