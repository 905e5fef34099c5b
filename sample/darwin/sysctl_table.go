package darwin

import (
	"slices"
	"strings"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// scalarRows returns the table of metrics whose name differs from their sysctl's, or that are a
// part of its answer. Metrics with the sysctl's name are in the tree; those that need more than
// reading have sources of their own.
func scalarRows() *rows.Table {
	rs := rows.Select(metric.NoIndom, "sysctl ")
	return rows.New("sysctl", slices.DeleteFunc(rs, func(r rows.Row) bool {
		name := sysctlOf(r.Question)
		return ownName(r.Desc) || name == tcpStatsSysctl || name == tcpListSysctl
	}), 0, nil)
}

// A domain is an instance domain with fixed members, and the beginning of the names of its
// metrics' sysctls.
type domain struct {
	group, indom, sysctls string
	instances             []string
}

var domains = []domain{
	{"load", "load", "vm.loadavg", []string{"1 minute", "5 minute", "15 minute"}},
	{"swap fields", "field", "vm.swapusage", []string{"total", "avail", "used"}},
	{"clock fields", "field", "kern.clockrate", []string{"hz", "tick", "tickadj", "profhz", "stathz"}},
	{"cache levels", "cache level", "hw.cache", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
}

// rows returns the table of the domain's metrics.
func (d *domain) rows() *rows.Table {
	rs := rows.Select(d.indom, "sysctl ")
	return rows.New(d.group, slices.DeleteFunc(rs, func(r rows.Row) bool {
		return !strings.HasPrefix(r.Question, d.sysctls)
	}), len(d.instances), nil)
}

// sysctlOf returns the sysctl's name in a question that ends with the name of a struct.
func sysctlOf(question string) string {
	name, _, _ := strings.Cut(question, " ")
	return name
}

// ownName reports whether a row of the catalog is a sysctl under its own name.
func ownName(d *metric.Desc) bool { return d.Source == "sysctl "+d.Name }

// sysctlLeaf locates the value of a leaf: a member of the struct that answers its question, or
// an answer that is a number.
type sysctlLeaf struct {
	name   string
	member rows.Member // its Field is nil for a number
	typ    metric.Type // decides whether a number has a sign
}

func sysctlLeaves(t *rows.Table, arch string) []sysctlLeaf {
	var numbers []string
	for _, l := range t.Leaves {
		if l.Question == "" {
			numbers = append(numbers, l.Word)
		}
	}
	leaves := make([]sysctlLeaf, len(t.Leaves))
	for i, m := range t.Members(arch, numbers...) {
		l := t.Leaves[i]
		if leaves[i] = (sysctlLeaf{l.Word, m, l.Metric.Type}); m.Field != nil {
			leaves[i].name = sysctlOf(l.Question)
		}
	}
	return leaves
}

// value returns the leaf's value from an answer.
func (l *sysctlLeaf) value(answer []byte) rows.Value {
	if l.member.Field != nil {
		return l.member.Value(answer, badAnswer)
	}
	if v, ok := decode.SysctlBits(answer, l.typ); ok {
		return rows.Value{Bits: v}
	}
	return rows.Value{Miss: badAnswer}
}

// badAnswer is the reason for a value whose sysctl answered with an unexpected length.
var badAnswer = metric.ReasonFor("the kernel's answer does not have the expected length")
