package pcp

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// Units from PCP's own examples, as 32 bits.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		units metric.Units
		want  uint32
	}{
		{metric.NoUnits, 0}, {metric.Bytes, 0x10000000}, {metric.Seconds, 0x01003000}, {metric.Microseconds, 0x01001000},
		{metric.Nanoseconds, 0x01000000}, {metric.Counts, 0x00100000}, {metric.PerSecond, 0x0f103000},
		{metric.Units{Space: 1, SpaceScale: metric.Kbyte, Time: -1, TimeScale: metric.Sec}, 0x1f013000},
		{metric.Units{Other: "C"}, 9},
		{metric.Units{Count: 1, CountScale: -3}, 0x00100d00},
	} {
		got, ok := UnitsOf(c.units)
		if got != c.want || !ok {
			t.Errorf("%v: %08x, %v; want %08x", c.units, got, ok, c.want)
		}
		if back := Units(got); back != c.units {
			t.Errorf("%08x: %v, want %v", got, back, c.units)
		}
	}
	if n, ok := UnitsOf(metric.Percent); n != 0 || ok {
		t.Errorf("percent is %08x, %v", n, ok)
	}
}

// Every metric of the catalogue has a number of its own, a name that PCP accepts, and an
// instance domain in the domain of its number.
func TestCatalogue(t *testing.T) {
	for _, p := range []catalog.Platform{catalog.Linux, catalog.Darwin} {
		s := NewSpace()
		pmids := make(map[metric.PMID]string)
		for _, d := range catalog.For(p) {
			m := s.Add(d)
			domain, cluster, _ := m.PMID.Parts()
			if had, taken := pmids[m.PMID]; taken || m.PMID == 0 {
				t.Errorf("%s and %s are both %v", had, d.Name, m.PMID)
			}
			pmids[m.PMID] = d.Name
			if below := strings.Contains(d.Name, ".inerrs.") || strings.Contains(d.Name, ".inerrors."); m.Renamed != below {
				t.Errorf("%s is called %s", d.Name, m.Name)
			}
			if d.Indom != metric.NoIndom && m.InDom>>22 != domain {
				t.Errorf("%s of domain %d has the instances of %s", d.Name, domain, InDomString(m.InDom))
			}
			if domain == metric.OwnDomain && cluster >= Reserved-1 {
				t.Errorf("%s is %v, which is reserved", d.Name, m.PMID)
			}
			if typ, ok := m.Type.Metric(); typ != d.Type || !ok {
				t.Errorf("%s: %v is %v", d.Name, d.Type, m.Type)
			}
			if sem, ok := Semantics(m.Semantics); sem != d.Sem || !ok {
				t.Errorf("%s: %v is %d", d.Name, d.Sem, m.Semantics)
			}
		}
	}
}

// Archives contain numbers that are computed from names. They must never change.
func TestNumbersStay(t *testing.T) {
	if got := NumberOf("sysctl.kern.example").String(); got != "501.2876.839" {
		t.Errorf("sysctl.kern.example is %s", got)
	}
	s := NewSpace()
	if got := InDomString(s.InDom(500, "cache")); got != "500.901093" {
		t.Errorf("cache is %s", got)
	}
	if got := InDomString(s.InDom(3, "process")); got != "3.9" {
		t.Errorf("process is %s", got)
	}
}

func TestNames(t *testing.T) {
	s := NewSpace()
	for _, c := range []struct{ own, want string }{
		{"kern.ipc", "kern.ipc"}, {"kern.ipc.max-size", "kern.ipc_max_size"}, {"a..b", "a.x.b"}, {"a", "a_"},
		{"net.1st._x", "net.x1st.x_x"}, {"größe", "gr____e"},
	} {
		if m := s.Add(&metric.Desc{Name: c.own}); m.Name != c.want || m.Renamed != (c.own != c.want) {
			t.Errorf("%s is called %s, want %s", c.own, m.Name, c.want)
		}
	}
	// A changed description is another metric. The same description behind another pointer
	// is not.
	d := metric.Desc{Name: "x.y", PMID: metric.NewPMID(60, 1, 2)}
	other := d
	if s.Add(&d) != s.Add(&other) {
		t.Error("the same metric became two")
	}
	changed := d
	changed.Type = metric.F64
	if a, b := s.Add(&d), s.Add(&changed); a.PMID == b.PMID || a.Name == b.Name {
		t.Errorf("two types of a metric share %v %s", b.PMID, b.Name)
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		t    Type
		bits uint64
	}{
		{U64, math.MaxUint64}, {I64, 1 << 63}, {Double, math.Float64bits(-0.1)}, {Float, uint64(math.Float32bits(2.5))},
	} {
		typ, value, ok := Block(AppendBlock(nil, c.t, c.bits))
		if bits, numeric := Number(c.t, value); !ok || typ != c.t || bits != c.bits || !numeric {
			t.Errorf("%v %x came back as %v %x", c.t, c.bits, typ, bits)
		}
	}
	b := AppendString(nil, "hé")
	if string(b) != "\x06\x00\x00\x08h\xc3\xa9\x00" || StringBlock("hé") != len(b) {
		t.Errorf("%q, of which %d", b, StringBlock("hé"))
	}
	if Bits(I32, 0xffffffff) != math.MaxUint64 || Bits(U32, 0xffffffff) != math.MaxUint32 {
		t.Error("32 bits are widened wrongly")
	}
}

