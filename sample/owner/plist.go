package owner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

var errPropertyList = errors.New("not a property list")

// LargestPropertyList is how much of a file PropertyTexts is given at most.
const LargestPropertyList = 1 << 20

// longestText is the longest text that it returns.
const longestText = 4096

// PropertyTexts returns texts from the outermost dictionary of a property list, XML or binary, by
// their keys. Of an array it returns the first element. What is not a text is left out.
//
// Libraries for property lists build the whole tree, without a bound for what a file with shared
// references unfolds to. Anybody can write such a file, and the recorder needs a few texts.
func PropertyTexts(b []byte, keys ...string) (map[string]string, error) {
	found := make(map[string]string, len(keys))
	ok := false
	if bytes.HasPrefix(b, []byte("bplist0")) {
		ok = binaryTexts(b, keys, found)
	} else {
		ok = xmlTexts(withoutUTF16(b), keys, found)
	}
	if !ok {
		return nil, errPropertyList
	}
	return found, nil
}

// binaryList is a binary property list: objects, their offsets, and a trailer.
type binaryList struct {
	objects []byte // ends where the offsets begin
	offsets []byte
	offset  int // bytes of an offset
	ref     int // bytes of a reference, which is an index in the offsets
}

func binaryTexts(b []byte, keys []string, found map[string]string) bool {
	const trailer = 32
	if len(b) < 8+trailer {
		return false
	}
	t := b[len(b)-trailer:]
	l := binaryList{offset: int(t[6]), ref: int(t[7])}
	count, top, table := binary.BigEndian.Uint64(t[8:]), binary.BigEndian.Uint64(t[16:]), binary.BigEndian.Uint64(t[24:])
	body := b[:len(b)-trailer]
	if l.offset < 1 || l.offset > 8 || l.ref < 1 || l.ref > 8 || table < 8 || table > uint64(len(body)) ||
		count > (uint64(len(body))-table)/uint64(l.offset) {
		return false
	}
	l.objects, l.offsets = body[:table], body[table:][:count*uint64(l.offset)]
	refs, n, ok := l.object(top, 0xd)
	if !ok || uint64(len(refs)) < 2*n*uint64(l.ref) {
		return false
	}
	values := refs[n*uint64(l.ref):]
	for i := range int(n) {
		if key := l.key(bigEndian(refs[i*l.ref:][:l.ref]), keys); key != "" {
			if text, ok := l.firstText(bigEndian(values[i*l.ref:][:l.ref])); ok {
				found[key] = text
			}
		}
	}
	return true
}

