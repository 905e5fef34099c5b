package libproc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/darwin/decode"
)

type measured struct{ off, size int }

// readLayouts reads the measured layouts of one processor.
func readLayouts(t *testing.T, arch string) map[string]measured {
	f, err := os.Open(filepath.Join("..", "..", "..", "testdata", "darwin", "facts", "layouts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := make(map[string]measured)
	for s := bufio.NewScanner(f); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if len(c) < 6 || c[5] != arch {
			continue
		}
		off, _ := strconv.Atoi(c[2])
		size, _ := strconv.Atoi(c[3])
		rows[c[0]+"."+c[1]] = measured{off, size}
	}
	return rows
}

func TestFieldsStandWhereTheyWereMeasured(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			rows := readLayouts(t, arch)
			for _, f := range fields {
				if m := rows[f.Struct+"."+f.Name]; m != (measured{f.Off, f.Size}) {
					t.Errorf("%s.%s is at %d, %d bytes; measured: %v", f.Struct, f.Name, f.Off, f.Size, m)
				}
			}
			if m := rows["kinfo_proc."+kFirstGroup.Name]; m != (measured{kFirstGroup.Off, 4 * kGroupsCount}) {
				t.Errorf("the groups are at %d; measured: %v", kFirstGroup.Off, m)
			}
			if m := rows["proc_pidcoalitioninfo.coalition_id"]; m != (measured{coalitionID.Off, 2 * coalitionID.Size}) {
				t.Errorf("the coalitions are at %d; measured: %v", coalitionID.Off, m)
			}
			sizes := map[string]int{
				"kinfo_proc": KinfoSize, "proc_taskallinfo": TaskAllSize, "proc_uniqidentifierinfo": UniqueSize,
				"proc_vnodepathinfo": VnodePathSize, "proc_threadinfo": ThreadSize, "socket_fdinfo": SocketSize, "proc_fdinfo": fdSize,
				"proc_regionwithpathinfo": RegionPathSize, "proc_pidcoalitioninfo": CoalitionSize,
				"coalition_resource_usage": coalitionSwapins.Off,
			}
			for v := range rusageSizes {
				sizes["rusage_info_v"+strconv.Itoa(v)] = RusageSize(int32(v))
			}
			for name, size := range sizes {
				if got := rows[name+".(total)"].size; got != size {
					t.Errorf("%s has %d bytes; measured: %d", name, size, got)
				}
			}
		})
	}
}

func put(b []byte, f *decode.Field, v uint64) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	copy(b[f.Off:f.Off+f.Size], w[:])
}

func TestProcess(t *testing.T) {
	b := make([]byte, KinfoSize)
	put(b, KPid, 4711)
	put(b, KStartSec, 1_700_000_000)
	put(b, KStartMicro, 999_999)
	copy(b[KComm.Off:], "sixteen bytes..\x00rest")
	put(b, KFlag, 0x24004)
	put(b, KGroupCount, 2)
	put(b, kFirstGroup, 20)
	put(b, KRealGID, 99)
	put(b, KTTY, 0x10000002)
	var got []Process
	Processes(append(append(make([]byte, 0), b...), b[:100]...), func(p Process) { got = append(got, p) })
	if len(got) != 1 {
		t.Fatalf("%d processes", len(got))
	}
	p := got[0]
	if p.Pid() != 4711 || p.StartMicros() != 1_700_000_000_999_999 || string(p.Comm()) != "sixteen bytes.." || Translated(get(KFlag, p)) != 1 || p.EffectiveGID() != 20 {
		t.Errorf("pid %d, start %d, comm %q, translated %v, gid %d", p.Pid(), p.StartMicros(), p.Comm(), Translated(get(KFlag, p)), p.EffectiveGID())
	}
	if dev, ok := p.Terminal(); dev != 0x10000002 || !ok {
		t.Errorf("terminal %x, %v", dev, ok)
	}
	put(b, KTTY, noDevice)
	put(b, KGroupCount, 0)
	if _, ok := Process(b).Terminal(); ok || Process(b).EffectiveGID() != 99 {
		t.Error("no terminal is one, or no groups are some")
	}
	for stat, want := range map[uint64]byte{1: 'I', 2: 'R', 3: 'R', 4: 'T', 5: 'Z'} {
		t.Run(string(want), func(t *testing.T) {
			put(b, KStat, stat)
			if got := Process(b).State(1); got != want {
				t.Errorf("state %d with a running thread is %c, want %c", stat, got, want)
			}
		})
	}
	put(b, KStat, 2)
	if got := Process(b).State(0); got != 'S' {
		t.Errorf("nothing runs, but the state is %c", got)
	}
}

