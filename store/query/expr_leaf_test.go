package query_test

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// An operand is the value of the very instant, else the last one before it, of
// the interval that was in force there, and never a later one.
func TestOperandsOfTheInstant(t *testing.T) {
	const head = `
start 2026-11-20T03:00:00Z
host h
interval fast 10s
interval polled 10s
metric used u64 instant - fast byte
metric free u64 instant - fast byte
metric size u64 instant - polled byte
metric bytes u64 counter - fast byte
metric ops u64 counter - fast count
metric level u64 instant disk fast byte
metric limit u64 instant disk polled byte
instance disk a a
instance disk b b
boot b1 -1h
`
	for _, c := range []struct{ name, text, expr, want string }{
		{"a restart within half an interval", `
tick fast 0s
  used 10
  free 10
tick fast 10s
  used 30
  free 10
archive
tick fast 13s
  used 60
  free 12
tick fast 23s
  used 70
  free 10
`, "used / free", "0:1 10:3 13:5 23:7"},
		{"a later archive of longer intervals", `
tick fast 0s
  bytes 0
  ops 0
tick fast 10s
  bytes 100
  ops 10
tick fast 20s
  bytes 300
  ops 20
tick fast 30s
  bytes 700
  ops 40
interval fast 60s
archive
tick fast 60s
  bytes 1300
  ops 100
tick fast 120s
  bytes 2500
  ops 220
`, "delta(bytes) / delta(ops)", "0:- 10:10 20:20 30:20 60:10 120:10"},
		{"intervals that changed within an archive", `
tick fast 0s
  bytes 0
  used 0
tick polled 1s
  size 1
tick fast 60s
  used 10
  bytes 60
tick polled 61s
  size 2
tick fast 120s
  used 20
  bytes 120
tick polled 121s
  size 5
tick fast 130s
  used 30
  bytes 130
tick polled 131s
  size 10
tick fast 140s
  used 40
  bytes 150
tick polled 141s
  size 1
tick fast 150s
  used 60
  bytes 160
`, "used / size", "0:- 60:10 120:10 130:6 140:4 150:60"},
		{"an operand that was read a little later", `
tick fast 0s
  used 10
tick polled 4s
  size 2
tick fast 10s
  used 20
tick polled 14s
  size 4
tick fast 20s
  used 40
`, "used / size", "0:- 10:10 20:10"},
		{"an operand that is no longer read", `
tick fast 0s
  used 10
tick polled 0s
  size 2
tick fast 10s
  used 20
tick fast 20s
  used 40
tick fast 30s
  used 60
`, "used / size", "0:5 10:10 20:- 30:-"},
		{"an instance that the last reading no longer has", `
tick polled 0s
  limit[a] 1
  limit[b] 2
tick fast 1s
  level[a] 10
  level[b] 10
tick polled 10s
  limit[a] 2
tick fast 11s
  level[a] 10
  level[b] 10
tick polled 20s
  limit[a] 5
  limit[b] 5
tick fast 21s
  level[a] 10
  level[b] 10
`, "level / limit", "a 1:10 a 11:5 a 21:2 b 1:5 b 11:- b 21:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, err := querytest.Parse(strings.NewReader(head + c.text))
			if err != nil {
				t.Fatal(err)
			}
			a := querytest.New(parts...)
			e, err := query.Compile(a, nil, c.expr)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string][]string)
			start := a.Archives()[0].From
			var names []string
			for s, err := range query.Evaluate(a, e, query.Request{Mode: query.Shown}) {
				if err != nil {
					t.Fatal(err)
				}
				name := ""
				if s.Instance != nil {
					name = s.Instance.Name + " "
				}
				if got[name] == nil {
					names = append(names, name)
				}
				for i, wall := range s.Wall {
					v := "-"
					if x := s.Value(i).Number(); x == x {
						v = fmt.Sprint(x)
					}
					got[name] = append(got[name], fmt.Sprintf("%s%d:%s", name, (wall-start)/second, v))
				}
			}
			var all []string
			for _, n := range names {
				all = append(all, got[n]...)
			}
			if s := strings.Join(all, " "); s != c.want {
				t.Errorf("%s is\n%s, want\n%s", c.expr, s, c.want)
			}
		})
	}
}
