package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/follow"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// instances are how many members each domain of the Mac of these tests has.
const instances = 3

// lacking is what the Mac of these tests could not read, and noText a name that is
// no text.
const (
	lacking = "vm.page_free_wanted"
	noText  = "\xff\xfe"
)

// value is what the Mac of these tests reads for a cell.
func value(d *metric.Desc, n int) metric.Value {
	switch {
	case d.Name == lacking:
		return metric.Value{Type: d.Type, Miss: metric.Permission}
	case d.Type == metric.String:
		return metric.Value{Type: d.Type, Str: fmt.Sprint(d.Name, n, noText)}
	case d.Type == metric.F32:
		return metric.Value{Type: d.Type, Bits: 0x3f000000} // a half
	case d.Type == metric.F64:
		return metric.Value{Type: d.Type, Bits: 0x3fe0000000000000}
	}
	return metric.Value{Type: d.Type, Bits: uint64(len(d.Name) + n)}
}

// ticksOf are ticks with a value of every metric that is read.
func ticksOf(list []*metric.Desc, at metric.Stamp) []*metric.Tick {
	type id struct {
		class metric.Class
		indom string
	}
	members := make(map[string][]*metric.Instance)
	groups := make(map[id]*metric.Group)
	for _, d := range list {
		if d.Formula != "" || d.Unsupported != "" || d.Class == metric.Disabled || d.Class == metric.Thread {
			continue
		}
		k := id{d.Class, d.Indom}
		if groups[k] == nil {
			groups[k] = &metric.Group{Name: "test " + d.Indom, Indom: d.Indom}
		}
		groups[k].Metrics = append(groups[k].Metrics, d)
		if d.Indom == metric.NoIndom {
			members[d.Indom] = []*metric.Instance{nil}
		} else if members[d.Indom] == nil {
			for n := range instances {
				members[d.Indom] = append(members[d.Indom], &metric.Instance{ID: uint64(n + 1), Key: fmt.Sprint(n), Name: fmt.Sprint(d.Indom, n),
					Labels: []metric.Label{{Name: "number", Value: fmt.Sprint(n)}}})
			}
		}
	}
	var ticks []*metric.Tick
	for c := range metric.NumClasses {
		t := &metric.Tick{Class: c, At: at}
		for _, k := range slices.SortedFunc(maps.Keys(groups), func(a, b id) int { return strings.Compare(a.indom, b.indom) }) {
			if k.class != c {
				continue
			}
			b := &metric.Block{Group: groups[k], At: at, Rows: members[k.indom], Cols: make([]metric.Column, len(groups[k].Metrics))}
			for i, d := range groups[k].Metrics {
				for n := range b.Rows {
					b.Cols[i].Push(value(d, n))
				}
			}
			t.Blocks = append(t.Blocks, b)
		}
		if len(t.Blocks) > 0 {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// A mac is a recording of a Mac, and the services of it.
type mac struct {
	*Service
	writer *recording.Writer
	at     metric.Stamp
	now    time.Time
}

func newMac(t testing.TB) *mac {
	t.Helper()
	m := &mac{at: metric.Stamp{Wall: 1_800_000_000e9, Awake: 1000e9, Cont: 1000e9}}
	m.now = m.at.Time().Add(1500 * time.Millisecond)
	opt := recorded.ProofOptions(t.TempDir(), 1, proof.NewClock(m.at).Now)
	opt.Host = metric.Host{ID: "mac", Name: "book" + noText, OS: "Darwin", Platform: "macos"}
	opt.Catalog = catalog.For(catalog.Darwin)
	for c := range metric.NumClasses {
		opt.Intervals[c] = c.Interval()
	}
	opt.Intervals[metric.Thread] = 0
	var err error
	if m.writer, err = recording.Create(opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.writer.Close() })
	for _, tick := range ticksOf(opt.Catalog, m.at) {
		if err := m.writer.Append(tick); err != nil {
			t.Fatal(err)
		}
	}
	hub := live.NewHub(live.Options{Open: func(from follow.Position) (live.Follower, error) {
		return follow.Open(follow.Options{From: from, Standing: true, Wait: true}, opt.Dir)
	}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		hub.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	m.Service = NewService(NewKeeper(func() (Recording, error) { return store.Open(opt.Dir) }, func() time.Time { return m.now }), hub)
	return m
}

func (m *mac) get(t *testing.T, sel *tachographv1.Selection) *tachographv1.GetValuesResponse {
	t.Helper()
	res, err := m.GetValues(context.Background(), connect.NewRequest(&tachographv1.GetValuesRequest{Selection: sel}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proto.Marshal(res.Msg); err != nil {
		t.Fatal(err)
	}
	return res.Msg
}

// The 250 metrics of the telemetry service have values, by category and by name:
// those that were recorded, with their time and age.
func TestValuesOfTheTelemetryService(t *testing.T) {
	m := newMac(t)
	n := 0
	for _, category := range catalog.TelemetryCategories() {
		res := m.get(t, &tachographv1.Selection{Categories: []string{category}})
		if len(res.Errors) > 0 {
			t.Errorf("%s: %v", category, res.Errors)
		}
		for _, v := range res.Metrics {
			n++
			d := catalog.Find(catalog.Darwin, v.Name)
			if d.Formula != "" {
				continue
			}
			if v.Absent != "" || v.Time.AsTime().UnixNano() != m.at.Wall || v.Age.AsDuration() != 1500*time.Millisecond || v.Units != d.Units.String() {
				t.Errorf("%s: %v", v.Name, v)
			}
			if want := 1; d.Indom == metric.NoIndom && len(v.Values) != want || d.Indom != metric.NoIndom && len(v.Values) != instances {
				t.Errorf("%s has %d values", v.Name, len(v.Values))
			}
			for i, one := range v.Values {
				want := value(d, i)
				var ok bool
				switch got := one.Value.Kind.(type) {
				case *tachographv1.Value_Integer:
					ok = uint64(got.Integer) == want.Bits
				case *tachographv1.Value_Natural:
					ok = got.Natural == want.Bits
				case *tachographv1.Value_Number:
					ok = got.Number == 0.5
				case *tachographv1.Value_Text:
					ok = got.Text == strings.TrimSuffix(want.Str, noText)+"\uFFFD"
				case *tachographv1.Value_Absent:
					ok = d.Name == lacking && got.Absent == metric.Permission.String()
				}
				if !ok || (one.Instance == nil) != (d.Indom == metric.NoIndom) {
					t.Errorf("%s: %v, want %v", v.Name, one, want)
				}
			}
		}
	}
	if n != 250 {
		t.Errorf("%d metrics", n)
	}
}

func TestGetValues(t *testing.T) {
	m := newMac(t)
	res := m.get(t, &tachographv1.Selection{Metrics: []string{"vm.pages", "nothing.such", "thread.cpu_usage", "mem.vmstat.pgfault"}})
	if len(res.Errors) != 1 || res.Errors[0].Item != "nothing.such" || res.Errors[0].Code != int32(connect.CodeNotFound) {
		t.Errorf("%v", res.Errors)
	}
	why := make(map[string]string)
	for _, v := range res.Metrics {
		why[v.Name] = v.Absent
	}
	if why["vm.pages"] != "" || !strings.Contains(why["thread.cpu_usage"], "are not recorded") || why["mem.vmstat.pgfault"] != "exists on Linux only" {
		t.Errorf("%v", why)
	}
	if p, err := follow.ParsePosition(res.Position); err != nil || p.Archive == "" {
		t.Errorf("position %q: %v", res.Position, err)
	}
	res = m.get(t, &tachographv1.Selection{Metrics: []string{"vm.loadavg"}, Instances: []string{"load1"}})
	if len(res.Metrics) != 1 || len(res.Metrics[0].Values) != 1 || res.Metrics[0].Values[0].Instance.Key != "1" {
		t.Errorf("%v", res)
	}
	b := budget.New(1000)
	account := b.Open(budget.Client{})
	ctx := account.In(context.Background())
	_, err := m.GetValues(ctx, connect.NewRequest(&tachographv1.GetValuesRequest{}))
	if account.Close(); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("without memory: %v", err)
	}
}

func TestListMetrics(t *testing.T) {
	m := newMac(t)
	list := func(r *tachographv1.ListMetricsRequest) (out []*tachographv1.Metric) {
		t.Helper()
		for {
			res, err := m.ListMetrics(context.Background(), connect.NewRequest(r))
			if err != nil {
				t.Fatal(err)
			}
			if r.PageSize > 0 && len(res.Msg.Metrics) > int(r.PageSize) {
				t.Errorf("%d on a page of %d", len(res.Msg.Metrics), r.PageSize)
			}
			out = append(out, res.Msg.Metrics...)
			if r.PageToken = res.Msg.NextPageToken; r.PageToken == "" {
				return out
			}
		}
	}
	all, paged := list(&tachographv1.ListMetricsRequest{}), list(&tachographv1.ListMetricsRequest{PageSize: 7})
	if len(all) != len(paged) || len(all) < 300 {
		t.Errorf("%d metrics, %d by pages", len(all), len(paged))
	}
	for i := range all {
		if i < len(paged) && all[i].Name != paged[i].Name || !all[i].Present || all[i].Absent != "" {
			t.Errorf("%v", all[i])
		}
	}
	if more := list(&tachographv1.ListMetricsRequest{IncludeAbsent: true}); len(more) < len(all)+500 {
		t.Errorf("%d with those that are absent", len(more))
	}
	patterns := make(map[tachographv1.AccessPattern]int)
	for _, category := range catalog.TelemetryCategories() {
		for _, d := range list(&tachographv1.ListMetricsRequest{Selection: &tachographv1.Selection{Categories: []string{category}}}) {
			patterns[d.AccessPattern]++
			if d.Category != category || (d.AccessPattern == tachographv1.AccessPattern_ACCESS_PATTERN_STATIC) != (d.Interval == nil) {
				t.Errorf("%v", d)
			}
		}
	}
	// As the telemetry service counts them, in which computed ones are polled, but for three: an
	// update of the system changes its version, which that service reads once.
	if patterns[tachographv1.AccessPattern_ACCESS_PATTERN_STATIC] != 78 || patterns[tachographv1.AccessPattern_ACCESS_PATTERN_POLLED] != 118 ||
		patterns[tachographv1.AccessPattern_ACCESS_PATTERN_CONSTRAINED] != 54 {
		t.Errorf("%v", patterns)
	}
	for _, r := range []*tachographv1.ListMetricsRequest{{PageSize: -1}, {PageToken: strings.Repeat("x", 500)}} {
		if _, err := m.ListMetrics(context.Background(), connect.NewRequest(r)); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", r, err)
		}
	}
}

func TestOtherLists(t *testing.T) {
	m := newMac(t)
	ctx := context.Background()
	categories, err := m.ListCategories(ctx, connect.NewRequest(&tachographv1.ListCategoriesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]*tachographv1.Category)
	for _, c := range categories.Msg.Categories {
		counts[c.Name] = c
	}
	for _, name := range catalog.TelemetryCategories() {
		if counts[name] == nil || counts[name].Present != counts[name].Metrics {
			t.Errorf("%s: %v", name, counts[name])
		}
	}
	if c := counts["mem.vmstat"]; c == nil || c.Present != 0 || c.Metrics == 0 {
		t.Errorf("%v", c)
	}
	members, err := m.ListInstances(ctx, connect.NewRequest(&tachographv1.ListInstancesRequest{InstanceDomain: "load"}))
	if err != nil || len(members.Msg.Instances) != instances || members.Msg.Instances[2].Key != "2" || members.Msg.Instances[2].Labels[0].Value != "2" {
		t.Errorf("%v %v", members, err)
	}
	for _, name := range []string{"", "no such"} {
		if _, err := m.ListInstances(ctx, connect.NewRequest(&tachographv1.ListInstancesRequest{InstanceDomain: name})); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
	archives, err := m.ListArchives(ctx, connect.NewRequest(&tachographv1.ListArchivesRequest{}))
	if err != nil || len(archives.Msg.Archives) != 1 {
		t.Fatalf("%v %v", archives, err)
	}
	if a := archives.Msg.Archives[0]; !a.Live || !strings.HasPrefix(a.Host.Name, "book\uFFFD") || a.From.AsTime().UnixNano() != m.at.Wall || a.Id == "" {
		t.Errorf("%v", a)
	}
}

// Nothing recorded is an answer; what cannot be read is an error that says what to
// do, and is looked at again.
func TestNothingToRead(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	problem := error(&fault.Error{Kind: fault.NotFound, Err: fs.ErrNotExist})
	k := NewKeeper(func() (Recording, error) { return nil, problem }, func() time.Time { return now })
	s := NewService(k, nil)
	get := func() (*connect.Response[tachographv1.GetValuesResponse], error) {
		now = now.Add(2 * time.Second)
		return s.GetValues(context.Background(), connect.NewRequest(&tachographv1.GetValuesRequest{Selection: &tachographv1.Selection{Metrics: []string{"kernel.all.load"}}}))
	}
	res, err := get()
	if err != nil || len(res.Msg.Metrics) != 1 || res.Msg.Metrics[0].Absent != "nothing has been recorded yet" {
		t.Errorf("%v %v", res, err)
	}
	problem = &fault.Error{Kind: fault.Denied, Err: fs.ErrPermission}
	if _, err := get(); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("%v", err)
	}
	problem = errors.New("the disk is gone")
	if _, err := get(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("%v", err)
	}
}
