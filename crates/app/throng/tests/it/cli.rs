//! What people see of each verb: output, messages, exit codes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use record::schema::{Summary, Verdict};
use serde_json::Value;
use testkit::needs::skip;

use crate::support::{Ended, Served, Space, golden, root, throng, with_files, yaml};

/// The program run in the project's directory, so that messages hold no path of this machine.
fn at_root(args: &[&str]) -> Ended {
    Ended::of(throng(args).current_dir(root()))
}

#[test]
fn check_describes_a_valid_scenario() {
    let ended = at_root(&["check", "examples/football-quick.yaml"]).with(0);
    golden("check-good", &ended.out);
    assert_eq!(ended.err, "");
}

#[test]
fn check_lists_all_errors_of_a_file() {
    let ended = at_root(&["check", "testdata/cli/several-errors.yaml"]).with(65);
    golden("several-errors", &ended.err);
    assert_eq!(ended.out, "");
}

#[test]
fn check_points_into_scripts() {
    for name in ["script-errors", "script-syntax"] {
        let ended = at_root(&["check", &format!("testdata/cli/{name}.yaml")]).with(65);
        golden(name, &ended.err);
    }
}

#[test]
fn check_points_into_an_override() {
    let sets = ["--set", "holdd=5m", "--set", "options.timeout=3"];
    let ended = at_root(&[&["check", "examples/football-quick.yaml"], &sets[..]].concat()).with(65);
    golden("set-errors", &ended.err);
}

#[test]
fn check_reads_standard_input() {
    let text = std::fs::read(root().join("examples/http-hello.yaml")).unwrap();
    let mut child =
        throng(["check", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Dropping it is the end of the input.
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"http-hello\""));
}

#[test]
fn a_place_far_to_the_right_is_shown() {
    let space = Space::new();
    let long = "x".repeat(70_000);
    let text =
        format!("name: far\ntarget: http://127.0.0.1:1/\noptions: {{ a{long}: 1, timeout: 3 }}\n");
    let file = space.file("far.yaml", &text);
    let ended = Ended::of(throng(["check"]).arg(&file)).with(65);
    ended.stderr_contains("far.yaml:3:");
    ended.stderr_contains("timeout: 3");
    let ended = Ended::of(throng(["check"]).arg(&file).args(["--set", &format!("a{long}=1")]));
    ended.with(65).stderr_contains("timeout: 3");
}

#[test]
fn a_malformed_url_is_corrected_in_the_hint() {
    for load in [&[][..], &["--users", "5", "--duration", "1s"]] {
        for what in ["localhost:8080/hello", "htp://localhost:8080/hello"] {
            let ended = at_root(&[&["run", what], load].concat()).with(64);
            ended.stderr_contains("is neither a file nor a URL");
            ended.stderr_contains("did you mean http://localhost:8080/hello?");
        }
    }
    // Others take none.
    for verb in ["check", "capacity", "experiment"] {
        at_root(&[verb, "http://127.0.0.1:1/"])
            .with(66)
            .stderr_contains("only `throng run` accepts a URL");
    }
    let missing = at_root(&["experiment", "nowhere.yaml"]).with(66);
    assert!(!missing.err.contains("URL"), "{}", missing.err);
}

#[test]
fn errors_of_numbers_and_addresses_state_the_format() {
    at_root(&["run", "http://127.0.0.1:1/", "--users", "abc"])
        .with(64)
        .stderr_contains("expected a whole number");
    at_root(&["serve", "hello", "--listen", "localhost:18082"])
        .with(64)
        .stderr_contains("expected a numeric address with a port, such as 127.0.0.1:8080");
}

#[test]
fn settings_of_a_built_in_system_are_checked_before_it_starts() {
    let ended = at_root(&["check", "testdata/cli/bad-settings.yaml"]).with(65);
    golden("bad-settings", &ended.err);
    let space = Space::new();
    let run = at_root(&[
        "run",
        "testdata/cli/bad-settings.yaml",
        "--runs",
        space.path("runs").to_str().unwrap(),
    ])
    .with(65);
    assert_eq!(run.err, ended.err);
}

