#!/bin/sh
# Build the files of the image: Python, the packages of requirements.txt, the service, and what they
# load, without a shell and without a package manager. As root, in a Debian 12 root, in the folder of
# the source:
#
#     sh deploy/container/build.sh /out
#
# The Dockerfile calls it. tests/deploy/test_container.py runs it in a root of debootstrap.
set -eu
out=$1
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1764288000} LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
umask 022

if [ ! -x /usr/lib/postgresql/15/bin/pg_dump ] || [ ! -x /usr/bin/age ]; then
    apt-get update -qq
    apt-get install -qq --no-install-recommends python3 python3-venv ca-certificates binutils \
        postgresql-client-15 age >/dev/null
fi
version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')

echo "installing the packages of requirements.txt"
rm -rf /app
mkdir /app
python3 -m venv /app/.venv
/app/.venv/bin/python -m pip install -qq --disable-pip-version-check --no-cache-dir --no-compile \
    --require-hashes --only-binary :all: -r requirements.txt
packages=/app/.venv/lib/python$version/site-packages
rm -rf "$packages"/pip* "$packages"/setuptools* "$packages"/pkg_resources "$packages"/_distutils_hack \
    "$packages"/distutils-precedence.pth "$packages"/Crypto/SelfTest /app/.venv/bin/pip* \
    /app/.venv/bin/[Aa]ctivate*
find "$packages" -depth -type d -name tests -exec rm -r {} +
find "$packages" -name '*.so*' -type f -exec strip --strip-unneeded {} + 2>/dev/null || true

echo "copying the service"
cp -r app.py gunicorn.conf.py requirements.txt schemas ticketing LICENSE LICENSES.md /app/
cp deploy/container/healthcheck.py /app/
chmod -R a+rX /app
find /app -depth -name __pycache__ -exec rm -r {} +
find /app -type f \( -name '*.po' -o -name '*.pyi' \) -delete

echo "copying Python and the programs of backups"
rm -rf "$out"
mkdir -p "$out/usr/bin" "$out/usr/lib" "$out/usr/lib64" "$out/etc/ssl/certs" "$out/data" "$out/tmp" \
    "$out/dev" "$out/proc" "$out/sys"
for each in bin lib lib64; do ln -s "usr/$each" "$out/$each"; done
cp "/usr/bin/python$version" "$out/usr/bin/"
ln -s "python$version" "$out/usr/bin/python3"
cp -r "/usr/lib/python$version" "$out/usr/lib/"
lib=$out/usr/lib/python$version
rm -rf "$lib"/ensurepip "$lib"/idlelib "$lib"/lib2to3 "$lib"/pydoc_data "$lib"/test "$lib"/tkinter \
    "$lib"/turtledemo "$lib"/unittest "$lib"/config-* "$lib"/distutils "$lib"/sitecustomize.py
find "$lib" -depth -name __pycache__ -exec rm -r {} +
cp /usr/lib/postgresql/15/bin/pg_dump /usr/lib/postgresql/15/bin/pg_restore /usr/bin/age "$out/usr/bin/"
mv /app "$out/app"

echo "copying the libraries that they load"
find "$out" -type f \( -name '*.so*' -o -path "$out/usr/bin/*" \) >/tmp/loading
while read -r each; do
    LD_LIBRARY_PATH=$(dirname "$each") ldd "$each" 2>/dev/null || true
done </tmp/loading | awk '$2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/lib64/" { print $1 }' | sort -u |
    grep -v "^$out" | while read -r library; do
        mkdir -p "$out/usr/$(dirname "$library" | sed 's#^/\(usr/\)\{0,1\}##')"
        cp -L "$library" "$out/usr/$(echo "$library" | sed 's#^/\(usr/\)\{0,1\}##')"
    done
/sbin/ldconfig -r "$out" 2>/dev/null

cp /etc/ssl/certs/ca-certificates.crt "$out/etc/ssl/certs/"
echo 'hosts: files dns' >"$out/etc/nsswitch.conf"
echo 'ticketing:x:10001:10001::/data:/nonexistent' >"$out/etc/passwd"
echo 'ticketing:x:10001:' >"$out/etc/group"
chmod 1777 "$out/tmp"
chown 10001:10001 "$out/data"
chmod 700 "$out/data"

# The file system is read-only, so nothing can be compiled later.
python3 -m compileall -q --invalidation-mode unchecked-hash -j 1 -s "$out" "$out/app" "$lib" || true
find "$out" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
du -sm "$out" | awk '{ print "the image has", $1, "MB" }'
