package owner

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"tachograph/sample"
	"time"
)

// Names finds the names of containers in the files that their runtimes keep. No daemon is asked:
// who may ask it may do anything. Files below the homes of users are left alone: a home may be on
// a server that does not answer.
type Names struct {
	root   string
	data   string // directory of Docker
	podman listing
	logs   listing
}

// listing is what was read at once of many containers, by their numbers.
type listing struct {
	changed time.Time // the file or directory, when it was read
	moving  bool      // it had been changed just before: what came later may have the same time
	names   map[string]Named
}

// NewNames returns the names of the containers of the machine whose root directory is root.
func NewNames(root string) *Names {
	n := &Names{root: root, data: "var/lib/docker"}
	if text, err := n.read("etc/docker/daemon.json"); err == nil {
		var settings struct {
			DataRoot string `json:"data-root"`
		}
		if json.Unmarshal(text, &settings) == nil && filepath.IsAbs(settings.DataRoot) {
			n.data = settings.DataRoot
		}
	}
	return n
}

// Of returns the names of a container; those that cannot be had are empty.
func (n *Names) Of(c InContainer) (found Named) {
	if !hex64(c.ID) {
		return found
	}
	for _, look := range n.places(c.Runtime) {
		names, from := look(c)
		if names.Pod == "" {
			names.Pod = found.Pod
		}
		found = names
		if found.Container != "" {
			found.From = from
			return found
		}
	}
	return found
}

// places returns where to look for the names of a runtime's containers, the most likely first.
func (n *Names) places(runtime string) []func(InContainer) (Named, string) {
	switch runtime {
	case "libpod":
		return []func(InContainer) (Named, string){n.ofPodman}
	case "crio":
		return []func(InContainer) (Named, string){n.ofLogs, n.ofCRIO}
	case "docker":
		return []func(InContainer) (Named, string){n.ofLogs, n.ofDocker}
	case "cri-containerd", "containerd", "nerdctl":
		return []func(InContainer) (Named, string){n.ofLogs, n.ofContainerd}
	}
	return []func(InContainer) (Named, string){n.ofLogs, n.ofDocker, n.ofContainerd, n.ofCRIO, n.ofPodman}
}

// largest is the size of the largest file that is read.
const largest = 1 << 20

var errTooLarge = errors.New("the file is too large")