#[test]
fn a_missing_file_is_named() {
    for verb in ["check", "run"] {
        at_root(&[verb, "nowhere.yaml"]).with(66).stderr_contains("cannot read \"nowhere.yaml\"");
    }
}

#[test]
fn an_invalid_command_line_exits_with_64() {
    at_root(&["run", "--loud", "x.yaml"]).with(64).stderr_contains("unexpected argument '--loud'");
    at_root(&[]).with(64).stderr_contains("Usage: throng <COMMAND>");
    at_root(&["check", "x.yaml", "--set", "hold"]).with(64).stderr_contains("expected KEY=VALUE");
    at_root(&["run", "x.yaml", "--quiet", "--json"])
        .with(64)
        .stderr_contains("cannot be used with");
    at_root(&["serve", "stall", "--delay", "5"]).with(64).stderr_contains("--delay");
}

#[test]
fn options_of_a_url_do_not_go_with_a_file() {
    for option in [
        ["--users", "5"],
        ["--rate", "5/s"],
        ["--duration", "5s"],
        ["--method", "POST"],
        ["--header", "a: b"],
        ["--body", "x"],
    ] {
        let args = [&["run", "examples/http-hello.yaml"], &option[..]].concat();
        at_root(&args).with(64).stderr_contains("apply to a URL only");
    }
}

#[test]
fn renamed_options_name_the_new_one() {
    for (command, tip) in [
        (["run", "x.yaml", "--anyway"], "'--anyway' is now called '--force'"),
        (["run", "x.yaml", "--for"], "'--for' is now called '--duration'"),
        (["capacity", "x.yaml", "--for"], "'--for' is now called '--time-limit'"),
        (["analyze", "x", "--cut"], "'--cut' is now called '--skip'"),
        (["show", "x", "--judge-rest"], "'--judge-rest' is now called '--allow-lost-workers'"),
    ] {
        at_root(&command).with(64).stderr_contains(tip);
    }
    let doctor = at_root(&["doctor", "--for", "5"]).with(64);
    doctor.stderr_contains("'--for' is now called '--users'");
    let fault = at_root(&["lab", "fault", "kill: app", "--for", "5s"]).with(64);
    fault.stderr_contains("'--for' is now called '--duration'");
    // Unknown options get clap's own tip.
    at_root(&["run", "x.yaml", "--forc"]).with(64).stderr_contains("'--force'");
}

#[test]
fn help_and_version_are_no_errors() {
    let help = at_root(&["run", "--help"]).with(0);
    help.stdout_contains("the run cannot be trusted");
    let short = at_root(&["-V"]).with(0);
    assert_eq!(short.out.trim(), concat!("throng ", env!("CARGO_PKG_VERSION")));
    // With the commit, if the build knows it.
    let long = at_root(&["--version"]).with(0);
    assert!(long.out.starts_with(short.out.trim()), "{}", long.out);
}

#[test]
fn options_have_their_own_headings() {
    let heading = |verb: &[&str], option: &str| {
        let help = at_root(&[verb, &["--help"]].concat()).with(0).out;
        let lines = help.lines().take_while(|line| !line.contains(option));
        let headings = lines.filter(|line| line.ends_with(':') && !line.starts_with(' '));
        headings.last().unwrap_or_default().to_owned()
    };
    for (verb, options) in [
        (&["run"][..], &["--runs <", "--lenient", "--workers <", "--json"][..]),
        (&["experiment"], &["--html <", "--json"]),
        (&["compare"], &["--junit <", "--markdown <", "--json"]),
        (&["model", "check"], &["--sessions <", "--json"]),
    ] {
        for option in options {
            assert_eq!(heading(verb, option), "Options:", "{verb:?} {option}");
        }
    }
    assert_eq!(heading(&["run"], "--users <"), "With a URL:");
    assert_eq!(heading(&["run"], "--otlp <"), "Exports:");
}

#[test]
fn a_recording_is_imported_first() {
    at_root(&["run", "testdata/har/shop.har"])
        .with(65)
        .stderr_contains("throng import testdata/har/shop.har");
}

