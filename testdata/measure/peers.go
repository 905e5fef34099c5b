package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// victoria is a VictoriaMetrics with the same day; nil if it is not installed or not requested.
type victoria struct {
	server *exec.Cmd
	base   string
	m      *measure
}

// startVictoria starts the server, and loads the day unless it already has it.
func (m *measure) startVictoria() *victoria {
	program, err := exec.LookPath("victoria-metrics")
	if err != nil || !m.peers {
		return nil
	}
	v := &victoria{m: m}
	if err := v.start(program); err != nil {
		m.say("VictoriaMetrics: %v", err)
		v.stop()
		return nil
	}
	return v
}

func (v *victoria) start(program string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	forget(l)
	dir := filepath.Join(v.m.work, "victoria")
	if v.m.short {
		dir += "-short"
	}
	_, missing := os.Stat(filepath.Join(dir, "whole"))
	v.base = "http://" + address
	v.server = exec.Command(program, "-storageDataPath="+dir, "-httpListenAddr="+address, "-retentionPeriod=100y",
		"-search.maxQueryDuration=5m", "-search.maxPointsPerTimeseries=1000000", "-search.maxUniqueTimeseries=3000000", "-search.disableCache")
	if err := v.server.Start(); err != nil {
		return err
	}
	for range 300 {
		if _, err = v.get("/health", nil); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil || missing == nil {
		return err
	}
	if err := v.load(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "whole"), nil, 0o644)
}

// load sends the day in the line protocol, and waits until it is merged.
func (v *victoria) load() error {
	v.m.say("giving VictoriaMetrics the day")
	cmd := exec.Command(filepath.Join(v.m.work, "tools", "plain"), append(slices.Clone(v.m.dataset.args), "-dataset", v.m.dataset.path, "-form", "lines")...)
	cmd.Stderr = os.Stderr
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answer, err := http.Post(v.base+"/write?precision=ns", "text/plain", lines)
	if err != nil {
		return err
	}
	forget(answer.Body)
	if err := cmd.Wait(); err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("import: %s", answer.Status)
	}
	for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
		if _, err := v.get(path, nil); err != nil {
			return err
		}
	}
	for range 600 {
		text, err := v.get("/metrics", nil)
		if err != nil {
			return err
		}
		if !merging(text) {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}

func (v *victoria) stop() {
	if v == nil || v.server.Process == nil {
		return
	}
	_ = v.server.Process.Signal(os.Interrupt)
	_ = v.server.Wait()
}

func (v *victoria) get(path string, query url.Values) ([]byte, error) {
	answer, err := http.Get(v.base + path + "?" + query.Encode())
	if err != nil {
		return nil, err
	}
	defer forget(answer.Body)
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %.300s", path, answer.Status, body)
	}
	return body, err
}

// ask returns the median of what the question takes, formatted for a table.
func (v *victoria) ask(q question, d *made, n int) (string, error) {
	if v == nil || q.victoria == nil {
		return "-", nil
	}
	var took []float64
	for i := range n + 1 {
		began := time.Now()
		got, err := q.victoria(v, d)
		if err != nil {
			return "", err
		}
		if len(got) == 0 {
			return "", fmt.Errorf("VictoriaMetrics knows nothing about: %s", q.label)
		}
		if i > 0 {
			took = append(took, time.Since(began).Seconds()*1e3)
		}
	}
	return number(median(took)), nil
}

// series queries a range, and returns the names of the resulting series.
func (v *victoria) series(query string, from, to, step int64) ([]string, error) {
	body, err := v.get("/api/v1/query_range", url.Values{"query": {query}, "start": {strconv.FormatInt(from, 10)}, "end": {strconv.FormatInt(to, 10)},
		"step": {strconv.FormatInt(step, 10)}, "nocache": {"1"}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	var names []string
	for _, r := range answer.Data.Result {
		names = append(names, r.Metric["__name__"])
	}
	return names, nil
}

func (v *victoria) rateMinutes(d *made) ([]string, error) {
	return v.series(`rate({__name__="t_kernel.all.cpu.user"}[1m])`, d.From, d.To, 60)
}

func (v *victoria) rateSeconds(d *made) ([]string, error) {
	return v.series(`rate({__name__="t_kernel.all.cpu.user"}[2s])`, d.From, d.To, 1)
}

func (v *victoria) process(d *made) ([]string, error) {
	return v.series(`rate({__name__="t_proc.psinfo.utime",instance=~"0*`+d.Lasting+` .*"}[20s])`, d.From, d.To, 10)
}

// percentiles queries what ranges prints, for everything of the system.
func (v *victoria) percentiles(d *made) ([]string, error) {
	span := strconv.FormatInt(d.To-d.From, 10) + "s"
	var names []string
	for _, f := range []string{"min_over_time(", "avg_over_time(", "max_over_time(", `quantiles_over_time("q", 0.5, 0.95, 0.99, `} {
		got, err := v.series(f+`{__name__=~"t_(kernel|disk|network|mem|filesys)[.].*"}[`+span+`])`, d.To, d.To, 60)
		if err != nil {
			return nil, err
		}
		names = append(names, got...)
	}
	return names, nil
}

// merging reports whether a server with these metrics is still merging.
func merging(metrics []byte) bool {
	for line := range strings.Lines(string(metrics)) {
		if rest, ok := strings.CutPrefix(line, "vm_active_merges{"); ok {
			if _, n, _ := strings.Cut(rest, "} "); strings.TrimSpace(n) != "0" {
				return true
			}
		}
	}
	return false
}
