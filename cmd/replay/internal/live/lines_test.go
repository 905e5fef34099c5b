package live

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
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
