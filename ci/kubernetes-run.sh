#!/usr/bin/env bash
# Runs a scenario by a fleet on Kubernetes and ends with its verdict: installs the Helm chart, waits for the run's Job,
# fetches the results and removes the release. It needs helm and kubectl with access to one namespace.
#
#     THRONG_SCENARIO    the scenario's file
#     THRONG_CHART       the chart's directory (deploy/helm/throng beside this script's), its archive or its address
#     THRONG_NAMESPACE   where it runs (that of kubectl)
#     THRONG_RELEASE     name of the release (throng); builds at the same time need different ones
#     THRONG_HELM_ARGS   more arguments of helm, such as --values load.yaml --set agents.count=8
#     THRONG_TIME_MAX    seconds until the run is given up (3600)
#     THRONG_OUT         directory for log.txt and the run's directory (.throng/kubernetes)
#     THRONG_FETCH_IMAGE image with tar (docker.io/library/busybox:1.37) that fetches from the volume; empty: nothing is
#                        fetched
#     THRONG_KEEP        if set, the release stays
#
# Exit codes: 0 passed, 1 a threshold failed, 2 untrusted, 64 and above those of throng; 69 if there is no verdict.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
scenario=${THRONG_SCENARIO:?names the scenario}
chart=${THRONG_CHART:-$here/../deploy/helm/throng}
release=${THRONG_RELEASE:-throng}
out=${THRONG_OUT:-.throng/kubernetes}
image=${THRONG_FETCH_IMAGE-docker.io/library/busybox:1.37}
time_max=${THRONG_TIME_MAX:-3600}
read -ra helm_args <<<"${THRONG_HELM_ARGS:-}"
namespace=()
[ -z "${THRONG_NAMESPACE:-}" ] || namespace=(--namespace "$THRONG_NAMESPACE")
mkdir -p "$out"

kube() { kubectl ${namespace[@]+"${namespace[@]}"} "$@"; }
# The trap calls it.
# shellcheck disable=SC2317
remove() {
    kube delete pod "$release-fetch" --ignore-not-found --wait=false >/dev/null 2>&1 || true
    if [ -z "${THRONG_KEEP:-}" ]; then
        helm uninstall "$release" ${namespace[@]+"${namespace[@]}"} || true
        # The chart keeps its claim. What was fetched is here.
        if [ -n "$fetched" ]; then
            kube delete persistentvolumeclaim "$release-results" --ignore-not-found --wait=false >/dev/null || true
        fi
    fi
}
fetched=

trap remove EXIT
helm upgrade --install "$release" "$chart" ${namespace[@]+"${namespace[@]}"} \
    --set-file "scenario.text=$scenario" ${helm_args[@]+"${helm_args[@]}"}

# The newest revision is the only one whose Job is there.
labels=app.kubernetes.io/instance=$release,app.kubernetes.io/component=run
job=$(kube get jobs --selector "$labels" --sort-by .metadata.creationTimestamp --output name | tail -n 1)
[ -n "$job" ] || { echo "the chart made no run: is run.enabled false?" >&2 && exit 69; }
pods=job-name=${job#*/}

echo "waiting for $job, $time_max s at most"
deadline=$((SECONDS + time_max))
state=
while [ -z "$state" ]; do
    if ((SECONDS > deadline)); then
        echo "$job has not ended after $time_max s" >&2
        kube describe pods --selector "$pods" >&2 || true
        exit 69
    fi
    sleep "${THRONG_LOOK:-2}"
    state=$(kube get "$job" \
        --output 'jsonpath={.status.conditions[?(@.status=="True")].type}' | tr ' ' '\n' | grep -xE 'Complete|Failed' || true)
done

kube logs --selector "$pods" --container run --tail=-1 | tee "$out/log.txt" || true
code=$(kube get pods --selector "$pods" \
    --output 'jsonpath={.items[-1:].status.containerStatuses[?(@.name=="run")].state.terminated.exitCode}')
if [ -z "$code" ]; then
    echo "there is no verdict: the run's container did not run" >&2
    kube describe pods --selector "$pods" >&2 || true
    exit 69
fi

claim=$(kube get pods --selector "$pods" \
    --output 'jsonpath={.items[-1:].spec.volumes[?(@.name=="results")].persistentVolumeClaim.claimName}')
if [ -n "$claim" ] && [ -n "$image" ]; then
    # The image of Throng has no tar.
    kube apply -f - <<POD
apiVersion: v1
kind: Pod
metadata:
  name: $release-fetch
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: { runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: { type: RuntimeDefault } }
  containers:
    - name: fetch
      image: $image
      command: [sleep, "600"]
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
      volumeMounts: [{ name: results, mountPath: /results, readOnly: true }]
  volumes: [{ name: results, persistentVolumeClaim: { claimName: $claim } }]
POD
    if kube wait --for=condition=Ready "pod/$release-fetch" --timeout=120s; then
        kube exec "$release-fetch" -- tar -cf - -C /results . | tar -xf - -C "$out"
        fetched=yes
    else
        echo "warning: the results stay in the claim $claim" >&2
    fi
fi
exit "$code"
