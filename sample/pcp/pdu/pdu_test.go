package pdu

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// wire parses bytes as this test writes them: words of eight digits, shorter ones, and
// quoted texts.
func wire(t testing.TB, s string) []byte {
	var b []byte
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			b = append(b, strings.ReplaceAll(part, `\0`, "\x00")...)
			continue
		}
		more, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
		if err != nil {
			t.Fatalf("%q: %v", part, err)
		}
		b = append(b, more...)
	}
	return b
}

var wide = []uint32{pcp.Null}

// Messages that pmcd 6.0.3, its agents and its clients sent each other, and others that its
// source allows.
var captured = []struct {
	name string
	wire string
	from int32
	m    Message
}{
	{"an agent begins", "00000014 0000700c 000003e2 00000001 01020000", 994, &Creds{Version: 2}},
	{"one that wants attributes begins", "00000014 0000700c 000003e2 00000001 01020004", 994, &Creds{Version: 2, Features: FeatureAuth}},
	{"pmcd answers it", "00000014 0000700c 000003db 00000001 01020000", 987, &Creds{Version: 2}},
	{"a context is gone", "00000010 00007000 00000000 ffffcf99", 0, &Error{pcp.ErrNotConn}},
	{"all instances", "0000001c 00007002 00000000 00000000 00000000 00000000 00000000", 0, &Profile{}},
	{"one instance", "00000030 00007002 00000000 00000000 00000000 00000001 00000000 7f800001 00000001 00000001 00000000 000002bc", 0,
		&Profile{InDoms: []InDomProfile{{InDom: 510<<22 | 1, Choice: Choice{Exclude: true}, Instances: []uint32{700}}}}},
	{"values are asked for", "00000028 00007003 00000000 00000000 0000000000000000 00000003 3f400402 3f400001 3f400804", 0,
		&Fetch{PMIDs: []metric.PMID{0x3f400402, 0x3f400001, 0x3f400804}}},
	{"a client asks for values", "00000020 00007014 00000007 00000001 0000000000000000 00000001 3f400402", 7,
		&Fetch{Context: 1, Highres: true, PMIDs: []metric.PMID{0x3f400402}}},
	{"values", `00000080 00007001 00000000 00000000 00000000 00000003
		3f400402 00000001 00000001 ffffffff 0000001d
		3f400001 00000003 00000000 00000000 00000001 00000001 00000065 00000002 000000c9
		3f400804 00000003 00000000 00000000 00000027 00000001 0000002a 00000002 00000016
		0500000c 3f947ae147ae147b`, 0,
		&Result{Sets: []Set{
			{PMID: 0x3f400402, Type: pcp.Double, Instances: wide, Bits: []uint64{0x3f947ae147ae147b}},
			{PMID: 0x3f400001, Type: pcp.U32, Instances: []uint32{0, 1, 2}, Bits: []uint64{1, 101, 201}},
			{PMID: 0x3f400804, Type: pcp.U32, Instances: []uint32{0, 1, 2}, Bits: []uint64{39, 42, 22}},
		}}},
	{"values in blocks, and none", `0000008c 00007001 00000000 00000000 00000000 00000005
		07400001 00000001 00000001 ffffffff 00000019
		07400002 00000001 00000001 ffffffff 0000001e
		07400003 00000001 00000001 00000002 00000020
		07400004 ffffcfc1
		07400005 00000000
		06000011 'hullo world!\0~~~' 04000008 42c80000 0300000c 00000000000f4240`, 0,
		&Result{Sets: []Set{
			{PMID: 0x07400001, Type: pcp.String, Instances: wide, Words: []string{"hullo world!"}},
			{PMID: 0x07400002, Type: pcp.Float, Instances: wide, Bits: []uint64{0x42c80000}},
			{PMID: 0x07400003, Type: pcp.U64, Instances: []uint32{2}, Bits: []uint64{1000000}},
			{PMID: 0x07400004, Err: pcp.ErrValue},
			{PMID: 0x07400005},
		}}},
	{"values with nanoseconds", `00000054 00007015 00000000 00000002 000000006b021ef4 000000002a9daf83
		7f800000 00000002 00000001 00000001 00000011 00000002 00000013 7f800001 ffffcfc1 04000008 42c80000 04000008 00000000`, 0,
		&Result{Highres: true, Seconds: 0x6b021ef4, Nanoseconds: 0x2a9daf83, Sets: []Set{
			{PMID: 0x7f800000, Type: pcp.Float, Instances: []uint32{1, 2}, Bits: []uint64{0x42c80000, 0}},
			{PMID: 0x7f800001, Err: pcp.ErrValue},
		}}},
	{"the name space is another", "00000018 00007001 00000000 00000010 00000000 00000000", 0, &Result{Seconds: NamesChanged}},
	{"pmstore", "0000002c 00007001 00000000 5c543d87 00000000 00000001 07400024 00000001 00000000 ffffffff 00000063", 0,
		&Result{Seconds: 0x5c543d87, Sets: []Set{{PMID: 0x07400024, Type: pcp.U32, Instances: wide, Bits: []uint64{99}}}}},
	{"stored", "00000010 00007000 00000000 00000000", 0, &Error{}},
	{"what is it", "00000010 00007004 00000000 3f400402", 0, &DescReq{0x3f400402}},
	{"a metric", "00000020 00007005 00000000 3f400402 00000005 ffffffff 00000001 01003000", 0,
		&Desc{PMID: 0x3f400402, Type: pcp.Double, InDom: pcp.Null, Semantics: pcp.Counter, Units: 0x01003000}},
	{"what are they", "0000001c 00007016 00000000 ffffffff 00000002 3f400402 3f400001", 0, &DescIDs{[]metric.PMID{0x3f400402, 0x3f400001}}},
	{"metrics", "00000038 00007017 00000000 00000002 3f400402 00000005 ffffffff 00000001 01003000 ffffffff 00000000 00000000 00000000 00000000", 0,
		&Descs{[]Desc{{PMID: 0x3f400402, Type: pcp.Double, InDom: pcp.Null, Semantics: pcp.Counter, Units: 0x01003000}, {PMID: pcp.Null}}}},
	{"which instances", "00000020 00007006 00000000 3f400000 0000000000000000 ffffffff 00000000", 0, &InstanceReq{InDom: 0x3f400000, Instance: pcp.Null}},
	{"which instance", "00000028 00007006 00000000 3f400000 0000000000000000 ffffffff 00000005 'green~~~'", 0,
		&InstanceReq{InDom: 0x3f400000, Instance: pcp.Null, Name: "green"}},
	{"instances", "0000003c 00007007 00000000 3f400000 00000003 00000000 00000003 'red~' 00000001 00000005 'green~~~' 00000002 00000004 'blue'", 0,
		&Instances{InDom: 0x3f400000, List: []Instance{{0, "red"}, {1, "green"}, {2, "blue"}}}},
	{"help is asked for", "00000014 00007008 00000000 3f400402 00000005", 0, &TextReq{Ident: 0x3f400402, Type: TextPMID | TextOneLine}},
	{"help", "00000020 00007009 00000000 3f400402 00000009 'Processor~~~'", 0, &Text{Ident: 0x3f400402, Text: "Processor"}},
	{"labels of a domain are asked for", "00000014 00007012 00000000 000000fd 00000002", 0, &LabelReq{Ident: 253, Type: pcp.LabelDomain}},
	{"labels of a domain", `00000046 00007013 00000000 000000fd 00000002 00000000 00000001
		ffffffff 00000001 00000034 00000012 0002 04 02 0008 0009 '{"role":"testing"}'`, 0,
		&Labels{Ident: 253, Type: pcp.LabelDomain, Sets: []LabelSet{{
			Instance: pcp.Null, JSON: `{"role":"testing"}`,
			Refs: []pcp.LabelRef{{Name: 2, NameLen: 4, Flags: pcp.LabelDomain, Value: 8, ValueLen: 9}},
		}}}},
	{"no labels", "0000001c 00007013 00000000 3f400402 00000008 00000000 00000000", 0, &Labels{Ident: 0x3f400402, Type: pcp.LabelCluster}},
	{"what is below", "00000024 00007010 00000000 00000000 0000000d 'sample.secret~~~'", 0, &Traverse{"sample.secret"}},
	{"what is directly below", "00000024 0000700f 00000000 00000001 0000000d 'sample.secret~~~'", 0, &Children{Name: "sample.secret", Statuses: true}},
	{"names with statuses", "00000030 0000700e 00000000 00000009 00000002 00000002 00000000 00000003 'bar~' 00000001 00000004 'foo2'", 0,
		&Names{Names: []string{"bar", "foo2"}, Branches: []bool{false, true}}},
	{"a name", "00000030 0000700e 00000000 00000012 00000000 00000001 00000011 'sample.secret.bar~~~'", 0, &Names{Names: []string{"sample.secret.bar"}}},
	{"its number", "00000018 0000700d 00000000 00000000 00000001 074003e8", 0, &IDs{PMIDs: []metric.PMID{0x074003e8}}},
	{"a client's process", `00000015 00007011 00000000 0000000e '5638\0'`, 0, &Attr{AttrProcessID, "5638"}},
	{"its group", `00000012 00007011 00000000 0000000c '0\0'`, 0, &Attr{AttrGroupID, "0"}},
	{"pmcd greets", "00000014 00007000 00000000 00000000 02010e44", 0,
		&Greeting{Version: 2, Features: FeatureAuth | FeatureContainer | FeatureLabels | FeatureHighres | FeatureDescs}},
}

