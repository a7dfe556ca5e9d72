#!/bin/sh
# Prepares a new installation before its stages start. A second run changes nothing that exists.
set -eu
secrets=/run/flotilla
flotilla topics create
[ -f $secrets/sealing-keys ] || flotilla sealing-keys make $secrets/sealing-keys
flotilla apps list --json | grep -q '"demo"' ||
    flotilla apps create demo --bundle-id com.example.scores --team-id FLOTILLA01 --key-id COMPOSE001 \
        --environments production
flotilla types put demo MatchAttributes "{}" >/dev/null
umask 077
for role in report send; do
    [ -s $secrets/$role-key ] || {
        flotilla keys create demo --role $role --name compose >$secrets/$role-key.new
        mv $secrets/$role-key.new $secrets/$role-key
    }
done
key=$(cat $secrets/send-key)
cat <<TEXT

Flotilla is starting. When \`docker compose ps\` shows its services as healthy, paste these lines: a match for everyone, a goal, and what a phone shows.

KEY=$key
curl -s $GATEWAY/v1/sends -H "Authorization: Bearer \$KEY" -d '{"event":"start","groupId":"match-42","audience":"everyone","attributesType":"MatchAttributes","attributes":{"home":"Larks","away":"Terns"},"contentState":{"home":0,"away":0},"alert":{"title":"Kick-off","body":"Larks against Terns"}}'
curl -s $GATEWAY/v1/sends -H "Authorization: Bearer \$KEY" -d '{"event":"update","groupId":"match-42","contentState":{"home":1,"away":0}}'
curl -s $SIMULATOR/v1/phones/phone-0

TEXT
