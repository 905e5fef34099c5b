package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A table is as wide as the terminal at most, and numbers stay whole.
func TestTableFits(t *testing.T) {
	tab := table{head: []string{"METRIC", "TYPE", "VALUE", "HERE"}, drop: []int{1}, cut: []int{3, 0}, rows: [][]string{
		{"kernel.all.pressure.memory.full.total", "u64", "18446744073709551615", "no: this kernel has no /proc/pressure/irq"},
		{"kernel.all.load", "f32", "-1.5", "yes"},
	}}
	for width := 40; width <= 130; width++ {
		var b strings.Builder
		if err := tab.write(&b, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d letters in %d columns: %s", n, width, line)
			}
		}
		if !strings.Contains(b.String(), "18446744073709551615") || !strings.Contains(b.String(), "l.total") {
			t.Errorf("in %d columns:\n%s", width, b.String())
		}
	}
	var b strings.Builder
	if err := tab.write(&b, 0); err != nil {
		t.Fatal(err)
	}
	const want = `METRIC                                 TYPE  VALUE                 HERE
kernel.all.pressure.memory.full.total  u64   18446744073709551615  no: this kernel has no /proc/pressure/irq
kernel.all.load                        f32   -1.5                  yes
`
	if b.String() != want {
		t.Errorf("without a terminal:\n%s", b.String())
	}
}
