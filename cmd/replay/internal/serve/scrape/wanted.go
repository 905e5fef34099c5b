package scrape

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/naming"
)

// wanted says which families the client wants.
type wanted struct {
	names      []string // globs
	collectors []string
	timestamps bool
}

// What a query may hold.
const (
	mostQuery = 16 << 10
	mostNames = 500
)

// parseWanted parses name[], collect[] and timestamps.
func parseWanted(query string) (*wanted, error) {
	if len(query) > mostQuery {
		return nil, fmt.Errorf("a query of %d bytes is too long", len(query))
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("the query cannot be read")
	}
	w := &wanted{}
	for key, list := range values {
		switch key {
		case "name[]", "name":
			w.names = append(w.names, list...)
		case "collect[]", "collect":
			w.collectors = append(w.collectors, list...)
		case "timestamps":
			switch list[0] {
			case "true", "1":
				w.timestamps = true
			case "false", "0":
			default:
				return nil, fmt.Errorf("timestamps=%s: write true or false", list[0])
			}
		default:
			return nil, fmt.Errorf("there is no parameter %s: use name[], collect[] or timestamps", key)
		}
	}
	if len(w.names)+len(w.collectors) > mostNames {
		return nil, fmt.Errorf("more than %d names", mostNames)
	}
	for _, glob := range w.names {
		if len(glob) > 256 {
			return nil, tooLong(glob)
		}
		if _, err := path.Match(glob, ""); err != nil {
			return nil, fmt.Errorf("name[]=%s is not a name or a glob", glob)
		}
	}
	for _, name := range w.collectors {
		if len(name) > 256 {
			return nil, tooLong(name)
		}
	}
	return w, nil
}

// wants reports whether the client wants a family with instances of a domain; own means a family
// of ours. A family with a series for each process or connection is served only if the query
// gives its collector or its name.
func (w *wanted) wants(f *naming.Family, own bool, indom string) bool {
	each := naming.PerProcess(indom)
	if len(w.names) == 0 && len(w.collectors) == 0 {
		return !each
	}
	kind, prefix := "node", ""
	switch {
	case indom == "connection":
		kind, prefix = "connection", naming.Prefix+"network_persocket_"
	case each:
		kind, prefix = "process", naming.Prefix+"proc"
	case own:
		kind = "tachograph"
	}
	if slices.Contains(w.collectors, kind) || !each && slices.Contains(w.collectors, f.Collector) {
		return true
	}
	for _, glob := range w.names {
		if glob == f.Name {
			return true
		}
		if ok, _ := path.Match(glob, f.Name); ok && (!each || strings.HasPrefix(glob, prefix)) {
			return true
		}
	}
	return false
}
