package owner

import (
	"strings"
	"testing"
)

func TestPlaceOf(t *testing.T) {
	const chrome = "/Applications/Google Chrome.app"
	const framework = chrome + "/Contents/Frameworks/Google Chrome Framework.framework/Versions/131.0/Helpers/"
	const xcode = "/Applications/Xcode.app"
	for _, c := range []struct {
		name, exe, app, service string
		tool                    bool
	}{
		{"an app", "/Applications/Safari.app/Contents/MacOS/Safari", "/Applications/Safari.app", "", false},
		{"an app of macOS", "/System/Cryptexes/App/System/Applications/Safari.app/Contents/MacOS/Safari", "/System/Cryptexes/App/System/Applications/Safari.app", "", false},
		{"a helper", framework + "Google Chrome Helper (Renderer).app/Contents/MacOS/Google Chrome Helper (Renderer)", chrome, "", false},
		{"a program beside the helpers", framework + "chrome_crashpad_handler", chrome, "", true},
		{"a service in an app", "/Applications/A.app/Contents/XPCServices/com.a.Worker.xpc/Contents/MacOS/com.a.Worker", "/Applications/A.app", "com.a.Worker", false},
		{"an extension", "/Applications/A.app/Contents/PlugIns/Share.appex/Contents/MacOS/Share", "/Applications/A.app", "Share", false},
		{"a login item", "/Applications/A.app/Contents/Library/LoginItems/A Helper.app/Contents/MacOS/A Helper", "/Applications/A.app", "", false},
		{"a system extension", "/Applications/A.app/Contents/Library/SystemExtensions/com.a.net.systemextension/Contents/MacOS/com.a.net", "/Applications/A.app", "com.a.net", false},
		{"a tool in an app", "/Applications/Docker.app/Contents/Resources/bin/docker", "/Applications/Docker.app", "", true},
		{"a translocated app", "/private/var/folders/zz/x/T/AppTranslocation/0A1B/d/New.app/Contents/MacOS/New", "/private/var/folders/zz/x/T/AppTranslocation/0A1B/d/New.app", "", false},
		{"an app of iOS", "/Applications/Game.app/Wrapper/Runner.app/Runner", "/Applications/Game.app", "", false},
		{"an extension of an app of iOS", "/Applications/Game.app/Wrapper/Runner.app/PlugIns/Widget.appex/Widget", "/Applications/Game.app", "Widget", false},
		{"a compiler", xcode + "/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/bin/clang", xcode, "", true},
		{"a language in a development app", xcode + "/Contents/Developer/Library/Frameworks/Python3.framework/Versions/3.9/Resources/Python.app/Contents/MacOS/Python", xcode, "", true},
		{"a language", "/Library/Frameworks/Python.framework/Versions/3.12/Resources/Python.app/Contents/MacOS/Python", "", "", false},
		{"an app in an app", xcode + "/Contents/Developer/Applications/Simulator.app/Contents/MacOS/Simulator", xcode + "/Contents/Developer/Applications/Simulator.app", "", false},
		{"another", xcode + "/Contents/Applications/Instruments.app/Contents/MacOS/Instruments", xcode + "/Contents/Applications/Instruments.app", "", false},
		{"a service of macOS", "/System/Library/Frameworks/WebKit.framework/Versions/A/XPCServices/com.apple.WebKit.WebContent.xpc/Contents/MacOS/com.apple.WebKit.WebContent", "", "com.apple.WebKit.WebContent", false},
		{"a driver", "/System/Library/DriverExtensions/com.apple.d.dext/com.apple.d", "", "com.apple.d", false},
		{"in capitals", "/Applications/OLD.APP/Contents/MacOS/OLD", "/Applications/OLD.APP", "", false},
		{"a daemon", "/usr/libexec/logd", "", "", false},
		{"a program with the name of an app", "/tmp/x.app", "", "", false},
		{"an app without a name", "/tmp/.app/Contents/MacOS/x", "", "", false},
		{"a copy of an app", "/tmp/A.app.bak/Contents/MacOS/A", "", "", false},
		{"two slashes", "//Applications//A.app//Contents/MacOS/A", "//Applications//A.app", "", true},
		{"no file", "", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := PlaceOf(c.exe)
			if main := p.Main; main != (strings.TrimSuffix(p.App, ".app")+".app/Contents/MacOS/"+p.Name() == c.exe) && c.name != "in capitals" {
				t.Errorf("main: %v", main)
			}
			if p.App != c.app || p.Service != c.service || p.Tool != c.tool {
				t.Errorf("app %q, service %q, tool %v", p.App, p.Service, p.Tool)
			}
		})
	}
}

func TestNameOfApp(t *testing.T) {
	for exe, want := range map[string]string{
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome": "Google Chrome",
		"/Applications/OLD.APP/Contents/MacOS/OLD":                     "OLD",
		"A.app/Contents/MacOS/A":                                       "A",
		"/usr/bin/ls":                                                  "",
	} {
		if got := PlaceOf(exe).Name(); got != want {
			t.Errorf("%s: %q, want %q", exe, got, want)
		}
	}
}

func FuzzPlaceOf(f *testing.F) {
	f.Add("/Applications/A.app/Contents/XPCServices/b.xpc/Contents/MacOS/b")
	f.Add("/Library/Frameworks/P.framework/Versions/3/Resources/P.app/Contents/MacOS/P")
	f.Fuzz(func(t *testing.T, exe string) {
		p := PlaceOf(exe)
		if !strings.HasPrefix(exe, p.App) || p.App != "" && p.Name() == "" || p.App == "" && p.Tool {
			t.Errorf("%q: %+v", exe, p)
		}
		if same := samePath(exe); samePath(same) != same && !strings.Contains(same, "ryptexes") {
			t.Errorf("%q: %q, and then %q", exe, same, samePath(same))
		}
	})
}