func TestCaptured(t *testing.T) {
	for _, c := range captured {
		t.Run(c.name, func(t *testing.T) {
			b := wire(t, c.wire)
			from, m, err := Parse(b)
			if err != nil {
				t.Fatalf("%v\n%x", err, b)
			}
			if from != c.from || !reflect.DeepEqual(m, c.m) {
				t.Errorf("from %d: %+v\nwant %d: %+v", from, m, c.from, c.m)
			}
			if again := Append([]byte("before"), c.from, m); !bytes.Equal(again[6:], b) {
				t.Errorf("written it is\n%x\nand was\n%x", again[6:], b)
			}
		})
	}
}

// Every kind of value in one result, after other bytes.
func TestResult(t *testing.T) {
	for _, highres := range []bool{false, true} {
		want := &Result{Highres: highres, Seconds: 1795300000, Nanoseconds: 123456000, Sets: []Set{
			{PMID: 1, Type: pcp.U32, Instances: []uint32{1, 2}, Bits: []uint64{7, 1<<32 - 1}},
			{PMID: 2, Type: pcp.U64, Instances: wide, Bits: []uint64{1 << 63}},
			{PMID: 3, Type: pcp.I64, Instances: wide, Bits: []uint64{^uint64(4)}},
			{PMID: 4, Type: pcp.Float, Instances: wide, Bits: []uint64{0x42c80000}},
			{PMID: 5, Type: pcp.Double, Instances: []uint32{0, 1<<31 - 1}, Bits: []uint64{0x3f947ae147ae147b, 0}},
			{PMID: 6, Type: pcp.String, Instances: []uint32{3, 4, 5}, Words: []string{"", "abc", "hullo world!"}},
			{PMID: 7},
			{PMID: 8, Err: pcp.ErrPermission},
		}}
		b := Append([]byte("xyz"), 3, want)
		from, got, err := Parse(b[3:])
		if err != nil || from != 3 || !reflect.DeepEqual(got, want) {
			t.Errorf("from %d, %v\n%+v\nwant\n%+v", from, err, got, want)
		}
	}
	// The message does not say that a type is signed. pcp.Bits restores the sign.
	b := Append(nil, 0, &Result{Sets: []Set{{PMID: 1, Type: pcp.I32, Instances: wide, Bits: []uint64{^uint64(4)}}}})
	_, m, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := pcp.Bits(pcp.I32, uint32(m.(*Result).Sets[0].Bits[0])); got != ^uint64(4) {
		t.Errorf("%x", got)
	}
}

