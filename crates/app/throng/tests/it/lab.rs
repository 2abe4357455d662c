//! Labs: hosts, distances, names, commands, faults, and what is left when one is killed. They need root and TUN devices.

mod dilation;
mod mobile;
mod network;
mod routing;
mod scaling;
mod shortage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use record::Run;
use record::schema::{EventKind, Verdict};
use testkit::needs::skip;

use crate::support::{Ended, Space, golden, pass, root, throng};

/// Two regions, 40 ms apart; the server in each says where it is.
const FILE: &str = "
lab: NAME
regions: [near, far]
links: [ { between: [near, far], round_trip: 40ms } ]
hosts:
  web: { each: all, cpus: 0.5, memory: 64MiB }
services:
  web:
    on: web
    run: throng serve hello --listen=${host}:80
    port: 80
    ready: /
    restart: always
names:
  nearest: { of: web, policy: latency, ttl: 1s }
  first: { of: web, policy: failover, order: [near, far], ttl: 1s }
scenario: scenario.yaml
set: { target: \"http://web-near.lab/\" }
";

const SCENARIO: &str = "
name: lab
target: http://nearest.lab/
regions: { near: 1, far: 1 }
options: { lag_max: 5s, timeout: 900ms }
sessions: { one: [ { get: /, as: page } ] }
arrivals: [ { constant: 40/s, for: 6s } ]
thresholds: [ \"error_rate < 100%\" ]
";

/// A lab of a test, in a directory of its own; it ends with it.
struct Lab {
    space: Space,
    name: &'static str,
}

impl Lab {
    /// `None`, said aloud, where there can be no lab.
    fn new(name: &'static str, further: &str) -> Option<Lab> {
        let is_root = Command::new("id").arg("-u").output();
        let is_root = is_root.is_ok_and(|ended| ended.stdout == b"0\n");
        if !is_root || !Path::new("/dev/net/tun").exists() {
            skip("a lab needs root and /dev/net/tun");
            return None;
        }
        let space = Space::new();
        let text = FILE.replace("NAME", name) + further;
        space.file("lab.yaml", &text);
        space.file("scenario.yaml", SCENARIO);
        Some(Lab { space, name })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = throng(["lab"]);
        command.args(words).env("THRONG_LABS", self.space.path("labs"));
        command
    }

    /// A verb that succeeds, and what it printed.
    fn does(&self, words: &[&str]) -> String {
        Ended::of(&mut self.command(words)).with(0).out.clone()
    }

    /// The run that a verb makes in a directory of its own, whether it is trusted or not.
    fn records(&self, directory: &str, words: &[&str]) -> Run {
        let runs = self.space.path(directory);
        let further = ["--runs", runs.to_str().unwrap(), "--quiet"];
        let words = [words, &further].concat();
        let ended = Ended::of(&mut self.command(&words));
        let is_over = matches!(ended.code, Some(0 | 2));
        assert!(is_over, "{} {}", ended.out, ended.err);
        Run::open(&only(&runs)).unwrap()
    }

    /// The run of a scenario in the lab, which is up.
    fn records_inside(&self, scenario: &Path) -> Run {
        let scenario = scenario.to_str().unwrap();
        let program = env!("CARGO_BIN_EXE_throng");
        self.records("runs", &["exec", "control", "--", program, "run", scenario])
    }

    fn up(&self) {
        let file = self.space.path("lab.yaml");
        self.does(&["up", file.to_str().unwrap()]);
    }

    fn exec(&self, host: &str, command: &str) -> Ended {
        Ended::of(&mut self.command(&["exec", host, "--", "sh", "-c", command]))
    }

    /// The addresses of a name on a host.
    fn resolve(&self, host: &str, name: &str) -> String {
        let ended = self.exec(host, &format!("getent ahostsv4 {name}"));
        let addresses = ended.out.lines().filter(|line| line.contains("STREAM"));
        let addresses = addresses.filter_map(|line| line.split(' ').next());
        addresses.collect::<Vec<_>>().join(" ")
    }

    fn pid(&self) -> String {
        let file = self.space.path("labs").join(self.name).join("pid");
        std::fs::read_to_string(file).unwrap()
    }

    /// Processes whose environment names the directory of this test's labs: all of the lab's.
    fn processes(&self) -> usize {
        let folder = self.space.path("labs");
        let folder = folder.to_str().unwrap().as_bytes();
        let entries = std::fs::read_dir("/proc").unwrap();
        let lines =
            entries.filter_map(|entry| std::fs::read(entry.ok()?.path().join("environ")).ok());
        lines.filter(|line| line.windows(folder.len()).any(|part| part == folder)).count()
    }

    fn groups(&self) -> Vec<PathBuf> {
        let name = format!("throng-lab-{}_", self.name);
        let mut groups = Vec::new();
        for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"] {
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            let paths = entries.map(|entry| entry.unwrap().path());
            groups.extend(paths.filter(|path| path.to_string_lossy().contains(&name)));
        }
        groups
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.space.path("labs").join(self.name).exists() {
            let _ = self.command(&["down", self.name]).output();
        }
    }
}

/// The one entry of a directory.
fn only(directory: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(directory).unwrap();
    let entry = entries.next().unwrap().unwrap();
    assert!(entries.next().is_none());
    entry.path()
}

#[expect(clippy::disallowed_methods, reason = "processes are waited for")]
fn now() -> Instant {
    Instant::now()
}

/// Waits for what happens within seconds.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let limit = now() + Duration::from_secs(20);
    while !is_so() {
        assert!(now() < limit, "{what}");
        pass(Duration::from_millis(100));
    }
}

