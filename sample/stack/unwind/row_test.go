package unwind

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	push := []byte{0x41, 0x0e, 16, 0x86, 2} // after 1 byte: rsp+16, rbp at c-16
	for _, c := range []struct {
		name    string
		program []byte
		want    []string // at 0, 1, 2 ...
	}{
		{"nothing", nil, []string{"rsp+8 ra=c-8"}},
		{"a frame", append(push, 0x43, 0x0d, 6), []string{"rsp+8 ra=c-8", "rsp+16 rbp=c-16 ra=c-8", "rsp+16 rbp=c-16 ra=c-8", "rsp+16 rbp=c-16 ra=c-8", "rbp+16 rbp=c-16 ra=c-8"}},
		{"remembered", append(push, 0x0a, 0x41, 0x0c, 7, 8, 0xc6, 0x41, 0x0b), []string{"rsp+8 ra=c-8", "rsp+16 rbp=c-16 ra=c-8", "rsp+8 ra=c-8", "rsp+16 rbp=c-16 ra=c-8"}},
		{"nothing to restore", []byte{0x41, 0x0b}, []string{"rsp+8 ra=c-8", ""}},
		{"long distances", []byte{0x02, 1, 0x0e, 24, 0x03, 1, 0, 0x0e, 32, 0x04, 1, 0, 0, 0, 0x0e, 40}, []string{"rsp+8 ra=c-8", "rsp+24 ra=c-8", "rsp+32 ra=c-8", "rsp+40 ra=c-8"}},
		{"all kinds", []byte{0x05, 3, 2, 0x07, 4, 0x08, 5, 0x09, 16, 5, 0x10, 12, 1, 0x30, 0x11, 13, 0x7e, 0x14, 14, 1, 0x15, 15, 0x7f, 0x16, 0, 1, 0x30, 0x2f, 1, 1},
			[]string{"rsp+8 rax=vexp rdx=c+8 rbx=c-16 rsi=u rdi=s r12=exp r13=c+16 r14=v-8 r15=v+8 ra=rdi"}},
		{"restored", []byte{0x05, 16, 2, 0x05, 3, 2, 0x41, 0x06, 16, 0x06, 3}, []string{"rsp+8 rbx=c-16 ra=c-16", "rsp+8 ra=c-8"}},
		{"signed", []byte{0x12, 6, 0x7e, 0x41, 0x13, 0x7c}, []string{"rbp+16 ra=c-8", "rbp+32 ra=c-8"}},
		{"an expression", []byte{0x0f, 2, 0x77, 8}, []string{"exp ra=c-8"}},
		{"a distance without a register", []byte{0x0f, 2, 0x77, 8, 0x41, 0x0e, 8}, []string{"exp ra=c-8", ""}},
		{"a register without a distance", []byte{0x0f, 2, 0x77, 8, 0x41, 0x0d, 7}, []string{"exp ra=c-8", ""}},
		{"no such register", []byte{0x0c, 99, 8}, []string{""}},
		{"registers that are not followed", []byte{0x05, 99, 1}, []string{"rsp+8 ra=c-8"}},
		{"marks that change nothing", []byte{0x2d, 0x2c, 0x2e, 16, 0}, []string{"rsp+8 ra=c-8"}},
		{"unknown", []byte{0x41, 0x3f}, []string{"rsp+8 ra=c-8", ""}},
		{"cut", []byte{0x41, 0x05, 3, 0x80}, []string{"rsp+8 ra=c-8", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function{common: common{code: 1, data: -8, ra: 16, program: []byte{0x0c, 7, 8, 0x90, 1}}, start: 0x1000, size: 0x100, program: c.program}
			for i, want := range c.want {
				p := programs{steps: maxSteps}
				r, ok := p.row(&f, 0x1000+uint64(i))
				got := ""
				if ok {
					got = r.shown(&X86)
				}
				if got != want {
					t.Errorf("at %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

// Programs that never end, or remember without end, are given up.
func TestProgramsAreBounded(t *testing.T) {
	f := function{common: common{code: 1, data: -8, ra: 16, program: []byte{0x0c, 7, 8}}, size: 1, program: make([]byte, 1<<20)}
	p := programs{steps: maxSteps}
	if _, ok := p.row(&f, 0); ok {
		t.Error("a million steps were taken")
	}
	f.program = []byte(strings.Repeat("\x0a", maxRemembered+1))
	p = programs{steps: maxSteps}
	if _, ok := p.row(&f, 0); ok {
		t.Error("any number of rows can be remembered")
	}
}

// The rows are those that readelf finds in the programs of this machine.
func TestRowsAreThoseOfReadelf(t *testing.T) {
	tool, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("readelf is not installed")
	}
	images, rows := 0, 0
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/git", "/bin/bash", "/usr/lib64/libc.so.6", "/usr/aarch64-linux-gnu/lib/libc.so.6"} {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read(f, st.Size(), 24<<20)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f.Close()
		if m.table == nil {
			t.Errorf("%s has no table of functions", path)
		}
		images++
		cmd := exec.Command(tool, "--wide", "--debug-dump=frames-interp", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		rows += compared(t, path, m, bufio.NewScanner(out))
		cmd.Wait()
	}
	if images > 0 && rows < 10_000 {
		t.Errorf("%d rows of %d images were compared", rows, images)
	}
}

// compared compares what readelf says with m.
func compared(t *testing.T, path string, m *Image, out *bufio.Scanner) (rows int) {
	head := regexp.MustCompile(`FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)
	var columns []string
	var end uint64
	wrong, sound := 0, false
	var p programs
	check := func(pc uint64, want string) {
		rows++
		got := ""
		p.steps = maxSteps
		if f, ok := m.find(pc); ok {
			if r, ok := p.row(&f, pc); ok {
				if got = r.shown(m.machine); m.machine == &ARM {
					got = strings.TrimSuffix(got, " ra=u")
				}
			}
		}
		if got != want {
			if wrong++; wrong < 5 {
				t.Errorf("%s at %#x: %q, readelf has %q", path, pc, got, want)
			}
		}
	}
	for out.Scan() {
		line := out.Text()
		words := strings.Fields(line)
		switch {
		case strings.Contains(line, " CIE "):
			sound = false
		case strings.Contains(line, " FDE "):
			v := head.FindStringSubmatch(line)
			if sound = v != nil; sound {
				end, _ = strconv.ParseUint(v[2], 16, 64)
			}
		case len(words) > 1 && words[0] == "LOC":
			columns = words[2:]
		case sound && len(words) == len(columns)+2 && len(words[0]) == 16:
			pc, err := strconv.ParseUint(words[0], 16, 64)
			if err != nil || pc >= end {
				continue
			}
			want := words[1]
			for i, name := range columns {
				// Where nothing is said, readelf shows "u", too: on arm64 even for where the
				// function returns to.
				v := words[2+i]
				if vector := name[0] == 'v'; vector {
					continue // registers that are not followed
				}
				if v != "u" || name == "ra" && m.machine == &X86 {
					want += " " + name + "=" + v
				}
			}
			check(pc, want)
		}
	}
	return rows
}
