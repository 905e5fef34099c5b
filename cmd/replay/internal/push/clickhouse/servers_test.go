package clickhouse

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/peertest"
	"tachograph/cmd/replay/internal/push"
	"tachograph/store/archive"
	"tachograph/store/rewrite"
)

// A server is a clickhouse-server of this test.
type server struct {
	*peertest.Peer
	t                    testing.TB
	dir                  string
	http, tcp, interhost string // addresses
}

// shards starts n servers that are the shards of the cluster "fleet".
func shards(t testing.TB, n int) []*server {
	t.Helper()
	peertest.Need(t, "clickhouse-server")
	all := make([]*server, n)
	var cluster strings.Builder
	for i := range all {
		at := peertest.Addresses(t, 3)
		all[i] = &server{t: t, dir: t.TempDir(), http: at[0], tcp: at[1], interhost: at[2]}
		fmt.Fprintf(&cluster, "<shard><replica><host>%s</host><port>%s</port></replica></shard>", hostOf(at[1]), portOf(at[1]))
	}
	for _, s := range all {
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var dir strings.Builder
		_ = xml.EscapeText(&dir, []byte(s.dir))
		write("users.xml", `<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.0/8</ip></networks>`+
			`<profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>`)
		write("config.xml", fmt.Sprintf(`<yandex><logger><level>error</level><console>1</console></logger>`+
			`<http_port>%s</http_port><tcp_port>%s</tcp_port><interserver_http_port>%s</interserver_http_port><listen_host>%[6]s</listen_host>`+
			`<path>%[4]s/data/</path><tmp_path>%[4]s/tmp/</tmp_path><users_config>%[4]s/users.xml</users_config>`+
			`<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>268435456</mark_cache_size>`+
			`<compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>zstd</method></case></compression>`+
			`<remote_servers><fleet>%[5]s</fleet></remote_servers></yandex>`, portOf(s.http), portOf(s.tcp), portOf(s.interhost), dir.String(), cluster.String(), hostOf(s.http)))
		s.start()
	}
	return all
}

// start begins the server and waits until it answers; it ends with the test.
func (s *server) start() {
	s.t.Helper()
	s.Peer = peertest.Start(s.t, s.url()+"ping", "clickhouse-server", "--config-file="+filepath.Join(s.dir, "config.xml"))
}

// kill ends it as a power cut would, but for what the kernel has.
func (s *server) kill() { s.End(os.Kill) }

func (s *server) url() string { return "http://" + s.http + "/" }

// ask returns what a statement gives.
func (s *server) ask(statement string) string {
	s.t.Helper()
	text, err := s.try(statement)
	if err != nil {
		s.t.Fatalf("%s\n%v", statement, err)
	}
	return text
}

func (s *server) try(statement string) (string, error) {
	answer, err := http.Post(s.url(), "text/plain", strings.NewReader(statement))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(string(text[:min(len(text), 500)]))
	}
	return string(text), err
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// sinkTo makes a sink that has its tables.
func sinkTo(t testing.TB, address string, layout Layout) *Sink {
	t.Helper()
	endpoint, err := push.NewEndpoint(address, push.Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Endpoint: endpoint, Layout: layout, Create: true})
	if err := s.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// cluster makes the tables on all shards.
func cluster(t testing.TB, all []*server, database string) []*Sink {
	t.Helper()
	layout := Layout{Database: database}
	if len(all) > 1 {
		layout.Cluster = "fleet"
	}
	var sinks []*Sink
	for _, s := range all {
		sinks = append(sinks, sinkTo(t, s.url(), layout))
	}
	return sinks
}

// send brings what paths hold to a sink, in batches of so many values.
func send(t testing.TB, s *Sink, values int, paths ...string) (batches, bytes int) {
	t.Helper()
	var b push.Batch
	n := 0
	flush := func() {
		if b == nil {
			return
		}
		_, size := b.Size()
		if err := b.Send(context.Background()); err != nil {
			t.Fatal(err)
		}
		b, n, batches, bytes = nil, 0, batches+1, bytes+size
	}
	of := ""
	for item, err := range rewrite.Read(rewrite.ReadOptions{}, paths...) {
		if err != nil {
			t.Fatal(err)
		}
		if of != item.Archive.ID {
			flush()
			of = item.Archive.ID
		}
		if b == nil {
			b = s.NewBatch(push.BatchID{Archive: item.Archive})
		}
		if err := b.Add(&archive.Item{Archive: item.Archive, Tick: item.Tick, Event: item.Event}); err != nil {
			t.Fatal(err)
		}
		if item.Tick != nil {
			n += item.Tick.Values()
		}
		if n >= values {
			flush()
		}
	}
	flush()
	return batches, bytes
}
