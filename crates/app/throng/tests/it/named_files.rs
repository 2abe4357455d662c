//! What is no file, and what is too large, in place of each file that a command line or another file names: the command
//! says so at once.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::compare::recorded::Recorded;
use crate::support::{Ended, LinkedFile, Running, Served, Space, flat, plain, root, throng};

/// A command that waits for a pipe waits for ever; on a machine that is busy with other tests the others take longer than
/// the tenth of a second that they take alone.
const SOON: Duration = Duration::from_secs(20);
const REFUSED: &str = "it is not a regular file";

/// Places where no file is.
struct Places {
    pipe: PathBuf,
    directory: PathBuf,
    device: PathBuf,
    /// 10 GiB without a block on the disk.
    sparse: PathBuf,
}

impl Places {
    fn new(space: &Space) -> Places {
        let places = Places {
            pipe: space.path("pipe"),
            directory: space.path("directory"),
            device: PathBuf::from("/dev/zero"),
            sparse: space.path("sparse"),
        };
        assert!(Command::new("mkfifo").arg(&places.pipe).status().unwrap().success());
        std::fs::create_dir(&places.directory).unwrap();
        File::create(&places.sparse).unwrap().set_len(10 << 30).unwrap();
        places
    }

    fn irregular(&self) -> [&Path; 3] {
        [&self.pipe, &self.directory, &self.device]
    }
}

/// The end of a command that does not succeed, and does not wait.
#[track_caller]
fn refused(command: &mut Command) -> Ended {
    let mut running = Running::start(command);
    assert!(running.ends_within(SOON), "it waits: {command:?}");
    let ended = running.end();
    let code = ended.code.unwrap_or_else(|| panic!("a signal ended {command:?}"));
    assert!((1..=78).contains(&code), "{command:?}: exit code {code}\n{}{}", ended.out, ended.err);
    assert!(!ended.err.is_empty(), "{command:?} says nothing");
    ended
}

/// Verbs with the options before the file that they read.
const VERBS: &[&[&str]] = &[
    &["check"],
    &["run"],
    &["try"],
    &["capacity"],
    &["experiment"],
    &["import"],
    &["lab", "check"],
    &["probe", "--file"],
    &["serve", "ads", "--publishers"],
    &["serve", "balancer", "--to"],
    &["serve", "balancer", "--workers"],
    &["serve", "market", "--replay"],
    &["protos", "https://127.0.0.1:1", "--ca"],
];

#[test]
fn nothing_that_a_command_line_names_is_waited_for() {
    let space = Space::new();
    let places = Places::new(&space);
    for verb in VERBS {
        for place in places.irregular() {
            let ended = refused(throng(*verb).arg(place));
            // `import` reads directories of results, too.
            if *verb != ["import"] || place != places.directory {
                ended.stderr_contains(REFUSED);
            }
        }
        refused(throng(*verb).arg(&places.sparse));
    }
    // A table, or the directory of an experiment.
    for place in [&places.pipe, &places.device] {
        refused(throng(["experiment", "--analyze"]).arg(place)).stderr_contains(REFUSED);
        let samples = ["import", "--measure", "checkout", "--unit", "ms"];
        refused(throng(samples).arg(place)).stderr_contains(REFUSED);
        let mut model = throng(["model", "--out"]);
        refused(model.arg(space.path("model")).arg(place)).stderr_contains(REFUSED);
    }
    refused(throng(["experiment", "--analyze"]).arg(&places.sparse));
    for place in places.irregular().into_iter().chain([places.sparse.as_path()]) {
        let mut serve = throng(["serve", "hello", "--listen", "127.0.0.1:0", "--tls-cert"]);
        let key = root().join("testdata/keys/rsa.pem");
        refused(serve.arg(place).arg("--tls-key").arg(key));
        // Of no run directory is anything read.
        refused(throng(["show"]).arg(place));
        refused(throng(["analyze"]).arg(place));
        refused(throng(["export", "--json", "-"]).arg(place));
        refused(throng(["compare"]).args([place, place]));
        let meters = root().join("examples/meters/thesis.yaml");
        refused(throng(["meters", "--meters"]).arg(meters).args([place, place]));
    }
}

