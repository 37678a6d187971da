#!/bin/sh
# Runs a command that must not outlive whoever started it: supervise.sh <command> [argument…]
#
# Standard input is a pipe that the starter holds open and never writes to. The kernel closes it however the starter ends,
# SIGKILL included; then everything in this process group is killed. It expects to lead its own process group.
# TERM, INT and HUP are handed on; the exit code is the command's.

exec 3<&0
# Before the command starts: it may say that it is up, and be stopped, before this script goes on.
child=
stopping=
trap 'stopping=yes; [ -n "$child" ] && kill -TERM "$child" 2>/dev/null' TERM INT HUP
"$@" </dev/null 3<&- &
child=$!
[ -z "$stopping" ] || kill -TERM "$child" 2>/dev/null

(
  while read -r _ <&3; do :; done
  kill -KILL 0
) >/dev/null 2>&1 &
watcher=$!
exec 3<&-

while :; do
  wait "$child"
  code=$?
  # A signal ends `wait` early, with the child still there.
  kill -0 "$child" 2>/dev/null || break
done
kill -KILL "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
exit "$code"