// Labels of several instances, each with its place.
func TestLabels(t *testing.T) {
	var want Labels
	want.Ident, want.Type = 500<<22, pcp.LabelInstances
	for i, name := range []string{"a", "bb", ""} {
		s := LabelSet{Instance: uint32(i)}
		if name != "" {
			s.JSON, s.Refs = pcp.LabelJSON([]metric.Label{{Name: name, Value: "é"}, {Name: "start", Value: "1"}}, pcp.LabelInstances)
		}
		want.Sets = append(want.Sets, s)
	}
	want.Sets = append(want.Sets, LabelSet{Instance: 9, Err: pcp.ErrInst})
	_, got, err := Parse(Append(nil, 0, &want))
	if err != nil || !reflect.DeepEqual(got, &want) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct{ wire, want string }{
		{"", "a length that is not its own"},
		{"00000010 00007004 00000000", "a length that is not its own"},
		{"0000000c 00007004 00000000", "DESC_REQ with less than it should have"},
		{"00000010 0000700a 00000000 00000000", "PDU 0x700a with a kind that is not known"},
		{"00000010 ffffffff 00000000 00000000", "PDU 0xffffffff with a kind that is not known"},
		{"00000014 00007004 00000000 3f400402 00000000", "DESC_REQ with bytes behind its end"},
		{"00000010 0000700c 00000000 00000000", "CREDS with a number of credentials that cannot be"},
		{"0000001c 00007002 00000000 00000000 00000002 00000000 00000000", "PROFILE with a state that is neither in nor out"},
		{"0000001c 00007002 00000000 00000000 00000000 ffffffff 00000000", "PROFILE with more announced than it has"},
		{"0000002c 00007002 00000000 00000000 00000000 00000001 00000000 7f800001 00000001 40000000 00000000", "PROFILE with more announced than it has"},
		{"0000001c 00007003 00000000 00000000 0000000000000000 00000000", "FETCH with no metric"},
		{"00000020 00007003 00000000 00000000 0000000000000000 40000001 00000001", "FETCH with more announced than it has"},
		{"00000020 00007006 00000000 3f400000 0000000000000000 ffffffff ffffffff", "INSTANCE_REQ with a text that is longer than it"},
		{"00000024 00007006 00000000 3f400000 0000000000000000 ffffffff 00000003 'abc'", "a length that is not its own"},
		{"00000018 00007001 00000000 00000000 00000000 ffffffff", "RESULT with more announced than it has"},
		{"0000002c 00007001 00000000 00000000 00000000 00000001 07400024 00000001 00000001 ffffffff 0000000b", "RESULT with a value that is not where it says"},
		{"00000030 00007001 00000000 00000000 00000000 00000001 07400024 00000001 00000001 ffffffff 0000000b 00000000", "RESULT with a value that is not where it says"},
		{"00000034 00007001 00000000 00000000 00000000 00000001 07400024 00000001 00000001 ffffffff 0000000b 03000008 00000000", "a number of another length"},
		{"0000003c 00007001 00000000 00000000 00000000 00000001 07400024 00000002 00000001 00000000 0000000d 00000001 0000000d 04000008 00000000", "values that are not where it says"},
		{"00000044 00007001 00000000 00000000 00000000 00000001 07400024 00000002 00000001 00000000 0000000d 00000001 0000000f 04000008 00000000 06000005 '\\0~~~'", "values of two types"},
		{"00000024 0000700e 00000000 00000004 00000002 00000001 00000003 'bar~'", "a length that is not its own"},
		{"00000020 0000700e 00000000 00000004 00000002 00000001 00000003 'bar~'", "statuses of some of its names"},
		{"00000020 0000700e 00000000 00000005 00000000 00000001 00000003 'bar~'", "names of another length than it says"},
		{"0000002c 00007013 00000000 000000fd 00000002 00000000 00000001 ffffffff 000000ff 00000034 00000012", "more labels announced than it has"},
		{"0000002e 00007013 00000000 000000fd 00000002 00000000 00000001 ffffffff 00000000 00000010 00000002 '{}'", "labels that are not where it says"},
		{"00000036 00007013 00000000 000000fd 00000002 00000000 00000001 ffffffff 00000001 00000034 00000002 0002 04 02 0008 0009 '{}'", "a label that is not where it says"},
	} {
		_, m, err := Parse(wire(t, c.wire))
		var bad *Malformed
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%+v), want %q", c.wire, err, m, c.want)
		}
	}
}