func TestLabels(t *testing.T) {
	list := []metric.Label{{Name: "exe", Value: "/bin/\"a\\b\"\n\x7f"}, {Name: "exe", Value: "twice"}, {Name: "1-x", Value: "\xff<>"}}
	text, refs := LabelJSON(list, LabelInstances)
	if !json.Valid([]byte(text)) || len(refs) != 2 {
		t.Fatalf("%s, %v", text, refs)
	}
	for i, want := range []string{"exe", "x1_x"} {
		r := refs[i]
		if got := text[r.Name : int(r.Name)+int(r.NameLen)]; got != want || text[r.Value] != '"' || text[r.Value+r.ValueLen-1] != '"' {
			t.Errorf("label %d is %s, its value %s", i, got, text[r.Value:r.Value+r.ValueLen])
		}
	}
	back, err := ParseLabels(text)
	if err != nil || len(back) != 2 || back[0] != list[0] || back[1].Value != "\ufffd<>" {
		t.Errorf("%v, %v", back, err)
	}
	if back, err := ParseLabels(`{"n":12,"o":{"a":1}}`); err != nil || back[0].Value != "12" || back[1].Value != `{"a":1}` {
		t.Errorf("%v, %v", back, err)
	}
}

// PCP's tools reject a message that has as many labels, or as long a text, as PCP says is
// allowed. LabelJSON stays below both.
func TestManyLabels(t *testing.T) {
	var list []metric.Label
	for i := range 300 {
		list = append(list, metric.Label{Name: fmt.Sprint("l", i), Value: strings.Repeat("v", 100)})
	}
	if text, refs := LabelJSON(list, LabelInstances); len(refs) != 254 || !json.Valid([]byte(text)) {
		t.Errorf("%d labels", len(refs))
	}
	for n := 65500; n < 65560; n++ {
		long := []metric.Label{{Name: "l", Value: strings.Repeat("v", n)}}
		if text, _ := LabelJSON(long, LabelInstances); len(text) >= 65535 {
			t.Errorf("a value of %d makes a text of %d", n, len(text))
		}
	}
}

func FuzzParseLabels(f *testing.F) {
	f.Add(`{"a":"b"}`)
	f.Add(`{"a":1,"b":{}}`)
	f.Fuzz(func(t *testing.T, s string) {
		labels, err := ParseLabels(s)
		if err != nil {
			return
		}
		if text, _ := LabelJSON(labels, LabelItem); !json.Valid([]byte(text)) {
			t.Errorf("%q became %q", s, text)
		}
	})
}

// For PCP, labels that only describe a machine or a metric are optional. All others identify
// a series.
func TestLabelsThatDescribe(t *testing.T) {
	list := HostLabels(&metric.Host{Name: "web-1", ID: "7", Release: "6.1"}, metric.Label{Name: SaysBoot, Value: "b"}, metric.Label{Name: "a.b", Value: "c"})
	_, refs := LabelJSON(list, LabelContext)
	var flags []uint8
	for _, r := range refs {
		flags = append(flags, r.Flags)
	}
	if !slices.Equal(flags, []uint8{1, 1, 0x81, 0x81, 0x81}) {
		t.Errorf("%x", flags)
	}
	for kind, want := range map[int]uint8{LabelItem: 0x90, LabelInstances: LabelInstances, LabelDomain: LabelDomain} {
		if _, refs := LabelJSON([]metric.Label{{Name: "class", Value: "fast"}}, kind); refs[0].Flags != want {
			t.Errorf("kind %d: %x", kind, refs[0].Flags)
		}
	}
}