#[test]
fn a_labs_file_is_described() {
    let space = Space::new();
    let text = FILE.replace("NAME", "described")
        + "faults: [ { at: 2s, for: 1s, kill: web, region: far } ]\n";
    let file = space.file("lab.yaml", &text);
    let ended = Ended::of(throng(["lab", "check"]).arg(file));
    golden("lab-check", &ended.with(0).out);
}

#[test]
fn what_a_lab_needs_is_reported_before_anything_starts() {
    let space = Space::new();
    for (from, to, found) in [
        ("throng serve", "no-such-program serve", "8: `no-such-program` is not installed"),
        ("64MiB", "64000GiB", "the hosts may use 125 TiB of memory together"),
    ] {
        let file = space.file("lab.yaml", &FILE.replace("NAME", "needs").replace(from, to));
        for verb in ["up", "run"] {
            let mut command = throng(["lab", verb]);
            let ended = Ended::of(command.arg(&file).env("THRONG_LABS", space.path("labs")));
            assert_ne!(ended.code, Some(0));
            assert!(ended.err.replace('\n', " ").contains(found), "{}", ended.err);
        }
        assert!(!space.path("labs").exists());
    }
}

#[test]
fn hosts_are_as_far_apart_as_written_and_names_are_of_the_nearest() {
    let Some(lab) = Lab::new("distances", "") else {
        return;
    };
    lab.up();
    let near = "198.18.0.1";
    let far = "198.18.4.1";
    assert_eq!(lab.resolve("crowd-near", "nearest.lab"), near);
    assert_eq!(lab.resolve("crowd-far", "nearest.lab"), far);
    assert_eq!(lab.resolve("crowd-far", "first.lab"), near);
    assert_eq!(lab.resolve("crowd-far", "web-far.lab"), far);
    assert_eq!(lab.resolve("crowd-far", "elsewhere.lab"), "");
    let table = lab.does(&["calibrate", "--packets", "50"]);
    let line = table.lines().find(|line| line.starts_with("near – far")).unwrap();
    let median = line.split_ascii_whitespace().nth(5).unwrap();
    let median: f64 = median.parse().unwrap();
    assert!((39.0..80.0).contains(&median), "{table}");
    // Nothing beyond the lab is reached, and its processes do not see others.
    assert_eq!(lab.exec("web-near", "exit 7").code, Some(7));
    let ended = lab.exec("crowd-near", "cat /proc/net/route | wc -l; ls -d /proc/[0-9]* | wc -l");
    let counts: Vec<usize> = ended.out.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(counts[1] < 20, "{counts:?}");
    let ended = Ended::of(&mut lab.command(&["exec", "nowhere", "--", "true"]));
    assert_eq!(ended.code, Some(65), "{}", ended.err);
    assert!(ended.err.contains("there is no host `nowhere`"), "{}", ended.err);
}

