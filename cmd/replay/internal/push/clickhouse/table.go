package clickhouse

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A column is a column of a table: its type, and its codec for servers with codecs. The type may
// contain LowCardinality, which is left out for older servers.
type column struct {
	name, kind, codec, comment string
	// alias is the expression of a column that is computed and not stored.
	alias string
}

// A table is the definition of a table that Create makes.
type table struct {
	name    string
	columns []column
	order   string
	// day is the column to partition by; empty for the tables that stay small.
	day string
	// version is the column that decides which of two rows with the same key is the later.
	version string
}

const (
	few     = "LowCardinality(String)"
	clock   = "Delta(8), ZSTD(1)"
	counted = "Delta(8), ZSTD(1)"
	plain   = "ZSTD(1)"
)

// tables returns all tables, in the order in which rows are sent: tables that others refer to
// come first.
func tables() []table {
	host := column{"host", few, plain, "the machine's ID", ""}
	seconds := column{"time", "DateTime", "DoubleDelta, ZSTD(1)", "UTC", ""}
	wall := column{"wall", "Int64", clock, "nanoseconds since 1970", ""}
	boot := column{"boot", few, plain, "the boot's ID", ""}
	cont := column{"cont", "Int64", clock, "nanoseconds since the boot, asleep or awake", ""}
	seen := column{"seen", "DateTime", plain, "when it was told last", ""}
	labels := []column{{"label_names", "Array(" + few + ")", plain, "", ""}, {"label_values", "Array(String)", plain, "", ""}}
	text := func(name, comment string) column { return column{name, "String", plain, comment, ""} }
	word := func(name, comment string) column { return column{name, few, plain, comment, ""} }
	with := func(columns ...[]column) (all []column) {
		for _, c := range columns {
			all = append(all, c...)
		}
		return all
	}
	return []table{
		{name: archivesTable, order: "host, archive", version: "seen", columns: with([]column{
			host, text("archive", "its ID"), seen, {"began", "DateTime", plain, "UTC", ""}, text("name", "the machine's name"), word("os", ""), word("release", ""),
			word("arch", ""), word("model", ""), word("platform", "macos or linux"), boot, word("time_zone", ""),
			word("recorder", "its version"), text("config", "the configuration in force"), word("intervals", "of the classes, JSON"),
		}, labels)},
		{name: metricsTable, order: "metric, platform, class, type, semantics, units, indom", version: "seen", columns: []column{
			word("metric", ""), word("platform", ""), word("class", ""), word("type", ""), word("semantics", ""), word("units", "as recorded"),
			word("indom", "the instance domain"), seen, host, text("pmid", "its number in PCP"), text("help", ""), text("source", ""),
			text("unsupported", "why the machine has none"), {"width", "UInt8", plain, "bits at which a counter wraps", ""},
			word("unit", "the base unit of value"),
		}},
		{name: instancesTable, order: "host, indom, instance, boot, name, owner", day: "seen", version: "seen", columns: with([]column{
			host, word("indom", ""), text("instance", "its key"), {"boot", few, plain, "of processes and threads, which end with it", ""},
			text("name", ""), word("owner", "whose it is"), seen, {"began", "Int64", plain, "nanoseconds since 1970; 0: unknown", ""},
		}, labels)},
		{name: ticksTable, order: "host, class, time, boot, cont", day: "time", columns: []column{
			host, word("class", ""), seconds, boot, cont, wall, {"awake", "Int64", clock, "nanoseconds since the boot, awake", ""},
			text("archive", ""), {"readings", "UInt32", plain, "values read, absent ones included", ""},
		}},
		{name: samplesTable, order: "metric, host, instance, time, boot, cont", day: "time", columns: []column{
			word("metric", ""), host, {"instance", few, plain, "its key; empty for a metric without", ""}, word("name", "of the instance"),
			seconds, boot, cont, wall,
			{"type", "Enum8('i32'=0,'u32'=1,'i64'=2,'u64'=3,'f32'=4,'f64'=5,'string'=6)", plain, "", ""},
			{"u", "UInt64", counted, "the value, of u32 and u64", ""}, {"i", "Int64", counted, "the value, of i32 and i64", ""},
			{"f", "Float64", "Gorilla, ZSTD(1)", "the value, of f32 and f64", ""}, {"text", few, plain, "the value, of strings", ""},
			word("reason", "why the value is absent; empty where it is not"),
			{"mul", "Float32", plain, "", ""}, {"div", "Float32", plain, "", ""},
			{"value", "Nullable(Float64)", "", "in the base unit: seconds, bytes, a ratio",
				"if(reason = '' AND type != 'string', (toFloat64(u) + toFloat64(i) + f) * mul / div, NULL)"},
		}},
		{name: processesTable, order: "name, host, instance, time, boot, cont, class", day: "time", columns: with([]column{
			word("name", "without the pid"), host, text("instance", "its key"), seconds, boot, cont, word("class", "process or costly"), wall,
			{"pid", "UInt32", plain, "", ""}, word("owner", "whose it is"), {"began", "Int64", clock, "nanoseconds since 1970; 0: unknown", ""},
			{"absent", "Array(" + few + ")", plain, "metrics without a value here", ""}, {"reasons", "Array(" + few + ")", plain, "why, each", ""},
		}, processColumns())},
		{name: eventsTable, order: "kind, host, time, boot, cont, indom, instance, text", day: "time", columns: with([]column{
			word("kind", ""), host, seconds, boot, cont, wall, {"awake", "Int64", clock, "", ""}, text("archive", ""),
			word("indom", ""), text("instance", "its key"), text("text", "a sentence"),
		}, labels)},
	}
}

