package layout_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tachograph/store/layout"
)

// bundleOf returns a tar of the named members.
func bundleOf(format tar.Format, names ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, name := range names {
		body := bytes.Repeat([]byte{byte('a' + i)}, 100*(i+1))
		_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Mode: 0o600, Format: format})
		_, _ = w.Write(body)
	}
	_ = w.Close()
	return b.Bytes()
}

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string // names
		wrong string
	}{
		{"ours", bundleOf(tar.FormatUSTAR, "a.tacho", "b.tacho"), "a.tacho b.tacho", ""},
		{"packed again by others", bundleOf(tar.FormatPAX, "./x/a.tacho", "./x/README", "./x/b.tacho"), "a.tacho b.tacho", ""},
		{"by GNU tar", bundleOf(tar.FormatGNU, strings.Repeat("long/", 40)+"a.tacho"), "a.tacho", ""},
		{"nothing in it", bundleOf(tar.FormatUSTAR, "README"), "", "without archives"},
		{"one name twice", bundleOf(tar.FormatUSTAR, "a.tacho", "x/a.tacho"), "a.tacho", "two archives"},
		{"cut in the second", bundleOf(tar.FormatUSTAR, "a.tacho", "b.tacho")[:512+512+512+50], "a.tacho", "cut short"},
		{"cut in a header", bundleOf(tar.FormatUSTAR, "a.tacho", "b.tacho")[:512+512+100], "a.tacho", "cut short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !layout.IsBundle(bytes.NewReader(c.bytes)) {
				t.Fatal("it is not taken for a bundle")
			}
			members, err := layout.Members(bytes.NewReader(c.bytes), int64(len(c.bytes)))
			var names []string
			for i, m := range members {
				names = append(names, m.Name)
				if c.wrong == "" && len(c.name) == 4 && c.bytes[m.Offset] != byte('a'+i) {
					t.Errorf("%s does not stand at byte %d", m.Name, m.Offset)
				}
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("it holds %q, want %q", got, c.want)
			}
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
		})
	}
}

// FuzzMembers lists the members in arbitrary bytes. No member may reach beyond the bytes,
// and no two may share a place or a name.
func FuzzMembers(f *testing.F) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatPAX, tar.FormatGNU} {
		f.Add(bundleOf(format, "a.tacho", "b.tacho", strings.Repeat("x", 120)+".tacho"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		members, err := layout.Members(bytes.NewReader(b), int64(len(b)))
		if len(members) == 0 && err == nil {
			t.Fatal("nothing, and no reason")
		}
		end, names := int64(0), make(map[string]bool)
		for _, m := range members {
			if m.Offset < end || m.Size < 0 || m.Offset+m.Size > int64(len(b)) || names[m.Name] || strings.Contains(m.Name, "/") || m.Name == "" {
				t.Fatal(fmt.Sprint(m, " of ", len(b), " bytes, behind ", end))
			}
			end, names[m.Name] = m.Offset+m.Size, true
		}
	})
}
