//! What an agent does for whom.

use std::path::Path;

use super::*;
use crate::keys::UserKey;
use crate::testing::{Server, private_directory};

fn owner(run: &str, agent: &str) -> Owner {
    Owner { server: "h:1".to_owned(), run: run.to_owned(), agent: agent.to_owned() }
}

#[test]
fn an_agent_with_a_name_sends_its_own_and_another_one_any() {
    let is_left = |owner: &Owner, name| is_left_to(owner, "h:1", name, Some("r2"));
    assert!(is_left(&owner("r1", "a1"), Some("a1")));
    assert!(!is_left(&owner("r1", "a2"), Some("a1")), "another agent's");
    assert!(is_left(&owner("r1", "a2"), None));
    assert!(!is_left(&owner("r2", "a1"), Some("a1")), "it runs");
    assert!(!is_left_to(&owner("r1", "a1"), "h:2", Some("a1"), None));
}

/// An agent that trusts this key, and may be one that takes part in a run.
fn agent<'a>(access: &'a Access, spool: &'a Path, trust: &UserKey) -> Agent<'a> {
    let options = AgentOptions {
        access,
        name: Some("a1".to_owned()),
        labels: Vec::new(),
        parts: 1,
        once: false,
        spool,
        spool_bytes_max: 1,
        rows: RowsKeep { directory: spool, bytes_max: 1, age_max: Duration::from_secs(1) },
        trust: vec![trust.public()],
        key: None,
        allow: Vec::new(),
        program: Path::new("/bin/true"),
        throng: "1.2.3",
    };
    Agent::join(options).unwrap()
}

fn keys(directory: &Path) -> [UserKey; 2] {
    ["mine", "other"].map(|name| UserKey::create(&directory.join(name)).unwrap())
}

fn offer(key: &UserKey) -> Offer {
    let mut offer = Offer {
        run: "r1".to_owned(),
        throng: "1.2.3".to_owned(),
        protocol: PROTOCOL_VERSION,
        token: String::new(),
        plan: "p".to_owned(),
        alone_s: 0,
        kept_s: 0,
        at_unix_s: machine::clock::unix_ns() / 1_000_000_000,
        key: None,
        signature: None,
    };
    offer.signature = Some(key.sign(&offer.text("a1")).unwrap());
    offer
}

#[test]
fn an_offer_that_a_busy_agent_refused_is_not_taken_later() {
    let Some(server) = Server::start() else {
        return;
    };
    let directory = private_directory();
    let [mine, other] = keys(directory.path());
    let access = server.access();
    let mut agent = agent(&access, directory.path(), &mine);
    let say = |_: &str| {};
    let error = agent.take(offer(&other), &say).unwrap_err();
    assert!(error.contains("does not trust the key"), "{error}");
    let offered = offer(&mine);
    agent.card.draining = true;
    let error = agent.take(offered.clone(), &say).unwrap_err();
    assert!(error.contains("it was drained"), "{error}");
    agent.card.draining = false;
    let error = agent.take(offered, &say).unwrap_err();
    assert!(error.contains("was offered before"), "{error}");
}

#[test]
fn an_agent_that_trusts_a_key_is_drained_by_its_holder_only() {
    let Some(server) = Server::start() else {
        return;
    };
    let directory = private_directory();
    let [mine, other] = keys(directory.path());
    let access = server.access();
    let mut agent = agent(&access, directory.path(), &mine);
    let error = agent.drain(None).unwrap_err();
    assert!(error.contains("the request is not signed"), "{error}");
    let order = |card: &AgentCard, key| Order::drain(card, key).unwrap();
    assert!(agent.drain(Some(&order(&agent.card, &other))).is_err());
    // That of an agent that had the name before.
    let before = AgentCard { id: "before".to_owned(), ..agent.card.clone() };
    assert!(agent.drain(Some(&order(&before, &mine))).is_err());
    assert!(!agent.card.draining);
    agent.drain(Some(&order(&agent.card, &mine))).unwrap();
    assert!(agent.card.draining);
}

#[test]
fn an_agent_that_trusts_a_key_gives_rows_to_its_holder_only() {
    let Some(server) = Server::start() else {
        return;
    };
    let directory = private_directory();
    let [mine, other] = keys(directory.path());
    let access = server.access();
    let agent = agent(&access, directory.path(), &mine);
    let list = || RowsWhat::List { after: String::new() };
    let request = |what: RowsWhat, signed: &RowsWhat, key: Option<&UserKey>| {
        let at_unix_s = machine::clock::unix_ns() / 1_000_000_000;
        let text = Order::rows_text(&agent.card, "r1", signed, at_unix_s);
        let order = key.map(|key| Order { at_unix_s, signature: key.sign(&text).unwrap() });
        let run = "r1".to_owned();
        agent.give_rows(&RowsRequest { run, what, order }).unwrap_err()
    };
    let error = request(list(), &list(), None);
    assert!(error.contains("the request is not signed"), "{error}");
    let error = request(list(), &list(), Some(&other));
    assert!(error.contains("does not trust the key"), "{error}");
    let error = request(RowsWhat::Remove, &list(), Some(&mine));
    assert!(error.contains("the signature is not that of"), "{error}");
    // It may, and there is nothing.
    let error = request(list(), &list(), Some(&mine));
    assert!(error.contains("it has no rows of run r1"), "{error}");
}

#[test]
fn a_signature_counts_for_two_minutes() {
    let directory = private_directory();
    let [mine, _] = keys(directory.path());
    let now_s = machine::clock::unix_ns() / 1_000_000_000;
    let check = |at_unix_s| {
        let signature = mine.sign(b"text").unwrap();
        check_key(&[mine.public()], "run", b"text", at_unix_s, Some(&signature))
    };
    assert!(check(now_s).is_ok() && check(now_s - 100).is_ok());
    for at_unix_s in [0, now_s - 200, now_s + 200, u64::MAX] {
        assert!(check(at_unix_s).unwrap_err().contains("s old"));
    }
}
