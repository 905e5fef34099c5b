package clickhouse

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/push"
)

func TestAnswersAreJudged(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string // retry, slow, refused
	}{
		{500, "Code: 252, e.displayText() = DB::Exception: Too many parts (300). Merges are processing significantly slower than inserts., e.what() = DB::Exception", "retry"},
		{500, "Code: 241. DB::Exception: Memory limit (total) exceeded", "retry"},
		{500, "Code: 210. DB::NetException: Connection refused (127.0.0.1:9000)", "retry"},
		{500, "Code: 33. DB::Exception: Cannot read all data", "retry"},
		{400, "Code: 33. DB::Exception: Cannot read all data", "retry"},
		{500, "Code: 117. DB::Exception: Incorrect data", "refused"},
		{404, "Code: 60. DB::Exception: Table tacho.samples doesn't exist.", "slow"},
		{500, "Code: 81. DB::Exception: Database tacho doesn't exist", "slow"},
		{403, "Code: 516. DB::Exception: default: Authentication failed", "slow"},
		{401, "", "slow"},
		{429, "slow down", "retry"},
		{503, "", "retry"},
		{413, "request entity too large", "refused"},
		{302, "", "slow"},
	} {
		err := judge(&push.Answer{Status: c.status, Header: http.Header{"Retry-After": {"7"}}, Body: []byte(c.body)})
		got := ""
		var again *push.Retry
		var refused *push.Refused
		switch {
		case errors.As(err, &refused):
			got = "refused"
		case errors.As(err, &again) && again.Slow:
			got = "slow"
		case errors.As(err, &again):
			got = "retry"
		}
		if got != c.want {
			t.Errorf("%d %q is %q (%v), want %q", c.status, c.body, got, err, c.want)
		}
		if c.status == 503 && again.After != 7*time.Second {
			t.Errorf("%d: it wants to be left alone for 7 s, not %s", c.status, again.After)
		}
	}
	if err := judge(&push.Answer{Status: 200}); err != nil {
		t.Error(err)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ address, endpoint, database string }{
		{"clickhouse://ch:8123/fleet", "http://ch:8123/", "fleet"},
		{"clickhouse+https://ch:8443/fleet?async_insert=1", "https://ch:8443/?async_insert=1", "fleet"},
		{"clickhouse+http://ch/fleet/", "http://ch/", "fleet"},
		{"clickhouse://ch:8123", "", ""},
		{"clickhouse://ch:8123/fleet;DROP", "", ""},
		{"clickhouse://ch:8123/a/b", "", ""},
		{"http://ch:8123/fleet", "", ""},
		{"clickhouse://%zz", "", ""},
		{"clickhouse://ch:8123/fleet?user=me&password=x", "", ""},
	} {
		endpoint, database, err := Target(c.address)
		if endpoint != c.endpoint || database != c.database && err == nil || (err == nil) != (c.endpoint != "") {
			t.Errorf("%s is %q, %q, %v", c.address, endpoint, database, err)
		}
	}
}

func TestLayoutsAreChecked(t *testing.T) {
	old, recent := release{18, 16}, release{26, 7}
	for _, c := range []struct {
		layout Layout
		on     release
		wrong  string
	}{
		{Layout{Database: "fleet", Cluster: "fleet-1.eu"}, old, ""},
		{Layout{Database: "fleet", Keep: 24 * time.Hour}, recent, ""},
		{Layout{Database: "fleet", Keep: 24 * time.Hour}, old, "drop partitions"},
		{Layout{Database: "fleet", Keep: time.Hour}, recent, "at least a day"},
		{Layout{Database: "fl'eet"}, old, "name of a database"},
		{Layout{Database: "fleet", Cluster: "a'b"}, old, "name of a cluster"},
	} {
		err := c.layout.check(c.on)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v on %s: %v", c.layout, c.on, err)
		}
	}
	// What 18.16 does not know is not said to it; what later ones know is.
	words := []string{"CODEC(", "LowCardinality(", "TTL "}
	layout := Layout{Database: "fleet", Cluster: "fleet", Keep: 24 * time.Hour}
	for _, word := range words {
		if text := strings.Join(layout.statements(recent), "\n"); !strings.Contains(text, word) {
			t.Errorf("a recent server is not told %s", word)
		}
		if text := strings.Join((&Layout{Database: "fleet"}).statements(old), "\n"); strings.Contains(text, word) {
			t.Errorf("18.16 is told %s", word)
		}
	}
}

func TestReleases(t *testing.T) {
	for _, s := range []string{"18.16.1\n", "26.7.2.1", "22.3"} {
		if _, err := parseRelease(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "nginx", "a.b", "404 page not found"} {
		if _, err := parseRelease(s); err == nil {
			t.Errorf("%q passes for a version", s)
		}
	}
}

func TestFieldsAreColumns(t *testing.T) {
	seen := make(map[string]bool)
	for _, table := range tables() {
		clear(seen)
		for _, c := range table.columns {
			if !databaseName().MatchString(c.name) || seen[c.name] {
				t.Errorf("%s.%s is no name, or there twice", table.name, c.name)
			}
			seen[c.name] = true
		}
		for _, key := range strings.Split(table.order, ", ") {
			if !seen[key] {
				t.Errorf("%s is ordered by %s, which it does not have", table.name, key)
			}
		}
	}
	if len(tables()) != tableCount {
		t.Errorf("%d tables", len(tables()))
	}
}
