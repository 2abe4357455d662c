//! Scripts of k6 run as they are: exit codes, summaries, thresholds and scripts that end a run.

use record::schema::{EventKind, RunStatus};

use super::site::Site;
use super::{html, text};
use crate::support::{Ended, Served, Space};

/// A script whose default function has this body.
fn script(options: &str, rest: &str) -> String {
    format!(
        "import http from 'k6/http'; import exec from 'k6/execution'; import {{ check }} from 'k6';
         export const options = {options};
         {rest}"
    )
}

fn site() -> Site {
    Site::start(|request| match request.path.as_str() {
        "/missing" => text(404, "none"),
        "/form" => html("<form action='/sent' method='post'><input name='q' value='v'></form>"),
        "/set" => (200, "set-cookie: own=1; path=/\r\n".to_owned(), b"set".as_slice().into()),
        _ => text(200, request.header("cookie")),
    })
}

/// Runs a script against the site, whose URL is `__ENV.BASE`, and with these arguments; it ends with this code.
#[track_caller]
fn run(space: &Space, site: &Site, script: &str, args: &[&str], code: i32) -> Ended {
    let mut command = space.run(&["-e", &format!("BASE={}", site.url), "--k6-exit-codes"]);
    command.arg(space.file("load.js", script)).args(args);
    Ended::of(&mut command).with(code)
}

#[test]
fn exit_codes_are_those_of_k6() {
    let site = site();
    let get = "export default () => http.get(`${__ENV.BASE}/`);";
    let crossed = "{ iterations: 2, thresholds: { http_req_failed: ['rate>0.5'] } }";
    for (options, rest, code) in [
        ("{ iterations: 2, thresholds: { http_req_failed: ['rate<0.5'] } }", get, 0),
        // Nothing was recorded of it, which is 0 for k6.
        ("{ thresholds: { 'http_req_duration{name:none}': ['p(95)<1'] } }", get, 0),
        (crossed, get, 99),
        (
            "{ iterations: 2 }",
            "export default () => { http.get(`${__ENV.BASE}/`); throw new Error('x'); };",
            0,
        ),
        (
            "{}",
            "export function setup() { throw new Error('x'); }\nexport default () => http.get(`${__ENV.BASE}/`);",
            107,
        ),
        (
            "{}",
            "export function teardown() { throw new Error('x'); }\nexport default () => http.get(`${__ENV.BASE}/`);",
            107,
        ),
        ("{}", "throw new Error('x');", 107),
        ("{ thresholds: { none: ['p(95)<1'] } }", get, 104),
        (
            "{ vus: 1, duration: '60s' }",
            "export default () => { http.get(`${__ENV.BASE}/`); exec.test.abort('enough'); };",
            108,
        ),
    ] {
        run(&Space::new(), &site, &script(options, rest), &["--quiet"], code);
    }
    // Without the flag they are Throng's.
    let space = Space::new();
    let mut command = space.run(&["--quiet", "-e", &format!("BASE={}", site.url)]);
    Ended::of(command.arg(space.file("load.js", &script(crossed, get)))).with(1);
    let space = Space::new();
    let scenario = space.file("a.yaml", "target: http://127.0.0.1:1/\n");
    let ended = Ended::of(space.run(&["--k6-exit-codes"]).arg(scenario)).with(64);
    ended.stderr_contains("apply to scripts of k6 only");
}

#[test]
fn thresholds_and_scripts_end_a_run() {
    let site = site();
    let options = "{ vus: 1, duration: '60s', thresholds: {
        http_req_failed: [{ threshold: 'rate<0.1', abortOnFail: true, delayAbortEval: '1s' }] } }";
    let space = Space::new();
    let rest = "export default () => http.get(`${__ENV.BASE}/missing`);";
    let ended = run(&space, &site, &script(options, rest), &[], 99);
    ended.stdout_contains("the run was aborted after 1 s of 1 min");
    assert_eq!(space.only().info().status, RunStatus::Aborted);

    let space = Space::new();
    let rest = "export default () => { http.get(`${__ENV.BASE}/`); exec.test.abort('enough'); };";
    let ended = run(&space, &site, &script("{ vus: 1, duration: '60s' }", rest), &[], 108);
    ended.stdout_contains("by its script");
    let run = space.only();
    assert_eq!(run.info().status, RunStatus::Aborted);
    let events = run.events().unwrap();
    assert!(events.iter().any(|event| event.what == EventKind::ScriptAborted));
    let is_message =
        |what: &EventKind| matches!(what, EventKind::Console { text } if text.contains("enough"));
    assert!(events.iter().any(|event| is_message(&event.what)));
}

