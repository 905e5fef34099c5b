package darwin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// smcColumn is a metric that the System Management Controller has under one of
// several keys, which differ between models; the first that this Mac has is
// taken.
type smcColumn struct {
	metric string
	keys   []string
}

// generations are the keys of the sensors in the cores of the M1, the M2 and so
// on: a key that stands for a core in one generation is something else, or a
// placeholder, in another.
var generations = []struct{ cpu, graphics []string }{
	{[]string{"Tp01", "Tp05", "Tp0D", "Tp0H", "Tp0L", "Tp0P", "Tp0X", "Tp0b"}, []string{"Tg05", "Tg0D", "Tg0L", "Tg0T"}},
	{[]string{"Tp01", "Tp05", "Tp09", "Tp0D", "Tp0X", "Tp0b", "Tp0f", "Tp0j"}, []string{"Tg0f", "Tg0j"}},
	{[]string{"Tf04", "Tf09", "Tf0A", "Tf0B", "Tf0D", "Tf0E", "Tf44", "Tf49"}, []string{"Tf14", "Tf18", "Tf19", "Tf1A", "Tf24", "Tf28"}},
	{[]string{"Tp01", "Tp05", "Tp09", "Tp0D", "Tp0V", "Tp0Y", "Tp0b", "Tp0e"}, []string{"Tg0G", "Tg1U", "Tg0H", "Tg1k", "Tg0K", "Tg0L", "Tg0d", "Tg0j"}},
	{[]string{"Tp00", "Tp04", "Tp08", "Tp0C", "Tp0G", "Tp0K", "Tp0O", "Tp0R"}, []string{"Tg0U", "Tg0X", "Tg0d", "Tg0g", "Tg0j", "Tg1Y", "Tg1c", "Tg1g"}},
}

// The keys of processors that are no family's, in the order in which they are
// tried when none of the family's is there: Apple silicon's first, then Intel's.
var (
	otherCPU      = []string{"Tp01", "Tp05", "Tp09", "Tp0D", "Tp0T", "Tf04", "Tf09", "Te05", "TC0D", "TC0E", "TC0F"}
	otherGraphics = []string{"Tg01", "Tg05", "Tg0D", "Tg0f", "Tg0j", "Tg0G", "Tf14", "TG0D", "TGDD"}
)

// family finds the keys for a processor that calls itself brand ("Apple M3
// Pro"). A family that is newer than those that are known is taken for the
// newest of them.
func family(brand string) (cpu, graphics []string) {
	name, ok := strings.CutPrefix(brand, "Apple M")
	digits, _, _ := strings.Cut(name, " ")
	number, err := strconv.Atoi(digits)
	if !ok || err != nil || number < 1 {
		return nil, nil
	}
	g := generations[min(number, len(generations))-1]
	return g.cpu, g.graphics
}

// smcColumns are the metrics of a Mac with a processor of that brand.
func smcColumns(brand string) []smcColumn {
	cpu, graphics := family(brand)
	return []smcColumn{
		{"hinv.nfan", []string{"FNum"}},
		// The hottest parts: a performance core on Apple silicon, the die's own
		// sensor on Intel.
		{"thermal.cpu.die", slices.Concat(cpu, otherCPU)},
		{"thermal.cpu.proximity", []string{"TC0P", "TC0p", "Tc0p"}},
		{"thermal.gpu.die", slices.Concat(graphics, otherGraphics)},
		{"thermal.package", []string{"TCXC", "TCXc"}},
		{"thermal.ambient", []string{"TA0P", "TA0p", "TA0V", "TA0v"}},
	}
}

const colFans = 0

// fanColumns are the metrics of a fan; the formats make its key from its
// number. The first key that this Mac has is taken: the M5's spell the mode in
// small letters.
var fanColumns = []struct {
	metric  string
	formats []string
}{
	{"thermal.fan.speed", []string{"F%dAc"}},
	{"thermal.fan.target", []string{"F%dTg"}},
	{"thermal.fan.min", []string{"F%dMn"}},
	{"thermal.fan.max", []string{"F%dMx"}},
	{"thermal.fan.mode", []string{"F%dMd", "F%dmd"}},
}

// maxFans is as many as a key of four characters can number.
const maxFans = 10

func fanKeys(formats []string, fan int) []string {
	keys := make([]string, len(formats))
	for i, f := range formats {
		keys[i] = fmt.Sprintf(f, fan)
	}
	return keys
}

// pressureWords are macOS's own words for the levels of thermal pressure.
// (PCP's words belong to another scale, that of NSProcessInfo.)
var pressureWords = []string{"Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"}
