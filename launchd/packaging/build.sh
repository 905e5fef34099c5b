#!/bin/sh
# Builds both programs. The same sources and the same Go give the same bytes, in
# any directory, on any machine, with git or without.
# usage: build.sh GOOS GOARCH OUTPUT-DIRECTORY
set -eu
os=${1:?usage: build.sh GOOS GOARCH OUTPUT-DIRECTORY}
arch=${2:?usage: build.sh GOOS GOARCH OUTPUT-DIRECTORY}
mkdir -p "${3:?usage: build.sh GOOS GOARCH OUTPUT-DIRECTORY}"
out=$(cd "$3" && pwd)
cd "$(dirname "$0")/../.."
CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOAMD64=v1 GOARM64=v8.0 GOFLAGS= GOEXPERIMENT= \
	go build -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o "$out/" ./cmd/recorder ./cmd/replay
