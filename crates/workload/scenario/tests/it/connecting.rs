//! How endpoints are reached: proxies and Unix sockets.

use plan::{EndpointId, Op, Plan, ProxyKind, Via};
use scenario::{PROXY_VARIABLES, Settings, Source, compile, render};

use crate::{plan, rendered, with_steps};

/// Compiles where these environment variables are set.
fn with_env(text: &str, env: &[(&str, &str)]) -> Result<Plan, String> {
    let settings = Settings {
        overrides: &[],
        env: &|name| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        },
        files: &|_| Err("no files".to_owned()),
    };
    let source = Source { name: "load/test.yaml", text };
    let (plan, diagnostics) = compile(source, &settings);
    plan.ok_or_else(|| render(&diagnostics, source))
}

fn scenario(target: &str, options: &str) -> String {
    format!(
        "target: {target}\noptions: {{ {options} }}\nsessions:\n  s:\n    - get: /\n    \
         - get: https://other.test/x\n    - get: http://static.shop.test/y\n\
         arrivals: [ {{ hold: 1s }} ]\n"
    )
}

/// By host, the proxy through which it is reached; empty: none.
fn ways(plan: &Plan) -> Vec<String> {
    let endpoints = plan.endpoints.iter();
    endpoints.map(|endpoint| format!("{}{}", endpoint.host, plan.detour(endpoint))).collect()
}

#[test]
fn all_hosts_but_the_exceptions_are_behind_the_proxy() {
    for (target, options) in [
        (
            "http://shop.test/",
            "proxy: 'socks5h://ann:p%40w@proxy.test:1080', no_proxy: static.shop.test",
        ),
        (
            "{ url: 'http://shop.test/', proxy: 'socks5h://ann:p%40w@proxy.test:1080', no_proxy: [ static.shop.test ] }",
            "",
        ),
    ] {
        // The password in the text is warned of.
        let plan = with_env(&scenario(target, options), &[]).unwrap();
        let url = "socks5h://proxy.test:1080";
        assert_eq!(
            ways(&plan),
            [
                format!("shop.test through {url}"),
                format!("other.test through {url}"),
                "static.shop.test".to_owned(),
                "proxy.test".to_owned()
            ]
        );
        let [proxy] = &plan.proxies[..] else { panic!("{:?}", plan.proxies) };
        assert_eq!((proxy.kind, proxy.endpoint), (ProxyKind::Socks5h, EndpointId(3)));
        let own = proxy.credentials.as_ref().unwrap();
        assert_eq!((&*own.user, &*own.password, &*own.written), ("ann", "p@w", "p%40w"));
        let needed: Vec<bool> = plan.endpoints.iter().map(|e| plan.has_address(e)).collect();
        assert_eq!(needed, [false, false, true, true]);
        assert!(!format!("{plan:?}").contains("p@w"));
    }
    let local = plan(&scenario("http://shop.test/", "proxy: 'socks5://proxy.test:1080'"));
    assert!(local.endpoints.iter().all(|endpoint| local.has_address(endpoint)));
    let none = plan(&scenario("http://shop.test/", "proxy: none"));
    assert!(none.proxies.is_empty() && none.endpoints.len() == 3);
}

#[test]
fn a_built_in_target_is_reached_without_the_proxy() {
    let plan = plan(&scenario("market", "proxy: 'http://proxy.test:3128'"));
    assert_eq!(plan.endpoints[0].via, Via::Tcp);
    assert_eq!(plan.endpoints[1].via, Via::Proxy(0));
}

