package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"tachograph/cmd/replay/internal/human"
)

var update = flag.Bool("update", false, "write the golden files anew")

// written is a value as the page must write it.
type written struct {
	Form  Form    `json:"form"`
	Value float64 `json:"value"`
	Text  string  `json:"text"`
}

// TestHuman keeps testdata/human.json: what replay writes for values of each form. A
// browser compares with it what the page writes.
func TestHuman(t *testing.T) {
	var list []written
	values := []float64{0, 0.5, 1, 1.5, 2.5, 0.125, 0.375, 12.25, 12.35, 99.95, 999.4, 999.5, 1000, 1023, 1024, 1048575, 9999.5, 10000, 12345.678, 1e6, 999999.5, 1.5e9,
		0.00094, 0.00095, 0.0949, 0.095, 0.1, 0.0005, 0.00001234, 0.0001, 1e-7, 0.44, 0.445, 0.455, 1.305, 3.14159, 123456789, 7.5e12, 1e15, 3e18, 59.4, 59.5, 60, 3599.6, 3600, 86399, 86400, 1e6, 1e9, -3, -0.25, -1536}
	for x := 1.7e-6; x < 1e13; x *= 3.7 {
		values = append(values, x, -x)
	}
	for _, m := range []*measure{shares, sizes, sizesASecond, aSecond, plain, celsius, rpm} {
		for _, x := range values {
			list = append(list, written{m.form, x, m.write(x)})
		}
	}
	for _, x := range values {
		list = append(list, written{Form{Kind: "seconds"}, x, human.Seconds(x)})
	}
	var got bytes.Buffer
	got.WriteString("[\n")
	for i, one := range list {
		if math.IsInf(one.Value, 0) {
			continue
		}
		line, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(line)
		if i < len(list)-1 {
			got.WriteByte(',')
		}
		got.WriteByte('\n')
	}
	got.WriteString("]\n")
	const file = "testdata/human.json"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%s is not what replay writes (go test -update writes it anew; %v)", file, err)
	}
}