const (
	archivesTable  = "archives"
	metricsTable   = "metrics"
	instancesTable = "instances"
	ticksTable     = "ticks"
	samplesTable   = "samples"
	processesTable = "processes"
	eventsTable    = "events"
)

// numberOf returns the index of each table among the bodies of a batch.
var numberOf = sync.OnceValue(func() map[string]int {
	m := make(map[string]int)
	for i, t := range tables() {
		m[t.name] = i
	}
	return m
})

// Most runs of the program write to no database, so the patterns are compiled on first use.
var (
	databaseName = pattern(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	clusterName  = pattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)
)

func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Layout says how tables are made.
type Layout struct {
	Database string
	// Cluster is the name that the servers' configuration gives to all shards; empty for a
	// single server.
	Cluster string
	// Keep is how long rows are kept; 0: forever.
	Keep time.Duration
}

func (l *Layout) check(r release) error {
	if !databaseName().MatchString(l.Database) {
		return fmt.Errorf("%.80q cannot be the name of a database: letters, digits and _, at most 63", l.Database)
	}
	if l.Cluster != "" && !clusterName().MatchString(l.Cluster) {
		return fmt.Errorf("%.80q cannot be the name of a cluster: letters, digits, _, . and -, at most 63", l.Cluster)
	}
	if l.Keep < 0 || l.Keep > 0 && l.Keep < 24*time.Hour {
		return fmt.Errorf("rows cannot be kept for %s only: at least a day", l.Keep)
	}
	if l.Keep > 0 && !r.codecs() {
		return fmt.Errorf("ClickHouse %s does not know how long rows are to be kept (19.14 does): drop partitions, which are days, as they become old", r)
	}
	return nil
}

// local returns the name of the table that has the rows: the table itself or, in a cluster, the
// table behind it on each shard.
func (l *Layout) local(t *table) string {
	if l.Cluster == "" {
		return t.name
	}
	return t.name + "_local"
}

// statements returns the statements that make the missing database and tables.
func (l *Layout) statements(r release) []string {
	all := []string{"CREATE DATABASE IF NOT EXISTS " + l.Database}
	for _, t := range tables() {
		all = append(all, l.create(r, &t))
		if l.Cluster != "" {
			all = append(all, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %[1]s.%[2]s AS %[1]s.%[3]s ENGINE = Distributed('%[4]s', '%[1]s', '%[3]s', cityHash64(host))",
				l.Database, t.name, l.local(&t), l.Cluster))
		}
	}
	// A machine's present name and description.
	return append(all, fmt.Sprintf("CREATE VIEW IF NOT EXISTS %[1]s.hosts AS SELECT host, argMax(name, seen) AS name, argMax(os, seen) AS os, "+
		"argMax(release, seen) AS release, argMax(arch, seen) AS arch, argMax(model, seen) AS model, argMax(platform, seen) AS platform, "+
		"argMax(label_names, seen) AS label_names, argMax(label_values, seen) AS label_values FROM %[1]s.archives GROUP BY host", l.Database))
}

func (l *Layout) create(r release, t *table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (", l.Database, l.local(t))
	for i, c := range t.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.define(r))
	}
	fmt.Fprintf(&b, ") ENGINE = ReplacingMergeTree(%s)", t.version)
	if t.day != "" {
		fmt.Fprintf(&b, " PARTITION BY toYYYYMMDD(%s)", t.day)
	}
	fmt.Fprintf(&b, " ORDER BY (%s)", t.order)
	if l.Keep > 0 && t.day != "" {
		fmt.Fprintf(&b, " TTL %s + toIntervalSecond(%d)", t.day, int64(l.Keep/time.Second))
		b.WriteString(" SETTINGS ttl_only_drop_parts = 1")
	}
	return b.String()
}

func (c *column) define(r release) string {
	if c.alias != "" {
		return c.name + " " + c.kind + " ALIAS " + c.alias
	}
	s := c.name + " " + c.plainKind(r)
	if r.codecs() {
		s += " CODEC(" + c.codec + ")"
	}
	return s
}

// plainKind returns the type as this release of the server knows it.
func (c *column) plainKind(r release) string {
	if r.codecs() {
		return c.kind
	}
	return plainKind(c.kind)
}

// plainKind returns a type without the parts that only affect its storage.
func plainKind(kind string) string {
	for {
		before, rest, ok := strings.Cut(kind, "LowCardinality(")
		if !ok {
			return kind
		}
		inner, after, _ := strings.Cut(rest, ")")
		if strings.HasPrefix(inner, "Nullable(") { // LowCardinality(Nullable(String))
			inner, after = inner+")", strings.TrimPrefix(after, ")")
		}
		kind = before + inner + after
	}
}