#[test]
fn a_name_fails_over_when_its_region_dies_and_returns() {
    let Some(lab) = Lab::new("failover", "") else {
        return;
    };
    lab.up();
    let near = "198.18.0.1";
    let far = "198.18.4.1";
    let number = lab.does(&["fault", "kill: web\nregion: near"]);
    assert!(number.starts_with("fault 1;"), "{number}");
    until("the name does not fail over", || lab.resolve("crowd-near", "first.lab") == far);
    // Its restart rule does not bring it back while the fault lasts.
    assert!(lab.does(&["status"]).contains("web@web-near: killed"));
    lab.does(&["repair", "1"]);
    until("the name does not return", || lab.resolve("crowd-near", "first.lab") == near);
    let again = Ended::of(&mut lab.command(&["repair", "1"]));
    assert!(again.err.contains("no fault 1 is at work"), "{}", again.err);
    let wrong = Ended::of(&mut lab.command(&["fault", "kill: we"]));
    assert!(wrong.err.contains("there is no service `we`"), "{}", wrong.err);
    assert!(lab.does(&["logs", "web@web-far"]).contains("listening on"));
}

#[test]
fn a_run_has_regions_faults_and_the_network_in_its_record() {
    let faults = "faults: [ { at: 2s, for: 2s, partition: [near, far] } ]\n";
    let Some(lab) = Lab::new("runs", faults) else {
        return;
    };
    let file = lab.space.path("lab.yaml");
    let run = lab.records("runs", &["run", file.to_str().unwrap(), "--"]);
    assert_eq!(lab.processes(), 0);
    assert_eq!(run.info().host["lab"], "runs");
    assert_eq!(run.info().host["lab network"], "forwarder");
    let events = run.events().unwrap();
    let begins = events.iter().find(|e| matches!(e.what, EventKind::FaultBegan { .. })).unwrap();
    let ends = events.iter().find(|e| matches!(e.what, EventKind::FaultEnded { .. })).unwrap();
    let second = 1_000_000_000;
    assert!((2 * second..5 * second).contains(&begins.at_ns), "{begins:?}");
    // One may begin late, and ends when it should for all that.
    assert!(ends.at_ns >= 4 * second, "{ends:?}");
    let network = events
        .iter()
        .any(|e| matches!(e.what, EventKind::NetworkEmulated { packets, .. } if packets > 1_000));
    assert!(network, "{events:?}");
    let summary = run.summary().unwrap().unwrap();
    assert!(matches!(summary.verdict, Verdict::Passed | Verdict::Untrusted));
    // The server is near: who is far waits for two round trips, and is cut off for two of six seconds.
    let of = |region: &str| {
        let tag = summary.tags.iter().find(|tag| tag.value == region).unwrap();
        &tag.figures
    };
    let errors = |region: &str| of(region).errors_by_kind.values().sum::<u64>();
    // Another test may take the CPU for longer than a user waits.
    let near = errors("near");
    let lost = errors("far");
    assert!((20..=70).contains(&lost) && near < lost / 2, "{near} {lost}");
    let finding = summary.findings.iter().find(|finding| finding.code == "fault").unwrap();
    assert!(finding.text.contains("`partition: near from far`"), "{}", finding.text);
    let median = |region: &str| of(region).response.as_ref().unwrap().p50_ns;
    assert!((79_000_000..800_000_000).contains(&median("far")), "{}", median("far"));
    assert!(median("near") < median("far"), "{}", median("near"));
}

#[test]
fn nothing_is_left_of_a_lab_that_was_killed() {
    let Some(lab) = Lab::new("killed", "") else {
        return;
    };
    lab.up();
    assert!(lab.processes() >= 4);
    let file = lab.space.path("lab.yaml");
    let again = Ended::of(&mut lab.command(&["up", file.to_str().unwrap()]));
    assert!(again.err.contains("a lab `killed` is up already"), "{}", again.err);
    let killed = Command::new("kill").args(["-KILL", &lab.pid()]).status();
    assert!(killed.unwrap().success());
    until("processes are left", || lab.processes() == 0);
    let status = Ended::of(&mut lab.command(&["status"]));
    assert_eq!(status.code, Some(69), "{}", status.err);
    // The next `up` removes what is left.
    lab.up();
    assert_eq!(lab.resolve("crowd-near", "nearest.lab"), "198.18.0.1");
    lab.does(&["down"]);
    assert_eq!((lab.processes(), lab.groups()), (0, Vec::new()));
    assert!(!lab.space.path("labs/killed").exists());
    let none = Ended::of(&mut lab.command(&["down"]));
    assert!(none.err.contains("no lab is up"), "{}", none.err);
}

