package report

import (
	"os"
	"testing"

	"tachograph/store/query/querytest"
)

// A page has what each owner's processes used together, where a recording says whose they are.
func TestOwners(t *testing.T) {
	file, err := os.Open("../../testdata/owners.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parts, err := querytest.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	p := collect(t, querytest.New(parts...), Request{})
	want := map[string]string{"owners-cpu": "Safari", "owners-memory": "Safari"}
	for _, plot := range p.doc.Plots {
		first, ok := want[plot.ID]
		if !ok {
			continue
		}
		delete(want, plot.ID)
		var names []string
		for _, s := range plot.Series {
			names = append(names, s.Name)
		}
		if len(names) != 5 || names[0] != first || names[4] != "others" {
			t.Errorf("%s shows %q", plot.ID, names)
		}
	}
	for id := range want {
		t.Errorf("there is no plot %s", id)
	}
}
