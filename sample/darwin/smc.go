package darwin

import "fmt"

// smcColumn is a metric that the System Management Controller has under one of
// several keys, which differ between models; the first that this Mac has is
// taken. Apple silicon's come first, then Intel's.
type smcColumn struct {
	metric string
	keys   []string
}

var smcColumns = []smcColumn{
	{"hinv.nfan", []string{"FNum"}},
	// The hottest parts: a performance core on Apple silicon, the die's own
	// sensor on Intel.
	{"thermal.cpu.die", []string{"Tp01", "Tp05", "Tp09", "Tp0D", "Tp0T", "TC0D", "TC0E", "TC0F"}},
	{"thermal.cpu.proximity", []string{"TC0P", "TC0p", "Tc0p"}},
	{"thermal.gpu.die", []string{"Tg01", "Tg05", "Tg0D", "Tg0f", "Tg0j", "TG0D", "TGDD"}},
	{"thermal.package", []string{"TCXC", "TCXc"}},
	{"thermal.ambient", []string{"TA0P", "TA0p", "TA0V", "TA0v"}},
}

const colFans = 0

// fanColumns are the metrics of a fan; the format makes its key from its
// number.
var fanColumns = []struct{ metric, format string }{
	{"thermal.fan.speed", "F%dAc"},
	{"thermal.fan.target", "F%dTg"},
	{"thermal.fan.min", "F%dMn"},
	{"thermal.fan.max", "F%dMx"},
	{"thermal.fan.mode", "F%dMd"},
}

// maxFans is as many as a key of four characters can number.
const maxFans = 10

func fanKey(format string, fan int) string { return fmt.Sprintf(format, fan) }

// pressureWords are macOS's own words for the levels of thermal pressure.
// (PCP's words belong to another scale, that of NSProcessInfo.)
var pressureWords = []string{"Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"}
