//! `ci/kubernetes-run.sh`, with programs in place of kubectl and helm that answer as they do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testkit::needs::skip;

use crate::support::{Ended, Space, plain, root, yaml};

/// Answers by what it is given; `CODE` is the exit code of the run's container, `STATES` the Job's conditions.
const KUBECTL: &str = r#"#!/bin/sh
echo "kubectl $*" >>"$CALLS"
case "$*" in
*"get jobs"*) echo job.batch/load-run-3 ;;
*"get job.batch/load-run-3"*) printf '%s' "$STATES" ;;
*exitCode*) printf '%s' "$CODE" ;;
*claimName*) printf '%s' "$CLAIM" ;;
*"logs"*) echo "the verdict" ;;
*"exec"*) tar -cf - -C "$RESULTS" . ;;
esac
"#;
const HELM: &str = "#!/bin/sh\necho \"helm $*\" >>\"$CALLS\"\n";

/// A space with the programs.
fn space() -> Space {
    let space = Space::new();
    std::fs::create_dir(space.path("bin")).unwrap();
    std::fs::create_dir(space.path("results")).unwrap();
    space.file("results/summary.json", "{}\n");
    for (name, text) in [("kubectl", KUBECTL), ("helm", HELM)] {
        let path = space.file(&format!("bin/{name}"), text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    space
}

fn run(space: &Space, states: &str, code: &str, claim: &str) -> Ended {
    let mut command = plain(Command::new("bash"));
    let path = format!("{}:{}", space.path("bin").display(), std::env::var("PATH").unwrap());
    command
        .arg(root().join("ci/kubernetes-run.sh"))
        .current_dir(space.path(""))
        .env("PATH", path)
        .env("CALLS", space.path("calls"))
        .env("RESULTS", space.path("results"))
        .env("STATES", states)
        .env("CODE", code)
        .env("CLAIM", claim)
        .env("THRONG_SCENARIO", "load.yaml")
        .env("THRONG_RELEASE", "load")
        .env("THRONG_NAMESPACE", "tests")
        .env("THRONG_LOOK", "0")
        .env("THRONG_TIME_MAX", "1")
        .env("THRONG_HELM_ARGS", "--set agents.count=8");
    Ended::of(&mut command)
}

fn calls(space: &Space) -> String {
    std::fs::read_to_string(space.path("calls")).unwrap()
}

#[test]
fn the_script_ends_with_the_verdict_of_the_run() {
    let cases = [
        ("Complete", "0", 0),
        ("SuccessCriteriaMet Complete", "0", 0),
        ("FailureTarget Failed", "1", 1),
        ("Failed", "2", 2),
        ("Failed", "65", 65),
        // The agents never came.
        ("Failed", "", 69),
        // It does not end.
        ("", "", 69),
        ("Suspended", "", 69),
    ];
    for (states, code, expected) in cases {
        let space = space();
        run(&space, states, code, "").with(expected);
        let calls = calls(&space);
        assert!(
            calls.contains(
                "--namespace tests --set-file scenario.text=load.yaml --set agents.count=8"
            ),
            "{calls}"
        );
        assert!(calls.contains("helm uninstall load --namespace tests"), "{calls}");
        assert!(!calls.contains("delete persistentvolumeclaim"), "nothing was fetched: {calls}");
    }
}

#[test]
fn results_are_fetched_before_the_claim_is_deleted() {
    let space = space();
    run(&space, "Complete", "0", "load-results").with(0).stdout_contains("the verdict");
    let out = space.path(".throng/kubernetes");
    assert_eq!(std::fs::read_to_string(out.join("summary.json")).unwrap(), "{}\n");
    assert_eq!(std::fs::read_to_string(out.join("log.txt")).unwrap(), "the verdict\n");
    let calls = calls(&space);
    let place = |what: &str| calls.find(what).unwrap_or_else(|| panic!("{what}\n{calls}"));
    assert!(place("exec load-fetch") < place("helm uninstall"));
    assert!(place("helm uninstall") < place("delete persistentvolumeclaim load-results"));
}

/// The examples call the script, with the names that it reads.
#[test]
fn examples_use_the_script() {
    let script = std::fs::read_to_string(root().join("ci/kubernetes-run.sh")).unwrap();
    for (name, list) in [("github", "/jobs/load/steps/3/env"), ("gitlab", "/load-test/variables")] {
        let path = root().join(format!("deploy/ci/{name}.yml"));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("throng/ci/kubernetes-run.sh"), "{name}");
        let example = yaml(&text);
        let variables = example.pointer(list).unwrap().as_object().unwrap();
        assert!(variables.contains_key("THRONG_SCENARIO"), "{name}");
        // These two are the job's own.
        let own = ["THRONG_REPOSITORY", "THRONG_VERSION"];
        for variable in variables.keys().filter(|name| !own.contains(&name.as_str())) {
            assert!(script.contains(&format!("{variable} ")), "{name}: {variable}");
        }
    }
}

#[test]
fn the_script_has_no_fault_that_shellcheck_knows() {
    let files = ["ci/kubernetes-run.sh", "deploy/helm/throng/files/upload.sh"];
    for file in files {
        let path = root().join(file);
        let shell = if Path::new(file).starts_with("ci") { "bash" } else { "sh" };
        let mut command = plain(Command::new("shellcheck"));
        if command.arg("--version").output().is_err() {
            return skip("shellcheck is not installed");
        }
        let mut command = plain(Command::new("shellcheck"));
        Ended::of(command.args(["--shell", shell]).arg(path)).with(0);
    }
}
