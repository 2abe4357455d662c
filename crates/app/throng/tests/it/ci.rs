//! The GitHub Action and the GitLab template: their steps as they stand in the files, run against a small repository
//! whose service gets slower, and against two of its commits.

mod commits;
mod expression;
mod forge;
mod github;
mod gitlab;

use std::path::Path;
use std::process::Command;

use testkit::needs::skip;

use crate::support::{Ended, Served, Space, plain, root, throng, yaml};
use forge::Forge;

/// What the repository is tested with: one request, 100 times a second.
const SCENARIO: &str = "\
name: load-test
target: http://127.0.0.1:1/
sessions:
  visitor:
    - get: /
      as: home
arrivals:
  - { constant: 100/s, for: 1s }
options: { lag_max: 5s, http_connections: shared }
thresholds:
  - errors == 0
";
/// Beyond what a busy machine does to times, and far below the planted difference.
const DIFFERENCE: &str = "300%";

/// A repository with a load test, its service, and what its forge keeps between builds.
struct Repository {
    space: Space,
    forge: Forge,
}

/// What one build is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A commit on the default branch.
    Push,
    /// A commit of a request for a merge.
    Request,
}

/// One build of a repository, as its forge describes it.
struct Build<'r> {
    repository: &'r Repository,
    event: Event,
    number: u32,
    /// Arguments of `throng run`: the build's own service is the target.
    run_args: String,
    /// The commit before those of the request.
    base: String,
    /// Other inputs of the Action, and variables of the template.
    inputs: Vec<(&'static str, String)>,
}

impl Repository {
    fn new() -> Repository {
        let space = Space::new();
        for folder in ["work", "bin", "cache", "temp"] {
            std::fs::create_dir(space.path(folder)).unwrap();
        }
        space.file("work/load-test.yaml", SCENARIO);
        let program = env!("CARGO_BIN_EXE_throng");
        std::os::unix::fs::symlink(program, space.path("bin/throng")).unwrap();
        let forge = Forge::new();
        Repository { space, forge }
    }

    /// Builds the state of the repository whose service takes this long.
    #[track_caller]
    fn build<'r>(&'r self, event: Event, number: u32, delay: &str) -> (Served, Build<'r>) {
        let args = ["stall", "--delay", delay, "--stall", "1ms", "--every", "1h"];
        let served = Served::start(&args);
        let run_args = format!("--set target={}/ --quiet", served.url);
        let base = String::new();
        let inputs = Vec::new();
        let build = Build { repository: self, event, number, run_args, base, inputs };
        (served, build)
    }

    /// The comment that the last build wrote.
    fn comment(&self) -> String {
        std::fs::read_to_string(self.space.path("work/.throng/comment.md")).unwrap()
    }

    /// The runs of the stored baselines, which are all of this machine.
    fn baseline(&self) -> Vec<String> {
        let names = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect()
        };
        let folder = self.space.path("cache/.throng/baseline");
        let machines = names(&folder);
        assert!(machines.len() <= 1, "{machines:?}");
        let runs = machines.iter().flat_map(|machine| names(&folder.join(machine)));
        // The file that names the machine stands beside them, and what is kept of older builds.
        let is_run = |name: &String| name != "machine" && name != "history";
        let mut runs: Vec<String> = runs.filter(is_run).collect();
        runs.sort();
        runs
    }
}

impl Build<'_> {
    /// Bash in the repository with this script; the program under test is in `PATH` before all others.
    fn bash(&self, script: &str) -> Command {
        let mut command = plain(Command::new("bash"));
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.repository.space.path("bin");
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.current_dir(self.repository.space.path("work"));
        command
    }

    /// What is kept between builds, in the working copy or the other way round.
    fn copy_kept(&self, path: &str, from: &str, to: &str) {
        let space = &self.repository.space;
        let from = space.path(from).join(path);
        let to = space.path(to).join(path);
        if from.exists() {
            let script = "rm -rf \"$2\" && mkdir -p \"$2\" && cp -r \"$1/.\" \"$2\"";
            let mut copy = Command::new("sh");
            copy.args(["-ec", script, "sh"]).arg(from).arg(to);
            assert!(copy.status().unwrap().success());
        }
    }
}

/// What both do over three builds: the default branch, a request that changes nothing, one that is slower.
#[track_caller]
fn three_builds(run: impl Fn(&Build<'_>) -> Ended) {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("ci/comment.py needs python3");
    }
    let repository = Repository::new();
    let (_served, build) = repository.build(Event::Push, 1, "5ms");
    run(&build).with(0);
    let first = repository.comment();
    assert!(first.contains("All 4 runs passed"), "{first}");
    assert!(first.contains("no baseline yet"), "{first}");
    assert_eq!(repository.forge.comments().len(), 0);
    let stored = repository.baseline();
    assert_eq!(stored.len(), 4);
    let trend = std::fs::read_to_string(repository.space.path("work/.throng/trend.txt")).unwrap();
    assert!(trend.starts_with("NO ALARM  load-test in 1 run\n"), "{trend}");

    let (_served, build) = repository.build(Event::Request, 2, "5ms");
    run(&build).with(0);
    let posted = repository.forge.comments();
    assert_eq!(posted, [repository.comment()]);
    assert!(posted[0].starts_with("<!-- throng: load-test.yaml -->\n"));
    assert!(posted[0].contains("## ✅ No difference seen"), "{posted:?}");

    let (_served, build) = repository.build(Event::Request, 3, "100ms");
    run(&build).with(1);
    let posted = repository.forge.comments();
    assert_eq!(posted, [repository.comment()]);
    assert!(posted[0].contains("## ❌ Slower"), "{posted:?}");
    assert!(posted[0].contains("| ❌ home p"), "{posted:?}");
    assert_eq!(repository.baseline(), stored);

    // A baseline of another machine is none.
    let folder = repository.space.path("cache/.throng/baseline");
    let own = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    std::fs::write(own.join("machine"), "an abacus\n").unwrap();
    std::fs::rename(own, folder.join("000000000000")).unwrap();
    let (_served, build) = repository.build(Event::Push, 4, "100ms");
    run(&build).with(0);
    let comment = repository.comment();
    assert!(comment.contains("no baseline of this machine yet"), "{comment}");
    assert!(comment.contains("\n- an abacus\n"), "{comment}");
}

