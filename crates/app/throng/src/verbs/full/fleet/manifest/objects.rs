//! The objects of a fleet and its run, as the chart in `deploy/helm/throng` makes them. A test compares both.

use serde_json::{Map, Value, json};

use super::pods::{POD_SECURITY, agents, nats, pod, run};

/// The port of NATS, and that of its health.
pub(super) const NATS_PORT: u16 = 4222;
pub(super) const MONITOR_PORT: u16 = 8222;
/// The run is ended after this long, seconds.
const DEADLINE_S: u32 = 86_400;
/// Size of each volume.
const VOLUME: &str = "2Gi";

/// Manifest to be applied.
#[derive(Debug)]
pub(super) struct Manifest<'a> {
    /// Prefix of all names.
    pub(super) name: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) image: &'a str,
    pub(super) agents: u32,
    pub(super) nats: NatsServer<'a>,
    /// The scenario, and the files that it names.
    pub(super) scenario: &'a str,
    pub(super) files: &'a [(String, String)],
    /// `--set` of the run.
    pub(super) sets: &'a [(String, String)],
    /// Whether the scenario reads the environment: that of the run is a Secret.
    pub(super) reads_environment: bool,
}

/// NATS server at which agents and controller meet.
#[derive(Debug)]
pub(super) enum NatsServer<'a> {
    /// URL of a server that is already there.
    Yours(&'a str),
    /// The password of one that is started.
    Own(String),
}

impl Manifest<'_> {
    /// All objects, in an order in which they can be applied.
    pub(super) fn objects(&self) -> Vec<Value> {
        let mut all = vec![self.account(), self.nats_secret()];
        if let NatsServer::Own(_) = self.nats {
            all.extend([
                self.nats_configuration(),
                self.nats_service(),
                self.nats_server(),
                self.nats_policy(),
            ]);
        }
        all.extend([self.scenario(), self.agents(), self.results(), self.run()]);
        all
    }

    pub(super) fn named(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    /// Labels that distinguish the pods of a component.
    pub(super) fn selector(&self, component: &str) -> Value {
        json!({
            "app.kubernetes.io/name": "throng",
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/component": component,
        })
    }

    pub(super) fn labels(&self, component: &str) -> Value {
        let mut labels = self.selector(component);
        labels["app.kubernetes.io/version"] = env!("CARGO_PKG_VERSION").into();
        labels["app.kubernetes.io/managed-by"] = "throng".into();
        labels
    }

    fn object(
        &self,
        version: &str,
        kind: &str,
        name: &str,
        component: &str,
        content: Value,
    ) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), name.into());
        if let Some(namespace) = self.namespace {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        metadata.insert("labels".to_owned(), self.labels(component));
        let mut object = json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
        if let (Some(object), Value::Object(content)) = (object.as_object_mut(), content) {
            object.extend(content);
        }
        object
    }

    fn account(&self) -> Value {
        let content = json!({ "automountServiceAccountToken": false });
        self.object("v1", "ServiceAccount", self.name, "fleet", content)
    }

    fn nats_secret(&self) -> Value {
        let content = match &self.nats {
            NatsServer::Yours(url) => json!({ "url": url }),
            NatsServer::Own(password) => json!({
                "password": password,
                "url": format!("nats://throng:{password}@{}:{NATS_PORT}", self.named("nats")),
            }),
        };
        let content = json!({ "type": "Opaque", "stringData": content });
        self.object("v1", "Secret", &self.named("nats"), "nats", content)
    }

    fn nats_configuration(&self) -> Value {
        let text = format!(
            "port: {NATS_PORT}\nhttp_port: {MONITOR_PORT}\n\
             jetstream {{ store_dir: \"/data\", sync_interval: always }}\n\
             authorization {{ user: throng, password: $NATS_PASSWORD }}\n"
        );
        let content = json!({ "data": { "nats.conf": text } });
        self.object("v1", "ConfigMap", &self.named("nats"), "nats", content)
    }

    fn nats_service(&self) -> Value {
        let content = json!({ "spec": {
            "selector": self.selector("nats"),
            "ports": [{ "name": "nats", "port": NATS_PORT, "targetPort": "nats" }],
        } });
        self.object("v1", "Service", &self.named("nats"), "nats", content)
    }

    fn nats_server(&self) -> Value {
        let name = self.named("nats");
        let content = json!({ "spec": {
            "serviceName": name,
            "replicas": 1,
            "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Delete", "whenScaled": "Retain" },
            "selector": { "matchLabels": self.selector("nats") },
            "template": {
                "metadata": { "labels": self.labels("nats") },
                "spec": pod(self, nats(self), json!({ "securityContext": *POD_SECURITY })),
            },
            "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": claim() }],
        } });
        self.object("apps/v1", "StatefulSet", &name, "nats", content)
    }

    fn nats_policy(&self) -> Value {
        let fleet = json!({
            "app.kubernetes.io/name": "throng",
            "app.kubernetes.io/instance": self.name,
        });
        let content = json!({ "spec": {
            "podSelector": { "matchLabels": self.selector("nats") },
            "policyTypes": ["Ingress"],
            "ingress": [{
                "from": [{ "podSelector": { "matchLabels": fleet } }],
                "ports": [{ "port": "nats" }],
            }],
        } });
        self.object("networking.k8s.io/v1", "NetworkPolicy", &self.named("nats"), "nats", content)
    }

    fn scenario(&self) -> Value {
        let mut data = Map::new();
        data.insert("scenario.yaml".to_owned(), self.scenario.into());
        for (name, text) in self.files {
            data.insert(name.clone(), text.as_str().into());
        }
        let name = self.named("scenario");
        self.object("v1", "ConfigMap", &name, "run", json!({ "data": data }))
    }

    fn agents(&self) -> Value {
        let content = json!({ "spec": {
            "completionMode": "Indexed",
            "completions": self.agents,
            "parallelism": self.agents,
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": self.agents,
            "activeDeadlineSeconds": DEADLINE_S,
            "template": self.stays_template("agents", &agents(self)),
        } });
        self.object("batch/v1", "Job", &self.named("agents-1"), "agents", content)
    }

    fn results(&self) -> Value {
        self.object(
            "v1",
            "PersistentVolumeClaim",
            &self.named("results"),
            "run",
            json!({ "spec": claim() }),
        )
    }

    fn run(&self) -> Value {
        let content = json!({ "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": DEADLINE_S,
            "template": self.stays_template("run", &run(self)),
        } });
        self.object("batch/v1", "Job", &self.named("run-1"), "run", content)
    }

    /// Pods that nobody moves to another node during a run.
    fn stays_template(&self, component: &str, spec: &Value) -> Value {
        json!({
            "metadata": {
                "labels": self.labels(component),
                "annotations": { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" },
            },
            "spec": spec,
        })
    }
}

fn claim() -> Value {
    json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": VOLUME } } })
}