func TestReader(t *testing.T) {
	long := &Text{Ident: 1, Text: strings.Repeat("long ", 30000)}
	var stream []byte
	stream = Append(stream, 1, &Error{Code: 5})
	stream = append(stream, wire(t, "00000010 0000700a 00000000 00000000")...)
	stream = Append(stream, 2, long)
	stream = Append(stream, 3, &Traverse{"a"})
	for _, r := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
		rd := NewReader(r, 1<<20)
		var bad *Malformed
		if from, m, err := rd.Next(); err != nil || from != 1 || m.(*Error).Code != 5 {
			t.Errorf("%d, %v, %v", from, m, err)
		}
		if _, _, err := rd.Next(); !errors.As(err, &bad) || bad.Kind != 0x700a {
			t.Errorf("what has no such kind: %v", err)
		}
		if _, m, err := rd.Next(); err != nil || !reflect.DeepEqual(m, long) {
			t.Errorf("what is long: %v", err)
		}
		if from, m, err := rd.Next(); err != nil || from != 3 || m.(*Traverse).Name != "a" || cap(rd.buf) > keep {
			t.Errorf("what is behind it: %d, %v, %v; it keeps %d bytes", from, m, err, cap(rd.buf))
		}
		if _, _, err := rd.Next(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
	if _, _, err := NewReader(bytes.NewReader(stream[32:]), MaxRequest).Next(); !errors.Is(err, ErrLength) || !strings.Contains(err.Error(), "of TEXT") {
		t.Errorf("too long: %v", err)
	}
	for n := 1; n < 16; n++ {
		if _, _, err := NewReader(bytes.NewReader(stream[:n]), MaxRequest).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("after %d bytes of 16: %v", n, err)
		}
	}
	if _, _, err := NewReader(bytes.NewReader(wire(t, "00000008 00007000 00000000")), MaxRequest).Next(); !errors.Is(err, ErrLength) || !strings.Contains(err.Error(), "less than its header") {
		t.Errorf("a length of 8: %v", err)
	}
	// A frame with the length of a message can be skipped, whatever is in it.
	rd := NewReader(bytes.NewReader(append(make([]byte, 3), append([]byte{12}, make([]byte, 8)...)...)), MaxRequest)
	if _, _, err := rd.Next(); !errors.As(err, new(*Malformed)) {
		t.Errorf("a kind of 0: %v", err)
	}
	// A peer that announces much and sends nothing costs nothing.
	rd = NewReader(bytes.NewReader(wire(t, "7fffffff 00007001 00000000 00000000")), 1<<31-1)
	if _, _, err := rd.Next(); err != io.ErrUnexpectedEOF || cap(rd.buf) > 4096 {
		t.Errorf("%v; it made room for %d bytes", err, cap(rd.buf))
	}
}

