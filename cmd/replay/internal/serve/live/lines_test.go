package live

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Lines of JSON say what frames do.
func TestLines(t *testing.T) {
	r := newMachineRig(t, 21)
	r.play(12)
	srv := httptest.NewServer(r.pub)
	defer srv.Close()
	res, err := http.Get(srv.URL + "/v1/subscribe?metrics=test.kernel&metrics=test.disk&metrics=no.such&events=1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "application/x-ndjson" {
		t.Fatal(res.Status, got)
	}
	want := r.recorded()
	in := bufio.NewScanner(res.Body)
	values, errors, positions := 0, 0, 0
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, in.Text())
		}
		switch {
		case l.Error != "":
			errors++
		case l.Position != "":
			positions++
		case l.Metric != "":
			values++
			if l.Value == nil && l.Absent == "" && !l.Gone {
				t.Fatalf("neither a value nor a reason: %s", in.Text())
			}
		}
		if positions == 1 && values > 0 {
			if errors != 1 || values < 14 {
				t.Fatalf("%d values and %d errors in the snapshot of %d", values, errors, len(want))
			}
			r.play(1)
			values = 0
			positions++
		} else if positions > 2 {
			break
		}
	}
	if values == 0 {
		t.Error("nothing has changed")
	}
	for query, code := range map[string]int{"?interval=x": 400, "?interval=1ms": 400, "?what=1": 400, "?position=x": 400, "?metrics=no.such": 404} {
		res, err := http.Get(srv.URL + query)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != code {
			t.Errorf("%s: %s", query, res.Status)
		}
	}
}

// Each line has the time at which its value was read, as the archive has it, and who goes
// on from a position can tell how things stood there from what he has missed.
func TestLinesHaveTheirTimes(t *testing.T) {
	r := newMachineRig(t, 23)
	r.play(12)
	srv := httptest.NewServer(r.pub)
	defer srv.Close()
	// lines reads until a position behind so many values that are new.
	read := func(query string, fresh int) (position string, list []line) {
		t.Helper()
		res, err := http.Get(srv.URL + "/v1/subscribe?metrics=test.*" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			var l line
			if err := json.Unmarshal(in.Bytes(), &l); err != nil {
				t.Fatalf("%v: %s", err, in.Text())
			}
			switch {
			case l.Metric != "":
				list = append(list, l)
				if !l.Snapshot {
					fresh--
				}
			case l.Position == "":
			case fresh > 0: // more is to come
			default:
				return l.Position, list
			}
		}
		t.Fatal("it has ended")
		return "", nil
	}
	position, stood := read("", 0)
	for _, l := range stood {
		if !l.Snapshot {
			t.Fatalf("%+v is of a snapshot and does not say so", l)
		}
	}
	r.play(5)
	_, list := read("&position="+position, 20)
	want := r.recorded()
	snapshots := 0
	for _, l := range append(stood, list...) {
		at, err := time.Parse(time.RFC3339Nano, l.Time)
		if err != nil {
			t.Fatal(err)
		}
		if l.Snapshot {
			snapshots++
		}
		if _, ok := want[cell{l.Metric, l.Key, at.UnixNano()}]; !ok && !l.Gone && !strings.Contains(l.Metric, "computed") {
			t.Fatalf("nothing was read of %s %s at %s", l.Metric, l.Key, l.Time)
		}
	}
	if snapshots < 2*len(stood)*9/10 {
		t.Errorf("%d of %d lines stand as they were read, %d did at first", snapshots, len(stood)+len(list), len(stood))
	}
}