#[test]
fn the_schema_describes_the_examples() {
    let schema: Value = serde_json::from_str(&at_root(&["schema"]).with(0).out).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let scenario = yaml(&std::fs::read_to_string(&path).unwrap());
        let errors: Vec<_> = validator.iter_errors(&scenario).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}: {}", path.display(), errors.join("\n"));
    }
    let schema = at_root(&["schema", "experiment"]).with(0).out;
    let of_experiments = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap());
    let path = root().join("examples/experiments/market.yaml");
    let experiment = yaml(&std::fs::read_to_string(path).unwrap());
    let error = of_experiments.unwrap().validate(&experiment).err();
    assert!(error.is_none(), "{error:?}");
    let schema = at_root(&["schema", "lab"]).with(0).out;
    let of_labs = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    for example in
        ["quick", "own", "answer", "final", "scaling", "routing", "mobile", "split", "dilation"]
    {
        let path = root().join(format!("examples/lab/{example}.yaml"));
        let lab = yaml(&std::fs::read_to_string(path).unwrap());
        let error = of_labs.validate(&lab).err();
        assert!(error.is_none(), "{example}: {error:?}");
    }
    let wrong =
        yaml("{ target: 'http://localhost/', sessions: { a: [ { gett: / } ] }, arrivals: [] }");
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish"] {
        let text = at_root(&["completions", shell]).with(0).out;
        for verb in [
            "run",
            "check",
            "experiment",
            "schema",
            "show",
            "serve",
            "doctor",
            "import",
            "meters",
            "reproduce",
            "completions",
        ] {
            assert!(text.contains(verb), "{shell} does not know {verb}");
        }
    }
}

#[test]
fn manual_pages_exist_for_every_verb_that_help_lists() {
    let space = Space::new();
    let folder = space.path("man");
    Ended::of(throng(["man"]).arg(&folder)).with(0);
    let help = at_root(&["help"]).with(0).out;
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let verbs = verbs.lines().take_while(|line| !line.is_empty());
    let verbs = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs: Vec<&str> = verbs.filter_map(|l| l.split_whitespace().next()).collect();
    assert!(verbs.len() > 15, "{verbs:?}");
    for verb in verbs.iter().filter(|verb| **verb != "help") {
        let page = std::fs::read_to_string(folder.join(format!("throng-{verb}.1")));
        assert!(page.is_ok_and(|text| text.contains(".SH SYNOPSIS")), "{verb}");
    }
    let first = std::fs::read_to_string(folder.join("throng.1")).unwrap();
    assert!(first.contains(env!("CARGO_PKG_VERSION")), "{first}");
    assert!(!folder.join("throng-worker.1").exists());
    Ended::of(throng(["man", "/dev/null/man"]).current_dir(&folder)).with(74);
}

#[test]
fn doctor_lists_every_limit() {
    let ended = at_root(&["doctor"]).with(0);
    let limits = "open files, local ports, connection queues, TIME_WAIT, socket buffers, orphaned connections, \
                  FIN timeout, retries of handshakes, memory, cores, clock source, is the first limit";
    for limit in limits.split(", ") {
        ended.stdout_contains(limit);
    }
}

/// A control group with 300 MiB; it goes with the test.
struct SmallGroup(PathBuf);

impl SmallGroup {
    /// `None`: this machine does not let the test make one.
    fn new() -> Option<SmallGroup> {
        let name = format!("throng-test-{}", std::process::id());
        for (hierarchy, limit) in
            [("memory", "memory.limit_in_bytes"), ("", "memory.max"), ("unified", "memory.max")]
        {
            let folder = Path::new("/sys/fs/cgroup").join(hierarchy).join(&name);
            if std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = SmallGroup(folder);
            let file = group.0.join(limit);
            if file.exists() && std::fs::write(file, "314572800").is_ok() {
                return Some(group);
            }
        }
        None
    }

