package main

import (
	"fmt"
	"strings"
)

// onMac are the incidents of a Mac.
var onMac = []recipe{
	{
		Name: "memory-hog", Title: "a program takes all memory: compressor and swap fill up until it is killed",
		asked: 95, length: 140, around: 5,
		known: known{Host: macHost, Cause: "tilerender grew from 600 MB to 11 GB", Culprit: "tilerender", Pid: 2210, Want: []string{`tilerender`, `memory|swap`}},
		mac:   &mac{onset: 150, length: 6, scenario: memoryHog},
	},
	{
		Name: "thermal", Title: "hours of encoding in one program, until the machine throttles itself against heat",
		asked: 60, length: 120, around: 5,
		known: known{Host: macHost, Cause: "throttled against heat, which reelencode makes", Culprit: "reelencode", Pid: 2340, Want: []string{`heat|throttl|thermal`}},
		mac:   &mac{onset: 165, length: 6, scenario: thermal},
	},
	{
		Name: "sleep", Title: "the lid is closed for an hour and a half",
		asked: 2700, length: 5400, around: 0,
		known: known{Host: macHost, Cause: "asleep", Want: []string{`asleep|sleep`, `10:3[0-9]|09:03`}},
		mac:   &mac{onset: 200, length: 6, asleep: 5400, scenario: "sleep at 200 for 5400\n"},
	},
	{
		Name: "panic", Title: "the kernel panics; the machine is back a minute and a half later",
		asked: 30, length: 95, around: 60,
		known: known{Host: macHost, Cause: "kernel panic", Want: []string{`panic`}},
		mac:   &mac{onset: 200, length: 8, panics: true, scenario: "panic at 200 down 95\nsysctl kern.shutdownreason string step \"user initiated\" 200 \"panic\"\n"},
	},
}

const (
	mega = 1 << 20
	page = 16384
)

// memoryHog is a program that grows by 100 MB a second. It takes this memory from others:
// through the compressor first, then through swap.
var memoryHog = func() string {
	size := curve{{150, 600 * mega}, {255, 11000 * mega}, {288, 11300 * mega}}
	gone := func(before, worst, after float64) curve {
		return curve{{150, before}, {255, worst}, {290, worst}, {292, after}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "process 2210 { name tilerender; path \"/usr/local/bin/tilerender\"; ppid 455; uid 501; gid 20; threads 9; exit 290 status 9; footprint %s; rss %s; vsize 40G; user_ns %s; system_ns %s; faults %s }\n",
		size.level(), curve{{150, 580 * mega}, {230, 6100 * mega}}.level(), curve{{150, 2e7}, {155, 4e8}}.counter(4e9), curve{{150, 1e7}, {155, 2.5e8}}.counter(2e9),
		curve{{150, 20}, {155, 6400}}.counter(500000))
	fmt.Fprintf(&b, "host { loadavg %s saw 1.4 1.9 900 1.75\nvm { free_count %s; active_count %s; inactive_count %s; compressor_page_count %s\n"+
		"total_uncompressed_pages_in_compressor %s; compressions %s; decompressions %s; swapouts %s; swapins %s; pageouts %s; faults %s\n} }\n",
		curve{{150, 2}, {240, 9}, {290, 9}, {340, 3}}.level(),
		gone(30000, 2600, 320000).level(), gone(302114, 361000, 240000).level(), gone(298550, 92000, 150000).level(), gone(168330, 420000, 190000).level(),
		gone(501220, 1350000, 600000).level(), gone(110, 14000, 100).counter(81224099), gone(90, 9000, 400).counter(60113201),
		gone(1, 3800, 0).counter(1499200), gone(1, 1500, 200).counter(1201990), gone(2, 300, 2).counter(551230), gone(11800, 34000, 11800).counter(2630118901))
	busy := curve{{150, 4}, {155, 69}, {290, 69}, {292, 4}}
	idle := curve{{150, 96}, {155, 31}, {290, 31}, {292, 96}}
	fmt.Fprintf(&b, "host {\ncpu 6 user %s system counter 91000 0 idle %s\n}\n", busy.counter(504000), idle.counter(17500000))
	fmt.Fprintf(&b, "stats vm.swapusage { xsu_total 8589934592; xsu_used %s; xsu_avail %s }\n",
		curve{{170, 1962934272}, {288, 7300000000}, {292, 2400000000}}.level(), curve{{170, 8589934592 - 1962934272}, {288, 8589934592 - 7300000000}, {292, 8589934592 - 2400000000}}.level())
	fmt.Fprintf(&b, "sysctl vm.page_free_count %s\n", gone(30000, 2600, 320000).level())
	fmt.Fprintf(&b, "sysctl kern.memorystatus_vm_pressure_level step 1 195 2 232 4 292 1\nsysctl kern.memorystatus_level %s\n", gone(61, 9, 74).level())
	fmt.Fprintf(&b, "ioreg { at \"IOBlockStorageDriver\" { prop \"Statistics\" dict {\n\"Bytes (Write)\" int %s\n\"Operations (Write)\" int %s\n\"Bytes (Read)\" int %s\n} } }\n",
		gone(1<<20, 70<<20, 1<<20).counter(401223344128), gone(60, 900, 60).counter(11220334), gone(2<<20, 26<<20, 4<<20).counter(601223344128))
	return b.String()
}()

// thermal is a program that keeps the performance cores busy from the second
// minute on; the laptop has no fan, and slows down.
var thermal = func() string {
	busy := func(calm, encoding, throttled float64) curve {
		return curve{{100, calm}, {103, encoding}, {165, encoding}, {170, throttled}, {285, throttled}, {288, calm}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "process 2340 { name reelencode; path \"/usr/local/bin/reelencode\"; ppid 902; uid 501; gid 20; threads 11; start 98; exit 286; footprint 900M; rss 880M; user_ns %s; system_ns %s; energy_nj %s }\n",
		curve{{98, 0}, {100, 3.6e9}}.counter(0), curve{{98, 0}, {100, 1e8}}.counter(0), busy(0, 14e9, 7e9).counter(0))
	b.WriteString("host {\n")
	for cpu := 4; cpu < 8; cpu++ {
		work := curve{{98, 6}, {100, 96}, {285, 96}, {288, 6}}
		rest := curve{{98, 94}, {100, 4}, {285, 4}, {288, 94}}
		fmt.Fprintf(&b, "cpu %d user %s system counter 91000 0 idle %s\n", cpu, work.counter(704000), rest.counter(17200000))
	}
	fmt.Fprintf(&b, "loadavg %s saw 1.4 1.9 900 1.75\n}\n", curve{{98, 2}, {150, 5}, {285, 5}, {340, 2}}.level())
	heat := curve{{98, 47}, {165, 104}, {285, 98}, {340, 55}}
	fmt.Fprintf(&b, "smc Tp09 flt %s\nsmc Tp0T flt %s\nsmc TC0P flt %s\nsmc PSTR flt %s\nsmc PDTR flt %s\nsmc TB0T flt %s\n", heat.level(), heat.level(), curve{{98, 44}, {165, 88}, {285, 86}, {340, 60}}.level(),
		busy(7, 24, 12).level(), busy(9, 28, 15).level(), curve{{98, 30}, {285, 41}}.level())
	b.WriteString("notify com.apple.system.thermalpressurelevel step 0 165 1 185 2 285 1 305 0\n")
	return b.String()
}()
