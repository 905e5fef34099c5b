package catalog

import (
	"regexp"
	"sync"
)

// telltale are names of sysctls, which a Mac's kernel may have any number of, whose
// values may tell one machine from all others.
var telltale = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(hostid|serial|uuid|unique_?id|hw_?addr|macaddr|ecid|udid)`)
})

// Telltale reports whether a metric that no table describes may, by its name, tell one
// machine from all others.
func Telltale(name string) bool { return telltale().MatchString(name) }
