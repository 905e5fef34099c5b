package main

const linuxHost = "build-03"

// onLinux are the incidents of a server.
var onLinux = []recipe{
	{
		Name: "runaway-loop", Title: "a program that is usually idle loops without end",
		asked: 45, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "pricecalc uses a whole processor", Culprit: "pricecalc", Want: []string{`pricecalc`}},
		linux: &linux{calm: 120, within: 80, after: 40},
	},
	{
		Name: "disk-filler", Title: "a dump fills a volume without limit",
		asked: 60, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "dumpbackup writes 3.5 MB/s to /srv", Culprit: "dumpbackup", Want: []string{`dumpbackup`}},
		linux: &linux{calm: 120, within: 80, after: 40, disks: []disk{{"/srv", 400}}},
	},
	{
		Name: "fork-storm", Title: "a program starts children faster than they end",
		asked: 45, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "mailfilter starts 22 spamcheck a second", Culprit: "spamcheck", Want: []string{`spamcheck|mailfilter`}},
		linux: &linux{calm: 120, within: 80, after: 40},
	},
	{
		Name: "full-volume", Title: "a log fills its volume to the last block, and others cannot write",
		asked: 65, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "/var/log is full of what auditlogd writes", Culprit: "/var/log", Want: []string{`/var/log`, `full|100 %`}},
		linux: &linux{calm: 120, within: 80, after: 40, disks: []disk{{"/var/log", 48}}},
	},
	{
		Name: "swap-storm", Title: "a report needs more memory than there is, and all swap",
		asked: 45, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "reportgen works on more than fits into memory", Culprit: "reportgen", Want: []string{`reportgen`, `swap|memory`}},
		linux: &linux{calm: 120, within: 80, after: 40, memory: 320, disks: []disk{{"", 1024}}},
	},
	{
		Name: "network-flood", Title: "somebody outside floods the machine with datagrams",
		asked: 45, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "datagrams flood eth0", Culprit: "eth0", Want: []string{`eth0|network|packets|datagram`}},
		linux: &linux{calm: 120, within: 80, after: 40,
			begins: func(o *outside) error { return o.pour(3000, 400) }, ends: (*outside).stop},
	},
	{
		Name: "hung-disk", Title: "a disk takes requests and completes none",
		asked: 45, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "the disk vdc hangs", Culprit: "vdc", Want: []string{`vdc`}},
		linux: &linux{calm: 120, within: 80, after: 40, disks: []disk{{"/srv", 64}},
			begins: func(o *outside) error { return o.hang(2, true) }, ends: func(o *outside) error { return o.hang(2, false) }},
	},
	{
		Name: "crash-loop", Title: "a service crashes soon after each start, and is started again",
		asked: 45, length: 80, around: 5,
		known: known{Host: linuxHost, Cause: "apigateway crashes again and again", Culprit: "apigateway", Want: []string{`apigateway`}},
		linux: &linux{calm: 120, within: 80, after: 40},
	},
}