    /// The program within the group.
    fn run(&self, args: &str) -> Ended {
        let program = throng::<&str>([]).get_program().to_owned();
        let script = format!("echo $$ > \"$1/cgroup.procs\" && exec \"$2\" {args}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(&self.0).arg(program);
        Ended::of(&mut command)
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        // What is left of it goes with the machine.
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn doctor_shows_the_memory_that_a_control_group_allows() {
    let Some(group) = SmallGroup::new() else {
        return skip("no control group with a memory limit can be made");
    };
    let ended = group.run("doctor").with(0);
    ended.stdout_contains("MiB available of the 300 MiB that the control group");
    let ended = group.run("doctor --users 1000000").with(1);
    ended.stdout_contains("raise the memory limit of the control group");
}

#[test]
fn doctor_states_the_fix_for_few_open_files() {
    let ended = Ended::of(&mut with_files(200, &throng(["doctor"]))).with(0);
    ended.stdout_contains("fix: ulimit -n");
}

#[test]
fn doctor_shows_what_a_number_of_users_needs() {
    // No machine has the memory for that many, whatever its settings.
    let ended = at_root(&["doctor", "--users", "100000000000"]).with(1);
    ended.stdout_contains("100,000,000,000 users at once, with the target on this machine:");
    ended.stdout_contains("fs.file-max");
    ended.stdout_contains("Now this machine can hold about");
    let elsewhere = ["doctor", "--users", "100000000000", "--target-elsewhere"];
    let ended = at_root(&elsewhere).with(1);
    ended.stdout_contains("addresses in `options.source_addresses`");
    for wrong in [
        &["doctor", "--apply"][..],
        &["doctor", "--users", "0"],
        &["doctor", "--users", "5", "--source-addresses", "3"],
    ] {
        at_root(wrong).with(64);
    }
}

#[test]
fn json_and_quiet_print_nothing_else() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let url = format!("{}/hello", echo.url);
    let json = Ended::of(space.load(&url, "50/s", "1s").arg("--json")).with(0);
    let summary: Summary = serde_json::from_str(&json.out).unwrap();
    assert_eq!((summary.users.started, summary.verdict), (50, Verdict::Measured));
    assert_eq!(json.err, "");
    let shown = Ended::of(throng(["show", "--json"]).arg(&space.directories()[0])).with(0);
    assert_eq!(shown.out, json.out);

    let quiet = Ended::of(space.load(&url, "50/s", "1s").arg("--quiet")).with(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn quiet_hides_warnings_and_shows_errors() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let scenario = |count: &str| {
        format!(
            "target: {}\nsessions: {{ a: [ {{ get: /hello, auth: {{ basic: {{ user: me, password: open }} }} }} ] }}\n\
             arrivals: [ {{ constant: 5/s, for: {count} }} ]\n",
            echo.url
        )
    };
    let loud = Ended::of(&mut space.run_text(&scenario("200ms"), &[])).with(0);
    loud.stderr_contains("whoever reads the scenario reads this secret");
    let quiet = Ended::of(&mut space.run_text(&scenario("200ms"), &["--quiet"])).with(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let wrong = Ended::of(&mut space.run_text(&scenario("200"), &["--quiet"])).with(65);
    wrong.stderr_contains("has no unit");
    assert!(!wrong.err.contains("secret"), "{}", wrong.err);
}

#[test]
fn show_repeats_the_verdict() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let url = format!("{}/hello", echo.url);
    let run = Ended::of(&mut space.run(&[&url, "--users", "2", "--duration", "1s"])).with(0);
    let shown = Ended::of(throng(["show", "--full"]).arg(&space.directories()[0])).with(0);
    // It also reports what the run did over time.
    let (verdict, over_time) = shown.out.split_once("\nover time  ").unwrap();
    assert!(run.out.contains(verdict), "{}\n---\n{}", run.out, shown.out);
    assert!(over_time.contains("p99 of GET /hello"), "{over_time}");
    shown.stdout_contains("MEASURED url");
    // The first screen says how to get the rest.
    let shown = Ended::of(throng(["show"]).arg(&space.directories()[0])).with(0);
    shown.stdout_contains("MEASURED url").stdout_contains(" --full");
    assert!(!shown.out.contains("\nover time"), "{}", shown.out);
}

#[test]
fn show_of_a_directory_without_a_run_is_an_error() {
    let space = Space::new();
    Ended::of(throng(["show"]).arg(space.path("")))
        .with(66)
        .stderr_contains("is not a run directory");
    at_root(&["show", "nowhere"]).with(66).stderr_contains("nowhere is not a run directory");
}
