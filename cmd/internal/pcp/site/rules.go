package site

import (
	"bytes"
	"fmt"
	"strings"
)

// rule is a rule of pmieconf: what should not be the case, and for how long.
type rule struct {
	// name is below "tachograph.", summary describes the rule, delta is how often it is
	// evaluated.
	name, summary, delta string
	// predicate has metrics in braces; a machine that lacks one of them does not get the rule.
	// THRESHOLD can be set by the administrator.
	predicate string
	threshold string
	// expand is the text of a finding: value and instance.
	expand string
	help   string
	// on says that the rule is switched on by default: PCP itself has no such rule.
	on bool
}

// rules are about the machine as a whole; rates are per second, for times without a unit.
var rules = []rule{
	{
		name: "memory_waited", summary: "Programs wait for memory", delta: "1 min", threshold: "20", on: true,
		predicate: "some_host (\n    100 * min_sample ( {kernel.all.pressure.memory.some.total} $hosts$ @0..4 ) > $threshold$\n)",
		expand:    "%v%wait@%h",
		help:      "For five evaluations in a row some thread waited for memory during at\nleast threshold percent of the time.",
	},
	{
		name: "memory_pressure", summary: "The system asks programs to give back memory", delta: "1 min", threshold: "2", on: true,
		predicate: "some_host (\n    min_sample ( {kern.memorystatus_vm_pressure_level} $hosts$ @0..4 ) >= $threshold$\n)",
		expand:    "%vlevel@%h",
		help:      "For five evaluations in a row the level of memory pressure of macOS was\nat least threshold: 1 is normal, 2 a warning, 4 critical.",
	},
	{
		name: "swapping", summary: "Memory is swapped in and out", delta: "1 min", threshold: "1000",
		predicate: "some_host (\n    min_sample ( {swap.pagesin} $hosts$ @0..4 ) + min_sample ( {swap.pagesout} $hosts$ @0..4 ) > $threshold$ count/sec\n)",
		expand:    "%vpages/s@%h",
		help:      "For five evaluations in a row more than threshold pages a second were\nswapped in and out: more is in use than fits into memory.",
	},
	{
		name: "oom_kill", summary: "The kernel killed a process for want of memory", delta: "1 min", threshold: "0",
		predicate: "some_host (\n    {mem.vmstat.oom_kill} $hosts$ > $threshold$ count/sec\n)",
		expand:    "%vkills/s@%h",
		help:      "The kernel ended processes because there was no memory left.",
	},
	{
		name: "volume_full", summary: "A volume is nearly full", delta: "2 min", threshold: "95",
		predicate: "some_host (\n    some_inst (\n\t{filesys.full} $hosts$ > $threshold$\n    )\n)",
		expand:    "%v%full[%i]@%h",
		help:      "Of the space that users can have on a volume at least threshold percent\nare taken.",
	},
	{
		name: "disk_errors", summary: "Requests to a disk fail", delta: "5 min", threshold: "0", on: true,
		predicate: "some_host (\n    some_inst (\n\t{disk.dev.read_errors} $hosts$ + {disk.dev.write_errors} $hosts$ > $threshold$ count/sec\n    )\n)",
		expand:    "%verrors/s[%i]@%h",
		help:      "Reads or writes of a disk failed: save what is on it.",
	},
	{
		name: "throttled", summary: "The machine holds itself back against heat", delta: "2 min", threshold: "1", on: true,
		predicate: "some_host (\n    min_sample ( {thermal.pressure.level} $hosts$ @0..4 ) >= $threshold$\n)",
		expand:    "%vlevel@%h",
		help:      "For five evaluations in a row the thermal pressure was at least\nthreshold: a fan, dust, or a program that never rests.",
	},
	{
		name: "processor_hot", summary: "The processor is very hot", delta: "5 min", threshold: "98", on: true,
		predicate: "some_host (\n    min_sample ( {thermal.cpu.die} $hosts$ @0..2 ) > $threshold$\n)",
		expand:    "%vdegrees@%h",
		help:      "For three evaluations in a row the processor had more than threshold\ndegrees Celsius.",
	},
	{
		name: "battery_worn", summary: "The battery is worn", delta: "1 hour", threshold: "80", on: true,
		predicate: "some_host (\n    {power.battery.health} $hosts$ < $threshold$\n    && {power.battery.health} $hosts$ > 0\n)",
		expand:    "%v%health@%h",
		help:      "The battery holds less than threshold percent of what it was made for.",
	},
	{
		name: "defunct", summary: "Ended processes that nobody waits for", delta: "5 min", threshold: "500", on: true,
		predicate: "some_host (\n    min_sample ( {proc.runq.defunct} $hosts$ @0..4 ) > $threshold$\n)",
		expand:    "%vdefunct@%h",
		help:      "For five evaluations in a row there were more than threshold processes\nthat have ended and whose parent does not ask for how.",
	},
	{
		name: "crash_loop", summary: "Processes come and go", delta: "5 min", threshold: "10", on: true,
		predicate: "some_host (\n    min_sample ( {proc.exited} $hosts$ @0..2 ) > $threshold$ count/sec\n)",
		expand:    "%vexits/s@%h",
		help:      "For three evaluations in a row more than threshold processes a second\nended: a crash loop, or a script that runs wild.",
	},
}

// rule returns the text of a rule on this machine; nil if the machine lacks a metric.
func (p *Package) rule(r rule) []byte {
	have := make(map[string]string, len(p.Metrics))
	for _, m := range p.Metrics {
		have[m.Desc.Name] = m.Name
	}
	var predicate strings.Builder
	rest := r.predicate
	for {
		before, after, ok := strings.Cut(rest, "{")
		predicate.WriteString(before)
		if !ok {
			break
		}
		name, behind, _ := strings.Cut(after, "}")
		if have[name] == "" {
			return nil
		}
		predicate.WriteString(have[name])
		rest = behind
	}
	enabled := "no"
	if r.on {
		enabled = "yes"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "#pmieconf-rules 1\n# Written by recorder pmda install: set it by pmieconf(1), not here.\n\nrule\t%s.%s\n\tsummary\t= \"$rule$\"\n\tpredicate =\n\"%s\"\n", Agent, r.name, predicate.String())
	fmt.Fprintf(&b, "\tenabled\t= %s\n\tversion\t= 1\n\thelp\t=\n\"%s\";\n", enabled, r.help)
	fmt.Fprintf(&b, "\nstring\trule\n\tdefault\t= \"%s\"\n\tmodify\t= no\n\tdisplay\t= no;\n", r.summary)
	fmt.Fprintf(&b, "\nstring\tdelta\n\tdefault\t= \"%s\"\n\thelp\t=\n\"How often this is looked at.\";\n", r.delta)
	fmt.Fprintf(&b, "\ndouble\tthreshold\n\tdefault\t= %s\n\thelp\t=\n\"What is too much; see the rule.\";\n", r.threshold)
	for _, kind := range []string{"action", "email"} {
		text := r.expand
		if kind == "email" {
			text = "host: %h " + strings.NewReplacer("@%h", "", "[%i]", " of %i").Replace(r.expand)
		}
		fmt.Fprintf(&b, "\nstring\t%s_expand\n\tdefault\t= \"%s\"\n\tdisplay\t= no\n\tmodify\t= no;\n", kind, text)
	}
	return b.Bytes()
}
