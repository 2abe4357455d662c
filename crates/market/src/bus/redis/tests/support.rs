//! A Redis for one test, and what is sent and received through it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::Connection;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use crate::bus::{Delivery, Publication, Subscription};
use crate::model::{Outcome, PoolId, Shares};
use crate::protocol::{Update, text_of};
use crate::services::Services;
use server::database::ServerAddress;

/// How long anything may take before a test fails.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A Redis of `scripts/services`, which can be restarted.
pub(crate) struct Redis {
    services: Services,
    pub(crate) url: String,
    /// It was killed, and this one started in its place.
    restarted: Option<Child>,
}

impl Redis {
    /// `None`, reported as skipped, if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let services = Services::start(&["redis"])?;
        let url = services.url("redis")?.to_owned();
        Some(Self {
            services,
            url,
            restarted: None,
        })
    }

    pub(crate) fn address(&self) -> ServerAddress {
        ServerAddress::cache(&self.url).unwrap()
    }

    /// A connection of the test's own.
    pub(crate) fn connection(&self) -> Connection {
        let client = redis::Client::open(&*self.url).unwrap();
        client.get_connection().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let started = || self.services.pid("redis");
        let pid = self.restarted.as_ref().map_or_else(started, Child::id);
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Kills it, does `meanwhile`, and starts another one without data in its place.
    pub(crate) fn restart(&mut self, meanwhile: impl FnOnce()) {
        self.signal(Signal::KILL);
        if let Some(mut killed) = self.restarted.take() {
            killed.wait().unwrap();
        }
        meanwhile();
        let (_, address) = self.url.rsplit_once('@').unwrap();
        let port = address.trim_end_matches('/').rsplit(':').next().unwrap();
        let password = self
            .url
            .split(':')
            .nth(2)
            .unwrap()
            .split('@')
            .next()
            .unwrap();
        let options = ["--save", "", "--bind", "127.0.0.1", "--port", port];
        let mut command = Command::new("redis-server");
        command.args(options).args(["--requirepass", password]);
        command.stdout(Stdio::null()).stdin(Stdio::null());
        self.restarted = Some(command.spawn().unwrap());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // One that cannot save refuses to end in any other way.
        self.signal(Signal::KILL);
        if let Some(mut restarted) = self.restarted.take() {
            restarted.wait().unwrap();
        }
    }
}

/// The distribution of a pool with `total` cents, all on one option.
pub(crate) fn distribution(pool: u64, total: u64) -> Update {
    Update::Distribution {
        pool: PoolId(pool),
        total,
        shares: Shares {
            home: total,
            ..Shares::default()
        },
        predictions: None,
    }
}

pub(crate) fn state(pool: u64, total: u64) -> Publication {
    Publication::State {
        update: distribution(pool, total),
        bytes_min: 0,
    }
}

/// A match ends, and its pool is settled.
pub(crate) fn event(number: u64, pool: u64, next: u64) -> Publication {
    Publication::Event {
        number,
        updates: vec![Update::FullTime, settled(pool, next)],
    }
}

pub(crate) fn settled(pool: u64, next: u64) -> Update {
    Update::Settled {
        pool: PoolId(pool),
        outcome: Outcome::None,
        paid: 0,
        winners: 0,
        next: PoolId(next),
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
            let message: serde_json::Value = serde_json::from_str(text_of(&notice.frame)).unwrap();
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
