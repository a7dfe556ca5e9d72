#!/usr/bin/env bash
# push.sh DIRECTORY TEAM URL BUNDLE_ID TOKEN: one update by curl, with a provider token made by openssl
# from the key AuthKey_<id>.p8 in the directory.
set -euo pipefail
directory=$1 team=$2 url=$3 app=$4 token=$5
key=$(echo "$directory"/AuthKey_*.p8)
id=${key##*AuthKey_} id=${id%.p8}

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

now=$(date +%s)
signed=$(printf '{"alg":"ES256","kid":"%s"}' "$id" | base64url).$(printf '{"iss":"%s","iat":%s}' "$team" "$now" | base64url)
# openssl writes a signature as DER: two integers. A provider token has r and s, 32 bytes each.
signature=$(printf %s "$signed" | openssl dgst -sha256 -sign "$key" |
    openssl asn1parse -inform DER | sed -n 's/.*INTEGER *://p' |
    while read -r number; do printf '%64s' "$number" | tr ' ' 0 | tail -c 64; done |
    sed 's/../\\x&/g' | xargs -0 printf | base64url)

curl --silent --show-error --include --http2 --cacert "$directory/ca.pem" \
    -H "authorization: bearer $signed.$signature" -H "apns-push-type: liveactivity" \
    -H "apns-topic: $app.push-type.liveactivity" -H "apns-priority: 10" -H "apns-expiration: 0" \
    -d "{\"aps\":{\"timestamp\":$now,\"event\":\"update\",\"content-state\":{\"home\":1,\"away\":0}}}" \
    "$url/3/device/$token"
