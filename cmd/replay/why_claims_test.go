package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// The command of a claim shows the value that it names.
func TestClaimsCanBeChecked(t *testing.T) {
	t.Parallel()
	checked, usual := 0, 0
	for _, name := range []string{"mac", "blame", "whose", "net", "netmac", "deaths", "energy", "owners"} {
		out, errs, _ := replay(openText, "why", "--format", "json", "--archive", "testdata/"+name+".txt", "--utc")
		for line := range strings.Lines(out) {
			var row struct {
				Text   string
				Claims []claim
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v %s", name, err, errs)
			}
			for _, c := range row.Claims {
				checked++
				if got := shownValue(t, &c, c.Command, c.From, c.To); math.Abs(got-c.Value) > 0.02*math.Abs(c.Value)+1e-6 {
					t.Errorf("%s: %s\n%+v\n%s shows %v", name, row.Text, c, c.Command, got)
				}
				if c.Usual == nil {
					continue
				}
				usual++
				command := strings.NewReplacer(inCommand(c.From, c.To), inCommand(*c.UsualFrom, *c.UsualTo)).Replace(c.Command)
				if got := shownValue(t, &c, command, *c.UsualFrom, *c.UsualTo); math.Abs(got-*c.Usual) > 0.02*math.Abs(*c.Usual)+1e-6 {
					t.Errorf("%s: %s\nusual %v of %+v\n%s shows %v", name, row.Text, *c.Usual, c, command, got)
				}
			}
		}
	}
	if checked < 10 || usual < 5 {
		t.Errorf("only %d claims were checked, and the usual of %d", checked, usual)
	}
}

// shownValue runs the command of a claim and returns the value that it shows.
func shownValue(t *testing.T, c *claim, command string, from, to time.Time) (sum float64) {
	out, errs, status := replay(openText, append(words(command)[1:], "--format", "json")...)
	if status != 0 {
		t.Errorf("%s: status %d %s", command, status, errs)
	}
	for line := range strings.Lines(out) {
		var row struct{ Max, Increase *float64 }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Of == "max" && row.Max != nil:
			sum += *row.Max
		case c.Of == "rate" && row.Increase != nil:
			sum += *row.Increase / to.Sub(from).Seconds()
		}
	}
	return sum
}

// inCommand is a window as a command has it.
func inCommand(from, to time.Time) string {
	return strings.Join(spanWords(from.UnixNano(), to.UnixNano()), " ")
}