func arguments(count uint32, rest string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, count), rest...)
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want []string
		ok   bool
	}{
		{"plain", arguments(2, "/bin/a\x00\x00\x00\x00a\x00-x\x00HOME=/\x00"), []string{"a", "-x"}, true},
		{"an empty one inside", arguments(3, "/bin/a\x00a\x00\x00b\x00SECRET=1\x00"), []string{"a", "", "b"}, true},
		{"none", arguments(0, "/bin/a\x00HOME=/\x00"), nil, true},
		{"cut short", arguments(3, "/bin/a\x00a\x00unfin"), []string{"a"}, true},
		{"more than there are", arguments(1<<31-1, "/bin/a\x00a\x00"), []string{"a"}, true},
		{"a negative number", arguments(1<<31, "/bin/a\x00a\x00"), nil, false},
		{"no path", arguments(1, "abc"), nil, false},
		{"nothing", nil, nil, false},
		{"three bytes", []byte{1, 2, 3}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := Arguments(c.in)
			if ok != c.ok || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %q, %v; want %q, %v", c.name, got, ok, c.want, c.ok)
			}
		})
	}
}

func TestGivenPath(t *testing.T) {
	for in, want := range map[string]string{
		string(arguments(1, "/bin/a\x00\x00a\x00")): "/bin/a",
		string(arguments(1, "/bin/a")):              "",
		"abc":                                       "",
	} {
		if got := GivenPath([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestVariable(t *testing.T) {
	const name = "XPC_SERVICE_NAME"
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"first", arguments(1, "/bin/a\x00\x00a\x00XPC_SERVICE_NAME=com.example\x00HOME=/\x00"), "com.example"},
		{"last", arguments(1, "/bin/a\x00\x00a\x00HOME=/\x00XPC_SERVICE_NAME=0\x00"), "0"},
		{"an argument is no variable", arguments(2, "/bin/a\x00a\x00XPC_SERVICE_NAME=no\x00HOME=/\x00"), ""},
		{"what Apple adds after an empty string is none", arguments(1, "/bin/a\x00a\x00HOME=/\x00\x00XPC_SERVICE_NAME=no\x00"), ""},
		{"a longer name", arguments(1, "/bin/a\x00a\x00XPC_SERVICE_NAME_OLD=no\x00"), ""},
		{"cut short", arguments(1, "/bin/a\x00a\x00XPC_SERVICE_NAME=com.exam"), ""},
		{"none", arguments(1, "/bin/a\x00a\x00"), ""},
		{"arguments cut short", arguments(9, "/bin/a\x00a\x00XPC_SERVICE_NAME=no\x00"), ""},
		{"nothing", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Variable(c.in, name); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestCoalition(t *testing.T) {
	b := make([]byte, CoalitionSize)
	binary.LittleEndian.PutUint64(b, 71)
	binary.LittleEndian.PutUint64(b[8:], 72)
	if id, ok := Coalition(b); id != 71 || !ok {
		t.Errorf("%d, %v", id, ok)
	}
	if _, ok := Coalition(b[:7]); ok {
		t.Error("a coalition from half an answer")
	}
}

func TestSigningText(t *testing.T) {
	blob := func(length uint32, text string) []byte {
		return append(binary.BigEndian.AppendUint32(make([]byte, 4), length), text...)
	}
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"a text", blob(16, "com.app\x00rest of the buffer"), "com.app"},
		{"without an end", blob(15, "com.app"), "com.app"},
		{"more than there is", blob(99, "com.app\x00"), "com.app"},
		{"less than the header", blob(3, "com.app\x00"), ""},
		{"empty", blob(9, "\x00"), ""},
		{"half a header", []byte{0, 0, 0, 0, 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := SigningText(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSocketKind(t *testing.T) {
	for _, c := range []struct {
		name                   string
		family, kind, protocol uint64
		tcp, udp               bool
	}{
		{"TCP", 2, 2, 6, true, false}, {"TCP over IPv6", 30, 2, 6, true, false}, {"UDP", 2, 1, 17, false, true}, {"UDP over IPv6", 30, 1, 17, false, true},
		{"ICMP", 2, 1, 1, false, false}, {"Unix", 1, 3, 0, false, false}, {"system", 32, 6, 2, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := make([]byte, SocketSize)
			put(b, socketFamily, c.family)
			put(b, socketKind, c.kind)
			put(b, socketProtocol, c.protocol)
			if tcp, udp := SocketKind(b); tcp != c.tcp || udp != c.udp {
				t.Errorf("%+v: %v, %v", c, tcp, udp)
			}
		})
	}
}

func TestDescriptors(t *testing.T) {
	b := make([]byte, 3*fdSize+5)
	for i, kind := range []uint64{1, 2, 2} {
		put(b[i*fdSize:], fdNumber, uint64(10+i))
		put(b[i*fdSize:], fdType, kind)
	}
	var sockets []int32
	if n := Descriptors(b, func(fd int32) { sockets = append(sockets, fd) }); n != 3 || !reflect.DeepEqual(sockets, []int32{11, 12}) {
		t.Errorf("%d descriptors, sockets %v", n, sockets)
	}
}

func TestTicks(t *testing.T) {
	for _, ts := range []Ticks{{125, 3}, {1, 1}, KernelTicks(24_000_000, false, 1, 1), KernelTicks(1_000_000_000, false, 1, 1)} {
		t.Run(fmt.Sprintf("%d to %d", ts.Numer, ts.Denom), func(t *testing.T) {
			for _, ticks := range []uint64{0, 1, 2, 3, 1<<32 + 1, 1<<53 + 1, 1 << 58} {
				want := new(big.Int).Mul(new(big.Int).SetUint64(ticks), new(big.Int).SetUint64(ts.Numer))
				want.Div(want, new(big.Int).SetUint64(ts.Denom))
				got := ts.Nanoseconds(ticks)
				if want.IsUint64() && got != want.Uint64() {
					t.Errorf("%v: %d ticks are %d ns, want %s", ts, ticks, got, want)
				}
			}
		})
	}
	if got := (Ticks{125, 3}).Nanoseconds(1<<64 - 1); got != 1<<64-1 {
		t.Errorf("what does not fit became %d", got)
	}
}

func TestKernelTicks(t *testing.T) {
	for _, c := range []struct {
		name         string
		hz           uint64
		translated   bool
		numer, denom uint32
		second       uint64 // one second in ticks, in nanoseconds for 24 million ticks
	}{
		{"apple silicon", 24_000_000, false, 125, 3, 1e9},
		{"intel", 1e9, false, 1, 1, 24_000_000},
		{"translated, the frequency is the hardware's", 24_000_000, true, 1, 1, 1e9},
		{"translated, everything is disguised", 1e9, true, 1, 1, 1e9},
		{"translated, no frequency", 0, true, 1, 1, 1e9},
		{"no frequency", 0, false, 125, 3, 1e9},
		{"nothing at all", 0, false, 0, 0, 24_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := KernelTicks(c.hz, c.translated, c.numer, c.denom).Nanoseconds(24_000_000); got != c.second {
				t.Errorf("%s: 24 million ticks are %d ns, want %d", c.name, got, c.second)
			}
		})
	}
}

func TestCoalitions(t *testing.T) {
	record := func(id uint64, kind, living uint32) []byte {
		b := binary.LittleEndian.AppendUint64(nil, id)
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, kind), living)
	}
	list := slices.Concat(record(1, ResourceCoalition, 1), record(71, ResourceCoalition, 3), record(72, 1, 3), record(73, ResourceCoalition, 0)[:15])
	var got []uint64
	Coalitions(list, func(id uint64, living uint32) { got = append(got, id, uint64(living)) })
	if !slices.Equal(got, []uint64{1, 1, 71, 3}) {
		t.Errorf("%v", got)
	}
}

// The kernel does not say how much of the struct it has.
func TestAnswered(t *testing.T) {
	var b [UsageSize]byte
	for _, words := range []int{0, 1, 35, UsageSize / 8} {
		Blank(&b)
		clear(b[:8*words])
		if got := len(Answered(&b)); got != 8*words {
			t.Errorf("%d bytes of %d", got, 8*words)
		}
	}
	Blank(&b)
	clear(b[16:24]) // What looks untouched may be a value, if there is one behind it.
	if got := len(Answered(&b)); got != 24 {
		t.Errorf("%d bytes of 24", got)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(arguments(2, "/bin/a\x00a\x00b\x00"))
	f.Add(make([]byte, KinfoSize+1))
	f.Add([]byte{255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, b []byte) {
		if argv, ok := Arguments(b); ok && len(argv) > len(b) {
			t.Errorf("%d arguments in %d bytes", len(argv), len(b))
		}
		Processes(b, func(p Process) {
			p.Pid()
			p.StartMicros()
			p.Comm()
			p.State(get(KStat, p))
			p.EffectiveGID()
			p.Terminal()
		})
		Descriptors(b, func(int32) {})
		SocketKind(b)
		Cwd(b)
		Threads(b, func(uint64) {})
		Coalitions(b, func(uint64, uint32) {})
	})
}
