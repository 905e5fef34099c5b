package main

import (
	"fmt"
	"slices"
	"strings"

	"darwintests/check"
	"darwintests/mac"
)

// items returns the contents of a stackshot, one line for each item.
func items(shot []byte) (out []string) {
	depth := ""
	for o := 0; o+16 <= len(shot); {
		t, size, flags := le.Uint32(shot[o:]), int(le.Uint32(shot[o+4:])), le.Uint64(shot[o+8:])
		d := shot[o+16 : o+16+size]
		o += 16 + size
		line := fmt.Sprintf("%x", t)
		switch t {
		case 0x13:
			out = append(out, fmt.Sprintf("%s%x %x {", depth, le.Uint32(d), flags))
			depth += " "
			continue
		case 0x14:
			depth = depth[1:]
			line = "}"
		case 1, 2, 3:
			line = fmt.Sprintf("%s=%x", mac.GoString(d), le.Uint32(d[32:]))
		case 0x905:
			line = fmt.Sprintf("task %d %s flags %x suspended %d", int32(le.Uint32(d[84:])), mac.GoString(d[88:]), le.Uint64(d[8:]), le.Uint32(d[56:]))
		case 0x906:
			line = fmt.Sprintf("thread %x flags %x state %x dq %d event %x", le.Uint64(d), le.Uint64(d[64:]), le.Uint32(d[88:]), le.Uint64(d[40:]), le.Uint64(d[8:]))
		case 0x909, 0x928:
			line += " " + mac.GoString(d)
		case 0x91a:
			line += fmt.Sprintf(" %d", le.Uint64(d))
		case 0x92a:
			line += fmt.Sprintf(" %x %x", le.Uint32(d), le.Uint32(d[4:]))
		case 0x908, 0x943:
			line += fmt.Sprintf(" %x %x", le.Uint64(d), d[8:12])
		case 0x945:
			line += fmt.Sprintf(" %d", le.Uint32(d))
		}
		if t&^15 == 0x20 {
			kind, n := uint32(flags>>32), int(uint32(flags))
			each := (size - int(t&15)) / n
			line = fmt.Sprintf("%x[%d]", kind, n)
			for i := 0; i < n && i < 8; i++ {
				e := d[each*i:]
				switch each {
				case 8:
					line += fmt.Sprintf(" %x", le.Uint64(e))
				case 24:
					line += fmt.Sprintf(" %x/%x", le.Uint64(e), e[8:12])
				case 31:
					line += fmt.Sprintf(" %x on %x for %x type %d", le.Uint64(e[8:]), le.Uint64(e), le.Uint64(e[16:]), e[24])
				case 64:
					line += fmt.Sprintf(" %x", le.Uint64(e))
				}
			}
		}
		out = append(out, depth+line)
	}
	return
}

func has(name string, all []string, want ...string) {
	for _, w := range want {
		check.Ok(name+": "+w, slices.ContainsFunc(all, func(s string) bool { return strings.TrimSpace(s) == w }), "\n"+strings.Join(all, "\n"))
	}
}
func lacks(name string, all []string, what string) {
	check.Ok(name+": no "+what, !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), what) }))
}

func stackshots() {
	shot, e := mac.Stackshot(700, 0x10000|1|2|0x80000|0x800000|0x1000000|0x200000)
	check.Eq("stackshot", e, 0)
	l := items(shot)
	has("stackshot", l, "943 4c4000 11111111", "927[2] 1808c4000/0a0a0a0a 180904000/0a0a0a0a",
		"task 700 app flags 40000001 suspended 0", "92a 100000c 80000002",
		"31[3] 104a30000/aabbccdd 104c00000/0b0b0b0b 1e0000000/d1d2d3d4",
		"thread 711 flags 2805 state 4 dq 1 event 0", "928 com.apple.main-thread", "909 main",
		"916[4] 104a34010 104a34188 104a33f24 1804c0000",
		"thread 712 flags 3 state 1 dq 0 event fffffe1000", "914[2] fffffe0007b00000 fffffe0007b00100",
		fmt.Sprintf("916[2] %x %x", uint64(msg2+8), uint64(tstart+8)),
		"thread 713 flags 1 state 1 dq 0 event 0", "thread 724 flags 8081 state 1 dq 0 event 0", "916[3] 1 2 3",
		"thread 72b flags 1041 state 3 dq 0 event 0",
		"91d[1] 712 on 711 for 1203 type 2", "stackshot_in_flags=1a90003", "91a 192000", "91b")
	check.Ok("650 frames", slices.ContainsFunc(l, func(s string) bool { return strings.HasPrefix(s, "  916[652] 104a34000 ") }), strings.Join(l, "\n"))
	lacks("stackshot", l, "901")
	i := slices.IndexFunc(l, func(s string) bool { return strings.HasPrefix(s, " 31[") })
	j := slices.IndexFunc(l, func(s string) bool { return strings.HasPrefix(s, " task 700") })
	check.Ok("load info comes before the task", i >= 0 && i < j, i, j)

	shot, _ = mac.Stackshot(700, 0x10000)
	l = items(shot)
	has("few flags", l, "thread 711 flags 2801 state 4 dq 0 event 0", "908 4c4000 11111111", "901")
	for _, w := range []string{"31[", "927[", "928", "91d[", "91b"} {
		lacks("few flags", l, w)
	}
	shot, _ = mac.Stackshot(-1, 0x10000|2|0x800000)
	l = items(shot)
	has("all processes", l, "task 0 kernel_task flags 20000001 suspended 0", "914[1] fffffe0007a00100",
		"task 1 launchd flags 40000001 suspended 0", "916[2] 100001000 100000f00",
		"task 701 intelapp flags 90000001 suspended 0", "945 2", "908 2000 99999999", "92a 1000007 3")
	shot, _ = mac.Stackshot(-1, 0x10000|0x100)
	l = items(shot)
	lacks("kernel threads", l, "916[")
	lacks("kernel threads", l, "thread 711")
	has("kernel threads", l, "thread 64 flags 802 state 4 dq 0 event 0", "thread 66 flags 2002 state 1 dq 0 event 0")

	// suspended while the shot is taken
	p := open(700)
	mac.TaskSuspend(p.task)
	shot, _ = mac.Stackshot(700, 0x10000)
	mac.TaskResume(p.task)
	has("suspended", items(shot), "task 700 app flags 40000001 suspended 1", "thread 711 flags 2041 state 6 dq 0 event 0")
	p.close()

	// what ran since
	since := mac.AbsoluteTime()
	shot, e = mac.StackshotDelta(700, 0x10000|0x40000, since)
	l = items(shot)
	check.Eq("delta", fmt.Sprint(e, " ", l[0]), "0 de17a59a")
	has("delta", l, "thread 711 flags 2801 state 4 dq 0 event 0", "941[16] 712 713 716 717 718 721 722 723")
	lacks("delta", l, "thread 712")
	shot, _ = mac.StackshotDelta(702, 0x10000|0x40000, since)
	has("delta of an idle process", items(shot), "940")
	_, e = mac.StackshotDelta(700, 0x10000, since)
	check.Eq("a time without the flag", e, 22)
	_, e = mac.Stackshot(31337, 0x10000)
	check.Eq("stackshot of nobody", e, 2)
}