#[test]
fn summaries_are_written_where_they_may_be() {
    let site = site();
    let options = "{ vus: 2, iterations: 6, summaryTrendStats: ['avg', 'p(99)', 'count'],
        thresholds: { http_reqs: ['count==6'] } }";
    let rest = "export default () => { const r = http.get(`${__ENV.BASE}/`); check(r, { 'fine': (r) => r.status === 200 }); };
        export function handleSummary(data) {
          return { stdout: `iterations: ${data.metrics.iterations.values.count}`, 'summary.json': JSON.stringify(data) };
        }";
    let space = Space::new();
    let export = space.path("export.json");
    let export = export.to_str().unwrap();
    let ended = run(&space, &site, &script(options, rest), &["--summary-export", export], 0);
    ended.stdout_contains("iterations: 6");
    let run_dir = space.only().path().to_owned();
    let read = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let data = read(&run_dir.join("k6/summary.json"));
    let duration = data["metrics"]["http_req_duration"]["values"].as_object().unwrap();
    assert_eq!(duration.keys().collect::<Vec<_>>(), ["avg", "p(99)", "count"]);
    assert_eq!(duration["count"], 6);
    assert_eq!(data["root_group"]["checks"][0]["passes"], 6);
    let flat = read(export.as_ref());
    assert_eq!(flat["metrics"]["http_reqs"]["thresholds"]["count==6"], false);
    assert_eq!(flat["root_group"]["checks"]["fine"]["passes"], 6);

    // Elsewhere only if that is allowed.
    let rest = rest.replace("'summary.json'", "'../outside.json'");
    let space = Space::new();
    let mut command = space.run(&["--quiet", "-e", &format!("BASE={}", site.url)]);
    command.arg(space.file("load.js", &script(options, &rest)));
    Ended::of(&mut command).with(74).stderr_contains("--allow-write");
    std::fs::create_dir(space.path("inside")).unwrap();
    Ended::of(command.arg("--allow-write").current_dir(space.path("inside"))).with(0);
    assert_eq!(read(&space.path("outside.json"))["metrics"]["iterations"]["values"]["count"], 6);
}

#[test]
fn pages_cookies_and_connections_are_the_users() {
    let site = site();
    let options = "{ vus: 1, iterations: 2, noVUConnectionReuse: true }";
    let rest = "export default () => {
        http.get(`${__ENV.BASE}/set`);
        const jar = http.cookieJar();
        const had = jar.cookiesForURL(__ENV.BASE);
        jar.set(__ENV.BASE, 'more', '2');
        const seen = http.get(`${__ENV.BASE}/seen`).body;
        const form = http.get(`${__ENV.BASE}/form`);
        const sent = form.submitForm();
        check(null, {
          'has the cookie': () => had.own[0] === '1',
          'sends both': () => seen === 'own=1; more=2',
          'finds the field': () => form.html('input').attr('value') === 'v',
          'sends the form': () => sent.request.method === 'POST' && sent.request.body === 'q=v',
        });
      };";
    let space = Space::new();
    let with_check =
        script(&options.replace("vus: 1,", "vus: 1, thresholds: { checks: ['rate==1'] },"), rest);
    run(&space, &site, &with_check, &[], 0);
    let connections: std::collections::BTreeSet<u64> =
        site.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!((site.seen().len(), connections.len()), (8, 2));
    assert_eq!(site.lines()["POST /sent"], 2);
}

#[test]
fn requests_timers_and_sockets_run_beside_a_function() {
    let site = site();
    let echo = Served::start(&["echo"]);
    let options = "{ vus: 2, iterations: 4, thresholds: {
        checks: ['rate==1'], http_reqs: ['count==16'], iterations: ['count==4'],
        ws_sessions: ['count==4'], ws_msgs_sent: ['count==8'], ws_msgs_received: ['count==8'] } }";
    let rest = "import { WebSocket } from 'k6/websockets';
      export default async () => {
        setTimeout(() => http.get(`${__ENV.BASE}/later`), 20);
        const names = ['a', 'b', 'c'];
        const pages = await Promise.all(names.map((name) => http.asyncRequest('GET', `${__ENV.BASE}/${name}`)));
        check(pages, { 'all are there': (all) => all.every((page, at) => page.url.endsWith(names[at])) });
        const heard = [];
        const socket = new WebSocket(`${__ENV.ECHO.replace('http', 'ws')}/echo`);
        socket.onopen = () => socket.send('one');
        socket.onmessage = (event) => {
          heard.push(event.data);
          if (heard.length === 2) socket.close(); else setTimeout(() => socket.send('two'), 10);
        };
        socket.onclose = (event) => check(heard, { 'all is heard': (all) => event.wasClean && all.join() === 'one,two' });
      };";
    let space = Space::new();
    let url = format!("ECHO={}", echo.url);
    run(&space, &site, &script(options, rest), &["-e", &url], 0);
    let mut lines = site.lines();
    assert_eq!(lines.remove("GET /later"), Some(4));
    assert_eq!(lines.values().sum::<u64>(), 12, "{lines:?}");
}
