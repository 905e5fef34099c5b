package darwin

import (
	"strconv"
	"strings"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// generations are the keys of the sensors in the cores of the M1, the M2 and so on: the key of a
// core's sensor in one generation is something else, or a placeholder, in another.
var generations = []struct{ cpu, graphics []string }{
	{[]string{"Tp01", "Tp05", "Tp0D", "Tp0H", "Tp0L", "Tp0P", "Tp0X", "Tp0b"}, []string{"Tg05", "Tg0D", "Tg0L", "Tg0T"}},
	{[]string{"Tp01", "Tp05", "Tp09", "Tp0D", "Tp0X", "Tp0b", "Tp0f", "Tp0j"}, []string{"Tg0f", "Tg0j"}},
	{[]string{"Tf04", "Tf09", "Tf0A", "Tf0B", "Tf0D", "Tf0E", "Tf44", "Tf49"}, []string{"Tf14", "Tf18", "Tf19", "Tf1A", "Tf24", "Tf28"}},
	{[]string{"Tp01", "Tp05", "Tp09", "Tp0D", "Tp0V", "Tp0Y", "Tp0b", "Tp0e"}, []string{"Tg0G", "Tg1U", "Tg0H", "Tg1k", "Tg0K", "Tg0L", "Tg0d", "Tg0j"}},
	{[]string{"Tp00", "Tp04", "Tp08", "Tp0C", "Tp0G", "Tp0K", "Tp0O", "Tp0R"}, []string{"Tg0U", "Tg0X", "Tg0d", "Tg0g", "Tg0j", "Tg1Y", "Tg1c", "Tg1g"}},
}

// appleSilicon is the beginning of the names of Apple's own processors.
const appleSilicon = "Apple "

// family returns the keys for a processor that calls itself brand ("Apple M3 Pro"). For a family
// whose keys we do not know it returns none: the same key may belong to another sensor there.
func family(brand string) (cpu, graphics []string) {
	name, ok := strings.CutPrefix(brand, appleSilicon+"M")
	digits, _, _ := strings.Cut(name, " ")
	number, err := strconv.Atoi(digits)
	if !ok || err != nil || number < 1 || number > len(generations) {
		return nil, nil
	}
	g := generations[number-1]
	return g.cpu, g.graphics
}

// smcPrefix is the beginning of the rows of the System Management Controller. They list the keys
// that differ between models; the first that this Mac has is used. For a row about a sensor in a
// core, Apple silicon uses only the keys of its family, and Intel's processors the other keys.
const smcPrefix = "SMC key "

func smcRows(indom string) []rows.Row { return rows.Select(indom, smcPrefix) }

// ofCore and ofGraphics are the words in rows for the keys of a family of processors.
const (
	ofCore     = "<core>"
	ofGraphics = "<graphics>"
)

// smcKeys returns the keys of a row on a Mac with a processor of that brand.
func smcKeys(r rows.Row, brand string) []string {
	word, others, _ := strings.Cut(r.Formula, " or ")
	cpu, graphics := family(brand)
	switch apple := strings.HasPrefix(brand, appleSilicon); {
	case word != ofCore && word != ofGraphics:
		return strings.Split(r.Formula, " or ")
	case !apple:
		return strings.Split(others, " or ")
	case word == ofCore:
		return cpu
	}
	return graphics
}

// sane reports whether v is possible for a sensor of a row. Keys of temperatures begin with T,
// and a processor that works is warm. Where a model has such a key without the sensor, it is
// zero, or a constant near zero.
func sane(r rows.Row, v float64) bool {
	switch r.Formula[0] {
	case '<':
		return v >= 10 && v <= 130
	case 'T':
		return v != 0 && v >= -50 && v <= 130
	}
	return true
}

// fansKey is the key for the number of fans; maxFans is as many as a key of four characters can
// number.
const (
	fansKey = "FNum"
	maxFans = 10
)

// fanKeys returns the keys of a row for one of the fans.
func fanKeys(r rows.Row, fan int) []string {
	return strings.Split(strings.ReplaceAll(r.Formula, "<n>", strconv.Itoa(fan)), " or ")
}

// groupOf makes a group of rows that no table computes.
func groupOf(name string, rs []rows.Row) *metric.Group {
	g := &metric.Group{Name: name}
	for _, r := range rs {
		g.Indom, g.Metrics = r.Indom, append(g.Metrics, r.Desc)
	}
	return g
}

// pressureWords are macOS's own words for the levels of thermal pressure.
// (PCP's words belong to another scale, that of NSProcessInfo.)
var pressureWords = []string{"Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"}
