package pcparchive

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

const start = int64(1795300000_123456789)

// example writes an archive that has everything.
func example(t testing.TB, base string, opt Options) {
	opt.Label = Label{PID: 77, Start: start, Host: "mac", TZ: "CET-1", Zone: ":Europe/Berlin"}
	w, err := Create(base, opt)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	json, refs := pcp.LabelJSON([]metric.Label{{Name: "hostname", Value: "mac"}}, pcp.LabelContext)
	check(w.Labels(start, pcp.LabelContext, pcp.Null, []LabelSet{{Instance: pcp.Null, JSON: json, Refs: refs}}))
	for i, typ := range []pcp.Type{pcp.U64, pcp.I32, pcp.Float, pcp.String, pcp.Double} {
		d := Desc{PMID: 500<<22 | uint32(i+1), Type: typ, InDom: pcp.Null, Semantics: pcp.Instant, Names: []string{"a." + strings.ReplaceAll(typ.String(), "3", "x")}}
		if typ == pcp.U64 {
			d.InDom = 500 << 22
		}
		check(w.Desc(&d))
		check(w.Text(d.PMID, "one line", "more\nlines"))
	}
	check(w.InDom(start, 500<<22, []Instance{{ID: 1, Name: "000001 launchd"}, {ID: 7, Name: "000007 x y"}}, false))
	one := func(i int, bits uint64, words ...string) Set {
		return Set{PMID: 500<<22 | uint32(i), Type: []pcp.Type{pcp.U64, pcp.I32, pcp.Float, pcp.String, pcp.Double}[i-1], Instances: Singular(), Values: &metric.Column{Bits: []uint64{bits}, Words: words}}
	}
	for i := range int64(5) {
		if i == 2 {
			check(w.InDom(start+i*second, 500<<22, []Instance{{ID: 7, Gone: true}, {ID: 9, Name: "000009 new"}}, true))
		}
		if i == 4 {
			check(w.Mark(start + 3*second + 1))
		}
		procs := Set{PMID: 500<<22 | 1, Type: pcp.U64, Instances: []uint32{1, 7}, Values: &metric.Column{Bits: []uint64{1 << 63, uint64(i)}}}
		if i >= 2 {
			procs.Instances = []uint32{1, 9}
		}
		switch i {
		case 1:
			procs.Values.Miss = []metric.Reason{metric.Permission, metric.Present}
		case 3:
			procs.Values.Miss = []metric.Reason{metric.Permission, metric.Permission}
		}
		check(w.Result(start+i*second, []Set{procs, one(2, ^uint64(4)), one(3, 0x42c80000), one(4, 0, "hé"), one(5, 0x3f947ae147ae147b)}))
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

// values lists what an archive holds, a line each.
func values(t testing.TB, r *Reader) []string {
	var list []string
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		at := metric.Stamp{Wall: rec.Time}.Time().UTC().Format("05.000000000")
		if len(rec.Sets) == 0 {
			list = append(list, at+" mark")
		}
		for _, s := range rec.Sets {
			if len(s.Instances) == 0 {
				list = append(list, at+" "+s.Desc.Names[0]+" "+pcp.ReasonOf(s.Err).String())
			}
			for i, id := range s.Instances {
				name := ""
				if s.Desc.InDom != pcp.Null {
					name = "[" + r.InDoms[s.Desc.InDom].Names[id] + "]"
				}
				typ, _ := s.Desc.Type.Metric()
				list = append(list, at+" "+s.Desc.Names[0]+name+" "+s.Values.At(typ, i).String())
			}
		}
	}
}

const listed = `40.123456789 a.u64[000001 launchd] 9223372036854775808
40.123456789 a.u64[000007 x y] 0
40.123456789 a.x2 -5
40.123456789 a.float 100
40.123456789 a.string hé
40.123456789 a.double 0.02
41.123456789 a.u64[000007 x y] 1
41.123456789 a.x2 -5
41.123456789 a.float 100
41.123456789 a.string hé
41.123456789 a.double 0.02
42.123456789 a.u64[000001 launchd] 9223372036854775808
42.123456789 a.u64[000009 new] 2
42.123456789 a.x2 -5
42.123456789 a.float 100
42.123456789 a.string hé
42.123456789 a.double 0.02
43.123456789 a.u64 permission
43.123456789 a.x2 -5
43.123456789 a.float 100
43.123456789 a.string hé
43.123456789 a.double 0.02
43.123456790 mark
44.123456789 a.u64[000001 launchd] 9223372036854775808
44.123456789 a.u64[000009 new] 4
44.123456789 a.x2 -5
44.123456789 a.float 100
44.123456789 a.string hé
44.123456789 a.double 0.02`

func read(t testing.TB, base string) (*Reader, string) {
	t.Helper()
	r, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, strings.Join(values(t, r), "\n")
}

func TestWrittenIsRead(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	example(t, base, Options{})
	r, got := read(t, base)
	if want := strings.ReplaceAll(listed, "permission", metric.Permission.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := (Label{Version: 3, PID: 77, Start: start, Host: "mac", TZ: "CET-1", Zone: ":Europe/Berlin"}); r.Label != want {
		t.Errorf("the label is %+v", r.Label)
	}
	if len(r.Notes) > 0 || len(r.Descs) != 5 || *r.Texts[500<<22|1] != (Text{"one line", "more\nlines"}) {
		t.Errorf("%v, %d metrics, %v", r.Notes, len(r.Descs), r.Texts)
	}
	if sets := r.Labels[LabelKey{pcp.LabelContext, pcp.Null}]; len(sets) != 1 || sets[0].JSON != `{"hostname":"mac"}` {
		t.Errorf("labels %v", sets)
	}
	if err := func() error { _, err := Create(base, Options{}); return err }(); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("writing over it: %v", err)
	}
	// Whichever part is named, and without an index.
	if err := os.Remove(base + ".index"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{base + ".meta", base + ".0"} {
		if _, again := read(t, name); again != got {
			t.Errorf("%s is something else", name)
		}
	}
}

func TestVolumes(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	example(t, base, Options{})
	_, want := read(t, base)
	example(t, base, Options{VolumeSize: 1200, Force: true})
	if r, got := read(t, base); got != want || len(r.volumes) < 3 {
		t.Errorf("%d volumes\n%s", len(r.volumes), got)
	}
	if err := os.Remove(base + ".1"); err != nil {
		t.Fatal(err)
	}
	if r, _ := read(t, base); !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, ".1 is missing") }) {
		t.Errorf("a volume is missing, and it says %q", r.Notes)
	}
	example(t, base, Options{Force: true})
	if parts := Parts(base); len(parts) != 3 {
		t.Errorf("an archive that was replaced leaves %v", parts)
	}
}