// bigEndian reads a big-endian number of at most 8 bytes.
func bigEndian(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// object returns what follows the mark of an object of a kind, and the count that the mark has.
// Each element takes a byte at least, so the count is at most the length of the rest.
func (l *binaryList) object(i uint64, kind byte) (rest []byte, count uint64, ok bool) {
	if i >= uint64(len(l.offsets)/l.offset) {
		return nil, 0, false
	}
	at := bigEndian(l.offsets[int(i)*l.offset:][:l.offset])
	if at >= uint64(len(l.objects)) || l.objects[at]>>4 != kind {
		return nil, 0, false
	}
	rest, count = l.objects[at+1:], uint64(l.objects[at]&0xf)
	if count == 0xf { // it follows as an object of its own: 0x1n and 2 to the n bytes
		if len(rest) == 0 || rest[0]>>4 != 1 || rest[0]&0xf > 3 {
			return nil, 0, false
		}
		size := 1 << (rest[0] & 0xf)
		if len(rest) < 1+size {
			return nil, 0, false
		}
		rest, count = rest[1+size:], bigEndian(rest[1:1+size])
	}
	return rest, count, count <= uint64(len(rest))
}

// text returns an object that is a text of at most longest characters.
func (l *binaryList) text(i uint64, longest int) (string, bool) {
	if b, n, ok := l.object(i, 0x5); ok && n <= uint64(longest) {
		return string(b[:n]), true
	}
	if b, n, ok := l.object(i, 0x6); ok && n <= uint64(longest) && 2*n <= uint64(len(b)) {
		return decodeUTF16(b[:2*n], binary.BigEndian), true
	}
	return "", false
}

// key returns the one of keys that an object is, or "".
func (l *binaryList) key(i uint64, keys []string) string {
	const longestKey = 64
	if text, ok := l.text(i, longestKey); ok && slices.Contains(keys, text) {
		return text
	}
	return ""
}

func (l *binaryList) firstText(i uint64) (string, bool) {
	if refs, n, ok := l.object(i, 0xa); ok {
		if n == 0 || len(refs) < l.ref {
			return "", false
		}
		i = bigEndian(refs[:l.ref])
	}
	return l.text(i, longestText)
}

// withoutUTF16 returns a list in UTF-16 as UTF-8, and any other without its byte order mark.
func withoutUTF16(b []byte) []byte {
	switch {
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return []byte(decodeUTF16(b[2:], binary.BigEndian))
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return []byte(decodeUTF16(b[2:], binary.LittleEndian))
	case bytes.HasPrefix(b, []byte{0, '<'}):
		return []byte(decodeUTF16(b, binary.BigEndian))
	case bytes.HasPrefix(b, []byte{'<', 0}):
		return []byte(decodeUTF16(b, binary.LittleEndian))
	}
	return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
}

func decodeUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// xmlTexts reads the XML form: <plist><dict><key>…</key><string>…</string>…
func xmlTexts(b []byte, keys []string, found map[string]string) bool {
	tags := tagReader{rest: b}
	depth, key := 0, "" // depth counts the dictionaries and arrays around
	beginsList := false // the next element is the first of the array that is key's value
	for tags.next() {
		switch name := string(tags.name); name {
		case "dict", "array":
			if !tags.closes {
				if depth == 0 && name == "array" {
					return false
				}
				depth++
				beginsList = depth == 2 && name == "array"
			}
			if tags.closes || tags.empty {
				depth--
				if depth <= 0 {
					return depth == 0
				}
				if depth == 1 {
					key = ""
				}
			}
		case "key":
			if depth == 1 {
				key = ""
				if text, ok := tags.content(); ok && tags.closes && slices.Contains(keys, text) {
					key = text
				}
			}
		case "string":
			if !tags.closes && !tags.empty {
				continue
			}
			if text, ok := tags.content(); ok && tags.closes && key != "" && (depth == 1 || depth == 2 && beginsList) {
				found[key] = text
			}
			if depth == 1 {
				key = ""
			}
			beginsList = false
		default: // a number, a date or data
			if depth == 1 {
				key = ""
			}
			beginsList = false
		}
	}
	return false
}

// tagReader goes from tag to tag. It knows as much of XML as property lists have.
type tagReader struct {
	rest          []byte
	name          []byte
	text          []byte // before the tag, after the one before it
	closes, empty bool   // </name>, <name/>
	parts         []byte // of a text with comments or quoted parts in it
}

// next goes to the next tag.
func (r *tagReader) next() bool {
	r.parts = r.parts[:0]
	for {
		before, rest, ok := bytes.Cut(r.rest, []byte("<"))
		if !ok {
			return false
		}
		r.rest = rest
		switch {
		case bytes.HasPrefix(rest, []byte("![CDATA[")):
			inside, after, ok := bytes.Cut(rest[len("![CDATA["):], []byte("]]>"))
			if !ok {
				return false
			}
			r.keep(before)
			r.keep(bytes.ReplaceAll(inside, []byte("&"), []byte("&amp;")))
			r.rest = after
		case bytes.HasPrefix(rest, []byte("!--")):
			if !r.skip("-->") {
				return false
			}
			r.keep(before)
		case bytes.HasPrefix(rest, []byte("?")):
			if !r.skip("?>") {
				return false
			}
		case bytes.HasPrefix(rest, []byte("!")): // the document type, perhaps with definitions in brackets
			end := bytes.IndexAny(rest, ">[")
			if end < 0 || rest[end] == '[' && !r.skip("]") || !r.skip(">") {
				return false
			}
		default:
			tag, after, ok := bytes.Cut(rest, []byte(">"))
			if !ok {
				return false
			}
			r.text, r.rest = before, after
			if len(r.parts) > 0 {
				r.keep(before)
				r.text = r.parts
			}
			tag, r.closes = bytes.CutPrefix(tag, []byte("/"))
			tag, r.empty = bytes.CutSuffix(tag, []byte("/"))
			r.name = tag
			if i := bytes.IndexAny(tag, " \t\r\n"); i >= 0 {
				r.name = tag[:i]
			}
			return true
		}
	}
}

// keep adds a part of a text, unless the text is too long already.
func (r *tagReader) keep(part []byte) {
	if len(r.parts) <= longestText {
		r.parts = append(r.parts, part...)
	}
}

func (r *tagReader) skip(until string) bool {
	_, after, ok := bytes.Cut(r.rest, []byte(until))
	r.rest = after
	return ok
}

// content returns the text before the tag.
func (r *tagReader) content() (string, bool) {
	if len(r.text) > longestText || !utf8.Valid(r.text) {
		return "", false
	}
	if !bytes.Contains(r.text, []byte("&")) {
		return string(r.text), true
	}
	var out []byte
	for rest := r.text; ; {
		before, after, ok := bytes.Cut(rest, []byte("&"))
		out = append(out, before...)
		if !ok {
			return string(out), true
		}
		name, after, ok := bytes.Cut(after, []byte(";"))
		c, known := character(string(name))
		if !ok || !known {
			return "", false
		}
		out, rest = utf8.AppendRune(out, c), after
	}
}

// character returns the character with a name in XML.
func character(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, base := name[1:], 10
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	v, err := strconv.ParseUint(digits, base, 21)
	return rune(v), err == nil && v != 0
}
