//! What is in `deploy`: the chart, the manifest that has the same objects, units, cloud-init and OpenTofu; each with the
//! checker of its format, where that is installed.

mod machines;
mod objects;
mod script;

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Ended, Space, golden_file, plain, root, throng};
use objects::{Schema, by_name, comparable};

/// What the manifests of the goldens run.
const SCENARIO: &str = "\
name: visitors
target: http://shop.example/
sessions:
  visitor:
    - get: /
      as: home
    - think: { empirical: thinks.txt }
arrivals:
  - { constant: 100/s, for: 1m }
thresholds:
  - errors == 0
";
const THINKS: &str = "1s\n2s\n3s\n";

/// The scenario and its file on the disk.
fn scenario() -> (Space, PathBuf) {
    let space = Space::new();
    space.file("thinks.txt", THINKS);
    let path = space.file("visitors.yaml", SCENARIO);
    (space, path)
}

/// What `throng fleet manifest` prints, its random password made a known one.
#[track_caller]
fn manifest(args: &[&str]) -> String {
    let (_space, path) = scenario();
    let mut command = throng(["fleet", "manifest"]);
    command.arg(&path).args(args);
    let ended = Ended::of(&mut command).with(0);
    let password = ended.out.split("password: ").nth(1);
    match password.and_then(|rest| rest.lines().next()) {
        // One that YAML would read as a number stands in quotes.
        Some(password) => (ended.out.replace(password, "PASSWORD"))
            .replace(password.trim_matches('"'), "PASSWORD"),
        None => ended.out,
    }
}

/// What helm makes of the chart with these values; `None`: it is not installed.
#[track_caller]
fn chart(values: &[&str]) -> Option<String> {
    let (space, path) = scenario();
    let mut command = plain(Command::new("helm"));
    command
        .env("HOME", space.path(""))
        .args(["template", "throng", "--kube-version", "1.29.0"])
        .arg(root().join("deploy/helm/throng"))
        .arg("--set-file")
        .arg(format!("scenario.text={}", path.display()))
        .arg("--set-file")
        .arg(format!("scenario.files.thinks\\.txt={}", space.path("thinks.txt").display()))
        .args(values.iter().flat_map(|value| ["--set", value]));
    let Output { status, stdout, stderr } = command.output().ok()?;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    Some(String::from_utf8(stdout).unwrap())
}

/// A fleet with a NATS of its own, and one with yours.
const MANIFESTS: [(&str, &[&str], &[&str]); 2] = [
    ("own-nats", &["--agents", "3"], &["agents.count=3", "nats.password=PASSWORD"]),
    (
        "your-nats",
        &[
            "--nats",
            "nats://me:secret@nats.example:4222",
            "--image",
            concat!("registry.example/throng:", env!("CARGO_PKG_VERSION")),
            "--set",
            "arrivals.0.for=10s",
        ],
        &[
            "nats.url=nats://me:secret@nats.example:4222",
            "image.repository=registry.example/throng",
            "run.args={--set,arrivals.0.for=10s}",
        ],
    ),
];

/// What the chart can and the manifest cannot.
const CHARTS: [(&str, &[&str]); 2] = [
    (
        "chart-s3",
        &[
            "nats.urlSecret.name=mine",
            "results.kind=s3",
            "results.s3.endpoint=https://s3.example",
            "results.s3.path=bucket/runs",
            "results.s3.secret=keys",
            "run.envFrom[0].secretRef.name=throng-env",
            "image.pullSecrets[0].name=registry",
            "agents.spread=DoNotSchedule",
        ],
    ),
    (
        "chart-fleet",
        &[
            "agents.kind=Deployment",
            "agents.labels.region=eu",
            "agents.nodeSelector.pool=load",
            "agents.tolerations[0].key=load",
            "agents.tolerations[0].operator=Exists",
            "run.enabled=false",
            "nats.password=PASSWORD",
            "nats.networkPolicy=false",
        ],
    ),
];

