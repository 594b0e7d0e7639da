#!/bin/sh
# Compiles the programs of one interface, `typed` or `classic`, for Pekko or for Akka. Pekko is Akka
# under another name, so one text is both: the documentation of Pekko has the names to replace.
set -e
interface=$1 system=$2
mkdir -p build/classes build/sources
for file in ../akka-common/"$interface"/*.java ../akka-common/application.conf; do
    case "$system" in
        akka) sed 's/org\.apache\.pekko/akka/g; s/pekko/akka/g' "$file" ;;
        pekko) cat "$file" ;;
    esac > build/sources/"${file##*/}"
done
cp build/sources/application.conf build/classes/
javac -cp 'build/lib/*' -d build/classes ../java-common/*.java build/sources/*.java
