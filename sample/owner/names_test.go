package owner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// machine is a root directory with files.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNames(t *testing.T) {
	const (
		docker = "var/lib/docker/containers/" + number + "/config.v2.json"
		tasks  = "run/containerd/io.containerd.runtime.v2.task/"
		crio   = "var/lib/containers/storage/overlay-containers/"
		logs   = "var/log/containers/"
	)
	for what, c := range map[string]struct {
		files   map[string]string
		runtime string
		want    Named
	}{
		"no file": {nil, "docker", Named{}},
		"Docker":  {map[string]string{docker: `{"ID":"x","Name":"/web","Config":{"Labels":{"password":"x"}}}`}, "docker", Named{Container: "web"}},
		"Docker elsewhere": {map[string]string{"etc/docker/daemon.json": `{"data-root":"/data/docker"}`,
			"data/docker/containers/" + number + "/config.v2.json": `{"Name":"/web"}`}, "", Named{Container: "web"}},
		"Docker of Kubernetes": {map[string]string{docker: `{"Name":"/k8s_cart_cart-7d9f_shop_x_0","Config":{"Labels":{"io.kubernetes.container.name":"cart","io.kubernetes.pod.name":"cart-7d9f","io.kubernetes.pod.namespace":"shop"}}}`},
			"docker", Named{Container: "cart", Pod: "shop/cart-7d9f"}},
		"containerd": {map[string]string{tasks + "k8s.io/" + number + "/config.json": `{"process":{"env":["SECRET=1"]},"annotations":{"io.kubernetes.cri.container-name":"cart","io.kubernetes.cri.sandbox-name":"cart-7d9f","io.kubernetes.cri.sandbox-namespace":"shop"}}`},
			"cri-containerd", Named{Container: "cart", Pod: "shop/cart-7d9f"}},
		"its sandbox": {map[string]string{tasks + "k8s.io/" + number + "/config.json": `{"annotations":{"io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri.sandbox-name":"cart-7d9f","io.kubernetes.cri.sandbox-namespace":"shop"}}`},
			"cri-containerd", Named{Container: "pause", Pod: "shop/cart-7d9f"}},
		"nerdctl": {map[string]string{tasks + "default/" + number + "/config.json": `{"annotations":{"nerdctl/name":"web"}}`}, "", Named{Container: "web"}},
		"CRI-O": {map[string]string{crio + number + "/userdata/config.json": `{"annotations":{"io.kubernetes.container.name":"cart","io.kubernetes.pod.name":"cart-7d9f","io.kubernetes.pod.namespace":"shop"}}`},
			"crio", Named{Container: "cart", Pod: "shop/cart-7d9f"}},
		"Podman":             {map[string]string{crio + "containers.json": `[{"id":"` + other + `","names":["db"]},{"id":"` + number + `","names":["web"]}]`}, "libpod", Named{Container: "web"}},
		"Podman's metadata":  {map[string]string{crio + "containers.json": `[{"id":"` + number + `","metadata":"{\"name\":\"web\"}"}]`}, "libpod", Named{Container: "web"}},
		"logs of Kubernetes": {map[string]string{logs + "cart-7d9f_shop_cart-" + number + ".log": "", logs + "nonsense.log": "", logs + "a_b-" + other + ".log": ""}, "crio", Named{Container: "cart", Pod: "shop/cart-7d9f"}},
		"too large":          {map[string]string{docker: `{"Name":"/web"}` + strings.Repeat(" ", largest)}, "docker", Named{}},
		"nonsense":           {map[string]string{docker: `{"Name":`, crio + "containers.json": `{}`, tasks + "x/" + number + "/config.json": "[]"}, "", Named{}},
		"other types":        {map[string]string{docker: `{"Name":["/web"]}`}, "docker", Named{}},
	} {
		n := NewNames(machine(t, c.files))
		for range 2 {
			got := n.Of(InContainer{ID: number, Runtime: c.runtime})
			if (got.From == "") != (got.Container == "") {
				t.Errorf("%s: from %q", what, got.From)
			}
			if got.From = ""; got != c.want {
				t.Errorf("%s: %+v, want %+v", what, got, c.want)
			}
		}
	}
}

