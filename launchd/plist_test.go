package launchd

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestServiceFiles(t *testing.T) {
	golden(t, "recorder.plist", MacLayout().Plist())
	golden(t, "newsyslog.conf", MacLayout().NewsyslogRule())
	golden(t, "tachograph.service", LinuxLayout().SystemdUnit())
	serve := Serve{Archives: LinuxLayout().Archives, Group: "daemon", SocketGroup: "operator", Mode: 0o660}
	golden(t, "tachograph-serve.service", LinuxLayout().ServeSystemdUnit(serve))
	golden(t, "tachograph-serve.socket", LinuxLayout().ServeSystemdSocket(serve))
	// This group has the same number on all systems.
	serve.Archives, serve.SocketGroup = MacLayout().Archives, "daemon"
	job, err := MacLayout().ServePlist(serve)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "serve.plist", job)
	push := Push{URL: "https://metrics.example/api/v1/write", Archives: LinuxLayout().Archives, Group: "daemon", State: "metrics.example-1.push",
		TokenFile: "/etc/tachograph/push token", Options: []string{"--processes", "10"}}
	golden(t, "tachograph-push.service", LinuxLayout().PushSystemdUnit(push))
	push.Archives = MacLayout().Archives
	golden(t, "push.plist", MacLayout().PushPlist(push))
	agent := PMDA{Program: LinuxLayout().Recorder(), Domains: []uint32{500}, Group: "pcp", Options: []string{"--beside"}}
	golden(t, "tachograph-pmda.service", LinuxLayout().PMDASystemdUnit(agent))
	agent = PMDA{Program: MacLayout().Recorder(), Domains: []uint32{500, 3, 78}, Group: "pcp", Options: []string{"--native"}}
	golden(t, "pmda.plist", MacLayout().PMDAPlist(agent))
	// Settings of each insert follow the ?, and the password comes from a file.
	push = Push{URL: "clickhouse+https://shard-1:8443/tachograph?async_insert=1&wait_for_async_insert=1", Archives: LinuxLayout().Archives, Group: "daemon",
		State: "shard-1-8443-1.push", User: "push", PasswordFile: "/etc/tachograph/password", Options: []string{"--cluster=fleet", "--every=10m"}}
	golden(t, "tachograph-push-clickhouse.service", LinuxLayout().PushSystemdUnit(push))
	push.Archives = MacLayout().Archives
	golden(t, "push-clickhouse.plist", MacLayout().PushPlist(push))
}

// wantPlist is the plist as launchd should understand it.
var wantPlist = map[string]any{
	"Label":              "org.tachograph.recorder",
	"ProgramArguments":   []any{"/Library/Tachograph/bin/recorder", "run", "--config", "/Library/Application Support/Tachograph/tachograph.toml", "--log-file", "/Library/Logs/Tachograph/recorder.log"},
	"WorkingDirectory":   "/",
	"RunAtLoad":          true,
	"KeepAlive":          map[string]any{"SuccessfulExit": false},
	"ThrottleInterval":   30.0,
	"ExitTimeOut":        60.0,
	"ProcessType":        "Interactive",
	"Umask":              63.0,
	"SoftResourceLimits": map[string]any{"NumberOfFiles": 4096.0},
	"StandardOutPath":    "/Library/Logs/Tachograph/recorder.log",
	"StandardErrorPath":  "/Library/Logs/Tachograph/recorder.log",
}

// TestPlistReadByXML reads the plist with the XML parser and a few lines that decode
// property lists.
func TestPlistReadByXML(t *testing.T) {
	dec := xml.NewDecoder(bytes.NewReader(MacLayout().Plist()))
	dec.Strict = true
	got, err := readPlist(dec)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wantPlist) {
		t.Errorf("got  %v\nwant %v", got, wantPlist)
	}
}

// TestPlistReadByPython reads the plist with Python's plistlib, if Python is installed.
func TestPlistReadByPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python here")
	}
	cmd := exec.Command(python, "-c", "import plistlib,sys,json; json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)")
	cmd.Stdin = bytes.NewReader(MacLayout().Plist())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, wantPlist) {
		t.Errorf("got  %v, %v\nwant %v", got, err, wantPlist)
	}
}

func TestPlistEscapes(t *testing.T) {
	l := MacLayout()
	l.Log = `/odd/<&>"'` + "é"
	got, err := readPlist(xml.NewDecoder(bytes.NewReader(l.Plist())))
	if err != nil || got.(map[string]any)["StandardErrorPath"] != l.Log {
		t.Errorf("read back %v, %v", got, err)
	}
}

// readPlist reads the next value of a property list.
func readPlist(dec *xml.Decoder) (any, error) {
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			switch tok.Name.Local {
			case "plist":
				continue
			case "dict":
				return readDict(dec)
			case "array":
				return readArray(dec)
			case "true", "false":
				return tok.Name.Local == "true", dec.Skip()
			}
			var text string
			if err := dec.DecodeElement(&text, &tok); err != nil {
				return nil, err
			}
			if tok.Name.Local == "integer" {
				var n float64
				err := json.Unmarshal([]byte(text), &n)
				return n, err
			}
			return text, nil
		case xml.EndElement:
			return nil, io.EOF
		}
	}
}

func readDict(dec *xml.Decoder) (any, error) {
	d := make(map[string]any)
	for {
		k, err := readPlist(dec)
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		if d[k.(string)], err = readPlist(dec); err != nil {
			return nil, err
		}
	}
}

func readArray(dec *xml.Decoder) (any, error) {
	var a []any
	for {
		v, err := readPlist(dec)
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
}

func TestUnitQuotes(t *testing.T) {
	l := LinuxLayout()
	l.Config = `/etc/my 100% "tachograph".toml`
	if want := `run --config "/etc/my 100%% \"tachograph\".toml"`; !strings.Contains(string(l.SystemdUnit()), want) {
		t.Errorf("%s\nlacks %s", l.SystemdUnit(), want)
	}
}

// TestUnitIsHeldTight lets systemd-analyze rate the unit, if it is installed and can do so
// without a running systemd.
func TestUnitIsHeldTight(t *testing.T) {
	unit := LinuxLayout().SystemdUnit()
	for _, need := range []string{"ProcSubset=", "PrivateNetwork=yes", "PrivateUsers=yes", "ProtectHostname=yes", "ProtectHome=yes"} {
		if strings.Contains(string(unit), need) {
			t.Errorf("%s takes metrics away", need)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze here: the mark is not looked at")
		return
	}
	path := filepath.Join(t.TempDir(), Unit)
	if err := os.WriteFile(path, unit, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", path).CombinedOutput()
	_, mark, ok := strings.Cut(string(out), "Overall exposure level for "+Unit+": ")
	if !ok {
		t.Logf("systemd-analyze gives no mark: %v", err)
		return
	}
	if v, err := strconv.ParseFloat(strings.Fields(mark)[0], 64); err != nil || v > 3.0 {
		t.Errorf("exposure %s, want 3.0 at most\n%s", strings.Fields(mark)[0], out)
	}
}
