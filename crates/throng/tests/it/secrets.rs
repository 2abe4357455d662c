//! A secret is planted in every kind of run, and looked for in all that the run leaves and prints.

use std::process::Command;

use crate::support::{Ended, Served, Space, holding, throng};

const SECRET: &str = "hush-4711-hush";

/// Secrets at every place, all from parameters; some pass variables.
const SCENARIO: &str = r#"
name: planted
target: "${to}"
params: { to: http://127.0.0.1:1/, tok: none, password: none }
options: { loops: 1, headers: { proxy-authorization: "Basic ${tok}" } }
sessions:
  visitor:
    - set: { line: "Bearer ${tok}", n: 1 }
    - get: /
      as: page
      headers: { authorization: "${line}", x-api-key: "${tok}" }
      cookies: { sid: "${tok}" }
    - { get: /, as: again, auth: { basic: { user: ann, password: "${password}" } } }
arrivals: [ { constant: 20/s, for: 500ms } ]
thresholds: [ "p99(again) < 10s" ]
"#;

/// Nothing of the secret is in what the command printed, nor below the space.
#[track_caller]
fn leaves_nothing(command: &mut Command, space: &Space, codes: &[i32]) -> Ended {
    let ended = Ended::of(command);
    let code = ended.code.unwrap_or(-1);
    assert!(codes.contains(&code), "{code}\n{}{}", ended.out, ended.err);
    assert!(!ended.out.contains(SECRET), "{}", ended.out);
    assert!(!ended.err.contains(SECRET), "{}", ended.err);
    assert_eq!(holding(&space.path(""), SECRET), [] as [String; 0]);
    ended
}

fn set(key: &str) -> String {
    format!("{key}={SECRET}")
}

#[test]
fn secrets_of_overrides_are_nowhere() {
    let server = Served::start(&["hello"]);
    let (to, tok, password) = (format!("to={}", server.url), set("tok"), set("password"));
    for workers in ["0", "2"] {
        let space = Space::new();
        let sets = ["--set", &to, "--set", &tok, "--set", &password];
        let args = [&["--workers", workers][..], &sets].concat();
        leaves_nothing(&mut space.run_text(SCENARIO, &args), &space, &[0, 1, 2]);
        let run = space.only();
        for args in [
            &["show"][..],
            &["show", "--json"],
            &["analyze"],
            &["show", "--html"],
        ] {
            let (verb, options) = args.split_first().unwrap();
            let mut command = throng([verb]);
            command.arg(run.path()).args(options);
            leaves_nothing(&mut command, &space, &[0, 1, 2, 65]);
        }
        let mut export = throng(["export", "--csv"]);
        export.arg(space.path("csv")).arg(run.path());
        leaves_nothing(&mut export, &space, &[0]);
    }
}

#[test]
fn secret_headers_of_a_bare_url_are_nowhere() {
    let server = Served::start(&["hello"]);
    for name in [
        "Authorization",
        "proxy-authorization",
        "Cookie",
        "X-Api-Key",
    ] {
        let space = Space::new();
        let header = format!("{name}: Basic {SECRET}");
        let mut run = space.load(&server.url, "20/s", "300ms");
        run.args(["-H", &header, "--header", "accept: text/plain"]);
        leaves_nothing(&mut run, &space, &[0]);
        let text = space.only().scenario().unwrap().unwrap();
        assert!(
            text.contains("header_1") && text.contains("text/plain"),
            "{text}"
        );
        assert!(
            space
                .only()
                .info()
                .overrides
                .contains(&"header_1=(secret)".to_owned())
        );
    }
}

/// Searches and experiments keep what they set: they take secrets from the environment.
#[test]
fn secrets_of_the_environment_are_nowhere() {
    let server = Served::start(&["hello"]);
    let text = SCENARIO
        .replace("${tok}", "${env('TOK')}")
        .replace("${password}", "${env('TOK')}")
        .replace("${to}", &server.url)
        .replace(", tok: none, password: none }", " }")
        .replace("params: { to: http://127.0.0.1:1/ }\n", "");
    let space = Space::new();
    let scenario = space.file("scenario.yaml", &text);
    let here = |verb: &str| {
        let mut command = throng([verb]);
        command.current_dir(space.path("")).env("TOK", SECRET);
        command
    };
    let mut run = here("run");
    leaves_nothing(run.arg(&scenario), &space, &[0, 2]);
    let mut search = here("capacity");
    search.args([
        "--from",
        "20/s",
        "--at-most",
        "40/s",
        "--repeat",
        "1",
        "--pause",
        "10ms",
    ]);
    leaves_nothing(search.arg(&scenario), &space, &[0, 1, 2]);
    let experiment = "scenario: scenario.yaml\ndesign: 2^k\nfactors: { rate: { set: arrivals.0.constant, \
                      levels: [ 10/s, 20/s ] } }\nresponses: [ p99(again) ]\n";
    let experiment = space.file("experiment.yaml", experiment);
    leaves_nothing(here("experiment").arg(experiment), &space, &[0, 1, 2]);
}
