//! Scaling groups: alarms add and remove instances, and say why; as many run as are said to.

use record::Run;
use record::schema::EventKind;

use super::{Lab, only, until};
use crate::support::{Ended, root, throng};

/// One to three workers of 0.2 cores, each request takes 10 ms of it. Users know the first one only.
const FILE: &str = "
lab: NAME
regions: [near]
hosts:
  web: { region: near, count: 3, cpus: 0.2, memory: 64MiB, price: box }
services:
  web:
    on: web
    run: [throng, serve, worker, \"--listen=${host}:80\", --service-time=10ms, --cpu=burn, --concurrency=1]
    port: 80
    ready: /healthz
scaling:
  web:
    minimum: 1
    desired: 1
    maximum: 3
    start_up: 500ms
    alarms:
      - { metric: cpu, statistic: max, above: 50%, period: 1s, add: 1, cool_down: 500ms }
      - { prometheus: worker_requests_done_total, statistic: sum, below: 5, period: 1s, periods: 2, remove: 1, cool_down: 500ms }
prices: prices.yaml
scenario: scenario.yaml
";

const SCENARIO: &str = "
name: scaling
target: http://web.lab/
regions: { near: 1 }
options: { lag_max: 5s, timeout: 1s }
sessions: { one: [ { get: /work, as: work } ] }
arrivals: [ { constant: 30/s, for: 9s }, { constant: 1/s, for: 10s } ]
thresholds: [ \"error_rate < 101%\", cost < 0.02, cost > 0.0019, \"behind(900ms) < 19s\" ]
";

const PRICES: &str = "prices: { box: { price: 0.36, per: hour } }\n";

/// A lab of a test with these files.
fn lab(name: &'static str, alarms: bool) -> Option<Lab> {
    let lab = Lab::new(name, "")?;
    let file = FILE.replace("NAME", name);
    let quiet = file.replace("above: 50%", "above: 900%");
    let quiet = quiet.replace("below: 5,", "below: 0,");
    let file = if alarms { file } else { quiet };
    lab.space.file("lab.yaml", &file);
    lab.space.file("scenario.yaml", SCENARIO);
    lab.space.file("prices.yaml", PRICES);
    Some(lab)
}

/// How many workers answer, and how many processes of workers there are.
fn answering(lab: &Lab) -> (usize, usize) {
    let fetch = "for n in 1 2 3; do curl -s -m 1 -o /dev/null -w '%{http_code} ' http://web-$n.lab/work; done";
    let codes = lab.exec("control", fetch).out;
    let count = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o '[s]erve worker' | wc -l";
    let processes = lab.exec("control", count).out.trim().parse().unwrap();
    (codes.matches("200").count(), processes)
}

fn is_at(lab: &Lab, count: usize) -> bool {
    let status = lab.does(&["status"]);
    status.contains(&format!("group web: {count} of {count} instance"))
        && answering(lab) == (count, count)
}

#[test]
fn alarms_add_and_remove_instances_and_say_why() {
    let Some(lab) = lab("alarms", true) else {
        return;
    };
    let file = lab.space.path("lab.yaml");
    let runs = lab.space.path("runs");
    let file = file.to_str().unwrap();
    let runs = runs.to_str().unwrap();
    let ended = Ended::of(&mut lab.command(&["run", file, "--", "--full", "--runs", runs]));
    assert!(matches!(ended.code, Some(0 | 2)), "{} {}", ended.out, ended.err);
    let run = Run::open(&only(&lab.space.path("runs"))).unwrap();
    let events = run.events().unwrap();
    let notes = events.iter().filter_map(|event| match &event.what {
        EventKind::Note { text } => Some((event.at_ns, text.as_str())),
        _ => None,
    });
    let notes: Vec<(u64, &str)> = notes.collect();
    let at = |begin: &str, end: &str| {
        let is_it = |(_, text): &&(u64, &str)| text.starts_with(begin) && text.ends_with(end);
        notes.iter().find(is_it).unwrap_or_else(|| panic!("{begin} … {end}: {notes:?}")).0
    };
    let busy = "web: cpu ";
    let grows = at(busy, "% > 50 % for 1 period of 1 s, as of now: 1 → 2 instances");
    let ready = at("web@web-2 is ready", "");
    let full = at(busy, "2 → 3 instances");
    at(busy, "held back by the maximum: 3 instances");
    let idle = "web: worker_requests_done_total ";
    let shrinks = at(idle, "< 5.00 for 2 periods of 1 s, as of now: 3 → 2 instances");
    at("web@web-3 has ended", "");
    at(idle, "2 → 1 instance");
    at(idle, "held back by the minimum: 1 instance");
    assert!(grows + 500_000_000 <= ready && ready < full && full < shrinks);
    // The series has what the events say.
    let probes = run.probes().unwrap();
    let is_running = |metric: &str| metric.contains("state=\"running\"");
    let number = probes.list.iter().position(|probe| is_running(&probe.metric)).unwrap();
    let counts = probes.rows.iter().filter(|row| row.probe as usize == number);
    let mut counts: Vec<f64> = counts.map(|row| row.value).collect();
    // It is read once a second, so that a short one may be missing.
    counts.dedup();
    let most = counts.iter().position(|count| *count == 3.0).unwrap();
    assert!(counts[..most].is_sorted() && counts[most..].iter().rev().is_sorted(), "{counts:?}");
    assert_eq!((counts[0], counts.last()), (1.0, Some(&1.0)));
    // Hosts are paid for while they are in use.
    let used = events.iter().find_map(|event| match &event.what {
        EventKind::LabUsed { hosts, .. } => Some(hosts),
        _ => None,
    });
    let used: Vec<u64> = used.unwrap().iter().map(|host| host.used_ns).collect();
    assert!(used[0] > used[1] && used[1] > used[2] && used[2] > 1_000_000_000, "{used:?}");
    let summary = run.summary().unwrap().unwrap();
    let failed = summary.thresholds.iter().filter(|result| !result.passed);
    assert_eq!(failed.map(|result| &result.shown).collect::<Vec<_>>(), [] as [&String; 0]);
    assert!(ended.out.contains("the lab's hosts cost 0.00"), "{}", ended.out);
}

#[test]
fn as_many_instances_run_as_are_said_to_and_the_dead_are_replaced() {
    let Some(lab) = lab("by-hand", false) else {
        return;
    };
    lab.up();
    assert!(is_at(&lab, 1));
    lab.does(&["scale", "web=3"]);
    until("there are not three instances", || is_at(&lab, 3));
    // The newest goes first.
    lab.does(&["scale", "web=2"]);
    until("there are not two instances", || is_at(&lab, 2));
    let names = lab.exec("crowd-near", "getent ahostsv4 web.lab").out;
    assert!(names.contains("198.18.0.1") && names.contains("198.18.0.2"), "{names}");
    assert!(!names.contains("198.18.0.3"), "{names}");
    let status = lab.does(&["status"]);
    let first = status.lines().find(|line| line.contains("web@web-1: "));
    let (_, pid) = first.unwrap().rsplit_once("process ").unwrap();
    let killed = lab.exec("web-1", &format!("kill -KILL {pid}"));
    assert_eq!(killed.code, Some(0), "{}", killed.err);
    let events = lab.space.path("labs/by-hand/events.jsonl");
    let happened = |text: &str| std::fs::read_to_string(&events).unwrap().contains(text);
    until("it is not replaced", || happened("web@web-1 has died and is replaced"));
    until("there are not two instances again", || is_at(&lab, 2));
    // Another place has rested longer.
    assert!(happened("web@web-3 is ready"));
    assert!(happened("web: by hand: 1 → 3 instances"));
    for (scale, why) in [
        ("web=4", "it has 1 to 3 instances, not 4"),
        ("web@near=2", "there is no scaling group of `web` in `near`"),
        ("we=2", "there is no scaling group of `we`"),
        ("web", "write it like api=3"),
    ] {
        let ended = Ended::of(&mut lab.command(&["scale", scale]));
        assert_ne!(ended.code, Some(0));
        assert!(ended.err.replace('\n', " ").contains(why), "{}", ended.err);
    }
}

#[test]
fn an_instance_that_does_not_get_ready_leaves_no_disk_behind() {
    let Some(lab) = lab("unready", false) else {
        return;
    };
    // All but the first write how many disks they see for themselves, and end.
    let program = throng(["x"]).get_program().to_str().unwrap().to_owned();
    let counts = lab.space.path("counts");
    let script = format!(
        "case ${{host}} in 198.18.0.1) exec {program} serve worker --listen=${{host}}:80;; \
         *) grep -c web@web-2 /proc/mounts >> {}; exit 1;; esac",
        counts.display()
    );
    let file = FILE.replace("NAME", "unready");
    let (before, rest) = file.split_once("    run:").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let file = format!("{before}    run: [sh, -c, \"{script}\"]\n{after}");
    let file = file
        .replace("memory: 64MiB", "memory: 64MiB, disk: 1MiB")
        .replace("count: 3", "count: 2")
        .replace("maximum: 3", "maximum: 2")
        .replace("above: 50%", "above: 900%")
        .replace("below: 5,", "below: 0,");
    lab.space.file("lab.yaml", &file);
    lab.up();
    lab.does(&["scale", "web=2"]);
    let lines = || std::fs::read_to_string(&counts).unwrap_or_default();
    until("it is not tried again", || lines().lines().count() >= 3);
    assert!(lines().lines().all(|count| count == "1"), "{}", lines());
}

#[test]
fn a_run_may_bring_its_own_rules() {
    let Some(lab) = lab("own-rules", false) else {
        return;
    };
    let file = FILE
        .replace("NAME", "own-rules")
        .replace("scaling:\n", "  other: { on: store, run: sleep 1000 }\nscaling:\n");
    let file = file.replace("hosts:\n", "hosts:\n  store: { region: near }\n");
    let file = file.replace("above: 50%", "above: 900%").replace("below: 5,", "below: 0,");
    lab.space.file("lab.yaml", &file);
    lab.up();
    let run = |scaling: &str| {
        let scenario = SCENARIO.replace("for: 9s", "for: 1s").replace("for: 10s", "for: 1s");
        let scenario = format!("{scenario}params: {{ count: 2 }}\nscaling: {{ web: {scaling} }}\n");
        let path = lab.space.file("own.yaml", &scenario);
        let runs = lab.space.path("runs");
        let program = throng(["x"]).get_program().to_str().unwrap().to_owned();
        let command = format!("{program} run {} --runs {} --quiet", path.display(), runs.display());
        lab.exec("control", &command)
    };
    let ended = run("{ minimum: \"${count}\", desired: \"${count}\", maximum: 3, start_up: 60s }");
    assert!(matches!(ended.code, Some(0..=2)), "{} {}", ended.out, ended.err);
    assert!(is_at(&lab, 2));
    let ended = run("{ minimum: \"${count}\", desired: 1, maximum: 3 }");
    assert_eq!(ended.code, Some(65));
    assert!(ended.err.contains("1 is not within 2 to 3"), "{}", ended.err);
    let ended = run(
        "{ minimum: 1, desired: 1, maximum: 1 }, other: { minimum: 1, desired: 1, maximum: 1 }",
    );
    assert_eq!(ended.code, Some(65));
    let err = ended.err.replace('\n', " ");
    assert!(err.contains("`other` is no scaling group"), "{err}");
    let outside = throng(["run", lab.space.path("own.yaml").to_str().unwrap()]);
    let ended = Ended::of(&mut { outside });
    assert_eq!(ended.code, Some(64));
    assert!(ended.err.contains("which only a lab has"), "{}", ended.err);
}

#[test]
fn prices_that_the_list_does_not_have_are_refused() {
    let space = crate::support::Space::new();
    space.file("prices.yaml", PRICES);
    let file = FILE.replace("NAME", "priced").replace("price: box", "price: bos");
    let file = space.file("lab.yaml", &file);
    let ended = Ended::of(throng(["lab", "check"]).arg(file));
    assert_eq!(ended.code, Some(65));
    let err = ended.err.replace('\n', " ");
    assert!(err.contains("lab.yaml:5: the price list has no hourly price `bos`"), "{err}");
}

/// Its experiment takes a quarter of an hour: here it is only checked.
#[test]
fn the_match_is_right() {
    let mut check = throng(["lab", "check", "examples/lab/scaling.yaml"]);
    let checked = Ended::of(check.current_dir(root()));
    checked.with(0).stdout_contains("group api: 1 instance, 1 to 5, 2 alarms");
    let scenario = "examples/lab/scaling-scenario.yaml";
    Ended::of(throng(["check", scenario]).current_dir(root())).with(0);
    let experiment = "examples/lab/scaling-experiment.yaml";
    let words = ["experiment", experiment, "--plan", "--dir", "nowhere"];
    let planned = Ended::of(throng(words).current_dir(root()));
    planned.with(0).stdout_contains("24 runs");
    let mut check = throng(["lab", "check", "examples/lab/sticky.yaml"]);
    let checked = Ended::of(check.current_dir(root()));
    checked.with(0).stdout_contains("group gentle: 1 instance, 1 to 4");
    Ended::of(throng(["check", "examples/lab/sticky-scenario.yaml"]).current_dir(root())).with(0);
    let words = ["experiment", "examples/lab/sticky-experiment.yaml", "--plan", "--dir", "nowhere"];
    let planned = Ended::of(throng(words).current_dir(root()));
    planned.with(0).stdout_contains("24 runs");
}
