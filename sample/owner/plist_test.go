package owner

import (
	"encoding/binary"
	"encoding/xml"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

var infoKeys = []string{"CFBundleIdentifier", "CFBundleShortVersionString", "ProgramArguments"}

const plistHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
`

const plainList = plistHead + `<dict>
	<key>CFBundleIdentifier</key>
	<string>com.example.App</string>
	<key>LSUIElement</key><true/>
	<key>Nested</key><dict><key>CFBundleIdentifier</key><string>no</string></dict>
	<key>ProgramArguments</key>
	<array><string>/usr/bin/tool</string><string>-x</string></array>
	<key>CFBundleShortVersionString</key>
	<string>1.2 &amp; &#x33;</string>
</dict>
</plist>`

var plainTexts = map[string]string{
	"CFBundleIdentifier": "com.example.App", "CFBundleShortVersionString": "1.2 & 3", "ProgramArguments": "/usr/bin/tool",
}

// inUTF16 encodes a text as the editors of other systems do.
func inUTF16(s string, order binary.ByteOrder, mark bool) []byte {
	var b []byte
	if mark {
		s = "\ufeff" + s
	}
	for _, u := range utf16.Encode([]rune(s)) {
		var two [2]byte
		order.PutUint16(two[:], u)
		b = append(b, two[:]...)
	}
	return b
}

func TestPropertyTextsOfXML(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     map[string]string
	}{
		{"plain", plainList, plainTexts},
		{"byte order mark", "\xef\xbb\xbf" + plainList, plainTexts},
		{"UTF-16, big end first", string(inUTF16(plainList, binary.BigEndian, true)), plainTexts},
		{"UTF-16, little end first", string(inUTF16(plainList, binary.LittleEndian, true)), plainTexts},
		{"UTF-16 without a mark", string(inUTF16(plainList, binary.LittleEndian, false)), plainTexts},
		{"nothing in it", plistHead + "<dict></dict></plist>", map[string]string{}},
		{"an empty element", plistHead + "<dict/></plist>", map[string]string{}},
		{"comments and quotes", "<plist><dict><!-- <key>CFBundleIdentifier</key> --><key>CFBundle<!-- -->Identifier</key><string><![CDATA[a<b>&]]>c</string></dict>",
			map[string]string{"CFBundleIdentifier": "a<b>&c"}},
		{"a document type with definitions", `<!DOCTYPE plist [<!ENTITY x "y">]><plist><dict><key>CFBundleIdentifier</key><string>a</string></dict>`,
			map[string]string{"CFBundleIdentifier": "a"}},
		{"an unknown character", "<dict><key>CFBundleIdentifier</key><string>&x;</string></dict>", map[string]string{}},
		{"a number is no text", "<dict><key>CFBundleIdentifier</key><integer>5</integer><string>no</string></dict>", map[string]string{}},
		{"an empty text", "<dict><key>CFBundleIdentifier</key><string/><string>no</string></dict>", map[string]string{}},
		{"an empty array", "<dict><key>ProgramArguments</key><array/><string>no</string></dict>", map[string]string{}},
		{"an array of arrays", "<dict><key>ProgramArguments</key><array><array><string>no</string></array><string>no</string></array></dict>", map[string]string{}},
		{"an array that begins with a number", "<dict><key>ProgramArguments</key><array><real>1</real><string>no</string></array></dict>", map[string]string{}},
		{"a dictionary as value", "<dict><key>ProgramArguments</key><dict><key>a</key><string>no</string></dict><string>no</string></dict>", map[string]string{}},
		{"too long", "<dict><key>CFBundleIdentifier</key><string>" + strings.Repeat("x", longestText+1) + "</string></dict>", map[string]string{}},
		{"not UTF-8", "<dict><key>CFBundleIdentifier</key><string>\xff</string></dict>", map[string]string{}},
		{"an array outside", "<plist><array><string>a</string></array></plist>", nil},
		{"cut short", plainList[:len(plainList)-20], nil},
		{"closed before it begins", "</dict><dict></dict>", nil},
		{"text", "hello", nil},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := PropertyTexts([]byte(c.in), infoKeys...)
			if (err == nil) != (c.want != nil) || !maps.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// binaryOf makes a binary property list of a dictionary whose values are texts or lists of texts.
func binaryOf(dict map[string]any, wide bool) []byte {
	b := []byte("bplist00")
	var offsets []int
	add := func(kind byte, count int, body []byte) byte {
		offsets = append(offsets, len(b))
		if count < 15 {
			b = append(b, kind<<4|byte(count))
		} else {
			b = append(b, kind<<4|15, 0x11, byte(count>>8), byte(count))
		}
		b = append(b, body...)
		return byte(len(offsets) - 1)
	}
	text := func(s string) byte {
		if wide {
			return add(6, len(utf16.Encode([]rune(s))), inUTF16(s, binary.BigEndian, false))
		}
		return add(5, len(s), []byte(s))
	}
	var keys, values []byte
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		keys = append(keys, text(k))
		switch v := dict[k].(type) {
		case string:
			values = append(values, text(v))
		case []string:
			var refs []byte
			for _, s := range v {
				refs = append(refs, text(s))
			}
			values = append(values, add(0xa, len(refs), refs))
		default:
			values = append(values, add(0, 9, nil)) // true
		}
	}
	top := add(0xd, len(keys), append(keys, values...))
	table := len(b)
	for _, o := range offsets {
		b = binary.BigEndian.AppendUint16(b, uint16(o))
	}
	b = append(b, 0, 0, 0, 0, 0, 0, 2, 1)
	for _, v := range []int{len(offsets), int(top), table} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func plainDict() map[string]any {
	return map[string]any{
		"CFBundleIdentifier": "com.example.App", "CFBundleShortVersionString": "1.2 & 3", "LSUIElement": true,
		"ProgramArguments": []string{"/usr/bin/tool", "-x"}, "A key that nobody asks for, of more than 64 bytes in its name, is skipped": "no",
	}
}

func TestPropertyTextsOfBinaries(t *testing.T) {
	plain := binaryOf(plainDict(), false)
	patched := func(at int, v byte) []byte {
		b := slices.Clone(plain)
		b[at] = v
		return b
	}
	end := len(plain) - 32
	for _, c := range []struct {
		name string
		in   []byte
		want map[string]string
	}{
		{"plain", plain, plainTexts},
		{"in UTF-16", binaryOf(plainDict(), true), plainTexts},
		{"empty", binaryOf(nil, false), map[string]string{}},
		{"an empty array", binaryOf(map[string]any{"ProgramArguments": []string{}}, false), map[string]string{}},
		{"too long", binaryOf(map[string]any{"CFBundleIdentifier": strings.Repeat("x", longestText+1)}, false), map[string]string{}},
		{"offsets of no bytes", patched(end+6, 0), nil},
		{"offsets of nine bytes", patched(end+6, 9), nil},
		{"references of no bytes", patched(end+7, 0), nil},
		{"more objects than bytes", patched(end+8, 0xff), nil},
		{"another object on top", patched(end+23, 0), nil},
		{"no object on top", patched(end+16, 0xff), nil},
		{"the offsets behind the end", patched(end+24, 0xff), nil},
		{"cut short", plain[:len(plain)-1], nil},
		{"only the beginning", []byte("bplist00"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := PropertyTexts(c.in, infoKeys...)
			if (err == nil) != (c.want != nil) || !maps.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A file of the largest size takes time in proportion to it, whatever is in it.
func TestPropertyTextsOfHostileFiles(t *testing.T) {
	for _, part := range []string{"a<!---->", "<![CDATA[x]]>", "<dict>", "<key>", "&#x41;", "<!x[]>", "<a/>", "<"} {
		b := []byte("<dict><key>CFBundleIdentifier</key><string>" + strings.Repeat(part, LargestPropertyList/len(part)))
		if got, _ := PropertyTexts(b, infoKeys...); len(got) != 0 {
			t.Errorf("%s: %q", part, got)
		}
	}
}

func FuzzPropertyTexts(f *testing.F) {
	f.Add([]byte(plainList))
	f.Add(inUTF16(plainList, binary.LittleEndian, true))
	f.Add(binaryOf(plainDict(), false))
	f.Add(binaryOf(plainDict(), true))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := PropertyTexts(b, infoKeys...)
		for key, text := range got {
			if !slices.Contains(infoKeys, key) || len(text) > 4*longestText {
				t.Errorf("%q: %q", key, text)
			}
		}
		if err != nil && got != nil {
			t.Error("texts from what is no property list")
		}
		JobFrom(b)
	})
}

// FuzzXMLTexts compares with the XML reader of the standard library, for what both accept.
func FuzzXMLTexts(f *testing.F) {
	f.Add("com.example.App", "1 & <2>")
	f.Add("a\r\nb", "\u00e9\U0001f600")
	f.Fuzz(func(t *testing.T, identifier, version string) {
		var b strings.Builder
		b.WriteString(plistHead + "<dict>")
		for i, text := range []string{identifier, version} {
			b.WriteString("<key>" + infoKeys[i] + "</key><string>")
			if err := xml.EscapeText(&b, []byte(text)); err != nil {
				t.Fatal(err)
			}
			b.WriteString("</string>")
		}
		b.WriteString("</dict></plist>")
		var want struct {
			Dict struct {
				Strings []string `xml:"string"`
			} `xml:"dict"`
		}
		if err := xml.Unmarshal([]byte(b.String()), &want); err != nil || len(want.Dict.Strings) != 2 {
			t.Skip(err)
		}
		got, err := PropertyTexts([]byte(b.String()), infoKeys...)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range want.Dict.Strings {
			if len(text) < longestText/8 && got[infoKeys[i]] != text {
				t.Errorf("%q, want %q", got[infoKeys[i]], text)
			}
		}
	})
}

// The files were made by another program than this test.
func TestPropertyTextsOfFiles(t *testing.T) {
	for name, want := range map[string][2]string{
		"info-binary.plist":  {"com.apple.Safari", "18.5"},
		"info-unicode.plist": {"com.example.résumé", "1.0 β"},
		"info-utf16.plist":   {"com.google.Chrome", "131.0.6778.86"},
	} {
		b, err := os.ReadFile("../../testdata/darwin/bundles/" + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := PropertyTexts(b, infoKeys...)
		if err != nil || len(got) != 2 || got["CFBundleIdentifier"] != want[0] || got["CFBundleShortVersionString"] != want[1] {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	b, err := os.ReadFile("../../testdata/darwin/bundles/job-binary.plist")
	if err != nil {
		t.Fatal(err)
	}
	if j, ok := JobFrom(b); !ok || j != (Job{"com.apple.logd", "/usr/libexec/logd"}) {
		t.Errorf("%+v, %v", j, ok)
	}
}
