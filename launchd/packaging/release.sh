#!/bin/sh
# Makes all of a release that needs no Mac: the source archive, both programs for
# both systems and both processors, the Homebrew formula with the checksum of
# that source archive, the notes from the changelog, and the checksums of
# everything. The same commit gives the same bytes.
# With SIGNING_KEY, a private key for openssl, the checksums are signed as well.
# usage: release.sh VERSION OUTPUT-DIRECTORY
set -eu
version=${1:?usage: release.sh VERSION OUTPUT-DIRECTORY}
version=${version#v}
case $version in *[!0-9A-Za-z.+-]* | "") echo "release.sh: $version is no version" >&2; exit 2 ;; esac
mkdir -p "${2:?usage: release.sh VERSION OUTPUT-DIRECTORY}"
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sha256() {
	if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# A gzip header without name and time, and entries in the repository's order
# with the commit's time, are the same everywhere.
name=tachograph-$version
git archive --format=tar --prefix="$name/" HEAD | gzip -n -9 >"$out/$name.tar.gz"

# What is released is built from what is released, not from the work tree.
mkdir "$work/source"
tar -xzf "$out/$name.tar.gz" -C "$work/source"
for target in darwin/arm64 darwin/amd64 linux/arm64 linux/amd64; do
	os=${target%/*} arch=${target#*/}
	echo "building for $target"
	"$work/source/$name/launchd/packaging/build.sh" "$os" "$arch" "$work/$name-$os-$arch"
	cp LICENSE README.md CHANGELOG.md "$work/$name-$os-$arch/"
	python3 "$here/pack.py" "$work" "$name-$os-$arch" "$(git log -1 --format=%ct)" "$out/$name-$os-$arch.tar.gz"
done

sum=$(sha256 "$out/$name.tar.gz" | cut -d' ' -f1)
sed -e 1d -e "s/@VERSION@/$version/g" -e "s/@SHA256@/$sum/" "$here/homebrew/tachograph.rb.in" >"$out/tachograph.rb"

# The changelog's section of this version, or what is not yet released.
awk -v version="$version" '
	/^## / { inside = ($2 == version || $2 == "Unreleased" && !found); if ($2 == version) found = 1; if (inside) { text = ""; next } }
	inside { text = text $0 "\n" }
	END { printf "%s", text }
' CHANGELOG.md >"$out/NOTES.md"

(cd "$out" && sha256 "$name.tar.gz" "$name"-*.tar.gz tachograph.rb >SHA256SUMS)
if [ -n "${SIGNING_KEY:-}" ]; then
	openssl dgst -sha256 -sign "$SIGNING_KEY" -out "$out/SHA256SUMS.sig" "$out/SHA256SUMS"
	echo "signed SHA256SUMS"
fi
