//! The processes of a market: three APIs, two resolvers, and a feed.

use std::sync::{Arc, Mutex};

use crate::support::Served;

/// Where the APIs are at present.
pub(super) type Addresses = Arc<Mutex<Vec<String>>>;

/// A process that can be killed and started again.
struct Process {
    args: Vec<String>,
    served: Option<Served>,
}

impl Process {
    fn start(args: &[&str]) -> Process {
        let served = Served::start(args);
        Process { args: args.iter().map(|&arg| arg.to_owned()).collect(), served: Some(served) }
    }

    fn url(&self) -> String {
        self.served.as_ref().unwrap().url.clone()
    }

    fn kill_and_restart(&mut self) {
        self.served.take().unwrap().kill();
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        self.served = Some(Served::start(&args));
    }
}

pub(super) struct Processes {
    apis: Vec<Process>,
    resolvers: Vec<Process>,
    feed: Option<Process>,
    addresses: Addresses,
}

impl Processes {
    /// With bus and cache in one Redis.
    pub(super) fn start(store: &str, redis: &str) -> Processes {
        Processes::start_with(store, &["--bus", redis, "--cache", redis])
    }

    /// `backing`: options of all but the feed.
    pub(super) fn start_with(store: &str, backing: &[&str]) -> Processes {
        // Few connections, for processes that start again and again.
        let shared =
            ["--store", store, "--store-connections", "4", "--threads", "1", "--games", "4"];
        let with = |part: &'static str, more: &[&'static str]| {
            [&["market", part][..], &shared[..], more].concat()
        };
        let api = [&with("api", &["--batch", "200ms"])[..], backing].concat();
        let resolver = [&with("resolver", &[])[..], backing].concat();
        // One that was started twice pays nobody twice.
        let resolvers = vec![Process::start(&resolver), Process::start(&resolver)];
        let apis: Vec<Process> = (0..3).map(|_| Process::start(&api)).collect();
        let feed = Process::start(&with("events", &["--goal-every", "1s"]));
        let addresses = Arc::new(Mutex::new(apis.iter().map(Process::url).collect()));
        Processes { apis, resolvers, feed: Some(feed), addresses }
    }

    pub(super) fn addresses(&self) -> Addresses {
        Arc::clone(&self.addresses)
    }

    /// Another API, with a bus of its own address; no player goes there.
    pub(super) fn add_api(&mut self, bus: &str) -> String {
        let args = self.apis[0].args.clone();
        let at = args.iter().position(|arg| arg == "--bus").unwrap() + 1;
        let args: Vec<&str> =
            (0..).zip(&args).map(|(place, arg)| if place == at { bus } else { arg }).collect();
        let process = Process::start(&args);
        let url = process.url();
        self.apis.push(process);
        url
    }

    /// Kills a process and starts it again: in turn a resolver, an API and the feed.
    pub(super) fn kill_one(&mut self, number: usize) {
        let turn = number % 3;
        let round = number / 3;
        match turn {
            0 => {
                let at = round % self.resolvers.len();
                self.resolvers[at].kill_and_restart();
            }
            1 => {
                let at = round % self.apis.len();
                self.apis[at].kill_and_restart();
                self.addresses.lock().unwrap()[at] = self.apis[at].url();
            }
            _ => self.feed.as_mut().unwrap().kill_and_restart(),
        }
    }

    /// Nothing happens in the games any more.
    pub(super) fn end_feed(&mut self) {
        self.feed.take().unwrap().served.unwrap().stop();
    }

    pub(super) fn stop(self) {
        for process in self.apis.into_iter().chain(self.resolvers) {
            process.served.unwrap().stop();
        }
    }
}
