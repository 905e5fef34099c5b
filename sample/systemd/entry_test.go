package systemd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"tachograph/sample/proc/cmdline"
	"testing"
	"time"
	"unicode/utf8"
)

// entriesOf reads a fixture.
func entriesOf(t *testing.T, path string) (entries []Entry) {
	t.Helper()
	f, err := NewFile(bytes.NewReader(unpacked(t, path)), wanted)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Len() {
		s, err := f.Stamp(i)
		fields := make(map[string]string)
		if err != nil || f.Fields(i, fields) != nil {
			t.Fatalf("entry %d cannot be read", i)
		}
		entries = append(entries, newEntry("system", s, fields))
	}
	return entries
}

// TestEntries compares what is kept of every entry that is about something. The files are about the
// same.
func TestEntries(t *testing.T) {
	golden := string(readFile(t, "testdata/entries.golden"))
	for _, path := range fixtures(t) {
		var got strings.Builder
		for _, e := range entriesOf(t, path) {
			if e.Identifier == "worker" {
				continue
			}
			fmt.Fprintf(&got, "%d %s kind=%d %q transport=%s kernel=%v priority=%d identifier=%q comm=%q unit=%q pid=%d uid=%d message_id=%s\n",
				e.Seq, e.Time.Format(time.RFC3339Nano), e.Kind, cmdline.Bounded(e.Message, 100), e.Transport, e.Kernel, e.Priority, e.Identifier, e.Comm, e.Unit, e.PID, e.UID, e.MessageID)
			if e.Facts != nil {
				got.WriteString(said(t, *e.Facts))
			}
		}
		if got.String() != golden {
			t.Fatalf("%s:\n%s\nwant\n%s", path, got.String(), golden)
		}
	}
}

// said shows facts, without those that are not known.
func said(t *testing.T, facts any) string {
	t.Helper()
	text, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, value := range all {
		if value == nil || value == "" || value == false || value == float64(Unknown) || value == "0001-01-01T00:00:00Z" {
			delete(all, name)
		}
	}
	text, err = json.MarshalIndent(all, "\t", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return "\t" + string(text) + "\n"
}

// TestNothingSecretIsWanted keeps command lines and environments from being read.
func TestNothingSecretIsWanted(t *testing.T) {
	for _, name := range []string{"_CMDLINE", "COREDUMP_CMDLINE", "COREDUMP_ENVIRON", "COREDUMP_PROC_MAPS", "COREDUMP_OPEN_FDS", "COREDUMP"} {
		if wanted[name] {
			t.Errorf("%s is read", name)
		}
	}
	for _, e := range entriesOf(t, "testdata/compact-zstd.journal.zst") {
		if text := said(t, e); strings.Contains(text, "hunter2") {
			t.Errorf("a secret is kept: %s", text)
		}
	}
}

func TestWhoIsBelieved(t *testing.T) {
	const failed, dumped, sleep, dropped = "d9b373ed55a64feb8242e02dbe79a49c", "fc2e22bc6ee647b6b90729ab34a250b1", "6bbd95ee977941e497c48be27c254128", "a596d6fe7bfa4994828e72309e95d61e"
	for _, c := range []struct {
		fields string
		want   Kind
	}{
		{"MESSAGE_ID=" + failed + " UNIT=a.service _PID=1 _UID=0", UnitFailed},
		{"MESSAGE_ID=" + failed + " UNIT=a.service _PID=2 _UID=0", Plain},
		{"MESSAGE_ID=" + failed + " UNIT=a.service _PID=1 _UID=1", Plain},
		{"MESSAGE_ID=" + failed + " UNIT=a.service USER_UNIT=a.service _UID=1000", Plain},
		{"MESSAGE_ID=" + failed + " USER_UNIT=a.service _UID=1000", UnitFailed},
		{"MESSAGE_ID=" + failed + " _PID=1 _UID=0", Plain},
		{"MESSAGE_ID=" + dumped + " _UID=0", Coredump},
		{"MESSAGE_ID=" + dumped + " _UID=1000 _SYSTEMD_UNIT=systemd-coredump@1-2-0.service", Coredump},
		{"MESSAGE_ID=" + dumped + " _UID=1000 _SYSTEMD_UNIT=user@1000.service", Plain},
		{"MESSAGE_ID=" + sleep + " _UID=0", SleepStarted},
		{"MESSAGE_ID=" + sleep + " _UID=1000", Plain},
		{"MESSAGE_ID=" + sleep, Plain},
		{"MESSAGE_ID=" + dropped + " _UID=0 _TRANSPORT=driver", LinesDropped},
		{"MESSAGE_ID=" + dropped + " _UID=0 _TRANSPORT=journal", Plain},
		{"MESSAGE_ID=00000000000000000000000000000000 _UID=0", Plain},
		{"_UID=0", Plain},
	} {
		fields := make(map[string]string)
		for _, f := range strings.Fields(c.fields) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		if kind, facts := classify(fields); kind != c.want || (facts == nil) != (kind == Plain) {
			t.Errorf("%s: %d %+v, want %d", c.fields, kind, facts, c.want)
		}
	}
}

func TestFrames(t *testing.T) {
	for message, want := range map[string][]string{
		"":                           nil,
		"Process 1 (a) dumped core.": nil,
		"Stack trace of thread 1:\n#0  0x1 f (m + 0x1)\n#1  0x2 n/a (n/a + 0x0)\n\nStack trace of thread 2:\n#0  0x3 g (m + 0x2)\n": {"f (m + 0x1)", "n/a (n/a + 0x0)"},
		"Stack trace of thread 1:\n#0  0x1 std::vector<int, std::allocator<int> >::at (m + 0x1)":                                    {"std::vector<int, std::allocator<int> >::at (m + 0x1)"},
		"Stack trace of thread 1:\nELF object\n#0\n#1 0x1\n":                                                                        nil,
	} {
		if got := frames(message); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
	if got := frames("Stack trace of thread 1:\n" + strings.Repeat("#0 0x1 "+strings.Repeat("f", 9999)+" (m)\n", 99)); len(got) != maxFrames || len(got[0]) > maxFieldText {
		t.Errorf("%d frames of %d bytes", len(got), len(got[0]))
	}
}

func TestCut(t *testing.T) {
	for _, unit := range []string{"a", "é", "€", "😀", "\xff", "a\xff€\x00"} {
		for n := 4; n < 40; n++ {
			for times := range 40 {
				s := strings.Repeat(unit, times)
				got := cmdline.Bounded(s, n)
				if len(got) > n || !utf8.ValidString(got) || len(s) > n && !strings.HasSuffix(got, "…") {
					t.Fatalf("%q to %d: %q", s, n, got)
				}
			}
		}
	}
}

func TestKernelTime(t *testing.T) {
	for source, want := range map[string]uint64{"": 5000, "1000": 3000, "3000": 5000, "9000": 5000, "x": 5000, "-1": 5000} {
		e := newEntry("system", Stamp{Received: 5000, Monotonic: 3000}, map[string]string{"_TRANSPORT": "kernel", "_SOURCE_MONOTONIC_TIMESTAMP": source})
		if got := uint64(e.Time.UnixMicro()); got != want {
			t.Errorf("%q: %d, want %d", source, got, want)
		}
	}
}