/// A shell's `<(command)` and a pipeline are connected by the user.
#[test]
fn what_the_shell_connects_is_read() {
    let scenario = "target: http://127.0.0.1:1\nsessions: { one: [ { get: / } ] }\n\
                    arrivals: [ { constant: 1/s, for: 1s } ]\n";
    let space = Space::new();
    let file = space.file("scenario.yaml", scenario);
    for script in ["cat \"$1\" | \"$0\" check -", "cat \"$1\" | \"$0\" check /dev/stdin"] {
        let mut shell = plain(Command::new("sh"));
        shell.args(["-c", script, env!("CARGO_BIN_EXE_throng")]).arg(&file);
        Ended::of(&mut shell).with(0);
    }
}

/// Scenarios that name the file `named`.
const SCENARIOS: &[(&str, &str)] = &[
    ("data", "data: { rows: { file: named } }\n"),
    ("script", "script: named\n"),
    ("include", "include: named\n"),
    ("include of an included file", "include: part.yaml\n"),
    ("grpc", "grpc: { protos: [named] }\n"),
    ("import of grpc", "grpc: { protos: [outer.proto] }\n"),
];
/// The same in a step, in the arrivals and in the options.
const STEPS: &[(&str, &str)] = &[
    ("function", "{ post: /, body: \"${file('named')}\" }"),
    ("part", "{ post: /, multipart: { own: { file: named } } }"),
    ("think time", "{ think: { empirical: named } }"),
];
const PHASE: &str = "{ constant: 1/s, for: 1s }";
const ARRIVALS: &[&str] = &["{ replay: named }", "{ trace: named, bin: 1s }"];

fn scenario(head: &str, step: &str, arrivals: &str) -> String {
    let steps = format!("{{ get: / }}, {step}");
    format!(
        "target: http://127.0.0.1:1\n{head}sessions: {{ one: [ {} ] }}\narrivals: [ {arrivals} ]\n",
        steps.trim_end_matches([',', ' '])
    )
}

#[test]
fn nothing_that_a_scenario_names_is_waited_for() {
    let space = Space::new();
    let places = Places::new(&space);
    space.file("part.yaml", "include: [ { file: named } ]\n");
    space.file("outer.proto", "syntax = \"proto3\";\nimport \"named\";\n");
    let mut texts: Vec<(String, String)> = Vec::new();
    for (name, head) in SCENARIOS {
        texts.push(((*name).to_owned(), scenario(head, "", PHASE)));
    }
    for (name, step) in STEPS {
        texts.push(((*name).to_owned(), scenario("", step, PHASE)));
    }
    for arrivals in ARRIVALS {
        texts.push(((*arrivals).to_owned(), scenario("", "", arrivals)));
    }
    let named = space.path("named");
    let all = places.irregular().into_iter().chain([places.sparse.as_path()]);
    for place in all {
        symlink(place, &named).unwrap();
        for (name, text) in &texts {
            let file = space.file("scenario.yaml", text);
            let ended = refused(throng(["check"]).arg(file));
            let is_sparse = place == places.sparse;
            let said = if is_sparse { "named" } else { REFUSED };
            let is_said = flat(&ended.err).contains(said);
            assert!(is_said, "{name}, {}:\n{}", place.display(), ended.err);
        }
        // Certificates are read when a run begins.
        for tls in ["ca: named", "cert: named, key: named"] {
            let text = scenario(&format!("options: {{ tls: {{ {tls} }} }}\n"), "", PHASE);
            let text = text.replace("http:", "https:");
            let ended = refused(&mut space.run_text(&text, &[]));
            ended.stderr_contains("named");
        }
        // An experiment's scenario.
        let text = "scenario: named\ndesign: 2^k\nresponses: [ p95(request) ]\nrepetitions: 1\n\
                    factors: { rate: { set: arrivals.0.constant, levels: [1/s, 2/s] } }\n";
        let experiment = space.file("experiment.yaml", text);
        let ended = refused(throng(["experiment"]).arg(experiment).arg("--plan"));
        ended.stderr_contains("named");
        std::fs::remove_file(&named).unwrap();
    }
}

