package procfs

import (
	"fmt"
	"reflect"
	"testing"
)

func TestMaps(t *testing.T) {
	text := "5581a6c00000-5581a6c02000 r--p 00000000 fe:01 1234                       /usr/bin/cat\n" +
		"5581a6c02000-5581a6c07000 r-xp 00002000 103:02 1234                       /a b/c (x) (deleted)\n" +
		"7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n" +
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n" +
		"nonsense\n7f00-7e00 r-xp 00000000 00:00 0\n7f00-8000 r-xp 00000000 0000 0\n7g00-8000 r-xp 0 0:0 0\n7f00 r-xp 0 0:0 0\n1-2 r-x"
	var got []string
	Maps([]byte(text), func(m *Mapping) {
		got = append(got, fmt.Sprintf("%x %x %v %x %d:%d %d %q %v", m.Start, m.End, m.Executable, m.Offset, m.Major, m.Minor, m.Inode, m.Path, m.Deleted))
	})
	want := []string{
		`5581a6c00000 5581a6c02000 false 0 254:1 1234 "/usr/bin/cat" false`,
		`5581a6c02000 5581a6c07000 true 2000 259:2 1234 "/a b/c (x)" true`,
		`7f0000000000 7f0000010000 true 0 0:0 0 "" false`,
		`ffffffffff600000 ffffffffff601000 true 0 0:0 0 "[vsyscall]" false`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestKernelStack(t *testing.T) {
	var got []string
	KernelStack([]byte("[<0>] futex_wait_queue+0x63/0x90\n[<0>] nf_hook+0x1/0x2 [nf_tables]\n[<0>] 0xffffffff81000000\n[<0>] x+1/2\n+0x1/0x2\n[<0>] y+0x1"),
		func(name []byte, offset, size uint64) {
			got = append(got, fmt.Sprintf("%s %#x %#x", name, offset, size))
		})
	if want := []string{"futex_wait_queue 0x63 0x90", "nf_hook 0x1 0x2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCalled(t *testing.T) {
	for _, c := range []struct {
		text   string
		pc, sp uint64
		ok     bool
	}{
		{"202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd10 0x7f0010\n", 0x7f0010, 0x7ffd10, true},
		{"-1 0x7ffd10 0x7f0010\n", 0x7f0010, 0x7ffd10, true},
		{"running\n", 0, 0, false}, {"", 0, 0, false}, {"1 2 3", 0, 0, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			if pc, sp, ok := Called([]byte(c.text)); ok != c.ok || ok && (pc != c.pc || sp != c.sp) {
				t.Errorf("%#x, %#x, %v", pc, sp, ok)
			}
		})
	}
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte("5581a6c02000-5581a6c07000 r-xp 00002000 103:02 1234    /a b/c (x) (deleted)\n"))
	f.Add([]byte("[<0>] futex_wait_queue+0x63/0x90\n"))
	f.Add([]byte("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd10 0x7f0010\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		Maps(b, func(m *Mapping) {
			if m.End <= m.Start {
				t.Errorf("%x-%x", m.Start, m.End)
			}
		})
		KernelStack(b, func(name []byte, _, _ uint64) {
			if len(name) == 0 {
				t.Error("a function without a name")
			}
		})
		Called(b)
	})
}
