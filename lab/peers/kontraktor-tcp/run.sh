#!/bin/sh
# Runs a program of Kontraktor: server or client, transport, form. FST reads and sets fields of the
# platform's classes, which newer ones allow only when told so, and uses an incubating module.
cd "$(dirname "$0")" || exit 1
opens=
for package in \
    java.base/java.lang java.base/java.lang.invoke java.base/java.util java.base/java.util.concurrent \
    java.base/java.util.concurrent.atomic \
    java.base/java.io java.base/java.net java.base/java.nio java.base/java.math java.base/java.text java.sql/java.sql
do
    opens="$opens --add-opens=$package=ALL-UNNAMED"
done
exec java -Xmx512m --add-modules jdk.incubator.foreign $opens -cp 'build/classes:build/lib/*' Remote "$@"