/// A run directory of somebody else, and a file of it that is none.
#[test]
fn nothing_that_a_run_directory_holds_is_waited_for() {
    let space = Space::new();
    let places = Places::new(&space);
    let runs = space.path("runs");
    let run = Recorded::new(1).write(&runs);
    let sound = Recorded::new(2).write(&runs);
    let all = places.irregular().into_iter().chain([places.sparse.as_path()]);
    for place in all {
        for file in [
            "run.json",
            "scenario.yaml",
            "summary.json",
            "events.jsonl",
            "tally.json",
            "latency.hlog",
            "requests.parquet",
            "series.parquet",
            "probes.parquet",
            "note.txt",
        ] {
            let _linked = LinkedFile::new(&run.join(file), place, &space.path("aside"));
            let mut export = throng(["export", "--json", "-"]);
            let mut model = throng(["model", "--out"]);
            let mut compare = throng(["compare", "--baseline"]);
            for command in [
                throng(["show"]).arg(&run),
                throng(["analyze"]).arg(&run),
                export.arg(&run),
                model.arg(space.path("model")).arg(&run),
                compare.arg(&sound).arg(&run),
            ] {
                let mut running = Running::start(command);
                assert!(running.ends_within(SOON), "{file}: it waits: {command:?}");
                let ended = running.end();
                assert!(ended.code.is_some(), "{file}: a signal ended {command:?}");
            }
            let _ = std::fs::remove_dir_all(space.path("model"));
        }
    }
}

/// Wherever a link leads, and however an import names it.
#[test]
fn scripts_of_k6_read_files_of_their_folder_alone() {
    let space = Space::new();
    std::fs::write(space.path("outside.js"), "export const secret = 'hush-4711';").unwrap();
    let folder = space.path("in");
    std::fs::create_dir(&folder).unwrap();
    symlink(space.path("outside.js"), folder.join("link.js")).unwrap();
    std::fs::write(folder.join("inside.js"), "export const secret = 'own';").unwrap();
    symlink("inside.js", folder.join("inner.js")).unwrap();
    let pipe = folder.join("pipe.js");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = folder.join("script.js");
    let absolute = format!("https://{}", space.path("outside.js").display());
    for (from, expected) in [
        ("./link.js", "a link that leads out"),
        ("https://../outside.js", "outside of the script's folder"),
        (absolute.as_str(), "absolute path"),
        ("./pipe.js", REFUSED),
    ] {
        let text = format!(
            "import {{ secret }} from '{from}';\nexport default function () {{ secret; }}\n"
        );
        std::fs::write(&script, text).unwrap();
        let ended = refused(throng(["check"]).arg(&script));
        ended.stderr_contains(expected);
        assert!(!ended.err.contains("hush"), "{}", ended.err);
    }
    let text = "import { secret } from './inner.js';\nexport const options = { iterations: 1 };\nexport default function () { secret; }\n";
    std::fs::write(&script, text).unwrap();
    Ended::of(throng(["check"]).arg(&script)).with(0);
}

/// A result that nobody reads is not waited for, and one that somebody reads arrives.
#[test]
fn results_go_to_pipes_that_somebody_reads() {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let pipe = space.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut run = space.load(&server.url, "20/s", "300ms");
    let ended = refused(run.arg("--junit").arg(&pipe));
    assert_eq!(ended.code, Some(74), "{}", ended.err);
    ended.stderr_contains("it is a pipe that nobody reads");
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let mut show = throng(["export", "--junit"]);
    show.arg(&pipe).arg(space.only().path());
    // The reader may be slower than the command.
    let ended = std::iter::repeat_with(|| Ended::of(&mut show))
        .take(100)
        .find(|ended| ended.code == Some(0));
    assert!(ended.is_some(), "nobody reads");
    let read = reader.wait_with_output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&read).contains("<testsuites"));
}
