//! Pods of a fleet.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::objects::{MONITOR_PORT, Manifest, NATS_PORT};

/// The image of a NATS that is started.
const NATS_IMAGE: &str = "docker.io/library/nats:2.11";
/// How long agents and controller wait for each other.
const WAIT: &str = "5m";
/// Ports of an agent's connections.
const PORTS: &str = "10000 65535";
/// Nobody's number in the image.
const USER: u32 = 65_532;

/// No privilege: what the profile `restricted` of Pod Security demands.
pub(super) static POD_SECURITY: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": { "type": "RuntimeDefault" },
    })
});

static CONTAINER_SECURITY: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": { "drop": ["ALL"] },
    })
});

/// A pod: what all share, then `first`, then `rest`.
pub(super) fn pod(manifest: &Manifest<'_>, rest: Value, first: Value) -> Value {
    let mut spec = json!({
        "serviceAccountName": manifest.name,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
    });
    if let Some(spec) = spec.as_object_mut() {
        for part in [first, rest] {
            if let Value::Object(part) = part {
                spec.extend(part);
            }
        }
    }
    spec
}

pub(super) fn nats(manifest: &Manifest<'_>) -> Value {
    let name = manifest.named("nats");
    let health = |path: &str| json!({ "path": path, "port": "monitor" });
    json!({
        "containers": [{
            "name": "nats",
            "image": NATS_IMAGE,
            "args": ["--config", "/etc/nats/nats.conf"],
            // In quotes: NATS reads it as its configuration, in which 1e5 is a number.
            "env": [
                secret("PASSWORD", &name, "password"),
                { "name": "NATS_PASSWORD", "value": "\"$(PASSWORD)\"" },
            ],
            "ports": [
                { "name": "nats", "containerPort": NATS_PORT },
                { "name": "monitor", "containerPort": MONITOR_PORT },
            ],
            "readinessProbe": { "httpGet": health("/healthz"), "periodSeconds": 2 },
            "livenessProbe": {
                "httpGet": health("/healthz?js-server-only=true"),
                "periodSeconds": 10,
                "failureThreshold": 6,
            },
            "resources": resources("500m", "512Mi", &json!({ "memory": "1Gi" })),
            "securityContext": *CONTAINER_SECURITY,
            "volumeMounts": [
                { "name": "config", "mountPath": "/etc/nats", "readOnly": true },
                { "name": "data", "mountPath": "/data" },
            ],
        }],
        "volumes": [{ "name": "config", "configMap": { "name": name } }],
    })
}

pub(super) fn agents(manifest: &Manifest<'_>) -> Value {
    let mut security = POD_SECURITY.clone();
    security["sysctls"] = json!([{ "name": "net.ipv4.ip_local_port_range", "value": PORTS }]);
    let spread = json!({
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": { "matchLabels": manifest.selector("agents") },
    });
    let pod_name = json!({
        "name": "POD_NAME",
        "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } },
    });
    let agent = json!({
        "name": "agent",
        "image": manifest.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["agent", "--nats", "$(NATS_URL)", "--name", "$(POD_NAME)", "--once"],
        "env": [pod_name, nats_url(manifest)],
        "resources": resources("2", "2Gi", &json!({ "cpu": "2", "memory": "2Gi" })),
        "securityContext": *CONTAINER_SECURITY,
        // Spool and rows are in the second.
        "volumeMounts": [
            { "name": "tmp", "mountPath": "/tmp" },
            { "name": "tmp", "mountPath": "/var/tmp" },
        ],
    });
    let spec = json!({
        "topologySpreadConstraints": [spread],
        "securityContext": security,
        "initContainers": [wait(manifest, 0)],
        "containers": [agent],
        "volumes": [{ "name": "tmp", "emptyDir": {} }],
    });
    pod(manifest, spec, json!({ "restartPolicy": "Never" }))
}

pub(super) fn run(manifest: &Manifest<'_>) -> Value {
    let agents = manifest.agents.to_string();
    let args = [
        "run",
        "/scenario/scenario.yaml",
        "--fleet",
        "$(NATS_URL)",
        "--agents",
        &agents,
        "--runs",
        "/results",
    ];
    let mut args: Vec<String> = args.map(str::to_owned).to_vec();
    for (key, value) in manifest.sets {
        args.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let mut container = json!({
        "name": "run",
        "image": manifest.image,
        "imagePullPolicy": "IfNotPresent",
        "args": args,
        "env": [nats_url(manifest)],
        "workingDir": "/results",
        "resources": resources("1", "1Gi", &json!({ "memory": "2Gi" })),
        "securityContext": *CONTAINER_SECURITY,
        "volumeMounts": [
            { "name": "scenario", "mountPath": "/scenario", "readOnly": true },
            { "name": "results", "mountPath": "/results" },
            { "name": "tmp", "mountPath": "/tmp" },
        ],
    });
    if manifest.reads_environment {
        container["envFrom"] = json!([{ "secretRef": { "name": manifest.named("env") } }]);
    }
    let spec = json!({
        "securityContext": *POD_SECURITY,
        "initContainers": [wait(manifest, manifest.agents)],
        "containers": [container],
        "volumes": [
            { "name": "scenario", "configMap": { "name": manifest.named("scenario") } },
            { "name": "results", "persistentVolumeClaim": { "claimName": manifest.named("results") } },
            { "name": "tmp", "emptyDir": {} },
        ],
    });
    pod(manifest, spec, json!({ "restartPolicy": "Never" }))
}

/// A container that ends when NATS answers and this number of agents is free.
fn wait(manifest: &Manifest<'_>, agents: u32) -> Value {
    let agents = agents.to_string();
    json!({
        "name": "wait",
        "image": manifest.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["fleet", "wait", "--nats", "$(NATS_URL)", "--agents", agents, "--within", WAIT],
        "env": [nats_url(manifest)],
        "resources": resources("50m", "64Mi", &json!({ "memory": "128Mi" })),
        "securityContext": *CONTAINER_SECURITY,
    })
}

fn nats_url(manifest: &Manifest<'_>) -> Value {
    secret("NATS_URL", &manifest.named("nats"), "url")
}

fn secret(variable: &str, name: &str, key: &str) -> Value {
    json!({ "name": variable, "valueFrom": { "secretKeyRef": { "name": name, "key": key } } })
}

/// Requested CPU and memory, and limits.
fn resources(cpu: &str, memory: &str, limits: &Value) -> Value {
    json!({ "requests": { "cpu": cpu, "memory": memory }, "limits": limits })
}
