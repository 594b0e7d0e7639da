#!/bin/sh
# Starts a counter on the JVM with its arguments. The heap is fixed and touched before the lab says
# GO, so that memory which grows afterwards is not the collector's habit of filling the heap it was
# given. Only the million actors of `spawn` may grow: what they take is the question there. HEAP
# sets the heap of a system whose mailboxes have no bound; one that fills it ends at once.
heap=${HEAP:-256m}
case "$CELL" in
    spawn) set -- -Xmx6g "$@" ;;
    *) set -- "-Xms$heap" "-Xmx$heap" -XX:+AlwaysPreTouch "$@" ;;
esac
exec java -XX:+ExitOnOutOfMemoryError -XX:+DisplayVMOutputToStderr "$@"
