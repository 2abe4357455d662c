//! Steps become instructions.

use plan::expr::{Escape, Expr, Template, TemplatePart, Value};
use plan::{
    EndpointId, HttpOp, MatchTest, MeasureKind, Op, Payload, Plan, Session, Slot, Source,
    StatusRule,
};
use stats::dist::Dist;

use crate::{compile_with, plan, rendered, with_steps};

#[track_caller]
fn compiled(steps: &str) -> (Plan, Session) {
    let mut plan = plan(&with_steps(steps));
    let session = plan.sessions.remove(0);
    (plan, session)
}

#[track_caller]
fn template(payload: &Payload) -> &Template {
    let Payload::Text(template) = payload else { panic!("{payload:?} is no text") };
    template
}

#[test]
fn a_get_with_everything() {
    let (plan, session) = compiled(
        "
- set: { id: 5 }
- get: /items/${id}?q=${'a b'}x
  headers: { X-Id: \"n${id}\" }
  status: [200, 3xx, 404..405]
  save:
    name: /a~1b/0
    code: status
    token: { regex: 'token=(\\w+)', default: none }
    kind: { header: Content-Type }
  check: [ name != '', code < 300 ]
  as: item
  timeout: 3s
"
        .replace("${'a b'}", "b")
        .as_str(),
    );
    let [Op::Set { slot: Slot(0), value }, Op::Http(http)] = session.ops.as_slice() else {
        panic!("{:?}", session.ops)
    };
    assert_eq!(value.parts, [TemplatePart::Expr(Expr::Const(Value::Int(5)), Escape::None)]);
    assert_eq!(http.method, "GET");
    assert_eq!(
        http.path.parts,
        [
            TemplatePart::Text("/base/items/".into()),
            TemplatePart::Expr(Expr::Var(Slot(0)), Escape::Url),
            TemplatePart::Text("?q=bx".into())
        ]
    );
    assert_eq!(http.status, StatusRule::Ranges(vec![(200, 200), (300, 399), (404, 405)]));
    assert_eq!(session.slot_names, ["id", "name", "code", "token", "kind"]);
    assert_eq!(http.save[0].from, Source::Pointer(vec!["a/b".to_owned(), "0".to_owned()]));
    assert_eq!(http.save[1].from, Source::Status);
    assert!(matches!(http.save[2].from, Source::Regex { group: 1, .. }));
    assert_eq!(http.save[2].default.as_ref().unwrap().parts.len(), 1);
    assert_eq!(http.save[3].from, Source::Header("content-type".to_owned()));
    assert_eq!(http.check.len(), 2);
    assert_eq!(http.timeout_ns, 3_000_000_000);
    assert_eq!(plan.measures[http.measure.index()].name, "item");
}

#[test]
fn requests_have_bodies_and_headers() {
    let text = with_steps(
        "- post: /a\n  json: { b: [1, true, null, \"2\", 0.50], a: \"x\" }\n\
         - put: /b\n  form: { a b: \"c&d\" }\n  headers: { Content-Type: mine, B: own }\n\
         - http: DELETE https://other:99/x\n\
         - http: { url: /y, method: purge, body: hi }\n",
    );
    let plan = plan(&format!("options: {{ headers: {{ a: run, b: run }} }}\n{text}"));
    let requests: Vec<_> = plan.sessions[0]
        .ops
        .iter()
        .map(|op| if let Op::Http(http) = op { http } else { panic!("{op:?}") })
        .collect();
    let body = |index: usize| requests[index].body.as_ref().and_then(|body| body.as_static());
    let names = |index: usize| -> Vec<&str> {
        requests[index].headers.iter().map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(body(0), Some(r#"{"b":[1,true,null,"2",0.50],"a":"x"}"#));
    assert_eq!(names(0), ["content-type", "a", "b", "accept-encoding"]);
    assert_eq!(body(1), Some("a%20b=c%26d"));
    assert_eq!(names(1), ["Content-Type", "B", "a", "accept-encoding"]);
    assert_eq!((requests[2].endpoint, requests[2].method.as_str()), (EndpointId(1), "DELETE"));
    assert!(plan.endpoints[1].tls && plan.endpoints[1].port == 99);
    assert_eq!((requests[3].method.as_str(), body(3)), ("PURGE", Some("hi")));
    let measures: Vec<&str> = plan.measures.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(
        measures,
        ["connect", "POST /a", "PUT /b", "DELETE https://other:99/x", "PURGE /y", "redirects"]
    );
}

/// What fails at run time is named by the line that it was written in.
#[test]
fn instructions_know_their_lines() {
    let text = "target: http://127.0.0.1/
sessions:
  s:
    - set: { a: 1 }
    - loop: 2
      steps:
        - think: 1s
        - set:
            b: 1
            c: 2
    - check: a == 1
arrivals: [ { hold: 1s } ]
teardown:
  - think: 1s
";
    let plan = crate::plan_with(text, &[("sessions.s.0.set.a", "2")]);
    let session = &plan.sessions[0];
    let words: Vec<_> = session.ops.iter().map(Op::word).zip(session.lines.clone()).collect();
    let expected = [
        ("set", 0),
        ("loop", 5),
        ("think", 7),
        ("set", 9),
        ("set", 10),
        ("loop", 5),
        ("check", 11),
    ];
    assert_eq!(words, expected);
    assert_eq!(plan.teardown.as_ref().unwrap().session.lines, [14]);
    assert_eq!(
        [0, 3, 99].map(|pc| session.place(pc)),
        ["session \"s\", in an override", "session \"s\", line 9", "session \"s\""]
    );
}

#[test]
fn a_websocket_conversation() {
    let (plan, session) = compiled(
        "
- ws: /v1
- send: { op: games }
  reply: { when: { /re: games, /ok: true }, save: { game: /games/0/id } }
- send: { op: \"${game}\", n: \"${game} ${user}\" }
- send: \"raw ${game}\"
  binary: true
  as: raw
- expect: { when: { /type: bye }, within: 1s }
- expect:
- close:
- close: 4000
",
    );
    let names: Vec<(&str, MeasureKind)> =
        plan.measures[1..].iter().map(|m| (m.name.as_str(), m.kind)).collect();
    assert_eq!(
        names,
        [
            ("handshake", MeasureKind::Handshake),
            ("op=games", MeasureKind::Request),
            ("send", MeasureKind::Request),
            ("raw", MeasureKind::Request),
            ("type=bye", MeasureKind::Request),
            ("expect", MeasureKind::Request),
            // Where a WebSocket that is lost between steps is counted.
            ("steps", MeasureKind::Step),
        ]
    );
    let Op::Send(first) = &session.ops[1] else { panic!("no send") };
    assert_eq!(template(&first.payload).as_static(), Some(r#"{"op":"games"}"#));
    let reply = first.reply.as_ref().unwrap();
    assert_eq!(reply.measure, first.measure);
    assert_eq!(reply.timeout_ns, 30_000_000_000);
    let MatchTest::Equals(expected) = &reply.when[1].test else { panic!("not equal") };
    assert_eq!(expected.as_static(), Some("true"));
    let Op::Send(second) = &session.ops[2] else { panic!("no send") };
    assert_eq!(
        template(&second.payload).parts,
        [
            TemplatePart::Text("{\"op\":".into()),
            TemplatePart::Expr(Expr::Var(Slot(0)), Escape::Json),
            TemplatePart::Text(",\"n\":\"".into()),
            TemplatePart::Expr(Expr::Var(Slot(0)), Escape::JsonText),
            TemplatePart::Text(" ".into()),
            TemplatePart::Expr(Expr::User, Escape::JsonText),
            TemplatePart::Text("\"}".into()),
        ]
    );
    assert!(matches!(&session.ops[3], Op::Send(send) if send.binary));
    assert!(matches!(&session.ops[4], Op::Expect(e) if e.timeout_ns == 1_000_000_000));
    assert!(matches!(session.ops[6], Op::Close { code: 1000 }));
    assert!(matches!(session.ops[7], Op::Close { code: 4000 }));
}

#[test]
fn event_streams() {
    let plan = plan(&with_steps(
        r#"
- sse: /stream?after=${user}
  headers: { accept: "text/event-stream, text/html" }
- expect: { when: { event: said, id: "7" }, save: { last: id, name: { from: event } } }
- close:
- { sse: /again, reconnect: false, as: again, timeout: 2s }
- { sse: /slowly, reconnect: 1m, as: again }
"#,
    ));
    let ops = &plan.sessions[0].ops;
    let opened = |at: usize| match &ops[at] {
        Op::SseOpen(open) => open,
        other => panic!("no event stream: {other:?}"),
    };
    let header = |at: usize, name: &str| {
        let mut all = opened(at).headers.iter();
        let found = all.find(|(own, _)| own == name);
        found.and_then(|(_, value)| value.as_static())
    };
    assert_eq!(header(0, "accept"), Some("text/event-stream, text/html"));
    assert_eq!(header(0, "cache-control"), Some("no-store"));
    assert_eq!(header(3, "accept"), Some("text/event-stream"));
    let reconnects: Vec<_> =
        [0, 3, 4].map(|at| opened(at).reconnect.map(|r| r.pause_ns / 1_000_000_000)).into();
    assert_eq!(reconnects, [Some(3), None, Some(60)]);
    assert_eq!(opened(3).timeout_ns, 2_000_000_000);
    let names: Vec<_> = plan.measures.iter().map(|m| (m.name.as_str(), m.kind)).collect();
    assert_eq!(names[1], ("stream", MeasureKind::Handshake));
    assert_eq!(names[2], ("reconnect", MeasureKind::Handshake));
    let Op::Expect(expect) = &ops[1] else { panic!("no expect") };
    let looks_at: Vec<_> = expect.when.iter().map(|m| &m.from).collect();
    assert_eq!(looks_at, [&Source::Event, &Source::EventId]);
    let kept: Vec<_> = expect.save.iter().map(|s| &s.from).collect();
    assert_eq!(kept, [&Source::EventId, &Source::Event]);
}

#[test]
fn polls() {
    let (plan, session) = compiled(
        r#"
- set: { last: 0 }
- poll: /poll?after=${last}
  each: /messages
  save: { last: /last }
- expect:
- close:
- { poll: /slowly, every: 2s, pause: 300ms, timeout: 9s, status: 200 }
"#,
    );
    let Op::Poll(long) = &session.ops[1] else { panic!("no poll") };
    assert_eq!(long.each.as_deref(), Some(&["messages".to_owned()][..]));
    assert_eq!((long.every_ns, long.pause_ns), (None, 1_000_000_000));
    assert_eq!(long.save[0].slot, Slot(0));
    let measure = &plan.measures[long.measure.index()];
    assert_eq!(measure.name, "poll /poll");
    assert_eq!(measure.kind, MeasureKind::Request);
    let Op::Poll(slow) = &session.ops[4] else { panic!("no poll") };
    assert_eq!(slow.each, None);
    assert_eq!(slow.every_ns, Some(2_000_000_000));
    assert_eq!(slow.pause_ns, 300_000_000);
    assert_eq!(slow.timeout_ns, 9_000_000_000);
    assert_eq!(slow.status, StatusRule::Ranges(vec![(200, 200)]));
}

/// Requests take time beside the steps; these do not.
#[test]
fn to_poll_and_to_close_is_no_wait() {
    let spins = rendered(&with_steps("- forever: [ { poll: / }, { close: } ]"), &[]);
    assert!(spins.contains("so it would be a busy loop"), "{spins}");
}

/// The control flow of a program: instructions as words, with their jumps.
fn outline(session: &Session) -> Vec<String> {
    let word = |op: &Op| match op {
        Op::Think(_) => "think".to_owned(),
        Op::Pace { register, .. } => format!("pace r{register}"),
        Op::Stop => "stop".to_owned(),
        Op::Set { slot, .. } => format!("set v{slot}"),
        Op::Check { .. } => "check".to_owned(),
        Op::Jump(to) => format!("jump {to}"),
        Op::JumpUnless { to, .. } => format!("unless {to}"),
        Op::LoopStart { register, end, .. } => format!("loop r{register} end {end}"),
        Op::LoopEnd { register, body } => format!("round r{register} body {body}"),
        Op::Choose(branches) => format!("choose {branches:?}"),
        Op::TransactionStart { register, measure, .. } => format!("begin r{register} m{measure}"),
        Op::TransactionEnd { register, measure, .. } => format!("end r{register} m{measure}"),
        other => format!("{other:?}"),
    };
    session.ops.iter().map(word).collect()
}

#[test]
fn control_flow_is_flat() {
    let (plan, session) = compiled(
        "
- loop: random(1, 3)
  steps:
    - think: 1s
- if: user % 2 == 0
  then:
    - stop:
  else:
    - set: { n: 0 }
- while: n < 3
  steps:
    - pace: 1s
    - set: { n: \"${n + 1}\" }
- choose:
    - { weight: 3, steps: [ { think: 1s } ] }
    - { steps: [ { check: n > 0 } ] }
- transaction: both
  steps:
    - think: 1s
- forever:
    - think: 1s
",
    );
    assert_eq!(
        outline(&session),
        [
            "loop r0 end 3",
            "think",
            "round r0 body 1",
            "unless 6",
            "stop",
            "jump 7",
            "set v0",
            "unless 11",
            "pace r1",
            "set v0",
            "jump 7",
            "choose [(3.0, 12), (1.0, 14)]",
            "think",
            "jump 16",
            "check",
            "jump 16",
            "begin r2 m2",
            "think",
            "end r2 m2",
            "think",
            "jump 19",
        ]
    );
    assert_eq!((session.registers_count, session.slots_count), (4, 1));
    assert_eq!(session.transactions[0].instructions, 17..19);
    assert_eq!(plan.measures[1].kind, MeasureKind::Check);
    assert_eq!(plan.measures[2].name, "both");
}

#[test]
fn every_distribution() {
    let ln2 = 2f64.ln();
    for (text, expected) in [
        ("3s", Dist::Constant(3.0)),
        ("1s..15s", Dist::Uniform { min: 1.0, max: 15.0 }),
        ("{ uniform: { min: 1s, max: 2s } }", Dist::Uniform { min: 1.0, max: 2.0 }),
        ("{ exponential: 5s }", Dist::Exponential { mean: 5.0 }),
        ("{ normal: { mean: 5s, sd: 1s } }", Dist::Normal { mean: 5.0, sd: 1.0 }),
        ("{ lognormal: { median: 2s, sigma: 0.5 } }", Dist::LogNormal { mu: ln2, sigma: 0.5 }),
        (
            "{ lognormal: { mean: 2s, sigma: 0.5 } }",
            Dist::LogNormal { mu: ln2 - 0.125, sigma: 0.5 },
        ),
        ("{ weibull: { scale: 2s, shape: 0.7 } }", Dist::Weibull { scale: 2.0, shape: 0.7 }),
        ("{ pareto: { scale: 1s, shape: 1.5 } }", Dist::Pareto { scale: 1.0, shape: 1.5 }),
        ("{ gamma: { shape: 4, mean: 2s } }", Dist::Gamma { shape: 4.0, scale: 0.5 }),
        ("{ empirical: [1s, 250ms] }", Dist::Empirical([1.0, 0.25].into())),
        ("{ empirical: gaps.txt }", Dist::Empirical([0.5, 0.25, 1.0].into())),
        (
            "{ mixture: [ { weight: 3, of: 1s }, { of: { exponential: 2s } } ] }",
            Dist::Mixture(
                [(3.0, Dist::Constant(1.0)), (1.0, Dist::Exponential { mean: 2.0 })].into(),
            ),
        ),
        (
            "{ exponential: 5s, min: 1s, max: 9s }",
            Dist::Clamped { inner: Dist::Exponential { mean: 5.0 }.into(), min: 1.0, max: 9.0 },
        ),
    ] {
        let (_, session) = compiled(&format!("- think: {text}"));
        let Op::Think(found) = &session.ops[0] else { panic!("no think") };
        assert_eq!(*found, expected, "{text}");
    }
}

#[test]
fn loops_must_wait_somewhere() {
    for steps in [
        "- forever: [ { set: { a: 1 } } ]",
        "- forever: [ { think: 0s } ]",
        "- while: user == 1\n  steps: [ { set: { a: 1 } } ]",
        "- loop: 1001\n  steps: [ { set: { a: 1 } } ]",
        "- loop: random(1, 2)\n  steps: [ { set: { a: 1 } } ]",
        "- ws: /\n- forever: [ { send: x } ]",
    ] {
        let said = rendered(&with_steps(steps), &[]);
        assert!(said.contains("never waits, so it would be a busy loop"), "{steps}: {said}");
    }
    compiled("- loop: 1000\n  steps: [ { set: { a: 1 } } ]");
    compiled("- ws: /\n- forever: [ { send: x, reply: { as: y } } ]");
    compiled("- forever:\n    - if: user == 1\n      then: [ { think: 1s } ]");
}

#[test]
fn a_variable_named_forever_says_how_often_a_loop_runs() {
    compiled("- set: { forever: 3 }\n- loop: forever\n  steps: [ { get: / } ]");
}

#[test]
fn variables_are_defined_by_the_steps_before() {
    compiled("- if: user == 1\n  then: [ { set: { a: 1 } } ]\n- set: { b: \"${a}\" }");
    let said = rendered(&with_steps("- set: { b: \"${a}\" }\n- set: { a: 1 }"), &[]);
    assert!(said.contains("`a` is not defined"), "{said}");
}

/// `$.items[0].id` names one place, as `/items/0/id` does.
#[test]
fn plain_json_path_is_a_pointer() {
    let steps = |path: &str, pointer: &str| {
        let text = format!(
            "- get: /\n  save: {{ a: {path}, b: {{ pointer: {path} }} }}\n- ws: /\n\
             - expect: {{ when: {{ {path}: x }} }}\n- set: {{ c: \"${{json(a, '{pointer}')}}\" }}\n"
        );
        plan(&with_steps(&text)).sessions.remove(0).ops
    };
    let pointer = steps("/items/0/id", "/items/0/id");
    for path in ["\"$.items[0].id\"", "\"$['items'][0]['id']\""] {
        let found = steps(path, "$.items[0].id");
        assert_eq!(found[0].saves(), pointer[0].saves());
        assert_eq!(found[2..], pointer[2..], "{path}");
    }
}

#[test]
fn brackets_in_a_pointer_are_warned_of() {
    for (pointer, expected) in [("/$/items[0]/id", "/items/0/id"), ("/items[12]", "/items/12")] {
        let text = with_steps(&format!("- get: /\n  save:\n    a: {pointer}\n"));
        let (plan, diagnostics) = compile_with(&text, &[]);
        assert!(plan.is_some());
        assert_eq!(diagnostics[0].code, "brackets");
        let hint = format!("for an item of a list write {expected}");
        assert_eq!(diagnostics[0].hint.as_deref(), Some(&*hint));
    }
}

#[test]
fn redirects_are_followed_unless_the_request_wants_them() {
    let text = "
target: http://h/
options: { redirects: 4, redirect_hosts: [ 'https://login.test', 'http://b.test:81/' ], accept_encoding: [gzip, br] }
sessions:
  s:
    - get: /a
    - { get: /b, redirects: 2 }
    - { get: /c, status: [200, 302] }
    - { get: /d, status: 200..399 }
    - { get: /e, save: { to: { header: Location } } }
    - { get: /f, headers: { accept-encoding: identity } }
arrivals: [ { hold: 1s } ]
";
    let plan = plan(text);
    let requests: Vec<&HttpOp> = plan.sessions[0]
        .ops
        .iter()
        .filter_map(|op| match op {
            Op::Http(http) => Some(&**http),
            _ => None,
        })
        .collect();
    let redirects: Vec<u8> = requests.iter().map(|http| http.redirects).collect();
    assert_eq!(redirects, [4, 2, 0, 4, 0, 4]);
    let decodes: Vec<bool> = requests.iter().map(|http| http.decodes).collect();
    assert_eq!(decodes, [true, true, true, true, true, false]);
    let hosts = plan.endpoints.iter().map(|e| (e.tls, &*e.host, e.port));
    let hosts: Vec<_> = hosts.collect();
    assert_eq!(hosts, [(false, "h", 80), (true, "login.test", 443), (false, "b.test", 81)]);
    let measure = &plan.measures[plan.redirects.index()];
    assert_eq!((&*measure.name, measure.kind), ("redirects", MeasureKind::Redirect));
}

const NONE: [Vec<String>; 2] = [Vec::new(), Vec::new()];

/// The measures of the `expect`s that may take a message that comes while the user is at the step with this number, from
/// 0: before it has begun, and after.
#[track_caller]
fn awaited(steps: &str, step: usize) -> [Vec<String>; 2] {
    let (plan, session) = compiled(steps);
    let awaited = session.awaited();
    let is_step = |op: &Op| op.is_exchange() || op.stays_open() || op.waits();
    let steps = (0..).zip(&session.ops).filter(|(_, op)| is_step(op));
    let pc = steps.map(|(pc, _)| pc).nth(step).expect("there are as many steps");
    [false, true].map(|has_begun| {
        let pcs = awaited.pcs(awaited.at(pc, has_begun));
        let measure = |pc: u32| session.ops[pc as usize].measure().expect("it has a measure");
        pcs.map(|pc| plan.measures[measure(pc).index()].name.clone()).collect()
    })
}

#[test]
fn an_expect_may_take_what_comes_after_the_last_step_on_its_connection() {
    let steps = "
- ws: /
- think: 1s
- post: /a
- expect: { as: first }
- expect: { as: second }
- send: x
- get: /b
- expect: { as: third }
- think: 1s
";
    let both = ["first", "second"].map(str::to_owned).to_vec();
    let third = vec!["third".to_owned()];
    assert_eq!(awaited(steps, 0), [vec![], both.clone()]);
    assert_eq!(awaited(steps, 1), [both.clone(), both.clone()]);
    assert_eq!(awaited(steps, 2), [both.clone(), both.clone()]);
    assert_eq!(awaited(steps, 3), [both.clone(), both[1..].to_vec()]);
    // What is sent is not answered before.
    assert_eq!(awaited(steps, 4), [both[1..].to_vec(), vec![]]);
    assert_eq!(awaited(steps, 5), [vec![], third.clone()]);
    assert_eq!(awaited(steps, 7), [third, vec![]]);
    assert_eq!(awaited(steps, 8), NONE);
}

#[test]
fn loops_branches_and_attempts_lead_back_to_an_expect() {
    let own = vec!["own".to_owned()];
    let steps = "
- sse: /
- loop: 3
  steps:
    - post: /a
    - expect: { as: own }
    - think: 1s
- think: 1s
";
    assert_eq!(awaited(steps, 3), [own.clone(), own.clone()]);
    assert_eq!(awaited(steps, 4), NONE);
    let steps = "
- sse: /
- set: { a: 1 }
- post: /a
- if: a == 1
  then:
    - expect: { as: own }
  else:
    - think: 1s
";
    assert_eq!(awaited(steps, 1), [own.clone(), own.clone()]);
    let steps = "
- sse: /
- retry: 2
  steps:
    - post: /a
    - expect: { as: own }
    - get: /b
- think: 1s
";
    assert_eq!(awaited(steps, 3), [own.clone(), own]);
    assert_eq!(awaited(steps, 4), NONE);
}

/// Nothing is kept for users who never wait for a message of its own.
#[test]
fn sessions_without_an_expect_await_nothing() {
    let (_, session) = compiled(
        "
- ws: /
- forever:
    - pace: 1s
    - send: { op: ask }
      reply: { when: { /re: ask } }
",
    );
    assert_eq!(session.awaited(), plan::AwaitedExpects::default());
}

#[test]
fn expressions_that_are_too_large_are_refused() {
    let found = rendered(
        &with_steps(
            r"- get: /
  save: { a: { regex: '\w{5000}' } }",
        ),
        &[],
    );
    assert!(found.contains("exceeds size limit"), "{found}");
}

/// Each round looks for its item from the list's beginning.
#[test]
fn each_round_of_a_long_list_takes_time() {
    let steps = "
- set: { list: '[1]' }
- foreach: list
  as: item
  steps: [ { set: { last: x } } ]
";
    let found = rendered(&with_steps(steps), &[]);
    assert!(found.contains("the body of this `foreach` never waits"), "{found}");
}
