package launchd

import "testing"

func TestParsePrint(t *testing.T) {
	for _, tc := range []struct {
		name, out string
		want      State
	}{
		{"running", "system/x = {\n\tstate = running\n\tpid = 77\n\tlast exit code = (never exited)\n}\n", State{Running: true, PID: 77}},
		{"waiting to be started again", "system/x = {\n\tstate = spawn scheduled\n\tlast exit code = 1\n}\n", State{LastExit: "last exit code 1"}},
		{"killed", "system/x = {\n\tstate = not running\n\tlast terminating signal = Killed: 9\n}\n", State{LastExit: "last terminating signal Killed: 9"}},
		{"states of endpoints are not ours", "system/x = {\n\tstate = not running\n\tendpoints = {\n\t\tstate = running\n\t\tpid = 5\n\t}\n}\n", State{}},
		{"nothing", "", State{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got State
			parsePrint(tc.out, &got)
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestIsDisabled(t *testing.T) {
	for out, want := range map[string]bool{
		"disabled services = {\n\t\"org.tachograph.recorder\" => disabled\n}": true,
		"disabled services = {\n\t\"org.tachograph.recorder\" => true\n}":     true,
		"disabled services = {\n\t\"org.tachograph.recorder\" => enabled\n}":  false,
		"disabled services = {\n\t\"org.tachograph.recorder2\" => true\n}":    false,
		"": false,
	} {
		if got := isDisabled(out, Label); got != want {
			t.Errorf("%q: %v", out, got)
		}
	}
}

func FuzzParsePrint(f *testing.F) {
	f.Add("system/x = {\n\tstate = running\n\tpid = 77\n}\n")
	f.Fuzz(func(t *testing.T, out string) {
		var st State
		parsePrint(out, &st)
		isDisabled(out, Label)
	})
}
