//! Scripts on stacks of their own, driven by hand.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plan::{K6File, K6Metric, K6Script, MetricId};
use stats::rng::{Purpose, Rng};

use super::memory::Unlimited;
use super::{Common, User, handle_summary, read};
use crate::exchange::{
    Answer, Ask, Begin, CookieAsk, Event, Fault, Memory, News, Request, Response, Surroundings,
    Work, Yielded,
};
use crate::summary::Written;

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
    of_script(&script(text))
}

fn of_script(script: &Arc<K6Script>) -> Common {
    let memory: Arc<dyn Memory> = Arc::new(Unlimited);
    Common::new(script, &memory)
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
        "import {{ parseHTML }} from 'k6/html'; import http from 'k6/http'; import * as k6 from 'k6'; import encoding from 'k6/encoding'; import crypto from 'k6/crypto';
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
fn timers_are_due_in_the_order_of_their_times() {
    let text = "
        export default function () {
          const due = []; const ids = [];
          for (let n = 0; n < 500; n += 1) {
            const after = (n * 7919) % 1000 + 1;
            ids.push(setTimeout(() => due.push(1e6 * after + n), after));
          }
          ids.filter((_, at) => at % 5 !== 0).forEach(clearTimeout);
          let ticks = 0;
          const clock = setInterval(() => { ticks += 1; if (ticks === 7) clearInterval(clock); }, 100);
          setTimeout(() => {
            const sorted = due.slice().sort((a, b) => a - b);
            console.log(due.length, ticks, due.every((one, at) => one === sorted[at]));
          }, 2000);
        }";
    let mut user = Driven::new(&common(text), 1);
    let mut ask = user.begin("");
    while let Ask::News(Some(most_ns)) = ask {
        user.now_ms += most_ns as f64 / 1e6;
        ask = user.resume(Answer::News(Vec::new()));
    }
    assert_eq!(done(ask), Ok(None));
    assert_eq!(user.lines(), ["100 7 true"]);
    assert!((2500.0..2501.0).contains(&user.now_ms), "{}", user.now_ms);
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
    let text = fails(
        "const f = () => { Promise.resolve().then(f); }; return (async () => { f(); for (;;) await null; })();",
    );
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
                assert!(!expected.is_empty() && fault.message.contains(expected), "{fault}");
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

/// A page for the selections below.
const PAGE: &str = r#"<html><body><h1 id="top" class="a b">One</h1><ul><li data-n="1">x</li><li data-n="2" class="on">y</li>
<li>z<b>!</b></li></ul><form action="go?x=1" method="post"><input name="q" value="v"><input type="checkbox" name="c" checked>
<input type="checkbox" name="d"><select name="s"><option value="1">a<option value="2" selected>b</select>
<textarea name="t">text</textarea><input type="submit" name="send" value="Send"></form><a href="../z">l</a></body></html>"#;

#[test]
fn selections_are_those_of_k6() {
    for (body, expected) in [
        ("page.find('h1').text()", r#""One""#),
        ("page.find('h1').attr('class')", r#""a b""#),
        ("page.find('h1').attr('none', 'instead')", r#""instead""#),
        ("page.find('li').size()", "3"),
        ("page.find('li').first().next().text()", r#""y""#),
        ("page.find('li').last().html()", r#""z<b>!</b>""#),
        ("page.find('li').eq(1).is('.on')", "true"),
        ("page.find('li').map((i, el) => `${i}${el.textContent()}`)", r#"["0x","1y","2z!"]"#),
        ("page.find('li').filter('[data-n]').data('n')", "1"),
        ("page.find('li').not('.on').text()", r#""xz!""#),
        ("page.find('b').closest('li').index()", "2"),
        (
            "page.find('b').parents().toArray().map((s) => s.get(0).nodeName())",
            r#"["li","ul","body","html"]"#,
        ),
        ("page.find('.on').siblings().size()", "2"),
        ("page.find('ul').has('b').size()", "1"),
        ("page.find('ul').children('.on').text()", r#""y""#),
        ("page.find('form').serialize()", r#""c=on&q=v&s=2&t=text""#),
        ("page.find('select').val()", r#""2""#),
        ("page.find('h1').get(0).classList()", r#"["a","b"]"#),
        ("page.find('i').html() === undefined", "true"),
        ("page.find('li').slice(1).end().size()", "3"),
        ("(() => { let n = 0; page.find('li').each((i) => { n += i; }); return n; })()", "3"),
    ] {
        let page = serde_json::Value::from(PAGE);
        let found = returned(&format!("const page = parseHTML({page}); return {body};"));
        assert_eq!(found, Ok(Some(expected.to_owned())), "{body}");
    }
    let fault = returned("parseHTML('<p>').find('p:contains(x)');").unwrap_err();
    assert!(fault.message.contains("p:contains(x)"), "{fault}");
}

/// A user whose function has this body, in a module of `k6/http`.
fn user_of(body: &str) -> Driven {
    let text = format!(
        "import http from 'k6/http'; import exec from 'k6/execution';
         export default function () {{ {body} }}"
    );
    Driven::new(&common(&text), 1)
}

fn asked(ask: Ask) -> Request {
    match ask {
        Ask::Request(request) => *request,
        other => panic!("it asks for no request: {other:?}"),
    }
}

fn page(text: &str) -> Answer {
    let response = Response {
        status: 200,
        url: "http://a.test/x/y".to_owned(),
        headers: vec![("Set-Cookie".to_owned(), "own=1; Path=/".to_owned())],
        body: text.as_bytes().to_vec(),
        ..Response::default()
    };
    Answer::Response(Box::new(response))
}

#[test]
fn forms_are_sent_and_links_followed() {
    let mut user = user_of(
        "const r = http.get('http://a.test/x/y'); r.submitForm({ fields: { q: 'new' } }); return r.clickLink().status;",
    );
    asked(user.begin(""));
    let sent = asked(user.resume(page(PAGE)));
    assert_eq!((sent.method.as_str(), sent.url.as_str()), ("POST", "http://a.test/x/go?x=1"));
    let body = String::from_utf8(sent.body.unwrap()).unwrap();
    assert_eq!(body, "c=on&q=new&s=2&send=Send&t=text");
    let sent = asked(user.resume(page("")));
    assert_eq!((sent.method.as_str(), sent.url.as_str()), ("GET", "http://a.test/z"));
    assert_eq!(done(user.resume(page(""))), Ok(Some("200".to_owned())));
}

#[test]
fn cookies_of_the_user_are_the_hosts() {
    let mut user = user_of(
        "const jar = http.cookieJar(); jar.set('http://a.test/', 'n', 'v', { path: '/p', max_age: 5, secure: true });
         const all = jar.cookiesForURL('http://a.test/'); jar.delete('http://a.test/', 'n'); return all;",
    );
    let set = |ask: Ask| match ask {
        Ask::Cookies(CookieAsk::Set { url, line }) => (url, line),
        other => panic!("it sets nothing: {other:?}"),
    };
    let (url, line) = set(user.begin(""));
    assert_eq!(
        (url.as_str(), line.as_str()),
        ("http://a.test/", "n=v; Path=/p; Max-Age=5; Secure")
    );
    let ask = user.resume(Answer::Cookies(Vec::new()));
    assert!(matches!(ask, Ask::Cookies(CookieAsk::Of(_))), "{ask:?}");
    let cookies = [("a", "1"), ("a", "2"), ("b", "3")];
    let cookies = cookies.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let (_, line) = set(user.resume(Answer::Cookies(cookies)));
    assert_eq!(line, "n=; Max-Age=-1");
    let result = done(user.resume(Answer::Cookies(Vec::new())));
    assert_eq!(result, Ok(Some(r#"{"a":["1","2"],"b":["3"]}"#.to_owned())));
}

#[test]
fn cookies_without_end_are_ended() {
    let mut user =
        user_of("const jar = http.cookieJar(); for (;;) jar.set('http://a.test/', 'n', 'v');");
    let mut ask = user.begin("");
    while matches!(ask, Ask::Cookies(_)) {
        ask = user.resume(Answer::Cookies(Vec::new()));
    }
    let fault = done(ask).unwrap_err();
    assert!(fault.message.contains("without waiting"), "{fault}");
}

#[test]
fn jars_of_a_scripts_own_are_beside_the_users() {
    let mut user = user_of(
        "const jar = new http.CookieJar(); jar.set('http://a.test/', 'mine', 'x');
         http.get('http://a.test/x', { jar, cookies: { more: 'y' } });
         return jar.cookiesForURL('http://a.test/');",
    );
    let sent = asked(user.begin(""));
    let cookie = sent.headers.iter().find(|(name, _)| name == "Cookie").unwrap();
    assert!(sent.bare);
    assert_eq!(cookie.1, "mine=x; more=y");
    let result = done(user.resume(page("")));
    assert_eq!(result, Ok(Some(r#"{"mine":["x"],"own":["1"]}"#.to_owned())));
    assert!(!asked(user_of("http.get('http://a.test/');").begin("")).bare);
}

#[test]
fn a_script_may_end_the_run() {
    let mut user = user_of("exec.test.abort('enough');");
    let fault = done(user.begin("")).unwrap_err();
    assert!(fault.message.contains("test aborted: enough"), "{fault}");
    assert!(user.yielded[0].aborts);
    assert_eq!(user.lines(), ["error: test aborted: enough"]);
}

fn with_options(text: &str, options: &str) -> Driven {
    let script = Arc::new(K6Script { options: options.to_owned(), ..(*script(text)).clone() });
    Driven::new(&of_script(&script).with_part(1.0), 1)
}

#[test]
fn options_say_which_requests_are_sent_and_when() {
    let text = "
        import http from 'k6/http';
        export default function () {
          const r = http.get('http://sub.blocked.test:80/');
          http.get('http://a.test/'); http.get('http://a.test/');
          return [r.status, r.error, r.error_code];
        }";
    let options = r#"{"rps": 2, "blockHostnames": ["*.blocked.test"], "noConnectionReuse": true}"#;
    let mut user = with_options(text, options);
    let sent = asked(user.begin(""));
    assert_eq!(sent.url, "http://a.test/");
    assert!(sent.headers.contains(&("Connection".to_owned(), "close".to_owned())));
    assert!(matches!(user.resume(page("")), Ask::Sleep(500_000_000)));
    asked(user.resume(Answer::Woken));
    let result = done(user.resume(page("")));
    assert_eq!(result, Ok(Some(r#"[0,"blocked hostname",1111]"#.to_owned())));
}

#[test]
fn what_goes_on_beside_the_function_is_sent_as_the_options_say() {
    let text = "
        import http from 'k6/http'; import { WebSocket } from 'k6/websockets';
        export default async function () {
          const socket = new WebSocket('ws://sub.blocked.test/');
          socket.onerror = (event) => console.log(event.error);
          new WebSocket('wss://a.test/');
          const pages = ['blocked.test', 'a.test', 'a.test'].map((host) => http.asyncRequest('GET', `http://sub.${host}/`));
          console.log((await pages[0]).error_code);
        }";
    let options = r#"{"rps": 2, "blockHostnames": ["*.blocked.test"], "noConnectionReuse": true}"#;
    let mut user = with_options(text, options);
    let mut ask = user.begin("");
    let mut sent = Vec::new();
    while sent.len() < 3 {
        let tasks = user.yielded.iter_mut().flat_map(|yielded| std::mem::take(&mut yielded.tasks));
        sent.extend(tasks.map(|task| (user.now_ms, task.work)));
        let Ask::News(most_ns) = ask else {
            panic!("it does not wait: {ask:?}");
        };
        let Some(most_ns) = most_ns else {
            break;
        };
        user.now_ms += most_ns as f64 / 1e6;
        ask = user.resume(Answer::News(Vec::new()));
    }
    let [(_, Work::Socket(upgrade)), (first_ms, Work::Request(_)), (second_ms, Work::Request(_))] =
        &sent[..]
    else {
        panic!("it sends something else: {sent:?}");
    };
    assert_eq!(upgrade.url, "https://a.test/");
    // The connection of a WebSocket serves nothing else anyway.
    assert!(!upgrade.headers.iter().any(|(name, _)| name == "Connection"));
    assert!((500.0..501.0).contains(&(second_ms - first_ms)), "{first_ms} {second_ms}");
    assert_eq!(user.lines()[1..], ["1111", "blocked hostname"]);
}

#[test]
fn system_tags_that_are_not_wanted_are_on_no_sample() {
    let text = "
        import { check } from 'k6';
        export default function () { check(1, { named: true }); }";
    let count = |options: &str| {
        let tagged = K6Metric {
            base: "checks".to_owned(),
            tags: vec![("check".to_owned(), "named".to_owned())],
            id: MetricId(0),
        };
        let script = K6Script {
            options: options.to_owned(),
            metrics: vec![tagged],
            ..(*script(text)).clone()
        };
        let mut user = Driven::new(&of_script(&Arc::new(script)), 1);
        done(user.begin("")).unwrap();
        user.yielded[0].samples.len()
    };
    assert_eq!(count("{}"), 1);
    assert_eq!(count(r#"{"systemTags": ["check", "url"]}"#), 1);
    assert_eq!(count(r#"{"systemTags": ["url"]}"#), 0);
}

#[test]
fn modules_of_common_js_run() {
    let text = "
        const k6 = require('k6'); const { b } = require('./b.js');
        module.exports.options = { vus: 3 };
        module.exports.default = function () { return [typeof k6.check, b, require('k6') === k6]; };";
    let files = vec![
        K6File { name: "script.js".to_owned(), bytes: text.as_bytes().into() },
        K6File { name: "b.js".to_owned(), bytes: b"exports.b = 7;".as_slice().into() },
    ];
    let script = Arc::new(K6Script { files: files.clone(), ..(*script("")).clone() });
    let result = done(Driven::new(&of_script(&script), 1).begin(""));
    assert_eq!(result, Ok(Some(r#"["function",7,true]"#.to_owned())));
    let read_file = |name: &str| {
        let file = files.iter().find(|file| file.name == name);
        file.map(|file| file.bytes.to_vec()).ok_or_else(|| "gone".to_owned())
    };
    let found = read("script.js", &[], &read_file).unwrap();
    assert_eq!(found.options["vus"], 3);
    assert_eq!(found.functions, ["default"]);
    assert_eq!(found.files.len(), 2);
}

/// What `handleSummary` with this body makes of a summary.
fn handled(body: &str) -> (Result<Option<Vec<Written>>, Fault>, Vec<String>) {
    let text = format!(
        "import {{ textSummary, jUnit }} from 'https://jslib.k6.io/k6-summary/0.1.0/index.js';
         import http from 'k6/http';
         export default () => {{}};
         export function handleSummary(data) {{ {body} }}"
    );
    let summary = serde_json::json!({
        "root_group": { "name": "", "path": "", "id": "x", "groups": [],
            "checks": [{ "name": "ok", "passes": 3, "fails": 1 }] },
        "options": { "noColor": true },
        "metrics": {
            "http_req_duration": { "type": "trend", "contains": "time",
                "values": { "avg": 1.5, "p(95)": 1234.5 }, "thresholds": { "avg<1": { "ok": false } } },
            "http_reqs": { "type": "counter", "contains": "default", "values": { "count": 3, "rate": 1.5 } },
            "data_sent": { "type": "counter", "contains": "data", "values": { "count": 1500, "rate": 12 } },
            "http_req_failed": { "type": "rate", "contains": "default",
                "values": { "rate": 0.25, "passes": 1, "fails": 3 } },
        },
    });
    let mut rng = Rng::new(1, 1, Purpose::Value);
    let time_max_ns = 200_000_000;
    let mut around = Surroundings { unix_ms: 5.0, elapsed_ms: 0.0, time_max_ns, rng: &mut rng };
    let (result, console) = handle_summary(&script(&text), &summary, &mut around);
    (result, console.lines.into_iter().map(|line| line.text).collect())
}

#[test]
fn summaries_are_handled_by_the_script() {
    let body = "console.log('made', Date.now());
        return { stdout: textSummary(data), 'out/a.json': JSON.stringify(data.metrics.http_reqs), 'b.xml': jUnit(data) };";
    let (result, lines) = handled(body);
    let written = result.unwrap().unwrap();
    assert_eq!(lines, ["made 5"]);
    let text = |path: &str| {
        let one = written.iter().find(|one| one.path == path).unwrap();
        String::from_utf8(one.bytes.clone()).unwrap()
    };
    let shown = text("stdout");
    for line in [
        "✗ ok",
        "↳  75% — ✓ 3 / ✗ 1",
        "✗ http_req_duration...: avg=1.5ms p(95)=1.23s",
        "http_reqs...........: 3 1.5/s",
        "data_sent...........: 1.5 kB 12 B/s",
        "http_req_failed.....: 25.00% ✓ 1 ✗ 3",
    ] {
        assert!(shown.contains(line), "{line}\nis not in\n{shown}");
    }
    assert_eq!(
        text("out/a.json"),
        r#"{"type":"counter","contains":"default","values":{"count":3,"rate":1.5}}"#
    );
    assert!(text("b.xml").contains("tests=\"1\" failures=\"1\""), "{}", text("b.xml"));
    assert_eq!(handled("return undefined;").0, Ok(None));
    for (body, expected) in [
        ("return 'text';", "an object of texts"),
        ("return { a: {} };", "no text for \"a\""),
        ("throw new Error('why');", "Error: why"),
        ("http.get('http://a.test/');", "nothing can be waited for here"),
    ] {
        let message = handled(body).0.unwrap_err().message;
        assert!(message.contains(expected), "{body}: {message}");
    }
}

#[test]
fn what_is_not_there_says_so_with_its_line() {
    for (body, expected) in [
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
