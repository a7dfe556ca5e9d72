#!/bin/sh
# Prints lines to paste. It runs when all services are healthy, and waits until all simulated phones have reported:
# until two dry runs find the same phones.
set -eu
# A phone that was started for a group is not started again, so each run prints a new group.
group=match-$(($(date +%s) % 100000))
match='"event":"start","groupId":"'$group'","audience":"everyone","attributesType":"MatchAttributes","attributes":{"home":"Larks","away":"Terns"},"contentState":{"home":0,"away":0},"alert":{"title":"Kick-off","body":"Larks against Terns"}'
found=0 before=-1
while [ "$found" = 0 ] || [ "$found" != "$before" ]; do
    before=$found
    sleep 2
    found=$(flotilla send --app demo --watch --json "{$match,\"dryRun\":true}" | sed -n 's/.*"targeted":\([0-9]*\).*/\1/p' | tail -n 1)
    : "${found:=0}"
done
cat <<TEXT

Flotilla is up, and a send to everyone reaches $found simulated phones. Paste these lines: a match for everyone, a goal, and what a phone shows.

KEY=\$(docker compose exec -T gateway cat /run/flotilla/send-key)
curl -s $GATEWAY/v1/sends -H "Authorization: Bearer \$KEY" -d '{$match}'
curl -s $GATEWAY/v1/sends -H "Authorization: Bearer \$KEY" -d '{"event":"update","groupId":"$group","contentState":{"home":1,"away":0}}'
curl -s $SIMULATOR/v1/phones/phone-0

The console is at $GATEWAY/console; log in with that key.

TEXT
