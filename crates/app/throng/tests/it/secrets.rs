//! A secret is planted in every kind of run, and looked for in all that the run leaves and prints.

use std::io::{Read, Write};
use std::process::Command;

use crate::support::{Ended, Served, Space, holding, server, throng};

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
    let to = format!("to={}", server.url);
    let tok = set("tok");
    let password = set("password");
    for workers in ["0", "2"] {
        let space = Space::new();
        let sets = ["--set", &to, "--set", &tok, "--set", &password];
        let args = [&["--workers", workers][..], &sets].concat();
        leaves_nothing(&mut space.run_text(SCENARIO, &args), &space, &[0, 1, 2]);
        let run = space.only();
        for args in [&["show"][..], &["show", "--json"], &["analyze"], &["show", "--html"]] {
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
    for name in ["Authorization", "proxy-authorization", "Cookie", "X-Api-Key"] {
        let space = Space::new();
        let header = format!("{name}: Basic {SECRET}");
        let mut run = space.load(&server.url, "20/s", "300ms");
        run.args(["-H", &header, "--header", "accept: text/plain"]);
        leaves_nothing(&mut run, &space, &[0]);
        let text = space.only().scenario().unwrap().unwrap();
        assert!(text.contains("header_1") && text.contains("text/plain"), "{text}");
        assert!(space.only().info().overrides.contains(&"header_1=(secret)".to_owned()));
    }
}

#[test]
fn secrets_in_a_bare_url_are_nowhere() {
    let server = Served::start(&["hello"]);
    let space = Space::new();
    let url = format!("{}?n=1&token={SECRET}", server.url);
    let mut run = space.load(&url, "20/s", "300ms");
    run.args(["--body", &format!("{{\"password\": \"{SECRET}\"}}")]);
    leaves_nothing(&mut run, &space, &[0, 1]);
    let run = space.only();
    for args in [&["show"][..], &["show", "--json"], &["show", "--html"]] {
        let (verb, options) = args.split_first().unwrap();
        let mut command = throng([verb]);
        command.arg(run.path()).args(options);
        leaves_nothing(&mut command, &space, &[0, 1, 65]);
    }
    let mut export = throng(["export", "--csv"]);
    export.arg(space.path("csv")).arg(run.path());
    leaves_nothing(&mut export, &space, &[0]);
}

/// They are sent, as `Authorization`; where a URL cannot be loaded, the error has none of them.
#[test]
fn credentials_in_a_bare_url_are_nowhere() {
    let server = Served::start(&["hello"]);
    let with = |scheme: &str| {
        let address = server.url.strip_prefix("http://").unwrap();
        format!("{scheme}://ann:{SECRET}@{address}")
    };
    let space = Space::new();
    leaves_nothing(&mut space.load(&with("http"), "20/s", "300ms"), &space, &[0]);
    let run = space.only();
    assert!(run.info().overrides.contains(&"header_1=(secret)".to_owned()));
    for args in [&["show"][..], &["show", "--json"], &["show", "--html"]] {
        let (verb, options) = args.split_first().unwrap();
        let mut command = throng([verb]);
        command.arg(run.path()).args(options);
        leaves_nothing(&mut command, &space, &[0, 65]);
    }
    for url in [
        with("ws"),
        with("ftp"),
        format!("http://ann:{SECRET}@"),
        format!("http://ann:{SECRET}@a b/"),
    ] {
        let space = Space::new();
        leaves_nothing(&mut space.load(&url, "20/s", "300ms"), &space, &[64, 65, 66]);
    }
}

/// They are warned of, and sent as they are.
#[test]
fn secrets_in_the_text_are_nowhere_but_there() {
    let address = server(|mut stream| {
        let mut bytes = [0; 4096];
        while stream.read(&mut bytes)? > 0 {
            let body = format!("{{\"token\": \"{SECRET}\"}}");
            let answer = format!("HTTP/1.1 401 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes())?;
        }
        Ok(())
    });
    let space = Space::new();
    let elsewhere = Space::new();
    let text = format!(
        "
name: plain
target: http://{address}
sessions:
  visitor:
    - {{ get: \"/a?access_token={SECRET}\", status: [ 200, 401 ], check: [ \"1 == 2\" ] }}
    - {{ post: /b, json: {{ password: {SECRET} }}, headers: {{ authorization: {SECRET} }}, save: {{ x: /none }} }}
arrivals: [ {{ constant: 10/s, for: 500ms }} ]
"
    );
    let file = elsewhere.file("plain.yaml", &text);
    let checked = Ended::of(throng(["check"]).arg(&file)).with(0);
    checked.stderr_contains("whoever reads the scenario reads this secret");
    let mut run = space.run(&["--quiet"]);
    leaves_nothing(run.arg(&file), &space, &[1]);
    let text = space.only().scenario().unwrap().unwrap();
    assert!(text.contains("/a?access_token=(secret)"), "{text}");
}

/// What an answer gave a user, or a row of data, is hidden in what is kept of errors: in excerpts of answers, values of
/// variables, and the base64 that the server sends back.
#[test]
fn secrets_of_answers_and_data_are_nowhere() {
    let address = server(|mut stream| {
        loop {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let sent = head.lines().find(|line| line.starts_with("x-own: "));
            let body = match head.starts_with("get /login") {
                true => format!("{{\"token\":\"{SECRET}\"}}"),
                false => format!("{}{}", "no ".repeat(60), sent.unwrap_or_default()),
            };
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes())?;
        }
    });
    let space = Space::new();
    let elsewhere = Space::new();
    let rows = elsewhere.file("users.csv", &format!("login,code\nann,{SECRET}-too\n"));
    let text = format!(
        "
target: http://{address}
data: {{ users: {{ file: '{}' }} }}
sessions:
  visitor:
    - feed: users
    - {{ get: /login, as: login, save: {{ grant: /token }}, check: [ 'grant == \"\"' ] }}
    - get: /page
      as: page
      headers: {{ authorization: 'Bearer ${{grant}}', x-own: '${{grant}}' }}
      save: {{ body: body }}
      check: [ 'body == grant' ]
    - check: 'code == \"\"'
    - {{ get: /basic, as: basic, auth: {{ basic: {{ user: '${{login}}', password: '${{code}}' }} }}, check: [ 'code == login' ] }}
arrivals: [ {{ constant: 20/s, for: 500ms }} ]
",
        rows.display()
    );
    for workers in ["0", "2"] {
        let mut run = space.run_text(&text, &["--workers", workers]);
        let ended = leaves_nothing(&mut run, &space, &[1]);
        assert!(!ended.out.is_empty());
    }
    let events = holding(&space.path("runs"), "(secret)");
    assert!(events.iter().any(|file| file.ends_with("events.jsonl")), "{events:?}");
}

/// The address of a store has a password, in the text or by an override: nobody can use that store, and the error
/// does not quote the password.
#[test]
fn passwords_of_stores_are_nowhere() {
    let rest = "sessions: { a: [ { get: / } ] }\narrivals: [ { constant: 1/s, for: 1s } ]\n";
    let url = format!("postgres://me:{SECRET}@127.0.0.1:1/db");
    let space = Space::new();
    let text = format!("target: {{ queue: {{ connections: 2 }} }}\n{rest}");
    let mut run = space.run_text(&text, &["--set", &format!("target.queue.store={url}")]);
    leaves_nothing(&mut run, &space, &[69]);
    // What is in the text stays there; it is warned of.
    let space = Space::new();
    let elsewhere = Space::new();
    let text = format!("target: {{ queue: {{ store: '{url}' }} }}\n{rest}");
    let file = elsewhere.file("scenario.yaml", &text);
    let mut check = throng(["check"]);
    let ended = Ended::of(check.arg(&file)).with(0);
    ended.stderr_contains("plain-secret");
    ended.stderr_contains("whoever reads the scenario reads this password");
    let mut run = throng(["run", "--quiet", "--runs"]);
    run.arg(space.path("runs")).arg(&file);
    leaves_nothing(&mut run, &space, &[69]);
}

/// What a search sets is in its file, cookies too.
#[test]
fn searches_refuse_cookies_that_are_set() {
    let space = Space::new();
    let text = "
target: http://127.0.0.1:1/
params: { sid: none }
sessions: { a: [ { get: /, as: page, cookies: { sid: '${sid}' } } ] }
arrivals: [ { constant: 10/s, for: 1s } ]
thresholds: [ 'p99(page) < 1s' ]
";
    let scenario = space.file("scenario.yaml", text);
    let mut search = throng(["capacity", "--from", "10/s", "--set", &set("sid"), "--runs"]);
    search.arg(space.path("runs")).arg(scenario);
    let ended = leaves_nothing(&mut search, &space, &[65]);
    ended.stderr_contains("\"sid\" sets a secret, which would be stored in a file");
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
    search.args(["--from", "20/s", "--at-most", "40/s", "--repeat", "1", "--pause", "10ms"]);
    leaves_nothing(search.arg(&scenario), &space, &[0, 1, 2]);
    let closed = text.replace("constant: 20/s, for: 500ms", "users: '${crowd}', for: 500ms");
    let closed = space.file("closed.yaml", &format!("params: {{ crowd: 1 }}\n{closed}"));
    let mut sweep = here("capacity");
    sweep.args(["--over", "crowd=1,2", "--repeat", "1", "--pause", "10ms"]);
    leaves_nothing(sweep.arg(&closed), &space, &[0, 1, 2]);
    let experiment = "scenario: scenario.yaml\ndesign: 2^k\nfactors: { rate: { set: arrivals.0.constant, \
                      levels: [ 10/s, 20/s ] } }\nresponses: [ p99(again) ]\n";
    let experiment = space.file("experiment.yaml", experiment);
    leaves_nothing(here("experiment").arg(experiment), &space, &[0, 1, 2]);
}

/// A service of AWS quotes the access key and more in its errors.
#[test]
fn keys_of_signatures_are_nowhere() {
    let address = server(|mut stream| {
        loop {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let quoted: Vec<&str> = head
                .lines()
                .filter(|line| line.starts_with("authorization") || line.starts_with("x-amz"))
                .collect();
            assert!(quoted.len() >= 3, "{head}");
            let body = format!("{}{SECRET}", quoted.join(" "));
            let length = body.len();
            let answer = format!("HTTP/1.1 403 X\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes())?;
        }
    });
    let key = "\"${env('TOK')}-key\", secret_key: \"${env('TOK')}\", session_token: \"${token}\"";
    let text = format!(
        "
target: http://{address}
params: {{ token: none }}
options: {{ sign: {{ aws: {{ service: s3, region: eu-west-1, access_key: {key} }} }} }}
sessions:
  visitor: [ {{ get: /page, as: page, save: {{ body: body }}, check: [ 'body == \"\"' ] }} ]
arrivals: [ {{ constant: 20/s, for: 500ms }} ]
"
    );
    let space = Space::new();
    let mut run = space.run_text(&text, &["--set", &set("token")]);
    leaves_nothing(run.env("TOK", SECRET), &space, &[1]);
    let mut attempt = throng(["try", "--set", &set("token")]);
    attempt.arg(space.path("scenario.yaml")).env("TOK", SECRET);
    let ended = leaves_nothing(&mut attempt, &space, &[0, 1]);
    assert!(ended.out.contains("403"), "{}", ended.out);
}
