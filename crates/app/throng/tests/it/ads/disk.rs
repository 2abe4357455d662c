//! The embedded store while its disk refuses: what was refused did not happen, what was lost stays lost, and
//! a server recovers by itself.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::stores::{ad, events, fetch, metric, until};
use crate::support::{Running, Space, plain, throng};

/// A server whose disk can be made to refuse.
struct Server {
    running: Running,
    url: String,
}

impl Server {
    fn start(store: &Path, writes: &str) -> Server {
        let server = throng(["serve", "ads", "--ads", "50", "--long-list", "50"]);
        let mut command = plain(Command::new("sh"));
        // A write beyond a file's limit is then an error, and not the end.
        command.args(["-c", "trap '' XFSZ && exec \"$0\" \"$@\""]);
        command.arg(server.get_program()).args(server.get_args());
        command.args(["--threads", "1", "--writes", writes, "--store"]);
        command.arg(store).args(["--listen", "127.0.0.1:0"]);
        command.arg("--until-stdin-closes").stdin(Stdio::piped());
        let mut running = Running::start(&mut command);
        let line = running.line();
        let url = line.trim_end().strip_prefix("listening on ").unwrap();
        let url = url.to_owned();
        Server { running, url }
    }

    /// Has no file written any more, or all of them again.
    fn disk_refuses(&self, refuses: bool) {
        let limit = Rlimit { current: refuses.then_some(0), maximum: None };
        let pid = Pid::from_raw(self.running.pid().cast_signed());
        prlimit(pid, Resource::Fsize, limit).unwrap();
    }

    fn health(&self) -> u16 {
        fetch(&self.url, "GET", "/healthz").0
    }

    fn stop(mut self) {
        self.running.release();
    }
}

#[test]
fn an_event_refused_by_a_full_disk_succeeds_on_retry() {
    let space = Space::new();
    let server = Server::start(&space.path("ads.sqlite"), "sync");
    let url = &server.url;
    let offers: Vec<_> = (0..20).map(|_| events(&ad(url).unwrap())).collect();
    server.disk_refuses(true);
    for [impression, redeem, ..] in &offers {
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(fetch(url, "GET", &impression.1).0, 503));
            scope.spawn(|| {
                // It waits for what becomes of the impression, where that came first.
                let (status, text) = fetch(url, "POST", &redeem.1);
                assert_eq!(status, 409, "{text}");
            });
        });
    }
    assert_eq!(server.health(), 503);
    server.disk_refuses(false);
    // Nothing needs to be recorded for that.
    until(&200, || server.health());
    for [impression, redeem, ..] in &offers {
        assert_eq!(fetch(url, "GET", &impression.1).0, 200);
        assert_eq!(fetch(url, "POST", &redeem.1).0, 302);
    }
    for (name, wanted) in
        [("ads_impressions_total", 20.0), ("ads_redeems_total", 20.0), ("ads_repeated_total", 0.0)]
    {
        assert_eq!(metric(url, name), wanted, "{name}");
    }
    server.stop();
}

#[test]
fn offer_numbers_are_never_reused() {
    let space = Space::new();
    let store = space.path("ads.sqlite");
    let server = Server::start(&store, "sync");
    let kept: Vec<_> = (0..5).map(|_| ad(&server.url).unwrap()).collect();
    server.stop();

    let server = Server::start(&store, "async");
    let url = &server.url;
    let lost = || metric(url, "ads_records_lost_total");
    server.disk_refuses(true);
    let gone: Vec<_> = (0..5).map(|_| ad(url).unwrap()).collect();
    until(&5.0, lost);
    until(&503, || server.health());
    server.disk_refuses(false);
    until(&200, || server.health());
    // Their offers are lost, and so are they.
    for offer in &gone {
        assert_eq!(fetch(url, "GET", &events(offer)[0].1).0, 200);
    }
    until(&10.0, lost);
    server.stop();

    let server = Server::start(&store, "sync");
    let url = &server.url;
    for offer in &gone {
        assert_eq!(fetch(url, "GET", &events(offer)[0].1).0, 404);
    }
    let more: Vec<_> = (0..5).map(|_| ad(url).unwrap()).collect();
    let all = kept.iter().chain(&gone).chain(&more);
    let ids: HashSet<_> = all.map(|offer| offer["offer_id"].to_string()).collect();
    assert_eq!(ids.len(), 15);
    for offer in &more {
        let [impression, redeem, ..] = events(offer);
        assert_eq!(fetch(url, "POST", &redeem.1).0, 409);
        assert_eq!(fetch(url, "GET", &impression.1).0, 200);
    }
    assert_eq!(server.health(), 200);
    server.stop();
}
