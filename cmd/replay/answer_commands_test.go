package main

import (
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/store/query/querytest"
)

// recordedText writes the only part of a description in testdata as a recorder would have.
func recordedText(t testing.TB, name string) string {
	t.Helper()
	parts, err := querytest.Load("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writePart(t, parts[0], dir)
	return dir
}

// What programs get of the network, of energy, of deaths, of plots and of damage is what
// --format json prints.
func TestAnswersAboutMore(t *testing.T) {
	t.Parallel()
	two := uint32(2)
	minutes := func(n int64) *durationpb.Duration { return &durationpb.Duration{Seconds: 60 * n} }
	net := func(q *tachographv1.NetQuestion) *tachographv1.QueryRequest {
		return &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Net{Net: q}}
	}
	compareAnswers(t, "net.txt ", recordedText(t, "net.txt"), map[string]*tachographv1.QueryRequest{
		"net":                               net(nil),
		"net --by out --group owner -n 2":   net(&tachographv1.NetQuestion{By: "out", Group: "owner", Number: &two}),
		"net nginx --protocol tcp":          net(&tachographv1.NetQuestion{Match: []string{"nginx"}, Protocol: "tcp"}),
		"net --medium moon":                 net(&tachographv1.NetQuestion{Medium: "moon"}),
		"net --peers":                       net(&tachographv1.NetQuestion{Peers: true}),
		"net --connections --listeners":     net(&tachographv1.NetQuestion{Connections: true, Listeners: true}),
		"net --listeners":                   net(&tachographv1.NetQuestion{Listeners: true}),
		"net --connections --at " + clock12: net(&tachographv1.NetQuestion{Connections: true, At: at(12 * time.Minute)}),
		"top node* --by net":                {Question: &tachographv1.QueryRequest_Top{Top: &tachographv1.TopQuestion{By: "net", Match: []string{"node*"}}}},
		"ps --group owner -n 2":             {Question: &tachographv1.QueryRequest_Processes{Processes: &tachographv1.ProcessesQuestion{Group: "owner", Number: 2}}},
		"ps --tree":                         {Question: &tachographv1.QueryRequest_Processes{Processes: &tachographv1.ProcessesQuestion{Tree: true}}},
		"diff --before 5m --after 4m --at " + clock12: {Question: &tachographv1.QueryRequest_Diff{Diff: &tachographv1.DiffQuestion{
			Before: minutes(5), After: minutes(4), At: at(12 * time.Minute)}}},
	})
	compareAnswers(t, "energy.txt ", recordedText(t, "energy.txt"), map[string]*tachographv1.QueryRequest{
		"energy": {Question: &tachographv1.QueryRequest_Energy{}},
		"energy --on-battery --group name -n 2": {Question: &tachographv1.QueryRequest_Energy{Energy: &tachographv1.EnergyQuestion{
			OnBattery: true, Group: "name", Number: &two}}},
	})
	deaths := recordedText(t, "deaths.txt")
	compareAnswers(t, "deaths.txt ", deaths, map[string]*tachographv1.QueryRequest{
		"deaths":            {Question: &tachographv1.QueryRequest_Deaths{}},
		"deaths --all -n 2": {Question: &tachographv1.QueryRequest_Deaths{Deaths: &tachographv1.DeathsQuestion{All: true, Number: &two}}},
		"deaths java":       {Question: &tachographv1.QueryRequest_Deaths{Deaths: &tachographv1.DeathsQuestion{Match: []string{"java"}}}},
		"deaths --explain":  {Question: &tachographv1.QueryRequest_Deaths{Deaths: &tachographv1.DeathsQuestion{Explain: true}}},
		"diff --across-update nginx --before 5m": {Question: &tachographv1.QueryRequest_Diff{Diff: &tachographv1.DiffQuestion{
			AcrossUpdate: true, Package: "nginx", Before: minutes(5)}}},
		"deaths nobody --all": {Question: &tachographv1.QueryRequest_Deaths{Deaths: &tachographv1.DeathsQuestion{Match: []string{"nobody"}, All: true}}},
	})
	compareAnswers(t, "mac.txt ", recordedMac(t, false), map[string]*tachographv1.QueryRequest{
		"plot kernel disk": {Question: &tachographv1.QueryRequest_Plot{Plot: &tachographv1.PlotQuestion{Metrics: []string{"kernel", "disk"}}}},
		"plot network.interface.in.bytes -i en0 --points 7 --from 2026-11-20T03:02:00Z": {From: at(2 * time.Minute), Question: &tachographv1.QueryRequest_Plot{
			Plot: &tachographv1.PlotQuestion{Metrics: []string{"network.interface.in.bytes"}, Instances: []string{"en0"}, Points: 7}}},
		"verify":               {Question: &tachographv1.QueryRequest_Verify{}},
		"values mem --explain": {Question: &tachographv1.QueryRequest_Values{Values: &tachographv1.ValuesQuestion{Metrics: []string{"mem"}, Explain: true}}},
	})
	compareAnswers(t, "damaged ", damagedArchive(t), map[string]*tachographv1.QueryRequest{
		"verify": {Question: &tachographv1.QueryRequest_Verify{}},
	})
}

// clock12 is at(12 * time.Minute).
const clock12 = "2026-11-20T03:12:00Z"

// damagedArchive makes an archive of which a part of the values is gone.
func damagedArchive(t *testing.T) string {
	t.Helper()
	path := finishedArchive(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(fullest(b, 600))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
