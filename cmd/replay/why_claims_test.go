package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// The command of a claim shows the value that it names, and replay values with the same arguments
// that it was first reached at the instant that it names.
func TestClaimsCanBeChecked(t *testing.T) {
	t.Parallel()
	checked, dated, usual := 0, 0, 0
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
				if c.At != nil {
					dated++
					most, at := shownMost(t, strings.Replace(c.Command, "replay ranges", "replay values", 1))
					if !at.Equal(*c.At) || math.Abs(most-c.Value) > 1e-9*math.Abs(most) {
						t.Errorf("%s: %s\n%+v at %v\nthe values are at most %v, at %v", name, row.Text, c, *c.At, most, at)
					}
				} else if c.Of == "max" && c.Key != "" {
					t.Errorf("%s: %s\n%+v has no instant", name, row.Text, c)
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
	if checked < 10 || dated < 5 || usual < 5 {
		t.Errorf("only %d claims were checked, the instant of %d, and the usual of %d", checked, dated, usual)
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

// shownMost runs a command that shows values, and returns the highest and when it was first reached.
func shownMost(t *testing.T, command string) (most float64, at time.Time) {
	out, errs, status := replay(openText, append(words(command)[1:], "--format", "json")...)
	if status != 0 {
		t.Errorf("%s: status %d %s", command, status, errs)
	}
	most = math.Inf(-1)
	for line := range strings.Lines(out) {
		var row struct {
			Time  time.Time
			Value *float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Value != nil && *row.Value > most {
			most, at = *row.Value, row.Time
		}
	}
	return most, at
}

// inCommand is a window as a command has it.
func inCommand(from, to time.Time) string {
	return strings.Join(spanWords(from.UnixNano(), to.UnixNano()), " ")
}

// The command of a row of net shows that the metrics that it names grew by the bytes of the row, or
// lists the processes that add up to it. All that it ever transferred counts of what began in the
// window.
func TestNetCanBeChecked(t *testing.T) {
	t.Parallel()
	type row struct {
		Row, Metric, Command string
		In                   *float64 `json:"in_bytes"`
		First, Increase      *float64
	}
	ask := func(command string) (list []row) {
		out, errs, status := replay(openText, append(words(command)[1:], "--format", "json")...)
		if status != 0 {
			t.Errorf("%s: status %d %s", command, status, errs)
		}
		for line := range strings.Lines(out) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			list = append(list, r)
		}
		return list
	}
	checked := make(map[string]int)
	for _, question := range []string{"net", "net --group name", "net --group service", "net --protocol tcp --group name", "net --connections", "net --peers", "net --listeners"} {
		for _, r := range ask("replay " + question + " --archive testdata/net.txt --utc") {
			if r.Command == "" {
				continue
			}
			shown, sum, first := ask(r.Command), 0.0, 0.0
			for _, s := range shown {
				switch {
				case strings.HasSuffix(s.Metric, "in_bytes") || strings.HasSuffix(s.Metric, "bytes_received"):
					sum, first = sum+*s.Increase, first+*s.First
				case s.Row == "total" && s.In != nil:
					sum += *s.In
				}
			}
			checked[r.Row]++
			if len(shown) == 0 || r.Row != "peer" && r.In != nil && min(math.Abs(sum-*r.In), math.Abs(first+sum-*r.In)) > 0.001**r.In {
				t.Errorf("%s: %+v shows %v of %v", question, r, sum, *r.In)
			}
		}
	}
	for _, kind := range []string{"process", "group", "total", "unattributed", "connection", "peer", "listener"} {
		if checked[kind] == 0 {
			t.Errorf("no row %s was checked", kind)
		}
	}
}
