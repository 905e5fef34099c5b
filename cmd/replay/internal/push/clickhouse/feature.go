package clickhouse

import (
	"fmt"
	"strconv"
	"strings"
)

// A release is a version of the server: mostly a year and a month.
type release struct{ major, minor int }

func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

func (r release) since(major, minor int) bool {
	return r.major > major || r.major == major && r.minor >= minor
}

// oldest is the first release that this package was tested with.
var oldest = release{18, 16}

// codecs reports whether columns may have codecs, LowCardinality and a TTL. 18.16 has none of
// these, and in the first releases that did they were not yet finished.
func (r release) codecs() bool { return r.since(19, 14) }

// tokens reports whether an insert may carry a token for deduplication.
func (r release) tokens() bool { return r.since(22, 3) }

func parseRelease(s string) (release, error) {
	major, rest, _ := strings.Cut(strings.TrimSpace(s), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var r release
	var err, wrong error
	if r.major, err = strconv.Atoi(major); err != nil {
		wrong = err
	}
	if r.minor, err = strconv.Atoi(minor); err != nil {
		wrong = err
	}
	if wrong != nil {
		return release{}, fmt.Errorf("%.40q is no version of ClickHouse", s)
	}
	return r, nil
}
