//! Whole plans: target, options, parameters, overrides, messages.

use std::net::IpAddr;

use plan::{HttpConnections, HttpVersion, MeasureKind, Mode, Source, Target, TlsResumption};

use crate::{plan, plan_with, rendered};

const REST: &str = "sessions: { s: [ { think: 1s } ] }\narrivals: [ { hold: 1s } ]\n";

fn with_top(top: &str) -> String {
    format!("{top}\n{REST}")
}

#[test]
fn defaults_are_those_of_the_reference() {
    let plan = plan(&with_top("target: http://example.org/"));
    assert_eq!((plan.name.as_str(), plan.seed), ("test", 1));
    let options = plan.options;
    assert_eq!(options.connect_timeout_ns, 10_000_000_000);
    assert_eq!(options.connect_retries.times, 0);
    assert_eq!(options.drain_ns, 30_000_000_000);
    assert_eq!(options.lag_max_ns, 50_000_000);
    assert_eq!(options.response_bytes_max, 16 << 20);
    assert_eq!(options.message_bytes_max, 16 << 20);
    assert_eq!(options.mode, Mode::Auto);
    assert_eq!(options.http, HttpVersion::Http1);
    assert_eq!(options.http_connections, HttpConnections::User);
    assert_eq!(options.loops_count, None);
    assert!(options.tls.verify && options.source_addresses.is_empty());
    assert_eq!(plan.measures.len(), 1);
    assert_eq!(plan.measures[0].kind, MeasureKind::Connect);
}

#[test]
fn users_have_a_certificate_with_its_key() {
    let tls = |keys: &str| {
        let target = format!("target: {{ url: \"https://a.test/\", tls: {{ {keys} }} }}");
        plan(&with_top(&target)).options.tls.identity_files
    };
    let files = ("user.pem".to_owned(), "user.key".to_owned());
    assert_eq!(tls("cert: user.pem, key: user.key"), Some(files));
    assert_eq!(tls("verify: false"), None);
}

#[test]
fn users_resume_tls_sessions_of_their_own_unless_the_scenario_says_otherwise() {
    let resumption = |tls: &str| {
        let top = format!("target: https://a.test/\noptions: {{ tls: {tls} }}");
        plan(&with_top(&top)).options.tls.resumption
    };
    assert_eq!(resumption("{ verify: false }"), TlsResumption::Own);
    assert_eq!(resumption("{ resumption: own }"), TlsResumption::Own);
    assert_eq!(resumption("{ resumption: shared }"), TlsResumption::Shared);
    assert_eq!(resumption("{ resumption: off }"), TlsResumption::Off);
}

#[test]
fn the_version_of_http_stands_with_the_target_or_the_options() {
    for (word, version) in [
        ("1.1", HttpVersion::Http1),
        ("2", HttpVersion::Http2),
        ("auto", HttpVersion::Auto),
        ("\"2\"", HttpVersion::Http2),
    ] {
        for top in [
            format!("target: {{ url: \"http://a.test/\", http: {word} }}"),
            format!("target: http://a.test/\noptions: {{ http: {word} }}"),
        ] {
            assert_eq!(plan(&with_top(&top)).options.http, version, "{top}");
        }
    }
    let twice = "target: { url: \"http://a.test/\", http: 2 }\noptions: { http: auto }";
    let errors = rendered(&with_top(twice), &[]);
    assert!(errors.contains("`http` is given twice"), "{errors}");
    let errors = rendered(&with_top("target: http://a.test/\noptions: { http: 3 }"), &[]);
    assert!(errors.contains("write one of"), "{errors}");
}

#[test]
fn targets_become_endpoints() {
    for (text, tls, host, port, base) in [
        ("http://example.org", false, "example.org", 80, ""),
        ("wss://example.org/app/", true, "example.org", 443, "/app"),
        ("{ url: \"https://[::1]:8443/x\", tls: { verify: false } }", true, "::1", 8443, "/x"),
        ("\"http://${env('THRONG_HOST')}/\"", false, "example.org", 80, ""),
    ] {
        let plan = plan(&with_top(&format!("target: {text}")));
        let endpoint = &plan.endpoints[0];
        assert_eq!((endpoint.tls, endpoint.port), (tls, port), "{text}");
        assert_eq!((endpoint.host.as_str(), endpoint.base_path.as_str()), (host, base), "{text}");
        assert_eq!(plan.options.tls.verify, !text.contains("verify"), "{text}");
    }
    let market = plan(&with_top("target: { market: { batch: 3s, games: 2 } }"));
    let Target::Builtin { name, args } = market.target else { panic!("not built in") };
    assert_eq!(name, "market");
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(args, [pair("batch", "3s"), pair("games", "2")]);
    assert_eq!(plan(&with_top("target: market")).endpoints.len(), 1);
}