// A file that is a pipe or a link is not read: a pipe would wait for a writer.
func TestNamesOnlyInFiles(t *testing.T) {
	root := machine(t, map[string]string{"elsewhere": `{"Name":"/web"}`})
	dir := filepath.Join(root, "var/lib/docker/containers", number)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.v2.json")
	look := func(what string) {
		t.Helper()
		if got := NewNames(root).Of(InContainer{ID: number}); got != (Named{}) {
			t.Errorf("%s: %+v", what, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	look("a pipe")
	if err := os.Symlink(filepath.Join(root, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	look("a link")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	look("a directory")
	if got := NewNames(root).Of(InContainer{ID: "../../../elsewhere"}); got != (Named{}) {
		t.Errorf("a path in place of a number: %+v", got)
	}
}

// The lists of Podman and Kubernetes are read again when they have changed.
func TestNamesOfNewContainers(t *testing.T) {
	root := machine(t, map[string]string{"var/log/containers/a_b_c-" + other + ".log": ""})
	n := NewNames(root)
	if got := n.Of(InContainer{ID: number, Runtime: "crio"}); got != (Named{}) {
		t.Errorf("before it exists: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(root, "var/log/containers/cart-7d9f_shop_cart-"+number+".log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.Of(InContainer{ID: number, Runtime: "crio"}); got != (Named{Container: "cart", Pod: "shop/cart-7d9f", From: "/var/log/containers"}) {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestOwner(t *testing.T) {
	user := func(uid string) string { return map[string]string{"1000": "anna"}[uid] }
	for path, want := range map[string][NumFields]string{
		"/system.slice/ssh.service":                   {Service: "ssh.service"},
		"/user.slice/user-1000.slice/session-3.scope": {Session: "3 of anna"},
		"/docker/" + number:                           {Container: number[:12]},
		"/lxc.payload.web":                            {Container: "web"},
		"/kubepods/pod" + uuid + "/" + number:         {Container: number[:12], Pod: uuid},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.mozilla.firefox-1.scope": {App: "firefox", Bundle: "org.mozilla.firefox"},
		"/evil\x1b[2J": {Service: "/evil?[2J"},
	} {
		f := OfPath(path)
		o := f.Owner(Named{}, user)
		for field := range NumFields {
			name, why := o.Get(field)
			if name != want[field] {
				t.Errorf("%s: %s is %q, want %q", path, field, name, want[field])
			}
			if (name == "") == (why == 0) {
				t.Errorf("%s: %s is %q, and the reason %s", path, field, name, why)
			}
		}
	}
	f := OfPath("/kubepods/pod" + uuid + "/" + number)
	o := f.Owner(Named{Container: "cart", Pod: "shop/cart-7d9f"}, user)
	if got := o.Labels(); len(got) != 2 || got[0].Value != "shop/cart-7d9f" || got[1].Value != "cart" {
		t.Errorf("labels %v", got)
	}
}

func TestSet(t *testing.T) {
	var s Set
	a, b := Owner{}, Owner{}
	a.Put(App, "Safari")
	b.Put(App, "Safari")
	p := s.Of(a)
	if s.Of(b) != p {
		t.Error("equal owners are kept twice")
	}
	b.Put(Team, "Apple")
	if s.Of(b) == p || s.Len() != 2 {
		t.Error("different owners are one")
	}
	s.Keep(func(yield func(*Owner) bool) { yield(p) })
	if s.Len() != 1 || s.Of(a) != p {
		t.Error("an owner in use was dropped")
	}
	a.Put(App, strings.Repeat("ä", longest))
	if name, _ := a.Get(App); len(name) > longest+4 {
		t.Errorf("a name of %d bytes", len(name))
	}
}

func FuzzOfPath(f *testing.F) {
	f.Add("0::/system.slice/docker-" + number + ".scope\n")
	f.Add("0::/kubepods/pod" + uuid + "/" + number + "\n9:name=systemd:/../x (deleted)\n")
	f.Add(`0::/user.slice/user-1000.slice/app.slice/app-dbus\x2d:1.2\x2dorg.slice/dbus-:1.2-a@0.service` + "\n")
	f.Add("0::/ecs/" + static + "/" + static + "-1\n0::/a:b:" + number)
	f.Fuzz(func(t *testing.T, text string) {
		Line([]byte(text))
		path := Path([]byte(text))
		if path == "" || path[0] != '/' {
			t.Fatalf("path %q", path)
		}
		found := OfPath(path)
		o := found.Owner(Named{}, func(uid string) string { return uid })
		for field := range NumFields {
			name, why := o.Get(field)
			if (name == "") == (why == 0) {
				t.Fatalf("%s is %q, and the reason %s", field, name, why)
			}
			for _, r := range name {
				if r < ' ' {
					t.Fatalf("%s is %q", field, name)
				}
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add(`{"Name":"/web","Config":{"Labels":{"io.kubernetes.pod.name":"a"}}}`)
	f.Add(`{"annotations":{"nerdctl/name":"web"}}`)
	f.Add(`[{"id":"1","names":["a"]},{"id":"2","metadata":"{\"name\":\"b\"}"}]`)
	f.Add("cart-7d9f_shop_cart-" + number + ".log")
	f.Fuzz(func(_ *testing.T, text string) {
		dockerNames([]byte(text))
		specNames([]byte(text))
		podmanNames([]byte(text))
		logNames(text)
	})
}
