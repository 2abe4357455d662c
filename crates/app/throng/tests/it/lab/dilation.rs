//! Time dilation: the same figures, whatever a second of the lab takes.

use std::path::Path;
use std::time::{Duration, Instant};

use record::schema::{EventKind, Summary};

use super::{FILE, Lab, SCENARIO};
use crate::support::{Ended, root};

/// How long the load lasts, in the lab's time.
const LOAD: Duration = Duration::from_secs(3);

#[test]
fn dilated_runs_have_the_same_figures() {
    let Some(lab) = Lab::new("dilated", "") else {
        return;
    };
    // A wait of our own server: a third of a second by the lab's time.
    let file = FILE.replace("NAME", "dilated").replace(
        "throng serve hello --listen=${host}:80",
        "throng serve stall --listen=${host}:80 --delay=300ms --stall=0s",
    );
    lab.space.file("lab.yaml", &file);
    let scenario = SCENARIO.replace("for: 6s", "for: 3s").replace("get: /,", "get: /work,");
    lab.space.file("scenario.yaml", &scenario);
    for dilation in [1, 2, 5] {
        let begun = now();
        let (summary, events) = run(&lab, dilation);
        let took = begun.elapsed();
        assert!(took >= LOAD * dilation, "{dilation}: {took:?}");
        assert_eq!(summary.users.started, 120, "{dilation}");
        // Two round trips to the near region and the server's wait. Another test may take the CPU.
        let far = summary.tags.iter().find(|tag| tag.value == "far").unwrap();
        let median_ns = far.figures.response.as_ref().unwrap().p50_ns;
        assert!((379_000_000..450_000_000).contains(&median_ns), "{dilation}: {median_ns}");
        let factor = events.iter().find_map(|what| match what {
            EventKind::TimeDilated { factor } => Some(*factor),
            _ => None,
        });
        assert_eq!(factor.unwrap_or(1), dilation);
        let is_said = summary.findings.iter().any(|f| f.code == "time-dilated");
        assert_eq!(is_said, dilation > 1);
    }
}

/// A worker and a market: `dilation-scenario.yaml` has requests that queue, and broadcasts.
#[test]
fn the_example_runs() {
    let Some(lab) = Lab::new("dilation", "") else {
        return;
    };
    let file = root().join("examples/lab/dilation.yaml");
    let (summary, _) = run_file(&lab, &file, 2, &["--set", "time=3s"]);
    for name in ["order", "broadcast", "request"] {
        let of = summary.measures.iter().find(|of| of.name == name).unwrap();
        let times = of.succeeded.as_ref();
        let times = times.unwrap_or_else(|| panic!("{name}: {:?}", summary.findings));
        // One way, or there and back with a wait.
        assert!(times.p50_ns >= 36_000_000, "{name}");
    }
}

fn run(lab: &Lab, dilation: u32) -> (Summary, Vec<EventKind>) {
    run_file(lab, &lab.space.path("lab.yaml"), dilation, &[])
}

fn run_file(lab: &Lab, file: &Path, dilation: u32, further: &[&str]) -> (Summary, Vec<EventKind>) {
    let file = file.to_str().unwrap();
    let factor = dilation.to_string();
    let words = [&["run", file, "--dilation", &factor, "--"][..], further].concat();
    let run = lab.records(&format!("runs-{dilation}"), &words);
    let events = run.events().unwrap().into_iter().map(|event| event.what);
    (run.summary().unwrap().unwrap(), events.collect())
}

#[test]
fn distances_and_faults_are_in_the_labs_time() {
    let Some(lab) = Lab::new("slower", "") else {
        return;
    };
    let file = lab.space.path("lab.yaml");
    lab.does(&["up", file.to_str().unwrap(), "--dilation", "5"]);
    assert!(lab.does(&["status"]).contains("takes 5 seconds"));
    let table = lab.does(&["calibrate", "--packets", "50"]);
    let line = table.lines().find(|line| line.starts_with("near – far"));
    let median = line.unwrap().split_ascii_whitespace().nth(5).unwrap();
    let median: f64 = median.parse().unwrap();
    assert!((39.5..50.0).contains(&median), "{table}");
    // For others than our own programs it is five times as far.
    let begun = now();
    let page = lab.exec("crowd-far", "curl -s http://web-near.lab/");
    assert_eq!(page.out, "ok\n");
    assert!(begun.elapsed() >= Duration::from_millis(400));
    let begun = now();
    lab.does(&["fault", "kill: web", "--duration", "300ms"]);
    assert!(begun.elapsed() >= Duration::from_millis(1500));
    lab.does(&["down"]);
}

#[test]
fn dilations_that_cannot_be_are_refused() {
    let Some(lab) = Lab::new("refused", "") else {
        return;
    };
    let file = lab.space.path("lab.yaml");
    let file = file.to_str().unwrap();
    for (dilation, why) in [("0", "whole number of 1 to 100"), ("101", "whole number")] {
        let ended = Ended::of(&mut lab.command(&["check", file, "--dilation", dilation]));
        assert_eq!(ended.code, Some(64), "{}", ended.err);
        assert!(ended.err.contains(why), "{}", ended.err);
    }
    let mut command = lab.command(&["check", file]);
    let ended = Ended::of(command.env("THRONG_DILATION", "fast"));
    assert_eq!(ended.code, Some(64), "{}", ended.err);
    assert!(ended.err.contains("THRONG_DILATION is `fast`"), "{}", ended.err);
}

#[expect(clippy::disallowed_methods, reason = "the machine's time is measured")]
fn now() -> Instant {
    Instant::now()
}
