package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/store/query/querytest"
)

// memory is a recording from a description.
type memory struct{ *querytest.Archive }

func (memory) Close() error { return nil }

const machine = `start 2026-11-20T03:00:00Z
host web-1 id=7 os=Linux release=6.1 arch=amd64 platform=linux
interval static 2562047h
interval polled 10s
interval fast 1s
interval process 5s
metric kernel.percpu.cpu.user u64 counter cpu fast millisec
  help Time in user mode
metric kernel.all.load f32 instant load fast
  help Load averages
metric mem.physmem u64 discrete - static Kbyte
  help Memory installed
metric disk.dev.scheduler string discrete disk polled
  help Scheduler
metric network.interface.in.bytes u64 counter interface polled byte
  help Received
metric proc.memory.rss u64 instant process process Kbyte
  help Resident
instance cpu cpu0 cpu0
instance cpu cpu1 cpu1
instance load 1m 1 minute
instance disk sda sda
instance interface lo lo
instance interface usb usb0
instance process 612/1 000612 postgres
boot b1 -1h
tick static 0s
  mem.physmem 16384
every 1s 0s 2m fast
  kernel.percpu.cpu.user[cpu0] rate=500 from=1000
  kernel.percpu.cpu.user[cpu1] rate=250 from=0
  kernel.all.load[1m] 1.7
every 1s 5m 6m fast
  kernel.percpu.cpu.user[cpu0] rate=500 from=200000
  kernel.percpu.cpu.user[cpu1] rate=250 from=0
  kernel.all.load[1m] !permission denied
every 10s 0s 50s polled
  disk.dev.scheduler[sda] mq-deadline
  network.interface.in.bytes[lo] 7
  network.interface.in.bytes[usb] 9
every 10s 1m 2m polled
  disk.dev.scheduler[sda] none
  network.interface.in.bytes[lo] 8
every 5s 0s 2m process
  proc.memory.rss[612/1] 100
`

var began = time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)

func ms(after time.Duration) int64 { return began.Add(after).UnixMilli() }

func opened(t testing.TB, text string) func(context.Context) (Archive, error) {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context) (Archive, error) { return memory{querytest.New(parts...)}, nil }
}

// written is a ReadRequest.
func written(start, end int64, kinds []uint64, matchers ...string) []byte {
	q := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(start))
	q = protowire.AppendVarint(protowire.AppendTag(q, 2, protowire.VarintType), uint64(end))
	for _, m := range matchers {
		i := strings.IndexAny(m, "=!")
		op, value := m[i:i+1], m[i+1:]
		if value != "" && (m[i] == '!' || value[0] == '~') {
			op, value = m[i:i+2], m[i+2:]
		}
		b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), map[string]uint64{"=": 0, "!=": 1, "=~": 2, "!~": 3}[op])
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), m[:i])
		b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), value)
		q = protowire.AppendBytes(protowire.AppendTag(q, 3, protowire.BytesType), b)
	}
	r := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), q)
	for _, kind := range kinds {
		r = protowire.AppendVarint(protowire.AppendTag(r, 2, protowire.VarintType), kind)
	}
	return r
}