#[test]
fn the_github_action_passes_finds_a_regression_and_comments() {
    three_builds(github::run);
}

#[test]
fn the_gitlab_template_passes_finds_a_regression_and_comments() {
    three_builds(gitlab::run);
}

#[test]
fn failed_thresholds_and_broken_scenarios_are_in_the_comment() {
    let repository = Repository::new();
    let (_served, mut build) = repository.build(Event::Push, 1, "1ms");
    build.run_args += " --set thresholds.0=errors>0";
    github::run(&build).with(1);
    let comment = repository.comment();
    assert!(comment.contains("❌ Thresholds failed in 4 of 4 runs."));
    assert_eq!(repository.baseline().len(), 4);
    build.run_args += " --set nothing=1";
    github::run(&build).with(65);
    let comment = repository.comment();
    assert!(comment.contains("`throng run` ended with exit code 65"), "{comment}");
}

/// A release of this version in a folder, as `make dist` lays it out: the program and its scripts.
fn release(space: &Space) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let machine = std::env::consts::ARCH;
    let name = format!("throng-{version}-{machine}-unknown-linux-musl");
    let folder = space.path("releases").join(format!("v{version}"));
    std::fs::create_dir_all(folder.join(&name)).unwrap();
    let link = |from: &Path, to: &str| {
        std::os::unix::fs::symlink(from, folder.join(&name).join(to)).unwrap();
    };
    link(Path::new(env!("CARGO_BIN_EXE_throng")), "throng");
    link(&root().join("ci"), "ci");
    let script = "tar -czf \"$1.tar.gz\" \"$1\" && sha256sum \"$1.tar.gz\" > SHA256SUMS";
    let mut packed = Command::new("sh");
    packed.args(["-ec", script, "sh", &name]).current_dir(&folder);
    assert!(packed.status().unwrap().success());
    format!("file://{}", space.path("releases").display())
}

#[test]
fn the_action_installs_a_release_whose_checksum_is_right() {
    let space = Space::new();
    let download = release(&space);
    let version = env!("CARGO_PKG_VERSION");
    let install = || {
        let mut command = plain(Command::new(root().join("ci/install.sh")));
        command.arg(version).env("THRONG_DOWNLOAD", &download);
        command.env("RUNNER_TEMP", space.path("temp"));
        command.env("GITHUB_PATH", space.path("path"));
        // A program of this name that is in PATH would be used.
        command.env("PATH", "/usr/bin:/bin");
        Ended::of(&mut command)
    };
    if Command::new("curl").arg("--version").output().is_err() {
        return skip("ci/install.sh needs curl");
    }
    install().with(0);
    let path = std::fs::read_to_string(space.path("path")).unwrap();
    let installed = Command::new(Path::new(path.trim()).join("throng")).arg("-V").output().unwrap();
    assert_eq!(installed.stdout, format!("throng {version}\n").into_bytes());
    let sums = space.path(&format!("releases/v{version}/SHA256SUMS"));
    let wrong = std::fs::read_to_string(&sums).unwrap();
    let first = if wrong.starts_with('0') { "1" } else { "0" };
    std::fs::write(&sums, format!("{first}{}", &wrong[1..])).unwrap();
    assert_ne!(install().code, Some(0));
}

#[test]
fn both_install_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let read = |name: &str| yaml(&std::fs::read_to_string(root().join(name)).unwrap());
    assert_eq!(read("action.yml")["inputs"]["version"]["default"], version);
    let template = read("ci/gitlab/throng.yml");
    assert_eq!(template[".throng"]["variables"]["THRONG_VERSION"], version);
    let said = Ended::of(&mut throng(["-V"])).with(0).out;
    assert_eq!(said.trim(), format!("throng {version}"));
}

#[test]
fn the_version_is_the_same_wherever_it_is_written() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("scripts/version.py needs python3");
    }
    let mut command = plain(Command::new(root().join("scripts/version.py")));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let said = Ended::of(&mut command).with(0).out;
    assert_eq!(said.trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn workflows_are_yaml_and_run_what_there_is() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let read = |name: &str| {
        let path = root().join(".github/workflows").join(name);
        yaml(&std::fs::read_to_string(path).unwrap()).to_string()
    };
    assert!(read("ci.yml").contains(".ci/run") && root().join(".ci/run").exists());
    assert!(read("ci.yml").contains("make site") && makefile.contains("\nsite:"));
    let release = read("release.yml");
    assert!(release.contains("make dist") && makefile.contains("\ndist:"));
    for script in ["dist/sign.sh", "dist/publish.sh", "dist/notes.py", "version.py"] {
        let path = format!("scripts/{script}");
        assert!(release.contains(&path) && root().join(&path).exists(), "{path}");
    }
    let publish = std::fs::read_to_string(root().join("scripts/dist/publish.sh")).unwrap();
    for place in ["release", "pypi", "npm", "container", "homebrew"] {
        assert!(release.contains(place) && publish.contains(&format!("\n{place})")), "{place}");
    }
}
