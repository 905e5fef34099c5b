package owner

import (
	"strings"
	"testing"
)

const (
	number = "4f1c0e9a7b6d5c4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f"
	other  = "aa1c0e9a7b6d5c4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f"
	uuid   = "0f3c1b2a-1111-4222-8333-444455556666"
	static = "9b1d0c2e3f4a5b6c7d8e9f0a1b2c3d4e"
)

var underscored = strings.ReplaceAll(uuid, "-", "_")

// Each path is as the runtime or the desktop called that makes it.
func TestOfPath(t *testing.T) {
	docker := InContainer{ID: number, Runtime: "docker"}
	libpod := InContainer{ID: number, Runtime: "libpod"}
	containerd := InContainer{ID: number, Runtime: "cri-containerd"}
	named := func(name, runtime string) InContainer { return InContainer{ID: name, Name: name, Runtime: runtime} }
	manager := "/user.slice/user-1000.slice/user@1000.service"
	for path, want := range map[string]Found{
		"/":                             {},
		"/init.scope":                   {Unit: "init.scope"},
		"/system.slice/ssh.service":     {Unit: "ssh.service"},
		"/system.slice":                 {Unit: "system.slice"},
		"/system.slice/dbus.socket":     {Unit: "dbus.socket"},
		"/process_api/1dba17":           {Unit: "/process_api/1dba17"},
		"/system.slice/run-r3f.scope":   {Unit: "run-r3f.scope"},
		"/system.slice/run-u12.service": {Unit: "run-u12.service"},
		"/system.slice/system-getty.slice/getty@tty1.service":        {Unit: "getty@tty1.service"},
		`/system.slice/system-systemd\x2dcryptsetup.slice/x.service`: {Unit: "x.service"},
		"/system.slice/snap.lxd.daemon.service":                      {Unit: "snap.lxd.daemon.service"},
		"/user.slice/user-1000.slice/session-3.scope":                {Session: "3", UID: "1000"},
		"/user.slice/user-1000.slice/session-c2.scope":               {Session: "c2", UID: "1000"},
		"/user.slice/user-1000.slice":                                {UID: "1000", Unit: "user-1000.slice"},
		manager + "/init.scope":                                      {UID: "1000", Unit: "user@1000.service"},
		manager + "/session.slice/pipewire.service":                  {UID: "1000", Unit: "pipewire.service"},
		manager + "/background.slice/plasma-baloorunner.service":     {UID: "1000", Unit: "plasma-baloorunner.service"},

		manager + "/app.slice/app-gnome-firefox-4711.scope":                                                        {UID: "1000", App: "firefox"},
		manager + "/app.slice/app-firefox-4711.scope":                                                              {UID: "1000", App: "firefox"},
		manager + `/app.slice/app-gnome-google\x2dchrome-9.scope`:                                                  {UID: "1000", App: "google-chrome"},
		manager + "/app.slice/app-org.kde.konsole@3f2a.service":                                                    {UID: "1000", App: "org.kde.konsole"},
		manager + "/app.slice/app-flatpak-org.mozilla.firefox-123.scope":                                           {UID: "1000", App: "org.mozilla.firefox"},
		manager + "/app.slice/snap.firefox.firefox-0f3c1b2a.scope":                                                 {UID: "1000", App: "firefox"},
		manager + `/app.slice/app-dbus\x2d:1.2\x2dorg.gnome.Nautilus.slice/dbus-:1.2-org.gnome.Nautilus@0.service`: {UID: "1000", App: "org.gnome.Nautilus"},
		manager + "/app.slice/app-org.gnome.Terminal.slice/vte-spawn-0f3c1b2a.scope":                               {UID: "1000", App: "org.gnome.Terminal"},
		manager + "/app.slice/app-org.gnome.Terminal.slice/gnome-terminal-server.service":                          {UID: "1000", App: "org.gnome.Terminal", Unit: "gnome-terminal-server.service"},

		"/system.slice/docker-" + number + ".scope":                                         {Container: docker},
		"/docker/" + number:                                                                 {Container: docker},
		"/docker/" + number + "/docker/" + other:                                            {Container: docker},
		"/docker/" + number + "/system.slice/nginx.service":                                 {Container: docker, Unit: "nginx.service"},
		"/docker/" + number + "/user.slice/user-0.slice/session-1.scope":                    {Container: docker, Unit: "session-1.scope"},
		"/docker/buildkit/x9k2":                                                             {Container: InContainer{ID: "x9k2", Name: "buildkit", Runtime: "buildkit"}},
		"/system.slice/docker.service":                                                      {Unit: "docker.service"},
		manager + "/user.slice/docker-" + number + ".scope":                                 {UID: "1000", Container: docker},
		"/machine.slice/libpod-" + number + ".scope":                                        {Container: libpod},
		"/machine.slice/libpod-" + number + ".scope/container":                              {Container: libpod},
		"/machine.slice/libpod-conmon-" + number + ".scope":                                 {Unit: "libpod-conmon-" + number[:12] + ".scope"},
		"/system.slice/web.service/libpod-payload-" + number:                                {Container: libpod, Unit: "web.service"},
		manager + "/user.slice/libpod-" + number + ".scope/container":                       {UID: "1000", Container: libpod},
		"/machine.slice/machine-libpod_pod_" + other + ".slice/libpod-" + number + ".scope": {Pod: other[:12], Container: libpod},
		"/system.slice/" + number + "-3f2a.service":                                         {Unit: number[:12] + "-3f2a.service"},

		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + underscored + ".slice/cri-containerd-" + number + ".scope":                                         {Pod: uuid, Container: containerd},
		"/kubepods.slice/kubepods-pod" + underscored + ".slice/crio-" + number + ".scope":                                                                                      {Pod: uuid, Container: InContainer{ID: number, Runtime: "crio"}},
		"/kubepods.slice/kubepods-pod" + underscored + ".slice/crio-conmon-" + number + ".scope":                                                                               {Pod: uuid, Unit: "crio-conmon-" + number[:12] + ".scope"},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice/docker-" + number + ".scope":                                                      {Pod: static, Container: docker},
		"/kubepods/burstable/pod" + uuid + "/" + number:                                                                                                                        {Pod: uuid, Container: InContainer{ID: number}},
		"/kubepods/pod" + uuid + "/" + number:                                                                                                                                  {Pod: uuid, Container: InContainer{ID: number}},
		"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + underscored + ".slice/cri-containerd-" + number + ".scope": {Pod: uuid, Container: containerd},
		"/system.slice/containerd.service/kubepods-burstable-pod" + underscored + ".slice:cri-containerd:" + number:                                                            {Pod: uuid, Container: containerd, Unit: "containerd.service"},
		"/docker/" + other + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + underscored + ".slice/cri-containerd-" + number + ".scope":                         {Pod: uuid, Container: InContainer{ID: other, Runtime: "docker"}},
		"/k8s.io/" + number:              {Container: InContainer{ID: number, Runtime: "containerd", Namespace: "k8s.io"}},
		"/default/" + number:             {Container: InContainer{ID: number, Runtime: "containerd", Namespace: "default"}},
		"/default/redis":                 {Container: InContainer{ID: "redis", Name: "redis", Runtime: "containerd", Namespace: "default"}},
		"/system.slice:docker:" + number: {Container: docker},

		"/lxc.payload.web": {Container: named("web", "lxc")},
		"/lxc.payload.web/system.slice/nginx.service": {Container: named("web", "lxc"), Unit: "nginx.service"},
		"/lxc.monitor.web":                            {Unit: "lxc.monitor.web"},
		"/lxc/101/ns/init.scope":                      {Container: named("101", "lxc"), Unit: "init.scope"},
		`/machine.slice/machine-qemu\x2d3\x2dbuild\x2dhost.scope/libvirt/emulator`: {Container: named("build-host", "qemu")},
		"/qemu.slice/101.scope":                                  {Container: named("101", "qemu")},
		`/machine.slice/systemd-nspawn@my\x2ddb.service/payload`: {Container: named("my-db", "nspawn")},
		"/machine.slice/machine-web.scope":                       {Container: named("web", "machine")},

		"/ecs/" + static + "/" + number:                                             {Pod: "ecs/" + static, Container: InContainer{ID: number}},
		"/ecs/" + static + "/" + static + "-2001":                                   {Pod: "ecs/" + static, Container: named(static+"-2001", "ecs")},
		"/ecstasks.slice/ecstasks-" + static + ".slice/docker-" + number + ".scope": {Pod: "ecs/" + static, Container: docker},
		"/nomad.slice/share.slice/" + uuid + ".redis.scope":                         {Container: InContainer{ID: uuid + ".redis", Name: "redis-0f3c1b2a", Runtime: "nomad"}},

		"/../../system.slice/ssh.service": {Outside: true, Unit: "ssh.service"},
		"/..":                             {Outside: true},
		"/../../" + number:                {Outside: true, Container: InContainer{ID: number}},
	} {
		if got := OfPath(path); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", path, got, want)
		}
	}
}

