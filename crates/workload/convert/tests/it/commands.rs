//! Command lines of curl.

use convert::{Leniency, curl};
use scenario::{Source, render};

use crate::assert_runs;

fn files(name: &str) -> Result<String, String> {
    match name {
        "body.json" => Ok("{\"a\": 1}".to_owned()),
        "base64:a.png" => Ok("aGVsbG8=".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

/// The scenario, or nothing, and what is said.
fn convert(text: &str, leniency: Leniency) -> (Option<String>, String) {
    let source = Source { name: "x/api.sh", text };
    let (converted, diagnostics) =
        curl::convert(source, &curl::Settings { leniency, files: &files });
    (converted.map(|converted| converted.text), render(&diagnostics, source))
}

/// The steps of a scenario, without the indentation of the list.
#[track_caller]
fn steps(text: &str) -> String {
    let (converted, said) = convert(text, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    let steps = converted.split("  commands:\n").nth(1).unwrap();
    steps.split("arrivals:\n").next().unwrap().to_owned()
}

#[test]
fn a_command_becomes_a_request() {
    let text = r#"curl 'https://a.test:443/login?x=1' -X POST \
  -H 'Content-Type: application/json' -H 'Accept: */*' -H 'Authorization: Bearer abc' \
  -b 'a=1; b=2' --data-raw '{"user":"ann","password":"pw","note":"it'\''s"}' --compressed -L -m 5 -s"#;
    assert_eq!(
        steps(text),
        r#"    - post: /login?x=1
      headers:
        content-type: application/json
        accept: "*/*"
        authorization: "Bearer ${env('AUTHORIZATION')}"
        accept-encoding: gzip, deflate, br, zstd
      cookies:
        a: "1"
        b: "2"
      body: "{\"user\":\"ann\",\"password\":\"${env('PASSWORD')}\",\"note\":\"it's\"}"
      redirects: 50
      timeout: 5s
"#
    );
}

#[test]
fn a_file_is_a_session() {
    let text = "\
#!/bin/sh
BASE=https://a.test
curl -G $BASE/search -d q=x -d 'n=1 2'
sleep 2
curl -u ann:secret \"$BASE/a\" | jq .
curl -d a=1 -d @body.json $BASE/b
curl --json '{\"t\": \"'$TOKEN'\"}' $BASE/c
curl -F 'f=@a.png;type=image/png' -F n=v $BASE/d
curl -sI https://other.test/x --next -T body.json $BASE/e
";
    assert_eq!(
        steps(text),
        r#"    - get: /search?q=x&n=1%202
    - think: 2s
    - get: /a
      auth:
        basic:
          user: ann
          password: "${env('PASSWORD')}"
    - post: /b
      headers:
        content-type: application/x-www-form-urlencoded
      body: "a=1&${file('body.json')}"
    - post: /c
      headers:
        content-type: application/json
        accept: application/json
      body: "{\"t\": \"${env('TOKEN')}\"}"
    - post: /d
      multipart:
        f:
          file: a.png
          type: image/png
        "n": v
    - head: "https://other.test/x"
    - put: /e
      body: "${file('body.json')}"
"#
    );
    let (_, said) = convert(text, Leniency::Strict);
    assert!(said.contains("api.sh:5:") && said.contains("what happens to the response"), "{said}");
}

#[test]
fn what_cannot_be_sent_is_named() {
    for (text, expected) in [
        ("curl http://a.test/ --proxy http://p", "`--proxy` is not carried over"),
        ("curl http://a.test/ -d @gone.txt", "the file `gone.txt` cannot be read"),
        ("curl http://a.test/ -d \"$(date)\"", "the output of a command cannot be used: $(date)"),
        ("curl 'http://a.test/[1-9]'", "stands for several URLs"),
        ("wget http://a.test/\ncurl http://a.test/", "`wget` is no request"),
        ("curl -d 'a", "a quote is not closed"),
        ("curl -s", "this command has no URL"),
        ("curl http://a.test/ -m x", "`x` is not a number of seconds"),
    ] {
        let (converted, said) = convert(text, Leniency::Strict);
        assert!(converted.is_none() && said.contains(expected), "{text}\n{said}");
    }
    let (converted, _) = convert("wget x\ncurl http://a.test/ -x http://p", Leniency::Lenient);
    assert!(converted.unwrap().contains("- get: /\n"));
}

#[test]
fn a_target_may_come_from_the_environment() {
    let (converted, said) = convert("curl $BASE/x; curl ${BASE}/y", Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("target: \"${env('BASE')}\"\n"), "{converted}");
    assert!(converted.contains("    - get: /x\n    - get: /y\n"), "{converted}");
}

/// Commands that are changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let source = Source { name: "x.sh", text };
        let settings = curl::Settings { leniency, files: &files };
        if let (Some(converted), _) = curl::convert(source, &settings) {
            assert_runs(&converted);
        }
    }
}
