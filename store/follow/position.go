package follow

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A Position is a place in a recording, between what has been delivered and what has not. The
// zero Position is no place.
type Position struct {
	// Archive is the ID of the archive.
	Archive string
	// Ticks are the continuous clocks of the last tick of each class; zero if there was none.
	Ticks [metric.NumClasses]int64
	// Churn and Events are how many events there were: Churn of processes coming and going,
	// which archives store separately, and Events of all others.
	Churn, Events uint64
}

// The first letter of a token. In one that begins with wide, two bytes say which classes follow: it is for positions
// with a class that one byte has no bit for.
const (
	version = "1"
	wide    = "2"
)

// String returns a token that people can pass on and programs can put into a URL: letters,
// digits, - and _. It is empty for the zero Position.
func (p Position) String() string {
	if p.Archive == "" {
		return ""
	}
	var b []byte
	if id, err := hex.DecodeString(p.Archive); err == nil && hex.EncodeToString(id) == p.Archive {
		b = append(binary.AppendUvarint(b, uint64(len(id))<<1), id...)
	} else {
		b = append(binary.AppendUvarint(b, uint64(len(p.Archive))<<1|1), p.Archive...)
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, p.Churn), p.Events)
	var some uint16
	for c, at := range p.Ticks {
		if at != 0 {
			some |= 1 << c
		}
	}
	first := version
	if b = append(b, byte(some)); some > 0xff {
		first, b = wide, append(b, byte(some>>8))
	}
	before := int64(0) // classes are read at about the same time, mostly
	for _, at := range p.Ticks {
		if at != 0 {
			b = binary.AppendVarint(b, at-before)
			before = at
		}
	}
	return first + base64.RawURLEncoding.EncodeToString(b)
}

// ParsePosition is the inverse of String.
func ParsePosition(token string) (Position, error) {
	var p Position
	if token == "" {
		return p, nil
	}
	wrong := fmt.Errorf("%q is not a position in a recording: use one as it was given", shortened(token))
	rest, ok := strings.CutPrefix(token, version)
	classes := 1 // bytes
	if !ok {
		rest, ok = strings.CutPrefix(token, wide)
		classes = 2
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if !ok || err != nil || len(token) > longestToken {
		return p, wrong
	}
	r := varint.Reader{In: b}
	n := r.Uvarint()
	id := r.Bytes(int(min(n>>1, longestToken)))
	if p.Archive = string(id); n&1 == 0 {
		p.Archive = hex.EncodeToString(id)
	}
	p.Churn, p.Events = r.Uvarint(), r.Uvarint()
	some := r.Bytes(classes)
	before := int64(0)
	for c := range p.Ticks {
		if c/8 < len(some) && some[c/8]&(1<<(c%8)) != 0 {
			before += r.Varint()
			p.Ticks[c] = before
		}
	}
	if r.Bad || len(r.In) > 0 || p.Archive == "" || p.String() != token {
		return Position{}, wrong
	}
	return p, nil
}

// longestToken is far longer than any token.
const longestToken = 512

func shortened(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
