#!/bin/sh
# Builds a macOS package of the recorder. See ../README.md.
# usage: build.sh VERSION [SIGNING-IDENTITY [INSTALLER-IDENTITY]]
set -eu

version=${1:?usage: build.sh VERSION [SIGNING-IDENTITY [INSTALLER-IDENTITY]]}
application=${2:-}
installer=${3:-}
identifier=org.tachograph.recorder

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/bin" "$work/stage"
for arch in arm64 amd64; do
	launchd/packaging/build.sh darwin "$arch" "$work/$arch"
done
for program in recorder replay; do
	lipo -create -output "$work/bin/$program" "$work/arm64/$program" "$work/amd64/$program"
	if [ -n "$application" ]; then
		codesign --force --sign "$application" --identifier "$identifier" --options runtime --timestamp "$work/bin/$program"
	fi
done

# The service itself is made by the postinstall script, on the Mac that it is
# for: configuration and archives are not part of the package.
# Temporary directories of macOS have links above them.
stage=$(cd "$work/stage" && pwd -P)
"$work/bin/recorder" install --root "$stage"
rm -rf "$work/stage/Library/Application Support" "$work/stage/Library/LaunchDaemons" "$work/stage/Library/Logs" "$work/stage/etc"

pkgbuild --root "$work/stage" --scripts "$here/scripts" --identifier "$identifier" --version "$version" \
	--install-location / --ownership recommended "$work/tachograph.pkg"
if [ -n "$installer" ]; then
	productsign --sign "$installer" "$work/tachograph.pkg" "tachograph-$version.pkg"
else
	cp "$work/tachograph.pkg" "tachograph-$version.pkg"
fi
echo "tachograph-$version.pkg"
