package fields

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// said lists the fields of a message as text.
func said(message []byte) (string, error) {
	var list []string
	err := Each(message, func(field protowire.Number, bytes []byte, number uint64) error {
		if bytes != nil {
			list = append(list, fmt.Sprintf("%d=%q", field, bytes))
		} else {
			list = append(list, fmt.Sprintf("%d=%d", field, number))
		}
		return nil
	})
	return strings.Join(list, " "), err
}

func TestEach(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		message []byte
		want    string
	}{
		{nil, ""},
		{Uint(nil, 1, 0), "1=0"},
		{Uint(nil, 2, 1<<64-1), "2=18446744073709551615"},
		{Bytes(nil, 3, ""), `3=""`},
		{Bytes(nil, 16, []byte("ab")), `16="ab"`},
		{Bytes(nil, 1, long), fmt.Sprintf("1=%q", long)},
		{Uint(Double(Fixed64(nil, 1, 7), 2, 0.5), 3, 4), "3=4"},
		{Uint(protowire.AppendFixed32(protowire.AppendTag(nil, 1, protowire.Fixed32Type), 7), 3, 4), "3=4"},
		{Bytes(nil, 1, Uint(Bytes(nil, 2, "in"), 3, 4)), `1="\x12\x02in\x18\x04"`},
	} {
		if got, err := said(c.message); got != c.want || err != nil {
			t.Errorf("%x: %s, %v, want %s", c.message, got, err, c.want)
		}
	}
	for _, bad := range []string{"\x08", "\x08\x80", "\x0a\x05abcd", "\x09\x00", "\x00", "\x0f", "\x0b"} {
		if got, err := said([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %s, %v", bad, got, err)
		}
	}
	stop := errors.New("stop")
	calls := 0
	if err := Each(Uint(Uint(nil, 1, 1), 2, 2), func(protowire.Number, []byte, uint64) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// What is written here is what generated code writes.
func TestAsGenerated(t *testing.T) {
	want, err := proto.Marshal(&descriptorpb.UninterpretedOption{
		IdentifierValue: proto.String("name"), PositiveIntValue: proto.Uint64(300), DoubleValue: proto.Float64(-1.5), StringValue: []byte{0, 255},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Bytes(Double(Uint(Bytes(nil, 3, "name"), 4, 300), 6, -1.5), 7, []byte{0, 255})
	if !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func FuzzEach(f *testing.F) {
	f.Add(Bytes(Double(Uint(Bytes(nil, 3, "name"), 4, 300), 6, -1.5), 7, []byte{0, 255}))
	f.Add([]byte("\x0a\x05abcd"))
	f.Fuzz(func(t *testing.T, message []byte) {
		// Every message that generated code takes is taken.
		if _, err := said(message); err != nil && proto.Unmarshal(message, &descriptorpb.UninterpretedOption{}) == nil {
			t.Errorf("%x: %v", message, err)
		}
	})
}
