package mach

import "testing"

// Functions without frames, and functions that are just making or removing theirs, have their
// callers, on both processors.
func TestStacksWithoutFrames(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	const bare, end = "sample 830 1m 300 200", " 1804c0000"
	o := m.tidy(t, bareOnARM, bare)
	p := o.part(t, bare)
	for thread, want := range map[string]string{
		"831": "||0||0|leaf@bare+1104 main@bare+1008" + end,
		"832": "||1||0|room@bare+1188 main@bare+1008" + end,
		"833": "||0||0|framed@bare+1200 main@bare+1008" + end,
		"834": "||0||0|framed@bare+1204 main@bare+1008" + end,
		"835": "||0||0|framed@bare+120c main@bare+1008" + end,
		"836": "||0||0|framed@bare+1210 main@bare+1008" + end,
		"837": "||0||0|asm@bare+1304 main@bare+1008" + end,
		"838": "||0||0|unsaid@bare+1404 main@bare+1008" + end,
		"839": "||0||2|leaf@bare+1104 framed@bare+120c main@bare+1008 main@bare+1008" + end,
	} {
		p.always(t, "830/8300/bare/"+thread, want)
	}
	if m.Emulated() {
		return // there are no programs for Apple silicon on Intel
	}
	const intels = " 7ff812345678"
	o = m.tidy(t, bareOnIntel, bare)
	p = o.part(t, bare)
	for thread, want := range map[string]string{
		"831": "||0||0|leaf@bare+1101 bare@bare+1189 main@bare+1009" + intels,
		"832": "||1||0|uses@bare+1206 outer@bare+1085 main@bare+1009" + intels,
		"833": "||0||0|framed@bare+1404 uses@bare+120b bare@bare+1187 outer@bare+1085 main@bare+1009" + intels,
		"834": "||0||0|framed@bare+1404 large@bare+130c main@bare+1009" + intels,
		"835": "||0||0|uses@bare+1201 main@bare+1009" + intels,
		"836": "||0||0|uses@bare+1211 main@bare+1009" + intels,
		"837": "||0||0|framed@bare+1400 main@bare+1009" + intels,
		"838": "||0||0|framed@bare+140a main@bare+1009" + intels,
		"839": "||0||2|large@bare+1307 asm@bare+1505 main@bare+1009 main@bare+1009",
		"83a": "||1||1|bare@bare+1194 bare@bare+1194 bare@bare+1194 bare@bare+1194",
	} {
		p.always(t, "830/8300/bare/"+thread, want)
	}
	// What is not known yet is read after a suspension, and then threads are read again: in the
	// first rounds only.
	looked := p.statistic(t, "rounds") - p.statistic(t, "missed")
	if n := p.statistic(t, "suspensions"); n > 9*looked+relearn || p.statistic(t, "failed") > 0 && o.longest() < patience/4 {
		t.Errorf("%d suspensions in %d rounds:\n%s", n, looked, p.text)
	}
}
