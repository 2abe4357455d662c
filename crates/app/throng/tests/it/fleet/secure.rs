//! Who may do what: NATS with certificates, keys and permissions; signed and sealed runs; targets that agents allow.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

use super::spool::{is_unbroken, visitors};
use super::{FANS, Server, by_fleet, has_nats, spools};
use crate::support::{Ended, Running, Served, Space, pass, throng};

/// A key of `throng fleet key`, and its public half.
fn key(space: &Space, name: &str) -> (PathBuf, String) {
    let path = space.path(name);
    let made = Ended::of(throng(["fleet", "key"]).arg(&path)).with(0);
    (path, made.out.trim().to_owned())
}

/// Writes an authority's certificate, and one with its key that it has signed for 127.0.0.1.
fn certificates(space: &Space) -> [PathBuf; 3] {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let own = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&own, &issuer).unwrap();
    [
        space.file("ca.pem", &authority.pem()),
        space.file("own.pem", &certificate.pem()),
        space.file("own.key", &own.serialize_pem()),
    ]
}

/// What `docs/fleet.md` says that an agent needs, with its name; and a controller.
fn permissions(role: &str) -> String {
    let page = std::fs::read_to_string(crate::support::root().join("docs/fleet.md")).unwrap();
    let (_, text) = page.split_once(&format!("# {role}\n")).unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let (text, _) = text.split_once("\n#").unwrap_or((text, ""));
    text.replace("NAME", "a1")
}

/// nats-server with certificates on both sides, an agent's account and a controller's.
fn locked(space: &Space, agent: &str, controller: &str) -> Server {
    let [authority, own, key] = certificates(space);
    let users = [(agent, "agent"), (controller, "controller")].map(|(key, role)| {
        format!("{{ nkey: {key}, permissions: {{\n{}\n}} }}", permissions(role))
    });
    let text = format!(
        "tls {{ cert_file: {own:?}, key_file: {key:?}, ca_file: {authority:?}, verify: true }}\n\
         authorization {{ users: [ {} ] }}\n",
        users.join(",\n")
    );
    space.file("nats.conf", &text);
    Server::start_with(space, None, &["--config".as_ref(), space.path("nats.conf").as_os_str()])
}

/// The arguments by which the holder of this key is let in.
fn as_who(space: &Space, key: &Path) -> Vec<PathBuf> {
    let mut args = Vec::new();
    for (option, path) in [
        ("--nats-nkey", key.to_owned()),
        ("--nats-ca", space.path("ca.pem")),
        ("--nats-cert", space.path("own.pem")),
        ("--nats-key", space.path("own.key")),
    ] {
        args.extend([PathBuf::from(option), path]);
    }
    args
}

#[test]
fn the_permissions_of_the_documents_are_enough_and_no_more() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let (agent_key, agent) = key(&space, "agent.key");
    let (controller_key, controller) = key(&space, "controller.key");
    let server = locked(&space, &agent, &controller);
    let url = server.url();
    let start = |name: &str| {
        let mut agent = throng(["agent", "--nats", &url, "--name", name]);
        agent.args(as_who(&space, &agent_key));
        agent.arg("--spool").arg(spools(&space));
        agent
    };
    let mut first = Running::start(&mut start("a1"));
    assert!(first.line().contains("agent a1 waits for runs"));
    // Another name is another subject.
    let other = Ended::of(&mut start("a2"));
    assert_ne!(other.code, Some(0), "{}", other.out);
    let run = |key: &Path, space_of_run: &Space| {
        let mut run = by_fleet(space_of_run, &server, super::VISITORS, &[]);
        run.args(as_who(&space, key));
        run
    };
    let by_agent = Space::new();
    let refused = Ended::of(&mut run(&agent_key, &by_agent));
    assert_ne!(refused.code, Some(0), "an agent may not begin runs");
    let by_controller = Space::new();
    Ended::of(&mut run(&controller_key, &by_controller)).with(0);
    // Without a certificate nobody is let in.
    let mut bare = throng(["fleet", "status", "--nats", &url]);
    bare.arg("--nats-ca").arg(space.path("ca.pem"));
    bare.arg("--nats-nkey").arg(&controller_key);
    Ended::of(&mut bare).with(69);
}

