#!/bin/sh
# The published rates and probabilities of an ad network, sent, logged, and found again in the log.
#
#     examples/ads/round-trip.sh publishers.csv [directory]
#
# publishers.csv: O'Dwyer 2016, table B.2 (docs/ads.md says what it holds). The crowd of network.yaml runs
# against `throng serve ads` ten times as fast as published, so that three minutes are half an hour; the log
# that the server writes is modelled, and the model is held against the table. What it comes to stands in
# docs/modelling-reference.md. THRONG=path: which program; ADDRESS: where the server listens; SPEED, LENGTH, SEED: other
# than 10, 3m and 2.
set -eu

table=$1
out=${2:-round-trip}
throng=${THRONG:-throng}
speed=${SPEED:-10}
length=${LENGTH:-3m}
seed=${SEED:-2}
here=$(dirname "$0")
rate=35.771894 # sessions a second, table B.1
address=${ADDRESS:-127.0.0.1:18085}

product() { awk "BEGIN { printf \"%.6f\", $1 }"; }

mkdir -p "$out"
rm -f "$out/access.log"
# One probability of the table is above 1. The server and the check take it as 1, and report it each time.
"$throng" serve ads --listen "$address" --publishers "$table" --above-one take-as-one --long-list 200 \
    --access-log "$out/access.log" --log-format json > "$out/server.txt" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
until [ -s "$out/server.txt" ]; do # it says where it listens
    kill -0 "$server"
    sleep 0.1
done

"$throng" run "$here/network.yaml" --runs "$out/runs" \
    --set "target=http://$address" --set "think=$(product "10 / $speed")s" --set "length=$length" \
    --set "rate=$(product "$rate * $speed")/s" --set "seed=$seed" \
    --set 'arrivals=[{ poisson: "${rate}", for: "${length}" }, { hold: 5m, until: done }]' ||
    [ $? -eq 2 ] # an untrusted run was late; who came, and what they did, is in the log all the same
kill "$server"
wait "$server" || true

"$throng" model "$out/access.log" -o "$out/model" --key user --segment field:publisher --gap 10m \
    --class 'ad=^GET /publishers/' --class 'impression=/impression[.]gif' --class 'redeem=^POST' \
    --class 'click=/claim/' --class 'convert=/convert[.]gif'

"$throng" model check "$out/model" --against "$table" --above-one take-as-one --share session_probability \
    --rate "$rate/s" --speed "$speed" --path ad,impression,redeem,click,convert
