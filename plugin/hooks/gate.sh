#!/bin/sh
# Hands the message of the client to the gate. Where Bowline is not installed nothing can be held: that is said once, at the
# start of a session, and every tool goes on.
if command -v bowline-shim >/dev/null 2>&1; then
  exec bowline-shim hook --plugin
fi
if [ "$1" = start ]; then
  echo "Bowline is not installed on this machine (bowline-shim is not on PATH): no gate is held and no state is shown. Tell the person you work for once; go on without it."
fi
exit 0