#[test]
fn the_environment_counts_only_where_the_scenario_says_so() {
    let env = [
        ("HTTP_PROXY", "http://upper.test:1"),
        ("http_proxy", "lower.test:2/"),
        ("HTTPS_PROXY", "http://ann:secret@tls.test:3"),
        ("NO_PROXY", "localhost, .shop.test"),
    ];
    let text = scenario("http://a.test/", "");
    assert!(with_env(&text, &env).unwrap().proxies.is_empty());
    let text = scenario("http://a.test/", "proxy: environment");
    let found = with_env(&text, &env).unwrap();
    assert_eq!(
        ways(&found)[..3],
        [
            "a.test through http://lower.test:2",
            "other.test through http://tls.test:3",
            "static.shop.test"
        ]
    );
    assert_eq!(found.proxies.len(), 2);
    let all = [("ALL_PROXY", "socks5://all.test:4")];
    let found = with_env(&text, &all).unwrap();
    assert_eq!(found.proxies.len(), 1, "one for both kinds of hosts");
    assert_eq!(ways(&found)[1], "other.test through socks5://all.test:4");
    assert!(with_env(&text, &[]).unwrap().proxies.is_empty());
    let broken = [("HTTPS_PROXY", "http://ann:sesame@")];
    let error = with_env(&text, &broken).unwrap_err();
    assert!(error.contains("variable HTTPS_PROXY: a proxy's URL is"), "{error}");
    assert!(!error.contains("sesame"), "{error}");
    assert!(PROXY_VARIABLES.contains(&"NO_PROXY"));
}

#[test]
fn a_target_may_be_a_unix_socket() {
    let unix = |target: &str| {
        let plan = with_env(&scenario(target, "proxy: 'http://proxy.test:1'"), &[]).unwrap();
        let endpoint = plan.endpoints[0].clone();
        assert_eq!((&*endpoint.host, endpoint.port, endpoint.tls), ("localhost", 80, false));
        assert!(!plan.has_address(&endpoint));
        let Op::Http(http) = &plan.sessions[0].ops[0] else { panic!("{:?}", plan.sessions[0].ops) };
        let path = http.path.as_static().unwrap().to_owned();
        (endpoint.via, path)
    };
    let at = |path: &str| Via::Unix(path.to_owned());
    assert_eq!(unix("unix:/run/app.sock"), (at("/run/app.sock"), "/".to_owned()));
    assert_eq!(
        unix("{ url: 'unix:/run/app.sock:/api/' }"),
        (at("/run/app.sock"), "/api/".to_owned())
    );
    assert_eq!(unix("unix:app.sock"), (at("load/app.sock"), "/".to_owned()));
    let servers = "{ servers: [ { url: 'unix:/a.sock' }, { url: 'unix:/b.sock' } ] }";
    let plan = plan(&scenario(servers, ""));
    assert_eq!(plan.servers.len(), 2);
    assert_eq!(plan.endpoints[1].via, at("/b.sock"));
}

#[test]
fn paths_of_sockets_that_cannot_be_are_named() {
    let long = format!("unix:/{}/app.sock", "x".repeat(100));
    for (target, message) in [
        ("unix:", "the path of the Unix socket is missing"),
        ("unix:///run/app.sock", "the path of the Unix socket is missing"),
        ("unix:/a.sock:/x?y", "no query"),
        (&*long, "has 110 bytes, of at most 107"),
    ] {
        let error = with_env(&scenario(&format!("'{target}'"), ""), &[]).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_body_may_wait_for_a_100() {
    let wait = |options: &str, step: &str| {
        let text = format!("{}options: {{ {options} }}\n", with_steps(step));
        match &plan(&text).sessions[0].ops[0] {
            Op::Http(http) => http.continue_ns,
            other => panic!("{other:?}"),
        }
    };
    let step = "- { put: /x, body: y, expect: 100-continue }";
    assert_eq!(wait("", step), 1_000_000_000);
    assert_eq!(wait("continue_timeout: 250ms", step), 250_000_000);
    assert_eq!(wait("", "- { put: /x, body: y }"), 0);
    let errors = rendered(&with_steps("- { get: /x, expect: 100-continue }"), &[]);
    assert!(errors.contains("no body to wait with"), "{errors}");
}
