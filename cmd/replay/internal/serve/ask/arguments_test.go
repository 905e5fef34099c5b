package ask

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	tachographv1 "tachograph/api/tachograph/v1"
)

// flags are all that may stand before "--": what they begin with is what may be
// given by a client.
var flags = []string{"--host=", "--tz=", "--from=", "--to=", "--instance=", "--step=", "--units=", "--explain=true", "--rates=true", "--quick=true",
	"--exact=true", "--at=", "--sort=", "--number=", "--by=", "--group=", "--kind=", "--for=", "--all=true", "--against=",
	"--running=true", "--waiting=true", "--top=true", "--protocol=", "--medium=", "--peers=true", "--connections=true", "--listeners=true",
	"--on-battery=true", "--points=", "--before=", "--after=", "--across-update=true", "--tree=true"}

var commands = []string{"rates", "values", "ranges", "ps", "threads", "top", "at", "diff", "events", "summary", "find", "info", "metrics", "explain", "why", "stacks",
	"net", "energy", "deaths", "plot", "verify"}

// withoutOperands are the commands whose operands would be archives.
var withoutOperands = []string{"events", "summary", "info", "why", "energy", "verify"}

// FuzzArguments makes command lines of whatever a client may send: before "--" there
// are the command and flags of the table only.
func FuzzArguments(f *testing.F) {
	for _, r := range []*tachographv1.QueryRequest{
		{Question: &tachographv1.QueryRequest_Rates{Rates: &tachographv1.RatesQuestion{Metrics: []string{"--archive=/etc", "-h"}, Instances: []string{"--derived=x"}}}},
		{Hosts: []string{"--", "@x"}, Zone: "--archive", From: &timestamppb.Timestamp{Seconds: 1}, Question: &tachographv1.QueryRequest_Top{Top: &tachographv1.TopQuestion{By: "-n", Group: "\n--archive"}}},
		{To: &timestamppb.Timestamp{Nanos: -1}, Question: &tachographv1.QueryRequest_Diff{Diff: &tachographv1.DiffQuestion{Against: "--archive=/etc"}}},
		{Question: &tachographv1.QueryRequest_Events{Events: &tachographv1.EventsQuestion{Kinds: []string{strings.Repeat("x", 5000)}}}},
		{Question: &tachographv1.QueryRequest_Overview{}},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &tachographv1.QueryRequest{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		args, err := Arguments(r)
		if err != nil {
			return
		}
		end := slices.Index(args, "--")
		if end < 0 {
			t.Fatalf("%q has no end of flags", args)
		}
		total := 0
		for i, word := range args[:end] {
			total += len(word)
			known := i == 0 && slices.Contains(commands, word)
			for _, flag := range flags {
				known = known || strings.HasSuffix(flag, "=") && strings.HasPrefix(word, flag) || word == flag
			}
			if !known {
				t.Fatalf("%q: %q is not one of ours", args, word)
			}
		}
		operands := args[end+1:]
		for _, word := range operands {
			total += len(word)
		}
		if total > 2*mostTexts || len(args) > 2*mostWords {
			t.Fatalf("%d bytes in %d words", total, len(args))
		}
		if len(operands) > 0 && (len(args) == 0 || slices.Contains(withoutOperands, args[0]) || !slices.Contains(commands, args[0])) {
			t.Fatalf("%q would open a file", args)
		}
	})
}
