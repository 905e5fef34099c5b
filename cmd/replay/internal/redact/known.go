package redact

import (
	_ "embed"
	"strings"
	"sync"
)

// knownText is the table of well-known names; it documents its own format.
//
//go:embed known.txt
var knownText string

// vocabularyText holds the words that the recorder writes into its sentences,
// taken from its sources by this package's test.
//
//go:embed vocabulary.txt
var vocabularyText string

// table parses knownText: the names of each section.
var table = sync.OnceValue(func() map[string]map[string]bool {
	sections := make(map[string]map[string]bool)
	var names map[string]bool
	for line := range strings.Lines(knownText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			names = make(map[string]bool)
			sections[strings.Trim(line, "[]")] = names
		default:
			for _, name := range strings.Fields(strings.ReplaceAll(line, `\ `, "\x00")) {
				names[strings.ReplaceAll(name, "\x00", " ")] = true
			}
		}
	}
	return sections
})

var programs = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool)
	for _, section := range []string{"programs of macOS", "programs of Linux", "programs that are everywhere"} {
		for name := range table()[section] {
			all[name] = true
			// Kernels keep the first 15 or 16 bytes of a name.
			for _, most := range []int{15, 16} {
				if len(name) > most {
					all[name[:most]] = true
				}
			}
		}
	}
	return all
})

// knownProgram reports whether s is the name of a program that many machines have, or of a
// kernel thread.
func knownProgram(s string) bool { return programs()[s] || kernelThread(s) }

// kernelThread matches names that Linux numbers: threads of a processor, of an interrupt, of a
// work queue. The name of a work queue after the number is dropped together with it, because
// file systems name theirs after volumes.
var kernelThread = pattern(`(kworker/(R-)?u?\d+:\d+[HIN]?|(ksoftirqd|migration|cpuhp|idle_inject|rcuop|rcuog|rcuos|rcuc|rcub|swapper|watchdog|backlog_napi|ktimers|irq_work)/\d+` +
	`|rcu_tasks_(kthre|rude_k|trace)\w*|irq/\d+|scsi_(eh|tmf)_\d+|(jbd2|xfsaild|nvme-wq|nvme-reset-wq|nvme-delete-w)(/[a-z0-9-]{1,12})?|kworker/\d+:\d+|nfsd|lockd|kswapd\d+|kcompactd\d+|loop\d+|md\d+_(raid\d+|resync)|card\d+-crtc\d+|python3?(\.\d+)?|php-fpm\d?(\.\d+)?|ruby\d?(\.\d+)?|lua\d?(\.\d+)?)`)

// knownThread matches names that threads of many programs have.
var knownThread = pattern(`main|(?i:worker|thread|pool|async|io|gc|timer|signal|watcher|event|network|disk|render|audio|video|compositor)[-_ #]?\d{0,4}|gmain|gdbus|tokio-runtime-w|tokio-rt-worker` +
	`|com\.apple\.(main-thread|NSEventThread|coreaudio\.IOThread|audio\.IOThread\.client|CFSocket\.private|NSURLConnectionLoader|CoreMotion\.MotionThread|rosetta\.exceptionserver)|JavaScriptCore bmalloc scavenger|JavaScriptCore libpas scavenger|WebCore: Scrolling|CVDisplayLink|NSEventThread`)

// systemAccount reports whether a user or group comes with a system.
func systemAccount(s string) bool {
	return table()["users"][s] || table()["groups"][s]
}

func knownDirectory(s string) bool { return table()["directories"][s] }

var vocabulary = sync.OnceValue(func() map[string]bool {
	words := make(map[string]bool)
	for w := range strings.FieldsSeq(vocabularyText) {
		words[w] = true
	}
	return words
})