#[test]
fn a_lab_ends_with_the_run_that_began_it() {
    let further = "
  leaves: { on: web, run: [sh, -c, \"setsid sleep 7777 & exec sleep 7777\"], ready: started }
";
    let Some(lab) = Lab::new("orphan", "") else {
        return;
    };
    // A service that leaves its session has the same end.
    let text = FILE.replace("NAME", "orphan").replace("\nnames:", &format!("{further}names:"));
    let file = lab.space.file("lab.yaml", &text);
    let runs = lab.space.path("runs");
    let runs = runs.to_str().unwrap();
    let words = ["run", file.to_str().unwrap(), "--", "--runs", runs, "--quiet"];
    for _ in 0..2 {
        // The second one is not refused.
        let mut run = lab.command(&words).stdout(Stdio::null()).spawn().unwrap();
        until("the run begins", || lab.resolve("crowd-near", "nearest.lab") == "198.18.0.1");
        run.kill().unwrap();
        run.wait().unwrap();
        until("processes are left", || lab.processes() == 0);
    }
    // What the next lab, or `down`, removes.
    lab.does(&["down"]);
    assert_eq!((lab.processes(), lab.groups()), (0, Vec::new()));
    assert!(!lab.space.path("labs/orphan").exists());
}

#[test]
fn a_service_that_does_not_start_ends_the_lab_with_its_log() {
    let Some(lab) = Lab::new("broken", "") else {
        return;
    };
    let text = FILE.replace("NAME", "broken").replace("serve hello", "serve hello --no-such-flag");
    let file = lab.space.file("lab.yaml", &text);
    let ended = Ended::of(&mut lab.command(&["up", file.to_str().unwrap()]));
    assert_eq!(ended.code, Some(69));
    for part in ["web@web-near", "was ready", "--no-such-flag"] {
        assert!(ended.err.contains(part), "{}", ended.err);
    }
    assert_eq!((lab.processes(), lab.groups()), (0, Vec::new()));
    assert!(!lab.space.path("labs/broken").exists());
}

/// Its master writes; it reads what a replica of the master passes on.
#[test]
fn a_replica_of_a_replica_has_what_the_master_has() {
    let programs = ["redis-server", "redis-cli"];
    let has = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    if !programs.iter().all(has) {
        return skip("redis-server and redis-cli are not installed");
    }
    let further = "
  redis: { on: first, package: redis }
  copy: { on: second, package: redis, replica_of: redis }
  copy-of-copy: { on: third, package: redis, replica_of: copy }
";
    let Some(lab) = Lab::new("chain", "") else { return };
    let file = format!(
        "lab: chain\nregions: [near]\nhosts: {{ first: {{ region: near }}, second: {{ region: near }}, third: {{ \
         region: near }} }}\nservices:{further}"
    );
    lab.space.file("lab.yaml", &file);
    lab.up();
    let password =
        lab.exec("third", "sed -n 's/^requirepass //p' /proc/[0-9]*/cwd/redis.conf | head -n 1");
    let password = password.out.trim();
    let client = |host: &str, words: &str| {
        let command = format!("redis-cli --no-auth-warning -a {password} -h {host}.lab {words}");
        lab.exec("third", &command).out
    };
    assert_eq!(client("first", "SET key value").trim(), "OK");
    until("it has not arrived", || client("third", "GET key").trim() == "value");
    let master = client("third", "INFO replication");
    assert!(master.contains("role:slave"), "{master}");
    let address = lab.resolve("third", "second.lab");
    assert!(master.contains(&format!("master_host:{address}")), "{master} {address}");
}

#[test]
fn two_labs_do_not_see_each_other() {
    let Some(one) = Lab::new("one", "") else {
        return;
    };
    let Some(other) = Lab::new("other", "") else {
        return;
    };
    one.up();
    other.up();
    one.does(&["fault", "kill: web"]);
    until("the other lab is hurt", || one.does(&["status"]).contains("killed"));
    assert_eq!(other.exec("crowd-far", "curl -s http://nearest.lab/").out, "ok\n");
    assert_eq!(one.exec("crowd-far", "curl -s -m 1 http://nearest.lab/").out, "");
}

/// A whole market in three regions, with the users of `quick-scenario.yaml`, here few.
#[test]
fn the_example_of_a_market_runs() {
    let shorter = ["--set", "rate=10/s", "--set", "arrive=3s", "--set", "hold=10s"];
    example_runs("examples/lab/quick.yaml", &["mariadbd", "redis-server"], &shorter);
}

/// A system that is not ours, with the users of `own-scenario.yaml`.
#[test]
fn the_example_of_your_own_system_runs() {
    let shorter = ["--set", "arrivals.0.for=10s"];
    example_runs("examples/lab/own.yaml", &["postgres", "nginx", "python3"], &shorter);
}

fn example_runs(example: &str, programs: &[&str], shorter: &[&str]) {
    let Some(lab) = Lab::new("examples", "") else {
        return;
    };
    if let Some(missing) = programs.iter().find(|program| !is_installed(program)) {
        return skip(&format!("{missing} is not installed"));
    }
    let file = root().join(example);
    let runs = lab.space.path("runs");
    let mut words = vec!["run", file.to_str().unwrap(), "--", "--runs", runs.to_str().unwrap()];
    words.extend(["--full", "--set", "options.lag_max=5s"]);
    words.extend(shorter);
    let ended = Ended::of(&mut lab.command(&words));
    assert!(matches!(ended.code, Some(0..=2)), "{} {}", ended.out, ended.err);
    assert!(ended.out.contains("region"), "{}", ended.out);
    let is_emulated = ["the network was emulated", "the lab's network"];
    assert!(is_emulated.iter().any(|text| ended.out.contains(text)), "{}", ended.out);
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    // Debian keeps PostgreSQL's programs in folders of their versions.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debians: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    let folders = path.split(':').chain(["/usr/sbin"]).map(PathBuf::from);
    folders.chain(debians).any(|folder| folder.join(program).exists())
}

/// All of them take two hours: here they are only checked.
#[test]
fn the_architectures_are_right() {
    for (lab, said, experiment, runs) in [
        (
            "examples/lab/answer.yaml",
            "service two-pipelined: on two-pipelined-host-ireland,",
            "examples/lab/answer-experiment.yaml",
            "45 runs",
        ),
        (
            "examples/lab/better.yaml",
            "service ledger-pipelined: on ledger-host-ireland,",
            "examples/lab/better-experiment.yaml",
            "15 runs",
        ),
        (
            "examples/lab/thesis.yaml",
            "service two-blocking: on two-host-ireland,",
            "examples/lab/thesis-experiment.yaml",
            "3 runs",
        ),
        (
            "examples/lab/forwarders.yaml",
            "service each: on fronts-ireland, fronts-virginia,",
            "examples/lab/forwarders-experiment.yaml",
            "30 runs",
        ),
        (
            "examples/lab/as-built.yaml",
            "service built-blocking: on built-blocking-host-ireland,",
            "examples/lab/as-built-experiment.yaml",
            "20 runs",
        ),
    ] {
        let mut check = throng(["lab", "check", lab]);
        let checked = Ended::of(check.current_dir(root()));
        checked.with(0).stdout_contains(said);
        let mut plan = throng(["experiment", experiment, "--plan", "--dir", "nowhere"]);
        let planned = Ended::of(plan.current_dir(root()));
        planned.with(0).stdout_contains(runs);
    }
    let mut check = throng(["lab", "check", "examples/lab/partition.yaml"]);
    let checked = Ended::of(check.current_dir(root()));
    checked.with(0).stdout_contains("fault at 30 s for 15 s: partition: ireland from sydney");
    let mut check = throng(["lab", "check", "examples/lab/as-built.yaml"]);
    let checked = Ended::of(check.current_dir(root()));
    checked.with(0).stdout_contains("service mariadb-sydney: on chained-sydney");
    for scenario in [
        "examples/lab/answer-scenario.yaml",
        "examples/lab/final-scenario.yaml",
        "examples/lab/forwarders-scenario.yaml",
        "examples/lab/partition-scenario.yaml",
    ] {
        let mut check = throng(["check", scenario]);
        check.envs([("MARKET_STORE", "mysql://a@b/c"), ("MARKET_RESOLVER", "http://a/")]);
        Ended::of(check.current_dir(root())).with(0);
    }
}

/// With 24,000 users it takes three days, or most of an hour: here it is only checked.
#[test]
fn the_final_is_right() {
    let mut check = throng(["lab", "check", "examples/lab/final.yaml"]);
    let checked = Ended::of(check.current_dir(root()));
    checked.with(0).stdout_contains("service two-pipelined: on two-pipelined-host-ireland,");
    let shares =
        ["experiment", "examples/lab/shares-experiment.yaml", "--plan", "--dir", "nowhere"];
    Ended::of(throng(shares).current_dir(root())).with(0).stdout_contains("6 runs");
    for (further, runs) in [(&[][..], "9 runs"), (&["--full"][..], "45 runs")] {
        let experiment =
            ["experiment", "examples/lab/final-experiment.yaml", "--plan", "--dir", "nowhere"];
        let mut plan = throng([&experiment, further].concat());
        let planned = Ended::of(plan.current_dir(root()));
        planned.with(0).stdout_contains(runs);
    }
}
