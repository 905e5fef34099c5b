package catalog

import (
	"regexp"
	"sync"
)

// telltale matches names of sysctls whose values may identify the machine. A Mac's kernel may
// have any number of them.
var telltale = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(hostid|serial|uuid|unique_?id|hw_?addr|macaddr|ecid|udid)`)
})

// Telltale reports whether a metric that no table describes may, by its name, identify the
// machine.
func Telltale(name string) bool { return telltale().MatchString(name) }
