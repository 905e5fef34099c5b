package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// bundleFile returns a property list of testdata, as a text.
func bundleFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(moduleRoot, "testdata", "darwin", "bundles", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMacOwnersOfAWholeMac(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"/System/Cryptexes/App/System/Applications/Safari.app/Contents/Info.plist":               bundleFile(t, "info-binary.plist"),
		"/Applications/Google Chrome.app/Contents/Info.plist":                                    bundleFile(t, "info-utf16.plist"),
		"/private/var/folders/zz/x/T/AppTranslocation/0A1B2C3D/d/New.app/Contents/Info.plist":    bundleFile(t, "info-unicode.plist"),
		"/Users/ana/Downloads/Guarded.app/Contents/Info.plist":                                   infoPlist("com.example.Guarded", "1.0"),
		"/Applications/Bare.app/Contents/PkgInfo":                                                "APPL????",
		"/Applications/A.app/Contents/Info.plist":                                                infoPlist("com.a", "7"),
		"/Applications/Game.app/WrappedBundle/Info.plist":                                        infoPlist("com.game", "3"),
		"/System/Applications/Utilities/Terminal.app/Contents/Info.plist":                        infoPlist("com.apple.Terminal", "2.14"),
		"/System/Library/LaunchDaemons/com.apple.logd.plist":                                     bundleFile(t, "job-binary.plist"),
		"/Users/bob/Library/LaunchAgents/agent.plist":                                            strings.ReplaceAll(agentList, "PROGRAM", "/Users/bob/bin/agent"),
		"/Applications/Google Chrome.app/Contents/Library/LaunchAgents/com.google.updater.plist": agentList,
	} {
		writeBelow(t, root, name, text)
	}
	r := runWith{at: "5 15", args: "redacted", root: root, happens: map[string]float64{
		"process exec of 642 Google Chrome": 10,
	}}.on(t, "proc-owners.scn")

	const (
		app      = " | !has no terminal and works for an app"
		none     = " | !has no terminal and is not of the user at the screen"
		noLabel  = " | !no property list of launchd names its program"
		apple    = "!signed by Apple as a part of macOS"
		unsigned = "!signed by no team"
		nobodys  = "!works for no app"
		bare     = " | !the program is in no bundle | "
		safari   = app + " | com.apple.Safari | 18.5 | " + apple
		chrome   = " | com.google.Chrome | 131.0.6778.86 | EQHXZ8M8AV"
		terminal = "Terminal" + noLabel + " | 16:3 | com.apple.Terminal | 2.14 | " + apple
		nginx    = nobodys + " | org.nginx" + none + " | nginx" + bare + unsigned
	)
	for name, want := range map[string]string{
		"000000 kernel_task":                 nobodys + " | kernel" + none + bare + strings.Trim(bare, " |") + " | " + strings.Trim(bare, " |"),
		"000001 launchd":                     nobodys + " | launchd" + none + " | com.apple.launchd" + bare + apple,
		"000088 logd":                        nobodys + " | com.apple.logd" + none + " | com.apple.logd" + bare + apple,
		"000611 Safari":                      "Safari" + noLabel + safari,
		"000612 com.apple.WebKit.WebContent": "Safari | com.apple.WebKit.WebContent" + safari,
		"000613 com.apple.WebKit.GPU":        "Safari | com.apple.WebKit.GPU" + safari,
		"000620 Google Chrome":               "Google Chrome" + noLabel + app + chrome,
		"000621 Google Chrome Helper":        "Google Chrome" + noLabel + app + chrome,
		"000630 New":                         "New" + noLabel + app + " | com.example.résumé | 1.0 β | " + unsigned,
		"000631 Gone":                        "Gone" + noLabel + app + " | com.example.Gone | !vanished | " + unsigned,
		"000632 Guarded":                     "Guarded" + noLabel + app + " | com.example.Guarded | !" + guardedFolder.String() + " | ABCDE12345",
		"000633 Bare":                        "Bare" + noLabel + app + " | !" + noInfo.String() + " | !" + noInfo.String() + " | !" + badSignature.String(),
		"000634 A Helper":                    "A" + noLabel + app + " | com.a | 7 | " + unsigned,
		"000635 R":                           "Game" + noLabel + app + " | com.game | 3 | " + unsigned,
		"000640 Terminal":                    strings.Replace(terminal, " | 16:3", app, 1),
		"000641 login":                       terminal,
		"000642 zsh":                         terminal,
		"000643 clang":                       terminal,
		"000644 tmux":                        nobodys + noLabel + none + strings.Repeat(" | !"+noOwner.String(), 3),
		"000645 Google Chrome":               "Google Chrome" + noLabel + app + chrome,
		"000650 nginx":                       nginx,
		"000651 nginx":                       nginx,
		"000652 agent":                       nobodys + " | com.example.agent" + none + " | agent" + bare + unsigned,
	} {
		if got := r.owners(0, r.key(0, name)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	shell := r.key(1, "000642 Google Chrome")
	if got := r.owners(1, shell); got != "Google Chrome"+noLabel+" | 16:3"+chrome {
		t.Errorf("after exec: %s", got)
	}
	if in := r.rounds[1].Instances[shell]; in.Label(metric.OwnerApp) != "Google Chrome" || in.Label(metric.OwnerSession) != "16:3" {
		t.Errorf("labels after exec: %v", in.Labels)
	}
}

const agentList = "<dict><key>Label</key><string>com.example.agent</string><key>Program</key><string>PROGRAM</string></dict>"

// owners are the values of proc.owner of a process in a round.
func (r *run) owners(round int, key string) string {
	var list []string
	for f := range owner.NumFields {
		if f != owner.Container && f != owner.Pod {
			list = append(list, r.rounds[round].Rows[key]["proc.owner."+f.String()])
		}
	}
	return strings.Join(list, " | ")
}