#[test]
fn connections_are_tried_again_so_often() {
    let retries = |text: &str| {
        let text = format!("target: market\noptions: {{ connect_retries: {text} }}");
        plan(&with_top(&text)).options.connect_retries
    };
    let given = retries("{ times: 3, pause: 250ms }");
    assert_eq!((given.times, given.pause_ns), (3, 250_000_000));
    let given = retries("{ times: 100 }");
    assert_eq!((given.times, given.pause_ns), (100, 1_000_000_000));
    for (wrong, said) in [
        ("{ times: 101 }", "`101` is out of range"),
        ("{ pause: 1s }", "`times` is missing"),
        ("3", "expected a mapping"),
    ] {
        let text = format!("target: market\noptions: {{ connect_retries: {wrong} }}");
        let diagnostics = rendered(&with_top(&text), &[]);
        assert!(diagnostics.contains(said), "{diagnostics}");
    }
}

#[test]
fn names_are_resolved_by_several_and_kept_by_some() {
    let dns = |text: &str| {
        let text = format!("target: market\noptions: {{ {text} }}");
        plan(&with_top(&text)).options.dns
    };
    let given = dns("dns: { resolvers: 16, ignore_ttl: 20% }");
    assert_eq!((given.resolvers_count, given.ignore_ttl), (16, 0.2));
    let given = dns("");
    assert_eq!((given.resolvers_count, given.ignore_ttl), (1, 0.0));
    for (wrong, said) in [
        ("{ resolvers: 0 }", "`0` is out of range"),
        ("{ resolvers: 257 }", "write 1 to 256"),
        ("{ ignore_ttl: 101% }", "write 0% to 100%"),
        ("{ ignore_ttl: 0.2 }", "write 20%"),
        ("{ ttl: 1s }", "`ttl`"),
    ] {
        let text = format!("target: market\noptions: {{ dns: {wrong} }}");
        let diagnostics = rendered(&with_top(&text), &[]);
        assert!(diagnostics.contains(said), "{diagnostics}");
    }
}

#[test]
fn source_addresses_are_listed() {
    let list = |text: &str| -> Vec<String> {
        let text = format!("target: market\noptions: {{ source_addresses: {text} }}");
        let plan = plan(&with_top(&text));
        plan.options.source_addresses.iter().map(IpAddr::to_string).collect()
    };
    assert_eq!(list("10.0.0.5"), ["10.0.0.5"]);
    assert_eq!(list("10.0.0.9..10.0.0.11"), ["10.0.0.9", "10.0.0.10", "10.0.0.11"]);
    assert_eq!(list("[10.0.0.0/30, \"::1\"]"), ["10.0.0.1", "10.0.0.2", "::1"]);
    assert_eq!(list("127.0.0.0/24").len(), 254);
    let text = with_top("target: market\noptions: { source_addresses: 10.0.0.0/8 }");
    assert!(rendered(&text, &[]).contains("more than 65536 source addresses"));
    let text = with_top("target: market\noptions: { source_addresses: \"::/0\" }");
    assert!(rendered(&text, &[]).contains("more than 65536 source addresses"));
}

#[test]
fn parameters_stand_anywhere_and_are_overridden() {
    let text = "target: market\nparams: { hold: 90m, n: 2, twice: \"${n * 2}\" }\n\
                seed: ${n}\nsessions:\n  s:\n    - loop: n\n      steps: [ { think: 1s } ]\n\
                \x20   - set: { x: \"${twice + 1}\" }\narrivals: [ { hold: \"${hold}\" } ]\n";
    let found = plan(text);
    assert_eq!((found.seed, found.end_ns()), (2, 5_400_000_000_000));
    let changed = plan_with(text, &[("hold", "5m"), ("n", "3")]);
    assert_eq!((changed.seed, changed.end_ns()), (3, 300_000_000_000));
}

#[test]
fn overrides_reach_into_the_document() {
    let text = with_top("target: market");
    let changed = plan_with(
        &text,
        &[
            ("seed", "7"),
            ("options.connect_timeout", "3s"),
            ("options.tls.verify", "false"),
            ("arrivals.0.hold", "5m"),
            ("sessions.s.0.think", "{ exponential: 2s }"),
            ("thresholds", "[ errors == 0, users >= 1 ]"),
            ("target", "http://127.0.0.1:9/"),
        ],
    );
    assert_eq!(changed.seed, 7);
    assert_eq!(changed.options.connect_timeout_ns, 3_000_000_000);
    assert!(!changed.options.tls.verify);
    assert_eq!(changed.end_ns(), 300_000_000_000);
    assert_eq!(changed.thresholds.len(), 2);
    assert_eq!(changed.endpoints[0].port, 9);
}

