#!/usr/bin/env bash
# Usage: build.sh [PAIMON_VERSION]
# Fetches the jars for one Paimon version and compiles the oracle against them, unless that is done.
# The folder is PAIMON_ORACLE_TARGET, by default tarn/oracle in the user's cache folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=${1:-${PAIMON_VERSION:-1.4.2}}
target=${PAIMON_ORACLE_TARGET:-${XDG_CACHE_HOME:-$HOME/.cache}/tarn/oracle}/$version
sources=("$here/src/Oracle.java")
# The extension needs API of Paimon 1.4.
case "$version" in 1.4.*) sources+=("$here/src-ext/OracleExt.java") ;; esac
stamp=$(cat "${sources[@]}" "$here/pom.xml" | sha256sum | cut -c1-16)
[ "$(cat "$target/built" 2>/dev/null)" = "$stamp" ] && exit
mkdir -p "$target"
exec 9>"$target/lock"
flock 9 # two builds at once: the second finds it done
[ "$(cat "$target/built" 2>/dev/null)" = "$stamp" ] && exit
pom=$(sha256sum <"$here/pom.xml" | cut -c1-16)
if [ "$(cat "$target/fetched" 2>/dev/null)" != "$pom" ]; then
  echo "oracle: fetching the jars of Paimon $version" >&2
  rm -rf "$target/lib"
  mvn -q -B -f "$here/pom.xml" -Dpaimon.version="$version" dependency:copy-dependencies -DoutputDirectory="$target/lib" >"$target/mvn.log" 2>&1 </dev/null || {
    grep -m 5 ERROR "$target/mvn.log" >&2
    echo "oracle: Maven could not fetch Paimon $version, see $target/mvn.log" >&2
    exit 1
  }
  echo "$pom" >"$target/fetched"
fi
rm -rf "$target/classes"
mkdir -p "$target/classes"
javac -nowarn -proc:none -d "$target/classes" -cp "$target/lib/*" "${sources[@]}" >"$target/javac.log" 2>&1 || {
  cat "$target/javac.log" >&2
  echo "oracle: javac failed for Paimon $version" >&2
  exit 1
}
echo "$stamp" >"$target/built"
