#!/bin/sh
# Puts the certificates to sign with into a keychain of their own, for machines
# that build releases. The certificates come in the environment: CERTIFICATES, a
# PKCS#12 file in base64, and CERTIFICATES_PASSWORD. Without them nothing is
# done, and the package is not signed.
# usage: keychain.sh KEYCHAIN
set -eu
keychain=${1:?usage: keychain.sh KEYCHAIN}
if [ -z "${CERTIFICATES:-}" ]; then
	echo "no certificates are given: the package will not be signed"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
password=$(openssl rand -hex 16)
umask 077
printf %s "$CERTIFICATES" | openssl base64 -d -A >"$work/certificates.p12"
security create-keychain -p "$password" "$keychain"
security set-keychain-settings -lut 3600 "$keychain"
security unlock-keychain -p "$password" "$keychain"
security import "$work/certificates.p12" -P "$CERTIFICATES_PASSWORD" -k "$keychain" -T /usr/bin/codesign -T /usr/bin/productsign
security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$keychain" >/dev/null
security list-keychains -d user -s "$keychain" login.keychain