/// Each line of the authorization, with a URL's user that it lets in and one that it does not.
#[test]
fn the_user_of_the_url_is_let_in() {
    if !has_nats() {
        return;
    }
    let cases = [
        ("user: ann, password: \"p@ss:1e5\"", "ann:p%40ss%3A1e5", "ann:p"),
        ("token: \"t@ken\"", "t%40ken", "tken"),
    ];
    for (line, right, wrong) in cases {
        let space = Space::new();
        let file = space.file("nats.conf", &format!("authorization {{ {line} }}\n"));
        let server = Server::start_with(&space, None, &["--config".as_ref(), file.as_os_str()]);
        let status = |user: &str| {
            let url = server.url().replace("//", &format!("//{user}@"));
            Ended::of(&mut throng(["fleet", "status", "--nats", &url]))
        };
        status(right).with(0);
        let refused = status(wrong).with(69);
        refused.stderr_contains("authorization violation");
        assert!(!refused.err.contains(wrong), "{}", refused.err);
        status("%ff").stderr_contains("not UTF-8");
    }
}

/// Nearly all files that NATS keeps contain this.
fn stored(space: &Space, text: &str) -> bool {
    fn look(directory: &Path, text: &[u8]) -> bool {
        std::fs::read_dir(directory).unwrap().flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return look(&path, text);
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|part| part == text)
        })
    }
    look(&space.path("nats"), text.as_bytes())
}

#[test]
fn agents_take_signed_runs_whose_scenarios_only_they_can_read() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let (path, public) = key(&space, "mine.key");
    let (other, _) = key(&space, "other.key");
    let url = server.url();
    let mut agent = throng(["agent", "--nats", &url, "--name", "a1", "--trust", &public]);
    let mut agent = Running::start(agent.arg("--spool").arg(spools(&space)));
    agent.line();
    let target = Served::start(&["market"]);
    let with = |run_space: &Space, key: Option<&Path>| {
        let mut run = visitors(run_space, &server, &target, &["--set", "options.loops=3"]);
        run.env("PAGE", "games?secret-of-the-scenario");
        if let Some(key) = key {
            run.arg("--key").arg(key);
        }
        run
    };
    for (key, why) in
        [(None, "the run is not signed"), (Some(other.as_path()), "it does not trust the key")]
    {
        let refused = Ended::of(&mut with(&Space::new(), key)).with(71);
        refused.stderr_contains(why);
    }
    assert!(stored(&space, "secret-of-the-scenario"), "that was not sealed");
    let clean = Space::new();
    drop((agent, server));
    let server = Server::start(&clean, None);
    let url = server.url();
    let mut agent = throng(["agent", "--nats", &url, "--name", "a1", "--trust", &public]);
    let mut agent = Running::start(agent.arg("--spool").arg(spools(&clean)));
    agent.line();
    let run_space = Space::new();
    let mut run = visitors(&run_space, &server, &target, &["--set", "options.loops=3"]);
    run.env("PAGE", "games?secret-of-the-scenario").arg("--key").arg(&path);
    let mut running = Running::start(&mut run);
    let first = running.stderr_line();
    let name = first.split_whitespace().nth(1).unwrap().to_owned();
    running.second();
    running.kill();
    assert!(!stored(&clean, "secret-of-the-scenario"));
    let attach = |key: Option<&Path>| {
        let mut attach = throng(["fleet", "attach", &name, "--fleet", &url, "--runs"]);
        attach.arg(clean.path("runs"));
        if let Some(key) = key {
            attach.arg("--key").arg(key);
        }
        attach
    };
    Ended::of(&mut attach(None)).with(69).stderr_contains("its scenario is sealed");
    Ended::of(&mut attach(Some(&other))).with(69).stderr_contains("is not signed by this --key");
    Ended::of(&mut attach(Some(&path))).with(0);
    is_unbroken(&clean.only());
}

