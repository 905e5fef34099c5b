package telemetry

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

func number(n uint64) metric.Value { return metric.Value{Type: metric.U64, Bits: n} }
func signed(n int64) metric.Value  { return metric.Value{Type: metric.I64, Bits: uint64(n)} }
func load(x float64) metric.Value  { return metric.Value{Type: metric.F64, Bits: math.Float64bits(x)} }

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		kind kind
		list []metric.Value
		want string
	}{
		{ofInt32, []metric.Value{signed(-2)}, "feffffff"},
		{ofInt32, []metric.Value{signed(math.MaxInt32)}, "ffffff7f"},
		{ofUint32, []metric.Value{number(math.MaxUint32)}, "ffffffff"},
		{ofInt64, []metric.Value{signed(-2)}, "feffffffffffffff"},
		{ofUint64, []metric.Value{number(0x0102030405060708)}, "0807060504030201"},
		{ofString, []metric.Value{{Type: metric.String, Str: "Darwin"}}, "44617277696e00"},
		{ofString, []metric.Value{{Type: metric.String}}, "00"},
		{ofString, []metric.Value{{Type: metric.String, Str: "\xff"}}, "ff00"},
		{ofTimeval, []metric.Value{number(1_795_143_600_999_999)}, "b0b7ff6a000000003f420f0000000000"},
		{ofLoadavg, []metric.Value{load(1.5), load(1.0 / 2048), load(2097151.99951171875)}, "000c000001000000ffffffff000000000008000000000000"},
		{ofSwap, []metric.Value{number(3 << 30), number(1 << 30), number(2 << 30), signed(16384)},
			"000000c000000000" + "0000004000000000" + "0000008000000000" + "00400000" + "01000000"},
		{ofClock, []metric.Value{signed(100), signed(10000), signed(1), signed(98), signed(99)}, "6400000010270000010000006200000063000000"},
		{ofRaw, []metric.Value{number(8), number(1)}, "08000000000000000100000000000000"},
	} {
		if got := fmt.Sprintf("%x", encode(c.kind, c.list)); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.kind, c.list, got, c.want)
		}
	}
}

// Kinds and lengths are those that a Mac with Apple silicon was seen to answer with.
func TestKindsAreTheKernels(t *testing.T) {
	file, err := os.Open("../../../../../testdata/darwin/facts/sysctl_inventory.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := csv.NewReader(file)
	in.Comma, in.FieldsPerRecord = '\t', -1
	rows, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string][]kind{
		"int32": {ofInt32, ofUint32}, "int64": {ofInt64, ofUint64}, "struct16": {ofTimeval}, "struct24": {ofLoadavg},
		"struct32": {ofSwap}, "struct20": {ofClock}, "opaque(80)": {ofRaw},
	}
	n := 0
	for _, row := range rows {
		name, size, typ := row[0], row[2], row[3]
		k := theirsByName()[name]
		if k == nil {
			continue
		}
		n++
		if strings.HasPrefix(typ, "string") {
			if k.kind != ofString {
				t.Errorf("%s is %s, there %s", name, k.kind, typ)
			}
			continue
		}
		list := make([]metric.Value, max(1, len(members[k.kind])), 10)
		if k.kind == ofSwap {
			list = append(list, number(16384))
		}
		if ok := kinds[typ]; len(ok) == 0 || k.kind != ok[0] && k.kind != ok[len(ok)-1] || fmt.Sprint(len(encode(k.kind, list))) != size {
			t.Errorf("%s is %s of %d bytes, there %s of %s", name, k.kind, len(encode(k.kind, list)), typ, size)
		}
	}
	if n != 243 {
		t.Errorf("%d metrics", n)
	}
	count := make(map[kind]int)
	for _, k := range theirs() {
		count[k.kind]++
	}
	want := map[kind]int{ofInt32: 160, ofUint32: 2, ofInt64: 41, ofUint64: 17, ofString: 15, ofTimeval: 3, ofLoadavg: 1, ofSwap: 1, ofClock: 1, ofRaw: 2, ofComputed: 7}
	for k, n := range want {
		if count[k] != n {
			t.Errorf("%d metrics are %s, want %d", count[k], k, n)
		}
	}
}