func TestCompressed(t *testing.T) {
	for _, tool := range []string{"gzip", "xz", "bzip2", "zstd", "lzma"} {
		t.Run(tool, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "x")
			example(t, base, Options{VolumeSize: 1200})
			_, want := read(t, base)
			if _, err := exec.LookPath(tool); err != nil {
				if tool != "gzip" {
					t.Skip(tool + " is not installed")
				}
			}
			for _, path := range Parts(base) {
				if tool == "gzip" {
					pack(t, path)
				} else if filepath.Ext(path) == ".meta" || filepath.Ext(path) == ".0" {
					if out, err := exec.Command(tool, "-q", path).CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					_ = os.Remove(path) // zstd keeps it
				}
			}
			if _, got := read(t, base); got != want {
				t.Errorf("unpacked it is\n%s", got)
			}
		})
	}
}

func pack(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	if err := os.WriteFile(path+".gz", out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// Wherever a part is cut off, what comes before is read.
func TestCutOff(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	example(t, base, Options{})
	_, whole := read(t, base)
	for _, part := range []string{".0", ".meta"} {
		b, err := os.ReadFile(base + part)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(b); n += 13 {
			if err := os.WriteFile(base+part, b[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(base)
			if err != nil {
				if n > labelSize3 || part == ".0" {
					t.Fatalf("%d bytes of %s: %v", n, part, err)
				}
				continue
			}
			if part == ".0" {
				if got := strings.Join(values(t, r), "\n"); !strings.HasPrefix(whole, got) || len(r.Notes) > 1 {
					t.Fatalf("%d bytes of %s: %s %q", n, part, got, r.Notes)
				}
			}
			r.Close()
		}
		if err := os.WriteFile(base+part, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "x")
	example(t, base, Options{})
	for name, say := range map[string]string{dir: "is a directory", base + "y": "there is no archive of PCP called"} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Rename(base+".0", base+"z.0"); err != nil {
		t.Fatal(err)
	}
	for name, say := range map[string]string{base: ".0 is missing", base + "z": ".meta is missing"} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, err := Create(filepath.Join(dir, "w"), Options{Label: Label{Start: start}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Mark(start); err != nil {
		t.Fatal(err)
	}
	if err := w.Mark(start - 1); err == nil {
		t.Error("it goes back in time")
	}
	w.Abort()
	if left, _ := filepath.Glob(filepath.Join(dir, ".w*")); left != nil {
		t.Errorf("it left %v", left)
	}
}

// What a stranger's archive says there is of everything is believed up to a limit, before
// memory is taken for it.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "x")
	w, err := Create(base, Options{Label: Label{Start: start}})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 64)
	for i := range names {
		names[i] = "a"
	}
	for i := range uint32(maxDescs/64 + 1) {
		err = errors.Join(err, w.Desc(&Desc{PMID: i, Type: pcp.U32, InDom: pcp.Null, Names: names}))
	}
	err = errors.Join(err, w.Desc(&Desc{PMID: 1 << 22, Type: pcp.U32, InDom: pcp.Null, Names: []string{strings.Repeat("a", maxName+1)}}))
	sets := make([]Set, maxDescs+1)
	for i := range sets {
		sets[i] = Set{PMID: uint32(i), Type: pcp.U32, Values: &metric.Column{}}
	}
	err = errors.Join(err, w.Result(start, sets), w.Result(start+1, sets[:1]))
	if _, e := w.Finish(); err != nil || e != nil {
		t.Fatal(err, e)
	}
	r, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Descs) != maxDescs/64 || r.Descs[1<<22] != nil {
		t.Errorf("%d metrics are described", len(r.Descs))
	}
	if rec, err := r.Next(); err != nil || rec.Time != start+1 {
		t.Errorf("a record with a set more than there are metrics: %+v %v", rec, err)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "names more than 65536 metrics") || !strings.Contains(notes, "damaged") {
		t.Errorf("%s", notes)
	}
	// A dictionary of 4 GB, which would be made before a byte is unpacked.
	lzma := filepath.Join(dir, "y.meta.lzma")
	if err := os.WriteFile(lzma, append([]byte{0x5d, 0, 0, 0, 0xf0}, make([]byte, 100)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openFrames(lzma); err == nil || !strings.Contains(err.Error(), "cannot be unpacked") {
		t.Errorf("a dictionary of 4 GB: %v", err)
	}
	// The same by xz, in the second of two blocks, which begins anywhere.
	for _, c := range []struct {
		dict byte
		say  string
	}{{16, ""}, {40, "looks back 4096 MB"}} {
		var out bytes.Buffer
		z, err := xz.WriterConfig{BlockSize: 1 << 10}.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write(bytes.Repeat([]byte("0123456789abcdefghijklmnop"), 100))
		_ = z.Close()
		b, blocks := out.Bytes(), 0
		for at := 12; at+12 <= len(b); at += 4 {
			if windowOf(b[at:]) == 0 {
				continue
			}
			if blocks++; blocks == 2 {
				size := (int(b[at]) + 1) * 4
				i := bytes.IndexByte(b[at+2:at+size], 0x21) + at + 2
				b[i+2] = c.dict
				binary.LittleEndian.PutUint32(b[at+size-4:], crc32.ChecksumIEEE(b[at:at+size-4]))
			}
		}
		if err := checkWindows(bytes.NewReader(b)); blocks < 2 || (err == nil) != (c.say == "") || err != nil && !strings.Contains(err.Error(), c.say) {
			t.Errorf("a dictionary by %d in one of %d blocks: %v", c.dict, blocks, err)
		}
	}
	// A record of more than is believed.
	long := filepath.Join(dir, "z.meta")
	if err := os.WriteFile(long, binary.BigEndian.AppendUint32(nil, maxRecord+4), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFrames(long)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if _, err := f.next(); err == nil || !strings.Contains(err.Error(), "damaged") || cap(f.buf) > 0 {
		t.Errorf("a record of %d bytes: %v, %d are held", maxRecord+4, err, cap(f.buf))
	}
}

// Of a set of which one value is damaged there is none.
func TestDamagedSet(t *testing.T) {
	const id = 5
	words := []uint32{0, 0, 0, 1, id, 2, 1, 1, 14, 2, 99, 3<<24 | 12, 0, 7} // the second value's block is nowhere
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	copy(b, appendTime(nil, start))
	r := &Reader{Label: Label{Version: 3}, Descs: map[uint32]*Desc{id: {Type: pcp.U64}}}
	for _, place := range []uint32{14, 99} {
		binary.BigEndian.PutUint32(b[40:], place)
		if !r.parse(b) {
			t.Fatal("it is taken for no record")
		}
		s, want := r.record.Sets[0], 0
		if place == 14 {
			want = 2
		}
		if len(s.Instances) != want || len(s.Values.Bits) != want || r.record.Damaged != (2-want)/2 {
			t.Errorf("%d instances, %d values, %d damaged sets, want %d values", len(s.Instances), len(s.Values.Bits), r.record.Damaged, want)
		}
	}
}

// FuzzReader reads two parts whatever they are.
func FuzzReader(f *testing.F) {
	base := filepath.Join(f.TempDir(), "x")
	example(f, base, Options{})
	meta, _ := os.ReadFile(base + ".meta")
	volume, _ := os.ReadFile(base + ".0")
	f.Add(meta, volume)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, meta, volume []byte) {
		base := filepath.Join(dir, "f")
		for part, b := range map[string][]byte{".meta": meta, ".0": volume} {
			if err := os.WriteFile(base+part, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(base)
		if err != nil {
			return
		}
		defer r.Close()
		for {
			rec, err := r.Next()
			if err != nil {
				return
			}
			for _, s := range rec.Sets {
				if len(s.Instances) != len(s.Values.Bits) {
					t.Fatalf("%d instances, %d values", len(s.Instances), len(s.Values.Bits))
				}
			}
		}
	})
}

func TestTimes(t *testing.T) {
	for _, ns := range []int64{0, 1, start, 7e18} {
		in := body{b: appendTime(nil, ns)}
		if got := in.time(3); got != ns {
			t.Errorf("%d came back as %d", ns, got)
		}
	}
	if b := appendTime(nil, start); !reflect.DeepEqual(b, []byte{0x6b, 2, 0x1a, 0xa0, 0, 0, 0, 0, 7, 0x5b, 0xcd, 0x15}) {
		t.Errorf("% x", b)
	}
}
