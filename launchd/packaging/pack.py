#!/usr/bin/env python3
"""Packs a directory into a .tar.gz that is the same wherever it is made.

usage: pack.py PARENT DIRECTORY SECONDS OUTPUT
Owners, order, times and the compressor's header are fixed: tar's options for
that differ between systems.
"""
import gzip
import os
import sys
import tarfile

parent, name, seconds, output = sys.argv[1:]


def entry(path):
    info = tarfile.TarInfo(os.path.relpath(path, parent))
    info.mtime = int(seconds)
    info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    if os.path.isdir(path):
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    else:
        info.size = os.path.getsize(path)
    return info


with open(output, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        top = os.path.join(parent, name)
        archive.addfile(entry(top))
        for file in sorted(os.listdir(top)):
            path = os.path.join(top, file)
            with open(path, "rb") as content:
                archive.addfile(entry(path), content)