// read reads a file below the root. It reads nothing but ordinary files, and does not wait.
func (n *Names) read(path string) ([]byte, error) {
	f, info, err := sample.OpenRegular(filepath.Join(n.root, path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > largest {
		return nil, errTooLarge
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(text) > largest {
		err = errTooLarge
	}
	return text, err
}

func (n *Names) ofDocker(c InContainer) (names Named, from string) {
	from = filepath.Join("/", n.data, "containers", c.ID, "config.v2.json")
	if text, err := n.read(from); err == nil {
		names = dockerNames(text)
	}
	return names, from
}

// dockerNames reads Docker's config.v2.json.
func dockerNames(text []byte) (names Named) {
	var config struct {
		Name   string
		Config struct{ Labels map[string]string }
	}
	if json.Unmarshal(text, &config) != nil {
		return names
	}
	names = annotated(config.Config.Labels)
	if names.Container == "" {
		names.Container = strings.TrimPrefix(config.Name, "/")
	}
	return names
}

// ofContainerd looks in the namespace of the container, or else in all.
func (n *Names) ofContainerd(c InContainer) (names Named, from string) {
	const tasks = "/run/containerd/io.containerd.runtime.v2.task"
	spaces := []string{c.Namespace}
	if c.Namespace == "" {
		spaces = nil
		entries, _ := os.ReadDir(filepath.Join(n.root, tasks))
		for _, e := range entries[:min(len(entries), mostSpaces)] {
			spaces = append(spaces, e.Name())
		}
	}
	for _, space := range spaces {
		from = filepath.Join(tasks, space, c.ID, "config.json")
		if text, err := n.read(from); err == nil {
			return specNames(text), from
		}
	}
	return names, ""
}

// mostSpaces limits the namespaces of containerd that are searched; there are three or four.
const mostSpaces = 32

func (n *Names) ofCRIO(c InContainer) (names Named, from string) {
	from = filepath.Join("/var/lib/containers/storage/overlay-containers", c.ID, "userdata/config.json")
	if text, err := n.read(from); err == nil {
		names = specNames(text)
	}
	return names, from
}

// specNames reads the names out of the specification by which a container was made.
func specNames(text []byte) Named {
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	if json.Unmarshal(text, &spec) != nil {
		return Named{}
	}
	return annotated(spec.Annotations)
}

// annotated takes the names out of annotations or labels. The others may hold secrets.
func annotated(a map[string]string) (names Named) {
	first := func(keys ...string) string {
		for _, k := range keys {
			if a[k] != "" {
				return a[k]
			}
		}
		return ""
	}
	names.Container = first("io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name")
	sandbox := first("io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType", "io.kubernetes.docker.type")
	if names.Container == "" && (sandbox == "sandbox" || sandbox == "podsandbox") || names.Container == "POD" {
		names.Container = "pause" // the container that keeps a pod together
	}
	names.Pod = podName(
		first("io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"),
		first("io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"))
	return names
}

func podName(namespace, name string) string {
	if namespace == "" || name == "" {
		return name
	}
	return namespace + "/" + name
}

// ofPodman reads the list of all containers again if it has changed.
func (n *Names) ofPodman(c InContainer) (names Named, from string) {
	const path = "/var/lib/containers/storage/overlay-containers/containers.json"
	if n.podman.stale(filepath.Join(n.root, path)) {
		text, err := n.read(path)
		if err != nil {
			text = nil
		}
		n.podman.names = podmanNames(text)
	}
	return n.podman.names[c.ID], path
}

func podmanNames(text []byte) map[string]Named {
	var list []struct {
		ID       string   `json:"id"`
		Names    []string `json:"names"`
		Metadata string   `json:"metadata"`
	}
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	all := make(map[string]Named)
	for _, c := range list {
		var meta struct {
			Name string `json:"name"`
		}
		switch {
		case len(c.Names) > 0:
			all[c.ID] = Named{Container: c.Names[0]}
		case json.Unmarshal([]byte(c.Metadata), &meta) == nil:
			all[c.ID] = Named{Container: meta.Name}
		}
	}
	return all
}

// ofLogs takes the names of a container of Kubernetes from the name of its log.
func (n *Names) ofLogs(c InContainer) (names Named, from string) {
	const logs = "/var/log/containers"
	path := filepath.Join(n.root, logs)
	if n.logs.stale(path) {
		n.logs.names = make(map[string]Named)
		d, err := os.Open(path)
		if err == nil {
			files, _ := d.Readdirnames(mostLogs)
			d.Close()
			for _, name := range files {
				if id, found, ok := logNames(name); ok {
					n.logs.names[id] = found
				}
			}
		}
	}
	return n.logs.names[c.ID], logs
}

// mostLogs limits the logs that are looked at. Kubernetes runs some hundred containers on a node.
const mostLogs = 20_000

// logNames reads POD_NAMESPACE_CONTAINER-NUMBER.log. None of the names may have an underscore.
func logNames(file string) (id string, names Named, ok bool) {
	file, ok = strings.CutSuffix(file, ".log")
	i := len(file) - 65
	if !ok || i <= 0 || file[i] != '-' || !hex64(file[i+1:]) {
		return "", names, false
	}
	parts := strings.Split(file[:i], "_")
	if len(parts) != 3 {
		return "", names, false
	}
	return file[i+1:], Named{Container: parts[2], Pod: podName(parts[1], parts[0])}, true
}

// stale reports whether a file or directory has changed since it was last asked.
func (l *listing) stale(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		changed := l.names != nil
		l.names, l.changed = nil, time.Time{}
		return changed
	}
	if l.names != nil && st.ModTime().Equal(l.changed) && !l.moving {
		return false
	}
	l.changed = st.ModTime()
	l.moving = time.Since(l.changed) < 2*time.Second
	return true
}
