//! Servers that can carry the market's bus, each for one test, and what is received through them.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use redis::Connection;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::bus::messages::payload;
use crate::bus::{BusError, Claims, Delivery, Subscription};
use crate::outside::bus::{BusAddress, BusOptions, Remote};
use server::database::ServerAddress;
use testkit::services::Services;

/// How long anything may take before a test fails.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// How a bus of a test is used.
pub(crate) fn options(claims: Claims) -> BusOptions {
    BusOptions { market: "test".to_owned(), games: 2, wait: Duration::from_secs(5), claims }
}

/// A server of `scripts/services` that can carry a bus, and can be restarted.
pub(crate) struct Server {
    name: &'static str,
    services: Services,
    pub(crate) url: String,
    /// It was killed, and this one started in its place.
    restarted: Option<Child>,
    files: TempDir,
}

/// Whether all threads of a process are in one of these states (proc(5)), or gone.
fn threads_are(pid: u32, states: &str) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let Ok(stat) = fs::read_to_string(thread.path().join("stat")) else {
            return true;
        };
        // Behind its name, which may hold anything.
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| states.contains(state))
    })
}

impl Server {
    /// `None`, reported as skipped, if it is not installed.
    pub(crate) fn start(name: &'static str) -> Option<Self> {
        let services = Services::start(&[name])?;
        let url = services.url(name)?.to_owned();
        Some(Self { name, services, url, restarted: None, files: tempfile::tempdir().unwrap() })
    }

    /// One of each kind; those that are not installed are reported as skipped.
    pub(crate) fn each() -> impl Iterator<Item = Self> {
        ["redis", "nats"].into_iter().filter_map(Self::start)
    }

    /// A bus of one process of the market.
    pub(crate) fn open(&self) -> Arc<dyn Remote> {
        self.open_with(&options(Claims::Atomic)).unwrap()
    }

    pub(crate) fn open_with(&self, options: &BusOptions) -> Result<Arc<dyn Remote>, BusError> {
        crate::outside::bus::open(&BusAddress::parse(&self.url).unwrap(), options)
    }

    /// Sends a signal, and waits until it has taken effect: a server that is being killed may still have its port, and
    /// one that is being stopped may still answer.
    pub(crate) fn signal(&self, signal: Signal) {
        let started = || self.services.pid(self.name);
        let pid = self.restarted.as_ref().map_or_else(started, Child::id);
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
        let states = match signal {
            Signal::KILL => "ZX",
            Signal::STOP => "T",
            _ => return,
        };
        while !threads_are(pid, states) {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Kills it, does `meanwhile`, and starts another one without data in its place.
    pub(crate) fn restart(&mut self, meanwhile: impl FnOnce()) {
        self.signal(Signal::KILL);
        if let Some(mut killed) = self.restarted.take() {
            killed.wait().unwrap();
        }
        meanwhile();
        let (login, address) = self.url.rsplit_once('@').unwrap();
        let port = address.trim_end_matches('/').rsplit(':').next().unwrap();
        let (user, password) = login.split_once("://").unwrap().1.split_once(':').unwrap();
        let mut command = if self.name == "redis" {
            let options = ["--save", "", "--bind", "127.0.0.1", "--port", port];
            let mut command = Command::new("redis-server");
            command.args(options).args(["--requirepass", password]);
            command
        } else {
            let options = ["--addr", "127.0.0.1", "--port", port, "--jetstream"];
            let mut command = Command::new("nats-server");
            command.args(options).args(["--user", user, "--pass", password]);
            command.arg("--store_dir").arg(self.files.path());
            command
        };
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.restarted = Some(command.stdin(Stdio::null()).spawn().unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A Redis that cannot save refuses to end in any other way.
        self.signal(Signal::KILL);
        if let Some(mut restarted) = self.restarted.take() {
            restarted.wait().unwrap();
        }
    }
}

/// A Redis for one test.
pub(crate) struct Redis(Server);

impl Redis {
    /// `None`, reported as skipped, if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Server::start("redis").map(Self)
    }

    pub(crate) fn address(&self) -> ServerAddress {
        ServerAddress::cache(&self.url).unwrap()
    }

    /// A connection of the test's own.
    pub(crate) fn connection(&self) -> Connection {
        let client = redis::Client::open(&*self.url).unwrap();
        client.get_connection().unwrap()
    }
}

impl Deref for Redis {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

impl DerefMut for Redis {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.0
    }
}

/// What a subscription yields, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Got {
    /// The number, the type, and the total of a distribution.
    Message(u64, String, Option<u64>),
    Lost(u64),
}

pub(crate) fn got(seq: u64, kind: &str, total: Option<u64>) -> Got {
    Got::Message(seq, kind.to_owned(), total)
}

/// The next delivery.
pub(crate) async fn next(channel: &mut dyn Subscription) -> Got {
    let delivery = timeout(LONG, channel.next()).await.expect("a delivery");
    match delivery.expect("the bus is there") {
        Delivery::Lost(count) => Got::Lost(count),
        Delivery::Notice(notice) => {
            let message: serde_json::Value =
                serde_json::from_slice(payload(&notice.frame)).unwrap();
            Got::Message(
                message["seq"].as_u64().unwrap(),
                message["type"].as_str().unwrap().to_owned(),
                message["total"].as_u64(),
            )
        }
    }
}

/// The next messages up to the number `last`.
pub(crate) async fn up_to(channel: &mut dyn Subscription, last: u64) -> Vec<Got> {
    let mut all = Vec::new();
    loop {
        let found = next(channel).await;
        all.push(found.clone());
        if matches!(found, Got::Message(seq, ..) if seq >= last) {
            return all;
        }
    }
}

/// Waits for the bus to return once more.
pub(crate) async fn returns(returned: &mut watch::Receiver<u64>) {
    let changed = timeout(LONG, returned.changed()).await;
    changed.expect("the bus returns").unwrap();
}
