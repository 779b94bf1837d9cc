#!/bin/sh
# Records the past: record.sh FOLDER, where FOLDER has the programs of the build that is to be recorded.
# It ends by packing everything beside this file. README.md says which build wrote what is there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" != inside ]; then
  # In a namespace of its own, all processes end with this script, agents and their shims included.
  exec env -i PATH="$PATH" unshare --pid --fork --kill-child --mount-proc sh "$here/record.sh" inside "$1"
fi
export past=/tmp/bowline-recorded golden="$here/../../../formats/tests/golden"
rm -rf "$past"
mkdir -p "$past/bin" "$past/home" "$past/shop"
cp "$2/bowline" "$2/bowline-shim" "$past/bin/"
export PATH="$past/bin:/usr/local/bin:/usr/bin:/bin" HOME="$past/home" LANG=C.UTF-8 TZ=UTC BOWLINE_ACTOR=person
export XDG_STATE_HOME="$HOME/state" XDG_CONFIG_HOME="$HOME/config" XDG_DATA_HOME="$HOME/data" XDG_CACHE_HOME="$HOME/cache"
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
export GIT_TEMPLATE_DIR=
unset TERM
sh "$here/record_files.sh"
sh "$here/record_server.sh"
rm -rf "$past/bin" "$past"/*.out "$past"/*.err "$past/refused.txt"
find "$past" -type s -delete
# In an order and with owners that do not depend on the machine.
tar --sort=name --owner=0 --group=0 --numeric-owner -C /tmp -cf - bowline-recorded | gzip -9n > "$here/past.tar.gz"
ls -l "$here/past.tar.gz"