#[test]
fn the_private_key_of_users_is_sealed_with_the_scenario() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let (path, public) = key(&space, "mine.key");
    let url = server.url();
    let mut agent = throng(["agent", "--nats", &url, "--name", "a1", "--trust", &public]);
    let mut agent = Running::start(agent.arg("--spool").arg(spools(&space)));
    agent.line();
    let [authority, own, own_key] = certificates(&space).map(|path| path.display().to_string());
    let target = Served::start(&["market", "--tls-cert", &own, "--tls-key", &own_key]);
    let tls = format!("options.tls={{ ca: {authority}, cert: {own}, key: {own_key} }}");
    let args = ["--set", "options.loops=1", "--set", &tls];
    let mut run = visitors(&space, &server, &target, &args);
    let mut running = Running::start(run.arg("--key").arg(&path));
    let first = running.stderr_line();
    let name = first.split_whitespace().nth(1).unwrap().to_owned();
    running.second();
    running.kill();
    assert!(stored(&space, &name), "the run is there");
    assert!(!stored(&space, "PRIVATE KEY"));
    let mut attach = throng(["fleet", "attach", &name, "--fleet", &url, "--key"]);
    attach.arg(&path).arg("--runs").arg(space.path("continued"));
    Ended::of(&mut attach).with(0);
    // Agents that trust a key are drained by its holder.
    let mut drain = throng(["fleet", "drain", "--nats", &url]);
    Ended::of(&mut drain).with(69).stderr_contains("the request is not signed");
    Ended::of(drain.arg("--key").arg(&path)).with(0).stdout_contains("a1 ends");
}

#[test]
fn an_agent_sends_load_only_to_what_it_allows() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let url = server.url();
    let place = target.url.trim_start_matches("http://").to_owned();
    let start = |place: &str| {
        let mut agent = throng(["agent", "--nats", &url, "--name", "a1", "--allow", place]);
        let mut agent = Running::start(agent.arg("--spool").arg(spools(&space)));
        agent.line();
        agent
    };
    let agent = start("127.0.0.1:1");
    let set = format!("target={}", target.url);
    let refused = Ended::of(&mut by_fleet(&Space::new(), &server, FANS, &["--set", &set])).with(71);
    refused.stderr_contains("its agent may not send load to");
    refused.stderr_contains("it allows 127.0.0.1:1");
    agent.signal(rustix::process::Signal::TERM);
    let mut agent = agent;
    assert!(agent.ends_within(Duration::from_secs(20)));
    pass(Duration::from_millis(100));
    let _agent = start(&place);
    let run = Space::new();
    let mut command: Command = visitors(&run, &server, &target, &["--set", "options.loops=3"]);
    Ended::of(&mut command).with(0);
    is_unbroken(&run.only());
}

#[test]
fn a_run_takes_reports_only_that_keys_it_trusts_have_signed() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let url = server.url();
    let (run_key, _) = key(&space, "run.key");
    let (agent_key, known) = key(&space, "agent.key");
    let (_, stranger) = key(&space, "stranger.key");
    let start = |name: &str, key: Option<&Path>| {
        let mut agent = throng(["agent", "--nats", &url, "--name", name]);
        agent.arg("--spool").arg(spools(&space));
        if let Some(key) = key {
            agent.arg("--key").arg(key);
        }
        let mut agent = Running::start(&mut agent);
        agent.line();
        agent
    };
    let _first = start("a1", Some(&agent_key));
    let _second = start("a2", Some(&agent_key));
    let _bare = start("a3", None);
    let run = |space: &Space, trusted: &str| {
        let mut run = by_fleet(space, &server, FANS, &["--trust", trusted]);
        run.arg("--key").arg(&run_key);
        run
    };
    let refused = Ended::of(&mut run(&Space::new(), &stranger));
    refused.stderr_contains("no agent has a key that the run trusts");
    assert_ne!(refused.code, Some(0));
    // The agent without a key takes no part.
    let quiet = Space::new();
    Ended::of(&mut run(&quiet, &known)).with(0);
    let taken = quiet.only();
    let names = taken.info().workers.iter().map(|w| w.agent.clone().unwrap_or_default());
    assert_eq!(names.collect::<Vec<_>>(), ["a1", "a2"]);
    // Somebody reports as one of them.
    let spoiled = Space::new();
    let mut running = Running::start(&mut run(&spoiled, &known));
    let first = running.stderr_line();
    let name = first.split_whitespace().nth(1).unwrap().to_owned();
    running.second();
    server.publish(&format!("throng.run.{name}.from.a2"), "forged");
    let ended = running.end();
    assert_ne!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let said = format!("{}{}", ended.out, ended.err);
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    assert!(said.contains("is not signed by the key of its sender"), "{said}");
    assert!(said.contains("a2") && !said.contains("agent a1 is"), "{said}");
    let summary = spoiled.summary();
    // It had one loop of three, with 20 of 60 users; those who had not come are dealt to the other.
    let users = &summary.users;
    assert_eq!(users.lost + users.never_came + users.dealt, 20);
}