// A message that was parsed can be written, and is the same when it is parsed again.
func FuzzParse(f *testing.F) {
	for _, c := range captured {
		f.Add(wire(f, c.wire))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		from, m, err := Parse(b)
		if err != nil {
			var bad *Malformed
			if m != nil || !errors.As(err, &bad) {
				t.Fatalf("%v: %v", err, m)
			}
			return
		}
		if r, is := m.(*Result); is {
			for i := range r.Sets {
				// These are never written: types that no metric here has, and signed numbers
				// in blocks although they would fit in situ.
				if _, ok := r.Sets[i].Type.Metric(); !ok || r.Sets[i].Type == pcp.I32 && len(r.Sets[i].Bits) > 0 {
					return
				}
			}
		}
		written := Append(nil, from, m)
		if len(written) > 2*len(b)+64 {
			t.Errorf("%d bytes became %d", len(b), len(written))
		}
		_, again, err := Parse(written)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%v\n%+v\nwas\n%+v", err, again, m)
		}
	})
}

// A stream consists of frames until an error, in whatever pieces it arrives.
func FuzzReader(f *testing.F) {
	for _, c := range captured {
		f.Add(wire(f, c.wire))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rd := NewReader(bytes.NewReader(b), 1<<20)
		for rest := b; ; {
			frame, err := rd.Frame()
			if err != nil {
				return
			}
			if !bytes.HasPrefix(rest, frame) || cap(rd.buf) > 4*len(b)+room {
				t.Fatalf("%x of %x; room for %d bytes", frame, rest, cap(rd.buf))
			}
			rest = rest[len(frame):]
		}
	})
}
