#!/bin/sh
# Compiles the actors of one style, `Loop` or `Recursive`, with the compiler in build/lib.
set -e
common=../scala-actors-common
mkdir -p build/classes
# The old compilers read class files of Java 8.
javac --release 8 -Xlint:-options -d build/classes ../java-common/*.java
java -cp 'build/lib/*' scala.tools.nsc.Main -nowarn -cp 'build/classes:build/lib/*' \
    -usejavacp -d build/classes "$common/Counting.scala" "$common/Main.scala" "$common/$1.scala"
