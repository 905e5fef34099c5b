# What .ci/run and .ci/long share: sourced by both, in the module's root.
set -euo pipefail
# Without cgo, as the strangers have it: what they have compiled is not compiled again.
export CGO_ENABLED="${CGO_ENABLED:-0}"
export PATH="$PATH:/usr/sbin:/sbin"
started=$SECONDS

step() { printf '\n== %s (%ds)\n' "$*" "$((SECONDS - started))"; }

# What a package would start once it is installed stays where it is: nothing of it is
# wanted, and where systemd does not run the package would be told to have failed, and
# every later one with it.
install_debian() {
	command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 0
	local apt="env SYSTEMD_OFFLINE=1 DEBIAN_FRONTEND=noninteractive apt-get"
	$apt install -y -q "$@" >/dev/null 2>&1 ||
		{ $apt update -q >/dev/null && $apt install -y -q "$@" >/dev/null; }
}

# need PROGRAM PACKAGE...: installs the packages where the program is missing.
need() {
	local program=$1
	shift
	command -v "$program" >/dev/null || install_debian "$@"
}

# peers installs whom the tests talk to, each once.
peers() {
	# The race detector needs a C compiler; property lists are read back by Python.
	need cc gcc libc6-dev make
	need make make
	need python3 python3
	need zstd zstd
	# The shells that complete, what judges manual pages and units, terminals, and
	# another processor for the comparison of answers.
	need zsh zsh
	need fish fish
	need groff groff
	need tmux tmux
	need systemd-analyze systemd
	# Who takes cores, and holds a process that crashes. That the kernel sends this machine's cores
	# there from now on is undone.
	need gdb gdb
	if [ ! -e /lib/systemd/systemd-coredump ]; then
		local cores
		cores=$(sysctl kernel.core_pattern kernel.core_pipe_limit fs.suid_dumpable 2>/dev/null || :)
		install_debian systemd-coredump
		sysctl -q -p - <<<"$cores" 2>/dev/null || :
	fi
	need qemu-aarch64 qemu-user
	# Who compresses what is imported, samples beside us, and makes containers.
	need bzip2 bzip2
	need xz xz-utils
	need perf linux-perf
	need unshare util-linux
	# Who installs packages.
	need rpmbuild rpm
	[ -e /usr/share/bash-completion/bash_completion ] || install_debian bash-completion
	# Who scrapes and reads what replay serves.
	need prometheus prometheus
	need victoria-metrics victoria-metrics
	need prometheus-node-exporter prometheus-node-exporter
	/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || install_debian python3-prometheus-client
	# Who keeps a fleet; that its service cannot be started here is no matter.
	need clickhouse-server clickhouse-server || command -v clickhouse-server >/dev/null
	# Those who talk to replay serve: JSON over HTTP, and gRPC as others wrote it.
	need curl curl
	need npm npm
	# Whose code is made at run time: Node's comes with npm.
	need jcmd default-jdk-headless
	command -v grpc_python_plugin >/dev/null && command -v protoc >/dev/null || install_debian protobuf-compiler protobuf-compiler-grpc python3-grpcio
	# The browser that the tests of pages drive.
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || install_debian chromium
	# Who reads PCP's archives, and writes them. Its names are put together when its daemon is
	# first started, which nobody does here.
	need pmdumplog pcp
	[ -e /var/lib/pcp/pmns/root ] || [ ! -x /var/lib/pcp/pmns/Rebuild ] || [ "$(id -u)" != 0 ] || (cd /var/lib/pcp/pmns && ./Rebuild -s)
}

# node_peers installs buf, for the interface, DuckDB, which reads what is exported as
# Parquet, and a client that asks replay mcp.
node_peers() {
	command -v npm >/dev/null || return 0
	npm install --silent --no-fund --no-audit --prefix "$scratch/npm" @bufbuild/buf@1.75.0 @duckdb/node-api@1.5.6-r.1 @modelcontextprotocol/client@2.4.0
}

# with_peers has the steps that follow find what node_peers has installed.
with_peers() { export PATH=$PATH:$scratch/npm/node_modules/.bin NODE_PATH=$scratch/npm/node_modules; }

# simulated_mac builds the simulated Mac for the -exec steps into $mac, where it can be.
simulated_mac() {
	mac=""
	[ "$(uname -sm)" = "Linux x86_64" ] || return 0
	step "build the simulated Mac"
	mac=$scratch/mac
	mkdir "$mac"
	make -s -j2 -C testdata/darwinhost OUT="$mac" >/dev/null
	[ "${1:-}" = arm64 ] || return 0
	command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null ||
		install_debian gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
	make -s -j2 -C testdata/darwinhost ARCH=arm64 OUT="$mac" >/dev/null
}

# as_mac ARCH PACKAGE...: our tests as macOS tests, on the simulated Mac.
as_mac() {
	local arch=$1 host=$mac/darwinhost
	shift
	[ "$arch" = amd64 ] || host=$mac/darwinhost-$arch
	DARWINHOST_SYSLOG=$scratch/syslog GOOS=darwin GOARCH=$arch CGO_ENABLED=0 go test -short -timeout 20m -exec "$host --scenario $mac/scenarios/macbook-m.scn" "$@"
}

scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
tools=$scratch/tools