#[test]
fn wrong_overrides_name_themselves() {
    let text = with_top("target: market\nparams: { hold: 1s }\nname: \"${hold}\"");
    for (key, value, expected) in [
        ("hodl", "5m", "did you mean `hold`?"),
        ("options.conect_timeout", "3s", "did you mean `connect_timeout`?"),
        ("arrivals.4.hold", "3s", "numbered from 0, and there are 1"),
        ("sessions.t.0", "3s", "there is no `t` in `sessions`"),
        ("seed.x", "3", "`seed`"),
        ("arrivals.0.hold", "5x", "--set arrivals.0.hold=5x: error: `5x` is not a duration"),
        ("", "", "there is no parameter and no key ``"),
    ] {
        let said = rendered(&text, &[(key, value)]);
        assert!(said.contains(expected), "{key}={value}: {said}");
        assert!(said.starts_with(&format!("--set {key}={value}: error: ")), "{said}");
    }
}

#[test]
fn messages_are_read() {
    let plan = plan(&with_top(
        "target: market\nmessages:\n  update: { when: { /type: distribution, /x: { exists: true } }, \
         sent_at: /a~1b/sent, unit: us, as: broadcast }\n  other: { when: { regex: \"^x\" } }",
    ));
    let [update, other] = plan.messages.as_slice() else { panic!("two messages") };
    assert_eq!(update.when.len(), 2);
    let sent_at = update.sent_at.as_ref().unwrap();
    let pointer = ["a/b", "sent"].map(str::to_owned).to_vec();
    assert_eq!((&sent_at.from, sent_at.unit_ns), (&Source::Pointer(pointer), 1e3));
    assert_eq!(plan.measures[update.measure.index()].name, "broadcast");
    assert_eq!(plan.measures[other.measure.index()].name, "other");
    assert_eq!(other.sent_at, None);
}

#[test]
fn unused_parameters_are_only_warned_of() {
    let text = with_top("target: market\nparams: { hold: 1s }");
    let (plan, diagnostics) = crate::compile_with(&text, &[]);
    assert!(plan.is_some());
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].code, "unused-param");
}

#[test]
fn steps_that_may_turn_out_impossible_have_a_measure() {
    let named = |steps: &str| {
        let plan = plan(&format!(
            "target: http://t/\nsessions: {{ s: [ {steps}, {{ think: 1s }} ] }}\n\
             arrivals: [ {{ constant: 1/s, for: 1s }} ]\n"
        ));
        plan.measures[plan.faults.index()].name.clone()
    };
    for steps in
        ["set: { a: 1 }", "set: { a: x }", "loop: 2, steps: [ { think: 1s } ]", "check: user > 1"]
    {
        assert_eq!(named(&format!("{{ {steps} }}")), "connect", "{steps}");
    }
    for steps in [
        "set: { a: \"${1 / user}\" }",
        "loop: user, steps: [ { think: 1s } ]",
        "if: user > 1, then: [ { think: 1s } ]",
        "think_seconds: user",
    ] {
        assert_eq!(named(&format!("{{ {steps} }}")), "steps", "{steps}");
    }
    // Another thing may have that name.
    let taken = "{ get: /, as: steps }, { think_seconds: user }";
    assert_eq!(named(taken), "steps_");
}

#[test]
fn which_sessions_may_have_users_follows_from_the_phases() {
    let sessions = "target: http://example.org/\nsessions:\n  a: { weight: 0, steps: [ { think: 1s } ] }\n  \
                    b: [ { think: 1s } ]\n  c: [ { think: 1s } ]\n";
    let used = |arrivals: &str| {
        let plan = plan(&format!("{sessions}arrivals: {arrivals}\n"));
        let all = (0..3).map(|session| plan.has_users_of(session));
        all.collect::<Vec<_>>()
    };
    assert_eq!(used("[ { users: 1, for: 1s, session: a } ]"), [true, false, false]);
    assert_eq!(used("[ { constant: 1/s, for: 1s } ]"), [false, true, true]);
    assert_eq!(
        used("[ { constant: 1/s, for: 1s, sessions: { c: 2 } }, { hold: 1s } ]"),
        [false, false, true]
    );
}