#[test]
fn manifests_are_as_they_were() {
    for (name, args, _) in MANIFESTS {
        golden_file(&format!("testdata/deploy/{name}.yaml"), &manifest(args));
    }
}

#[test]
fn chart_and_manifest_make_the_same_objects() {
    for (name, args, values) in MANIFESTS {
        let Some(chart) = chart(values) else {
            return testkit::needs::skip("helm is not installed");
        };
        let chart = by_name(&chart);
        let manifest = by_name(&manifest(args));
        let names = |objects: &std::collections::BTreeMap<String, Value>| {
            objects.keys().cloned().collect::<Vec<_>>()
        };
        let mut of_chart = names(&chart);
        // A test is no part of the fleet.
        of_chart.retain(|name| name != "Pod throng-test");
        assert_eq!(of_chart, names(&manifest), "{name}");
        for (object, made) in &manifest {
            let made = comparable(made);
            let charted = comparable(&chart[object]);
            assert_eq!(
                serde_json::to_string_pretty(&made).unwrap(),
                serde_json::to_string_pretty(&charted).unwrap(),
                "{name}, {object}: the manifest, then the chart"
            );
        }
    }
}

#[test]
fn charts_are_as_they_were() {
    for (name, values) in CHARTS {
        let Some(chart) = chart(values) else {
            return testkit::needs::skip("helm is not installed");
        };
        golden_file(&format!("testdata/deploy/{name}.yaml"), &chart);
    }
}

#[test]
fn objects_are_of_the_types_of_kubernetes() {
    let schema = Schema::read();
    let mut count = 0;
    let names = MANIFESTS.map(|(name, ..)| name).into_iter().chain(CHARTS.map(|(name, _)| name));
    for name in names {
        let path = root().join(format!("testdata/deploy/{name}.yaml"));
        for (object, value) in by_name(&std::fs::read_to_string(path).unwrap()) {
            assert_eq!(schema.faults(&value), Vec::<String>::new(), "{name}, {object}");
            count += 1;
        }
    }
    assert!(count > 25, "{count} objects");
}

/// So the check before can fail.
#[test]
fn a_wrong_field_is_no_type_of_kubernetes() {
    let schema = Schema::read();
    let objects = by_name(&manifest(&[]));
    let job = &objects["Job throng-agents-1"];
    let container = "/spec/template/spec/containers/0";
    let wrong: [(&str, &str, Value); 4] = [
        ("/spec", "completion", 3.into()),
        ("/spec", "completions", "3".into()),
        (container, "image", Value::Null),
        (&format!("{container}/securityContext"), "readOnlyRootFilesytem", true.into()),
    ];
    for (at, key, value) in wrong {
        let mut job = job.clone();
        job.pointer_mut(at).unwrap()[key] = value;
        assert_ne!(schema.faults(&job), Vec::<String>::new(), "{at}/{key}");
    }
}

/// What the profile `restricted` of Pod Security demands of each pod, and what a pod needs so that nothing else runs.
#[test]
fn no_pod_has_a_privilege() {
    for name in ["own-nats", "your-nats", "chart-s3", "chart-fleet"] {
        let path = root().join(format!("testdata/deploy/{name}.yaml"));
        let mut pods = 0;
        for (object, value) in by_name(&std::fs::read_to_string(path).unwrap()) {
            let spec = value.pointer("/spec/template/spec");
            let spec = spec.or_else(|| value.get("spec").filter(|_| value["kind"] == "Pod"));
            let Some(spec) = spec else { continue };
            pods += 1;
            let security = &spec["securityContext"];
            assert_eq!(security["runAsNonRoot"], true, "{name}, {object}");
            assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault", "{name}, {object}");
            assert_eq!(spec["automountServiceAccountToken"], false, "{name}, {object}");
            let lists = ["initContainers", "containers"].map(|list| spec[list].as_array());
            for container in lists.into_iter().flatten().flatten() {
                let security = &container["securityContext"];
                let what = format!("{name}, {object}, {}", container["name"]);
                assert_eq!(security["allowPrivilegeEscalation"], false, "{what}");
                assert_eq!(security["readOnlyRootFilesystem"], true, "{what}");
                assert_eq!(security["capabilities"]["drop"][0], "ALL", "{what}");
                assert!(container["resources"]["requests"]["cpu"].is_string(), "{what}");
                assert!(container["resources"]["limits"]["memory"].is_string(), "{what}");
            }
        }
        assert!(pods > 0, "{name}");
    }
}