// asked is what a server answers.
func asked(t testing.TB, opt Options, body []byte) (*http.Response, []byte) {
	t.Helper()
	server := httptest.NewServer(Handler(opt))
	defer server.Close()
	answer, err := server.Client().Post(server.URL+"/api/v1/read", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, b
}

// told is an answer: a line for each series, "labels: time=value ...", with times in
// milliseconds from the beginning.
func told(t testing.TB, body []byte) (lines []string) {
	t.Helper()
	body, err := s2.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	each := func(b []byte, field protowire.Number, fn func(b []byte)) {
		for len(b) > 0 {
			n, kind, l := protowire.ConsumeTag(b)
			b = b[l:]
			l = protowire.ConsumeFieldValue(n, kind, b)
			if l < 0 {
				t.Fatal("no message")
			}
			if n == field {
				v, _ := protowire.ConsumeBytes(b)
				fn(v)
			}
			b = b[l:]
		}
	}
	each(body, 1, func(result []byte) {
		each(result, 1, func(series []byte) {
			line := labelText(series)
			each(series, 2, func(s []byte) {
				x, _ := protowire.ConsumeFixed64(s[1:])
				at, _ := protowire.ConsumeVarint(s[10:])
				line += pointText(int64(at), math.Float64frombits(x))
			})
			lines = append(lines, line)
		})
	})
	return lines
}

func labelText(series []byte) string {
	var list []string
	for len(series) > 0 {
		n, kind, l := protowire.ConsumeTag(series)
		series = series[l:]
		if n == 1 {
			m, _ := protowire.ConsumeBytes(series)
			name, l := protowire.ConsumeBytes(m[1:])
			value, _ := protowire.ConsumeBytes(m[1+l+1:])
			if string(name) != "job" && string(name) != "instance" {
				list = append(list, string(name)+"="+string(value))
			}
		}
		series = series[protowire.ConsumeFieldValue(n, kind, series):]
	}
	return strings.Join(list, ",") + ":"
}

func pointText(at int64, x float64) string {
	value := fmt.Sprint(x)
	if math.Float64bits(x) == math.Float64bits(stale) {
		value = "stale"
	}
	return fmt.Sprintf(" %d=%s", at-began.UnixMilli(), value)
}

func TestRead(t *testing.T) {
	open := opened(t, machine)
	for _, c := range []struct {
		name       string
		start, end time.Duration
		matchers   []string
		want       []string
	}{
		{"a name", 10 * time.Second, 11 * time.Second, []string{"__name__=tachograph_kernel_percpu_cpu_user_seconds_total"}, []string{
			"__name__=tachograph_kernel_percpu_cpu_user_seconds_total,cpu=0: 10000=6 11000=6.5", "__name__=tachograph_kernel_percpu_cpu_user_seconds_total,cpu=1: 10000=2.5 11000=2.75"}},
		{"node_exporter's", 10 * time.Second, 10 * time.Second, []string{"__name__=~node_cpu.*", "mode=user", "cpu!=1", "job=tachograph", "instance=~web.*"}, []string{
			"__name__=node_cpu_seconds_total,cpu=0,mode=user: 10000=6"}},
		{"32 bits", 10 * time.Second, 10 * time.Second, []string{"__name__=node_load1"}, []string{"__name__=node_load1: 10000=1.7"}},
		{"whole expressions", 10 * time.Second, 10 * time.Second, []string{"__name__=~node_loa"}, nil},
		{"not", 10 * time.Second, 10 * time.Second, []string{"__name__=~node_.+", "__name__!~.*cpu.*|.*time.*|.*network.*|.*memory.*"}, []string{"__name__=node_load1: 10000=1.7"}},
		{"another job", 0, time.Minute, []string{"__name__=node_load1", "job=node"}, nil},
		{"another host", 0, time.Minute, []string{"__name__=node_load1", "instance=web-2"}, nil},
		{"held", 30 * time.Second, 3*time.Minute + 1*time.Second, []string{"__name__=node_memory_MemTotal_bytes"}, []string{
			"__name__=node_memory_MemTotal_bytes: 60000=1.6777216e+07 120000=1.6777216e+07 180000=1.6777216e+07"}},
		{"a gap", 118 * time.Second, 5*time.Minute + time.Second, []string{"__name__=node_cpu_seconds_total", "cpu=0"}, []string{
			"__name__=node_cpu_seconds_total,cpu=0,mode=user: 118000=60 119000=60.5 120000=61 121000=stale 300000=200 301000=200.5"}},
		{"absences", 119 * time.Second, 5*time.Minute + 3*time.Second, []string{"__name__=node_load1"}, []string{"__name__=node_load1: 119000=1.7 120000=1.7 121000=stale"}},
		{"one vanishes", 40 * time.Second, 80 * time.Second, []string{"__name__=node_network_receive_bytes_total"}, []string{
			"__name__=node_network_receive_bytes_total,device=lo: 40000=7 50000=7 60000=8 70000=8 80000=8", "__name__=node_network_receive_bytes_total,device=usb0: 40000=9 50000=9 60000=stale"}},
		{"texts", 40 * time.Second, 70 * time.Second, []string{"__name__=tachograph_disk_dev_scheduler_info"}, []string{
			"__name__=tachograph_disk_dev_scheduler_info,device=sda,value=mq-deadline: 40000=1 50000=1 60000=stale", "__name__=tachograph_disk_dev_scheduler_info,device=sda,value=none: 60000=1 70000=1"}},
		{"processes if they are named", 10 * time.Second, 10 * time.Second, []string{"__name__=tachograph_proc_memory_rss_bytes", "name=postgres"}, []string{
			"__name__=tachograph_proc_memory_rss_bytes,name=postgres,pid=612: 10000=102400"}},
		{"no processes else", 10 * time.Second, 10 * time.Second, []string{"name=postgres"}, nil},
		{"when it was", 10 * time.Second, 10 * time.Second, []string{"__name__=node_time_seconds"}, nil},
		{"turned around", 2 * time.Second, time.Second, []string{"__name__=node_load1"}, nil},
		{"long ago", -2 * time.Hour, -time.Hour, []string{"__name__=node_load1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, body := asked(t, Options{Open: open}, s2.EncodeSnappy(nil, written(ms(c.start), ms(c.end), nil, c.matchers...)))
			if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "snappy" {
				t.Fatalf("%d: %s", answer.StatusCode, body)
			}
			if got := told(t, body); !slices.Equal(got, c.want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// What is streamed in chunks is what is answered in one piece.
func TestStreamed(t *testing.T) {
	open := opened(t, machine)
	_, whole := asked(t, Options{Open: open}, s2.EncodeSnappy(nil, written(ms(0), ms(time.Hour), nil, "__name__=~.+")))
	answer, body := asked(t, Options{Open: open, Samples: 1}, s2.EncodeSnappy(nil, written(ms(0), ms(time.Hour), []uint64{1, 0}, "__name__=~.+")))
	if got := answer.Header.Get("Content-Type"); got != "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse" {
		t.Fatal(got)
	}
	var lines []string
	for len(body) > 0 {
		size, n := binary.Uvarint(body)
		sum := binary.BigEndian.Uint32(body[n:])
		m := body[n+4 : n+4+int(size)]
		body = body[n+4+int(size):]
		if crc32.Checksum(m, castagnoli) != sum {
			t.Fatal("a wrong checksum")
		}
		_, _, l := protowire.ConsumeTag(m)
		series, _ := protowire.ConsumeBytes(m[l:])
		line := labelText(series)
		for len(series) > 0 {
			n, kind, l := protowire.ConsumeTag(series)
			series = series[l:]
			if n == 2 {
				c, _ := protowire.ConsumeBytes(series)
				for len(c) > 0 {
					n, kind, l := protowire.ConsumeTag(c)
					c = c[l:]
					if n == 4 {
						data, _ := protowire.ConsumeBytes(c)
						for _, s := range decoded(data) {
							line += pointText(s.at, s.value)
						}
					}
					c = c[protowire.ConsumeFieldValue(n, kind, c):]
				}
			}
			series = series[protowire.ConsumeFieldValue(n, kind, series):]
		}
		lines = append(lines, line)
	}
	if want := told(t, whole); len(want) < 10 || !slices.Equal(lines, want) {
		t.Errorf("%d series, want %d\n%s", len(lines), len(want), strings.Join(lines, "\n"))
	}
}

// bitReader reads bits, the highest first.
type bitReader struct {
	b  []byte
	at int
}

func (r *bitReader) bits(n int) (v uint64) {
	for range n {
		v = v<<1 | uint64(r.b[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return v
}

func (r *bitReader) ReadByte() (byte, error) { return byte(r.bits(8)), nil }

// decoded reads a chunk as the description of the format says.
func decoded(b []byte) (list []sample) {
	r := &bitReader{b: b, at: 16}
	n := int(binary.BigEndian.Uint16(b))
	var s sample
	var delta uint64
	var value uint64
	leading, trailing := 0, 0
	for i := range n {
		if i == 0 {
			s.at, _ = binary.ReadVarint(r)
			value = r.bits(64)
		} else {
			if i == 1 {
				delta, _ = binary.ReadUvarint(r)
			} else {
				size := 0
				for _, k := range []int{14, 17, 20, 64} {
					if r.bits(1) == 0 {
						break
					}
					size = k
				}
				d := int64(r.bits(size))
				if size < 64 && size > 0 && d > 1<<(size-1) {
					d -= 1 << size
				}
				delta = uint64(int64(delta) + d)
			}
			s.at += int64(delta)
			if r.bits(1) == 1 {
				if r.bits(1) == 1 {
					leading = int(r.bits(5))
					size := int(r.bits(6))
					if size == 0 {
						size = 64
					}
					trailing = 64 - leading - size
				}
				value ^= r.bits(64-leading-trailing) << trailing
			}
		}
		s.value = math.Float64frombits(value)
		list = append(list, s)
	}
	return list
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18})
	f.Fuzz(func(t *testing.T, b []byte) {
		var samples []sample
		at := int64(1_700_000_000_000)
		for len(b) >= 9 && len(samples) < 1000 {
			at += 1 + int64(b[0])<<(b[0]%37)
			samples = append(samples, sample{at, math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))})
			b = b[9:]
		}
		var got []sample
		for _, c := range chunksOf(samples) {
			part := decoded(c.data)
			if c.from != part[0].at || c.to != part[len(part)-1].at {
				t.Fatalf("%d to %d, want %d to %d", c.from, c.to, part[0].at, part[len(part)-1].at)
			}
			got = append(got, part...)
		}
		same := func(x, y sample) bool { return x.at == y.at && math.Float64bits(x.value) == math.Float64bits(y.value) }
		if !slices.EqualFunc(got, samples, same) {
			t.Fatalf("%v, want %v", got, samples)
		}
	})
}

func TestRefused(t *testing.T) {
	open := opened(t, machine)
	name := "__name__=node_load1"
	bomb := binary.AppendUvarint(nil, 1<<31)
	for _, c := range []struct {
		name   string
		opt    Options
		body   []byte
		status int
		text   string
	}{
		{"nothing", Options{Open: open}, nil, 400, "snappy"},
		{"no snappy", Options{Open: open}, []byte("hello"), 400, "snappy"},
		{"a bomb", Options{Open: open}, append(bomb, 0), 400, "too long"},
		{"no protobuf", Options{Open: open}, s2.EncodeSnappy(nil, []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}), 400, "no ReadRequest"},
		{"long", Options{Open: open}, bytes.Repeat([]byte("x"), mostRequest+2), 400, "too long"},
		{"no expression", Options{Open: open}, s2.EncodeSnappy(nil, written(0, 1, nil, "__name__=~(")), 400, "no regular expression"},
		{"an expression without measure", Options{Open: open}, s2.EncodeSnappy(nil, written(0, 1, nil, "__name__=~((a{1000}){1000}){1000}")), 400, "no regular expression"},
		{"a long matcher", Options{Open: open}, s2.EncodeSnappy(nil, written(0, 1, nil, "a="+strings.Repeat("x", 5000))), 400, "too long"},
		{"many matchers", Options{Open: open}, s2.EncodeSnappy(nil, written(0, 1, nil, slices.Repeat([]string{name}, 65)...)), 400, "more than 64"},
		{"many queries", Options{Open: open}, s2.EncodeSnappy(nil, bytes.Repeat(written(0, 1, nil, name), 33)), 400, "more than 32"},
		{"many samples", Options{Open: open, Samples: 10}, s2.EncodeSnappy(nil, written(ms(0), ms(time.Hour), nil, name)), 400, "too many samples"},
		{"no archive", Options{Open: func(context.Context) (Archive, error) { return nil, errors.New("no \x1b archive") }}, s2.EncodeSnappy(nil, written(0, 1, nil, name)), 503, "no"},
		{"long ago", Options{Open: func(ctx context.Context) (Archive, error) { <-ctx.Done(); return nil, ctx.Err() }, Longest: time.Millisecond},
			s2.EncodeSnappy(nil, written(0, 1, nil, name)), 503, "took too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, body := asked(t, c.opt, c.body)
			if answer.StatusCode != c.status || !strings.Contains(string(body), c.text) || bytes.ContainsRune(body, 0x1b) {
				t.Errorf("%d, %q", answer.StatusCode, body)
			}
		})
	}
}

// Whatever is sent, the answer is one or a refusal.
func FuzzRequest(f *testing.F) {
	f.Add(written(ms(0), ms(time.Minute), []uint64{1}, "__name__=~node.*", "cpu!=1"))
	f.Add(written(math.MinInt64, math.MaxInt64, nil, "__name__=~.+"))
	open := opened(f, machine)
	handler := Handler(Options{Open: open, Samples: 100_000})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/v1/read", bytes.NewReader(s2.EncodeSnappy(nil, b))))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
	})
}
