//! Scripts on stacks of their own, driven by hand.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plan::{K6File, K6Metric, K6Script, MetricId};
use stats::rng::{Purpose, Rng};

use super::memory::Unlimited;
use super::{Common, User, read};
use crate::exchange::{
    Answer, Ask, Begin, Event, Fault, Memory, News, Response, Surroundings, Yielded,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/k6");

fn script(text: &str) -> Arc<K6Script> {
    let bytes: Arc<[u8]> = text.as_bytes().into();
    Arc::new(K6Script {
        files: vec![
            K6File { name: "script.js".to_owned(), bytes },
            K6File { name: "data.bin".to_owned(), bytes: [0, 255, 65].as_slice().into() },
        ],
        env: vec![("NAME".to_owned(), "value".to_owned())],
        options:
            r#"{"scenarios": {"default": {"executor": "constant-vus"}}, "tags": {"team": "a"}}"#
                .to_owned(),
        metrics: ["mine", "checks", "iterations"]
            .into_iter()
            .enumerate()
            .map(|(at, base)| K6Metric {
                base: base.to_owned(),
                tags: if base == "mine" {
                    vec![("team".to_owned(), "a".to_owned())]
                } else {
                    vec![]
                },
                id: MetricId(at as u16),
            })
            .collect(),
        time_max_ns: 200_000_000,
        memory_bytes_max: 8 << 20,
    })
}

fn common(text: &str) -> Common {
    let memory: Arc<dyn Memory> = Arc::new(Unlimited);
    Common::new(&script(text), &memory)
}

/// A user and all that it has recorded.
struct Driven {
    user: User,
    rng: Rng,
    now_ms: f64,
    time_max_ns: u64,
    yielded: Vec<Yielded>,
}

impl Driven {
    fn new(common: &Common, vu: u64) -> Driven {
        let user = User::new(common, vu).expect("there is memory for a stack");
        let rng = Rng::new(1, vu, Purpose::Value);
        Driven { user, rng, now_ms: 500.0, time_max_ns: 200_000_000, yielded: Vec::new() }
    }

    fn resume(&mut self, answer: Answer) -> Ask {
        let elapsed_ms = self.now_ms;
        let unix_ms = 1_700_000_000_000.0 + elapsed_ms;
        let time_max_ns = self.time_max_ns;
        let mut around = Surroundings { unix_ms, elapsed_ms, time_max_ns, rng: &mut self.rng };
        let ask = self.user.resume(answer, &mut around);
        self.yielded.push(self.user.take_yielded());
        ask
    }

    fn begin(&mut self, data: &str) -> Ask {
        self.resume(Answer::Begin(Box::new(Begin {
            function: "default".to_owned(),
            scenario: "default".to_owned(),
            data: data.to_owned(),
            number: 5,
        })))
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.yielded.iter().flat_map(|yielded| &yielded.console.lines);
        lines.map(|line| line.text.clone()).collect()
    }
}

fn done(ask: Ask) -> Result<Option<String>, Fault> {
    match ask {
        Ask::Done(result) => result,
        other => panic!("it waits: {other:?}"),
    }
}

/// What a function returns whose body this is.
fn returned(body: &str) -> Result<Option<String>, Fault> {
    let text = format!(
        "import http from 'k6/http'; import * as k6 from 'k6'; import encoding from 'k6/encoding'; import crypto from 'k6/crypto';
         import exec from 'k6/execution'; import {{ SharedArray }} from 'k6/data'; import {{ Trend }} from 'k6/metrics';
         const mine = new Trend('mine'); const bytes = open('./data.bin', 'b');
         export default function (data) {{ {body} }}"
    );
    done(Driven::new(&common(&text), 3).begin(r#"{"a": 1}"#))
}

#[test]
fn users_wait_on_stacks_of_their_own() {
    let text = "
        import http from 'k6/http'; import { sleep } from 'k6';
        const deep = (n) => (n === 0 ? http.get('http://a.test/x').json('v') : deep(n - 1));
        let count = 0;
        export default function () { sleep(0.25); count += 1; return deep(50) + count; }";
    let common = common(text);
    let mut users: Vec<Driven> = (1..=3).map(|vu| Driven::new(&common, vu)).collect();
    for round in 1..=2_u16 {
        for user in &mut users {
            assert!(matches!(user.begin(""), Ask::Sleep(250_000_000)));
        }
        for user in &mut users {
            let Ask::Request(request) = user.resume(Answer::Woken) else {
                panic!("it asks for nothing");
            };
            assert_eq!((request.method.as_str(), request.url.as_str()), ("GET", "http://a.test/x"));
        }
        // Each has its own answer, whatever the order.
        for (at, user) in users.iter_mut().enumerate().rev() {
            let body = format!("{{\"v\": {}}}", 10 * at).into_bytes();
            let response = Response { status: 200, body, ..Response::default() };
            let result = done(user.resume(Answer::Response(Box::new(response))));
            assert_eq!(result, Ok(Some((10 * at + usize::from(round)).to_string())));
        }
    }
}

#[test]
fn news_of_tasks_settle_promises() {
    let text = "
        import http from 'k6/http';
        export default async function () {
          const pages = ['a', 'b'].map((name) => http.asyncRequest('GET', `http://a.test/${name}`));
          setTimeout(() => console.log('due'), 20);
          return (await Promise.all(pages)).map((page) => page.body).join();
        }";
    let mut user = Driven::new(&common(text), 1);
    let Ask::News(Some(most_ns)) = user.begin("") else {
        panic!("it does not wait for its tasks and its timer");
    };
    assert!((20_000_000..20_001_000).contains(&most_ns), "{most_ns}");
    let tasks: Vec<u32> = user.yielded[0].tasks.iter().map(|task| task.id).collect();
    assert_eq!(tasks.len(), 2);
    let news = |id: u32, body: &str| {
        let body = body.as_bytes().to_vec();
        let response = Response { status: 200, body, ..Response::default() };
        News { id, event: Event::Response(Box::new(response)) }
    };
    // Each promise has its own answer, whatever the order; what is unknown is nobody's.
    let ask = user.resume(Answer::News(vec![news(tasks[1], "2"), news(99, "x")]));
    assert!(matches!(ask, Ask::News(Some(_))), "{ask:?}");
    let ask = user.resume(Answer::News(vec![news(tasks[0], "1")]));
    assert!(matches!(ask, Ask::News(Some(_))), "{ask:?}");
    // The function has returned, and its timer is left.
    user.now_ms += 20.0;
    assert_eq!(done(user.resume(Answer::News(Vec::new()))), Ok(Some("\"1,2\"".to_owned())));
    assert_eq!(user.lines(), ["due"]);
}

#[test]
fn users_that_wait_can_be_dropped() {
    let text = "
        import { sleep } from 'k6';
        export default function () { for (;;) { try { sleep(1); } catch (_) { sleep(2); } } }";
    let common = common(text);
    let mut user = Driven::new(&common, 1);
    assert!(matches!(user.begin(""), Ask::Sleep(_)));
    drop(user);
    drop(Driven::new(&common, 2));
}

#[test]
fn a_user_never_sees_what_another_has() {
    let text = "
        globalThis.seen = globalThis.seen || 0; let own = 0;
        export default function () { seen += 1; own += 1; Array.prototype.odd = 1; return [seen, own]; }";
    let common = common(text);
    let mut one = Driven::new(&common, 1);
    let mut other = Driven::new(&common, 2);
    assert_eq!(done(one.begin("")), Ok(Some("[1,1]".to_owned())));
    assert_eq!(done(one.begin("")), Ok(Some("[2,2]".to_owned())));
    assert_eq!(done(other.begin("")), Ok(Some("[1,1]".to_owned())));
}

#[test]
fn limits_end_what_does_not_end() {
    let fails = |body: &str| returned(body).unwrap_err().message;
    assert!(fails("for (;;) {}").contains("without waiting"), "{}", fails("for (;;) {}"));
    let text = fails("const all = []; for (;;) all.push(new Array(1000).fill('x'));");
    assert!(text.contains("more memory than"), "{text}");
    let text = fails("const f = () => f() + 1; return f();");
    assert!(text.contains("InternalError") || text.contains("RangeError"), "{text}");
    let text = fails("return (async () => { for (;;) await null; })();");
    assert!(text.contains("without waiting"), "{text}");
    let text = fails("const again = () => { Promise.resolve().then(again); }; again();");
    assert!(text.contains("without waiting"), "{text}");
    let text = fails("return new Promise(() => {});");
    assert!(text.contains("nothing settles"), "{text}");
}

/// Of what it keeps for a script QuickJS knows nothing.
#[test]
fn what_the_host_keeps_has_a_limit() {
    let post = "(bytes) => ['POST', 'http://a.test/', 'x'.repeat(bytes)]";
    for body in [
        "const name = 'n'.repeat(100_000); for (let n = 0; ; n++) k6.check(1, { [name + n]: true });".to_owned(),
        format!("const one = {post}; http.batch([one(1 << 20), one(3 << 20), one(1 << 20)]);"),
        "http.get('http://a.test/', { headers: { a: 'x'.repeat(5 << 20) } });".to_owned(),
    ] {
        let text = returned(&body).unwrap_err().message;
        assert!(text.contains("takes more memory than 8.00 MiB"), "{body}: {text}");
    }
    let of_top = |top: &str| {
        let text = format!(
            "import {{ SharedArray }} from 'k6/data'; {top} export default function () {{}}"
        );
        done(Driven::new(&common(&text), 1).begin("")).unwrap_err().message
    };
    let text =
        of_top("for (let n = 0; ; n++) new SharedArray(`a${n}`, () => ['x'.repeat(1 << 20)]);");
    assert!(text.contains("shared arrays together take more memory than 8.00 MiB"), "{text}");
    let text = of_top(
        "for (let n = 0; ; n++) try { open(n + 'x'.repeat(1 << 20)); } catch (e) { if (e instanceof RangeError) throw e; }",
    );
    assert!(text.contains("takes more memory than 8.00 MiB"), "{text}");
}

/// A number of bytes for all.
#[derive(Debug)]
struct Limited(AtomicUsize);

impl Memory for Limited {
    fn take(&self, bytes: usize) -> bool {
        let taken = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[test]
fn users_take_no_more_memory_than_there_is_for_all() {
    const ALL: usize = 6 << 20;
    let text = "
        const kept = [];
        export default function () { for (let n = 0; n < 3; n++) kept.push(new Uint8Array(1 << 20)); return kept.length; }";
    let limited = Arc::new(Limited(AtomicUsize::new(ALL)));
    let memory: Arc<dyn Memory> = Arc::<Limited>::clone(&limited);
    let common = Common::new(&script(text), &memory);
    let mut one = Driven::new(&common, 1);
    let mut other = Driven::new(&common, 2);
    assert_eq!(done(one.begin("")), Ok(Some("3".to_owned())));
    let fault = done(other.begin("")).unwrap_err();
    assert!(fault.is_no_memory && fault.message.contains("is used up"), "{fault:?}");
    // What one gives back, the other may have.
    drop(one);
    let count = done(other.begin("")).unwrap().unwrap();
    assert!(["3", "4", "5"].contains(&count.as_str()), "{count}");
    drop((other, common));
    assert_eq!(limited.0.load(Ordering::Relaxed), ALL);
    // Without any there is not even a context.
    let memory: Arc<dyn Memory> = Arc::new(Limited(AtomicUsize::new(0)));
    let fault = done(Driven::new(&Common::new(&script(text), &memory), 1).begin("")).unwrap_err();
    assert!(fault.is_no_memory, "{fault:?}");
}

#[test]
fn answers_that_are_too_much_for_a_context_end_the_iteration() {
    let text = "
        import http from 'k6/http';
        export default function () { return http.get('http://a.test/').json('#'); }";
    for (body, expected) in [
        ("[".repeat(1_000_000), "cannot parse json"),
        (format!("[{}1]", "{},".repeat(1_000_000)), "memory"),
        (format!("{}{}", "[".repeat(300), "]".repeat(300)), ""),
    ] {
        let mut user = Driven::new(&common(text), 1);
        assert!(matches!(user.begin(""), Ask::Request(_)));
        let response = Response { status: 200, body: body.into_bytes(), ..Response::default() };
        match done(user.resume(Answer::Response(Box::new(response)))) {
            Ok(value) => assert_eq!((value.as_deref(), expected), (Some("1"), "")),
            Err(fault) => {
                assert!(!expected.is_empty() && fault.message.contains(expected), "{fault}")
            }
        }
        assert!(matches!(user.begin(""), Ask::Request(_)), "the user goes on");
    }
}

#[test]
fn names_that_a_server_chooses_are_names() {
    let text = "
        import http from 'k6/http';
        export default function () {
          const { headers, cookies } = http.get('http://a.test/');
          return [Object.keys(headers), headers.__proto__, Object.keys(cookies), cookies.constructor.length];
        }";
    let mut user = Driven::new(&common(text), 1);
    assert!(matches!(user.begin(""), Ask::Request(_)));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = ["__proto__", "constructor", "constructor"]
        .map(|name| header("set-cookie", &format!("{name}=v")));
    let headers = [&headers[..], &[header("__proto__", "x")]].concat();
    let response = Response { status: 200, headers, ..Response::default() };
    let result = done(user.resume(Answer::Response(Box::new(response))));
    let expected = r#"[["Set-Cookie","__proto__"],"x",["__proto__","constructor"],2]"#;
    assert_eq!(result, Ok(Some(expected.to_owned())));
}

#[test]
fn a_call_may_have_less_time_than_others() {
    let mut user = Driven::new(&common("export default () => { for (;;) {} };"), 1);
    user.time_max_ns = 1_000_000;
    let message = done(user.begin("")).unwrap_err().message;
    assert!(message.contains("1.00 ms without waiting, and the run is over"), "{message}");
}

#[test]
fn modules_do_what_k6_says() {
    for (body, expected) in [
        ("return __ENV.NAME + __VU + __ITER + data.a;", r#""value301""#),
        ("return new Uint8Array(bytes).join();", r#""0,255,65""#),
        ("return encoding.b64encode('hé');", r#""aMOp""#),
        ("return encoding.b64decode('aMOp', 'std', 's');", r#""hé""#),
        ("return crypto.sha256('', 'hex').slice(0, 8);", r#""e3b0c442""#),
        ("return crypto.hmac('md5', 'k', 'd', 'base64');", r#""fzMO2zqE8xf3ykM9YDj/mg==""#),
        ("return crypto.createHash('md5').digest('hex');", r#""d41d8cd98f00b204e9800998ecf8427e""#),
        (
            "return [exec.vu.idInTest, exec.scenario.name, exec.scenario.iterationInTest];",
            r#"[3,"default",5]"#,
        ),
        (
            "return [Date.now(), new Date().getTime(), typeof Date()];",
            r#"[1700000000500,1700000000500,"string"]"#,
        ),
        ("return k6.check(1, { a: (v) => v === 1, b: true });", "true"),
        ("return k6.group('g', () => 5);", "5"),
        ("return mine.add('x');", "false"),
        ("return typeof eval;", r#""function""#),
    ] {
        assert_eq!(returned(body), Ok(Some(expected.to_owned())), "{body}");
    }
    assert_eq!(returned("return undefined;"), Ok(None));
    // An `async` function is waited for.
    let text = "export default async function () { const v = await Promise.resolve(4); return v; }";
    let result = done(Driven::new(&common(text), 1).begin(""));
    assert_eq!(result, Ok(Some("4".to_owned())));
}

#[test]
fn what_is_not_there_says_so_with_its_line() {
    for (body, expected) in [
        ("http.cookieJar();", "`http.cookieJar` of k6 is not supported here"),
        ("setTimeout(5, 1);", "setTimeout() requires a function"),
        ("http.get('nowhere');", "invalid URL"),
        ("new SharedArray('x', () => []);", "must be called in the init context"),
        ("open('data.bin');", "only available in the init context"),
        ("crypto.md4('x', 'hex');", "`md4` is not supported here"),
        ("k6.fail('why');", "Error: why"),
    ] {
        let fault = returned(body).unwrap_err();
        assert!(fault.message.contains(expected), "{body}: {fault}");
        let place = fault.place.map(|(line, _)| line);
        assert_eq!((fault.file.as_deref(), place), (Some("script.js"), Some(4)), "{body}");
    }
}

#[test]
fn samples_and_checks_are_handed_over() {
    let text = "
        import { check } from 'k6'; import { Trend } from 'k6/metrics';
        const mine = new Trend('mine');
        export default function () {
          mine.add(1.5); mine.add(2, { team: 'b' });
          check(1, { yes: () => true, no: () => false });
          console.log('a', 1, { b: 2 }); console.error('bad');
        }";
    let mut user = Driven::new(&common(text), 1);
    assert_eq!(done(user.begin("")), Ok(None));
    let Yielded { samples, checks, .. } = &user.yielded[0];
    let of = |metric: usize| {
        let samples = samples.iter().filter(|sample| sample.metric == metric);
        samples.map(|sample| sample.value).collect::<Vec<f64>>()
    };
    assert_eq!((of(0), of(1), of(2)), (vec![1.5], vec![1.0, 0.0], vec![1.0]));
    let checks: Vec<_> = checks.iter().map(|check| (check.name.as_str(), check.holds)).collect();
    assert_eq!(checks, [("yes", true), ("no", false)]);
    assert_eq!(user.lines(), ["a 1 {\"b\":2}", "error: bad"]);
}

#[test]
fn items_of_shared_arrays_are_made_once() {
    let text = "
        import { SharedArray } from 'k6/data';
        const items = new SharedArray('items', () => { console.log('made'); return [{ n: 1 }, { n: 2 }]; });
        export default function () {
          'use strict';
          let refused = 0;
          for (const change of [() => { items[0] = 5; }, () => { items[0].n = 5; }, () => items.push(1)]) {
            try { change(); } catch (_) { refused += 1; }
          }
          return [items.length, items[1].n, items.map((item) => item.n), [...items].length, refused];
        }";
    let common = common(text);
    for vu in 1..=2 {
        let mut user = Driven::new(&common, vu);
        assert_eq!(done(user.begin("")), Ok(Some("[2,2,[1,2],2,3]".to_owned())));
        assert_eq!(user.lines().len(), usize::from(vu == 1));
    }
}

fn read_file(name: &str) -> Result<crate::Script, Fault> {
    let files =
        |name: &str| std::fs::read(Path::new(FOLDER).join(name)).map_err(|error| error.to_string());
    read(name, &[], &files)
}

#[test]
fn modules_of_other_hosts_lie_in_the_scripts_folder() {
    for (from, expected) in [("https:///etc/hostname", "absolute"), ("http://../x.js", "outside")] {
        let text = format!("import '{from}';\nexport default function () {{}}");
        let files = |name: &str| match name {
            "script.js" => Ok(text.clone().into_bytes()),
            other => panic!("{other} is read"),
        };
        let fault = read("script.js", &[], &files).unwrap_err();
        assert!(fault.message.contains(expected), "{fault}");
        assert_eq!(fault.place.map(|(line, _)| line), Some(1));
    }
}

#[test]
fn scripts_are_read_with_what_they_import_and_open() {
    let script = read_file("shop.js").unwrap();
    let names: Vec<&str> = script.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["shop.js", "lib/shop.js", "items.json"]);
    assert_eq!(script.functions, ["default"]);
    assert_eq!(script.options["iterations"], 6);
    let metrics: Vec<&str> = script.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(metrics, ["orders", "basket"]);
}

#[test]
fn wrong_scripts_are_one_error_with_its_line() {
    for (file, line, expected) in [
        ("browser.js", Some(2), "the module `k6/browser` of k6 is not supported here"),
        ("syntax.js", Some(2), "SyntaxError"),
        ("throws.js", Some(2), "TypeError"),
        ("init_request.js", Some(3), "in the init context is not supported"),
        ("outside.js", Some(1), "outside of the script's folder"),
    ] {
        let files = |name: &str| {
            std::fs::read(Path::new(FOLDER).join("bad").join(name))
                .map_err(|error| error.to_string())
        };
        let fault = read(file, &[], &files).unwrap_err();
        assert!(fault.message.contains(expected), "{file}: {fault}");
        assert_eq!(fault.place.map(|(line, _)| line), line, "{file}: {fault}");
    }
    let fault = read("gone.js", &[], &|_| Err("it is gone".to_owned())).unwrap_err();
    assert!(fault.message.contains("it is gone"), "{fault}");
}