#[test]
fn values_are_checked_against_their_schema() {
    let folder = root().join("deploy/helm/throng");
    let schema = std::fs::read_to_string(folder.join("values.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let values = std::fs::read_to_string(folder.join("values.yaml")).unwrap();
    let values = crate::support::yaml(&values);
    assert!(schema.is_valid(&values));
    let wrong: [(&str, &str, Value); 6] = [
        ("", "agent", 4.into()),
        ("/agents", "count", 0.into()),
        ("/agents", "kind", "DaemonSet".into()),
        ("/nats", "url", "http://nats.example".into()),
        ("/results", "kind", "disk".into()),
        ("/nats", "password", "a b".into()),
    ];
    for (at, key, value) in wrong {
        let mut values = values.clone();
        values.pointer_mut(at).unwrap()[key] = value;
        assert!(!schema.is_valid(&values), "{at}/{key}");
    }
}

/// The chart is of this version: controller and agents must have the same.
#[test]
fn the_chart_has_throngs_version() {
    let text = std::fs::read_to_string(root().join("deploy/helm/throng/Chart.yaml")).unwrap();
    let chart = crate::support::yaml(&text);
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn what_kubernetes_would_refuse_is_refused_before() {
    let (space, path) = scenario();
    let path = path.to_str().unwrap();
    let refused = |args: &[&str], code: i32, what: &str| {
        let ended = Ended::of(throng(["fleet", "manifest"]).args(args)).with(code);
        ended.stderr_contains(what);
        assert_eq!(ended.out, "");
    };
    for (args, what) in [
        (["--name", "Throng"], "cannot be a prefix"),
        (["--namespace", "a_b"], "namespace"),
        (["--nats", "http://nats.example"], "scheme"),
        (["--image", "a b"], "image"),
        (["--agents", "0"], "agents"),
    ] {
        refused(&[&[path], &args[..]].concat(), 64, what);
    }
    let large = space.file("large.yaml", &format!("# {}\n{SCENARIO}", "x".repeat(1_000_000)));
    refused(&[large.to_str().unwrap()], 65, "ConfigMap");
    std::fs::create_dir(space.path("data")).unwrap();
    space.file("data/thinks.txt", THINKS);
    let below = space.file("below.yaml", &SCENARIO.replace("thinks.txt", "data/thinks.txt"));
    refused(&[below.to_str().unwrap()], 65, "data/thinks.txt");
}

/// Secrets are not in the manifest: it says which Secret the run reads.
#[test]
fn a_scenario_that_reads_the_environment_gets_it_from_a_secret() {
    let space = Space::new();
    let text = SCENARIO.replace("get: /", "get: /${env('TOKEN')}");
    let path =
        space.file("visitors.yaml", &text.replace("empirical: thinks.txt", "exponential: 1s"));
    let mut command = throng(["fleet", "manifest"]);
    command.arg(path).env("TOKEN", "hush-hush");
    let ended = Ended::of(&mut command).with(0);
    assert!(!ended.out.contains("hush-hush"), "{}", ended.out);
    let run = &by_name(&ended.out)["Job throng-run-1"];
    let from = run.pointer("/spec/template/spec/containers/0/envFrom/0/secretRef/name");
    assert_eq!(from.unwrap(), "throng-env");
    ended.stderr_contains("create secret generic throng-env --from-literal=TOKEN=");
}
