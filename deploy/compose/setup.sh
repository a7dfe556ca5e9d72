#!/bin/sh
# Prepares a new installation before its stages start. A second run changes nothing that exists.
set -eu
secrets=/run/flotilla
flotilla topics create
[ -f $secrets/sealing-keys ] || flotilla sealing-keys make $secrets/sealing-keys
flotilla apps list --json | grep -q '"demo"' ||
    flotilla apps create demo --bundle-id com.example.scores --team-id FLOTILLA01 --key-id COMPOSE001 \
        --environments production
flotilla types put demo MatchAttributes '{"layout":{"sides":[{"score":"home","name":"home"},{"score":"away","name":"away"}],
    "steps":[{"label":"home +1","field":"home","add":1},{"label":"away +1","field":"away","add":1}]}}' >/dev/null
umask 077
for role in report send; do
    [ -s $secrets/$role-key ] || {
        flotilla keys create demo --role $role --name compose >$secrets/$role-key.new
        mv $secrets/$role-key.new $secrets/$role-key
    }
done
