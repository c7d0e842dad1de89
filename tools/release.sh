#!/bin/sh
# Make the files of a release in dist/: the source of HEAD, its SBOM, their checksums, and a signature
# of these with the SSH key in KEY. SECURITY.md must name its public key. `make release` calls it.
set -eu
version=$(.venv/bin/python -c 'from ticketing.version import VERSION; print(VERSION)')
grep -q "^## $version (" CHANGELOG.md || { echo "CHANGELOG.md has no section for $version"; exit 1; }
git diff --quiet HEAD || { echo "there are changes that are not committed"; exit 1; }
if [ -n "${KEY:-}" ]; then
    public=$(ssh-keygen -y -f "$KEY" | cut -d " " -f 1,2)
    grep -qF "releases $public" SECURITY.md || { echo "SECURITY.md has no line: releases $public"; exit 1; }
fi
rm -rf dist
mkdir dist
name=ticketing-$version
git archive --format=tar --prefix="$name/" --output="dist/$name.tar" HEAD
gzip -n9 "dist/$name.tar"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) "$SUPPLY/python" -m cyclonedx_py requirements requirements.txt \
    --output-reproducible --output-format JSON --output-file "dist/$name.cdx.json" --validate
(cd dist && sha256sum "$name.tar.gz" "$name.cdx.json" >SHA256SUMS)
if [ -n "${KEY:-}" ]; then
    ssh-keygen -q -Y sign -f "$KEY" -n ticketing-release dist/SHA256SUMS
else
    echo "SHA256SUMS is not signed: name a key with KEY=~/.ssh/id_ed25519"
fi
ls -l dist