func TestPath(t *testing.T) {
	for text, want := range map[string]string{
		"0::/system.slice/ssh.service\n":                                                   "/system.slice/ssh.service",
		"9:name=systemd:/\n4:memory:/api/1\n0::/\n":                                        "/api/1",
		"4:memory:/system.slice/a.service\n1:name=systemd:/system.slice/b.service\n0::/\n": "/system.slice/b.service",
		"1:name=systemd:/system.slice/b.service\n0::/system.slice/b.service\n":             "/system.slice/b.service",
		"12:pids:/docker/" + number + "\n1:name=systemd:/docker/" + number + "\n":          "/docker/" + number,
		"0::/a.service (deleted)\n":                                                        "/a.service",
		"0::/../../x\n":                                                                    "/../../x",
		"":                                                                                 "/",
		"nonsense\n::\n0:\n":                                                               "/",
	} {
		if got := Path([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got, want := Line([]byte("2:cpu:/\n1:cpuset:/\n0::/x\n")), "cpu:/;cpuset:/;:/x"; got != want {
		t.Errorf("as ps writes it: %s, want %s", got, want)
	}
}

func TestAppName(t *testing.T) {
	for id, want := range map[string]string{
		"org.gnome.Nautilus": "Nautilus", "firefox": "firefox", "google-chrome": "google-chrome",
		"org.kde.konsole": "konsole", "jetbrains.goland": "jetbrains.goland", "a.b.": "a.b.", "x.y.2": "x.y.2", "": "",
	} {
		if got := AppName(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
	for s, want := range map[string]string{`a\x2db`: "a-b", `a\x2`: `a\x2`, `\xzz`: `\xzz`, `\x41\x42`: "AB", "": ""} {
		if got := Unescape(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
