//! How an ad network is run.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::AdsError;
use super::publishers::Publisher;
use server::access_log::LogFormat;
use server::database::{ServerAddress, StoreAddress};
use server::{ServerOptions, check_rules};

/// Most ads of one network.
const ADS_MAX: usize = 1_000_000;
/// Most offers that can be kept.
const OFFERS_MAX: usize = 10_000_000;
/// Most threads that serve. Each has a listener and a runtime, whose files are open in all of them.
const THREADS_MAX: usize = 256;
/// How long a request can wait for its store.
const STORE_WAIT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
/// Most connections to a database.
const STORE_CONNECTIONS_MAX: usize = 1_000;

/// When a request whose records are stored is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// When they are on the disk.
    Sync,
    /// At once, before they are stored.
    Async,
}

/// How an ad network is run. `AdsOptions::default()` records nothing on disk, serves any
/// publisher, and listens on a free port of 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AdsOptions {
    /// The address to listen on and the threads that serve it, 1 to 256.
    pub server: ServerOptions,
    /// Most connections at once of each; further ones are dropped.
    pub connections_max: usize,
    /// Publishers whose requests are served; `None`, the default: any.
    pub publishers: Option<Vec<Publisher>>,
    /// All ads, 1 to 1,000,000.
    pub ads: usize,
    /// Ads that most publishers choose among, 1 or more.
    pub short_list: usize,
    /// Ads that the others do.
    pub long_list: usize,
    /// The share of publishers that have long lists, 0 to 1.
    pub long_share: f64,
    /// How often the ads of one campaign are shown at most.
    pub campaign_limit: u32,
    /// Offers that are kept for events, 1 to 10,000,000; the oldest go first.
    pub offers_max: usize,
    /// The database of records; `None`, the default: nothing is recorded.
    pub store: Option<StoreAddress>,
    /// Connections to a database server, 1 to 1,000.
    pub store_connections: usize,
    /// How long a request waits for a database server and the cache, and they for their servers; 1 ms to
    /// 1 h.
    pub store_wait: Duration,
    /// Redis that processes share beside a database server; `None`, the default: this one is alone.
    pub cache: Option<ServerAddress>,
    /// Name that the processes of one server have in common: they share the address, and add up their
    /// figures. `None`, the default: this one is alone.
    pub group: Option<String>,
    /// When requests are answered, where there is a store.
    pub writes: Writes,
    /// The access log; `None`, the default: there is none.
    pub access_log: Option<PathBuf>,
    /// How its lines are written.
    pub log_format: LogFormat,
    /// Seed of the ads, and of the choice of publishers with long lists.
    pub seed: u64,
}

impl Default for AdsOptions {
    fn default() -> Self {
        Self {
            server: ServerOptions::default(),
            connections_max: 100_000,
            publishers: None,
            ads: 50_000,
            short_list: 50,
            long_list: 20_000,
            long_share: 0.3,
            campaign_limit: 1_000_000,
            offers_max: 1_000_000,
            store: None,
            store_connections: 8,
            store_wait: Duration::from_secs(5),
            cache: None,
            group: None,
            writes: Writes::Sync,
            access_log: None,
            log_format: LogFormat::Combined,
            seed: 1,
        }
    }
}

impl AdsOptions {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// On the first rule that does not hold.
    pub fn check(&self) -> Result<(), AdsError> {
        self.server.check()?;
        check_rules([
            (
                self.server.threads <= THREADS_MAX,
                "threads must be 1 to 256",
            ),
            (
                self.connections_max >= 1,
                "at least one connection must be allowed",
            ),
            (
                (1..=ADS_MAX).contains(&self.ads),
                "ads must be 1 to 1,000,000",
            ),
            (
                self.short_list >= 1 && self.long_list >= self.short_list,
                "the short list needs at least 1 ad, and the long list no fewer than the short one",
            ),
            (
                self.long_list <= self.ads,
                "a list cannot be longer than the number of ads",
            ),
            (
                (0.0..=1.0).contains(&self.long_share),
                "the share of long lists must be 0 to 100%",
            ),
            (
                (1..=OFFERS_MAX).contains(&self.offers_max),
                "offers must be 1 to 10,000,000",
            ),
            (
                (1..=STORE_CONNECTIONS_MAX).contains(&self.store_connections),
                "connections to a store must be 1 to 1,000",
            ),
            (
                STORE_WAIT.contains(&self.store_wait),
                "the wait for a store must be 1 ms to 1 h",
            ),
            (
                self.cache.is_none() || matches!(self.store, Some(StoreAddress::Server(_))),
                "a cache needs a database server as its store (--store mysql://… or postgres://…): \
                 what it loses is found there again",
            ),
            (
                self.group.is_none() || self.cache.is_some(),
                "several processes need a database server (--store mysql://… or postgres://…) and a \
                 cache (--cache redis://…), which they share; the embedded store is for one process \
                 alone",
            ),
        ])
        .map_err(AdsError::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_options_are_named() {
        assert!(AdsOptions::default().check().is_ok());
        let changes: [fn(&mut AdsOptions); 13] = [
            |options| options.server.threads = 0,
            |options| options.server.threads = 257,
            |options| options.ads = 0,
            |options| options.short_list = 0,
            |options| options.long_list = options.short_list - 1,
            |options| options.long_list = options.ads + 1,
            |options| options.long_share = f64::NAN,
            |options| options.offers_max = 0,
            |options| options.store_connections = 0,
            |options| options.store_wait = Duration::from_micros(999),
            |options| options.store_wait = Duration::from_secs(3601),
            |options| options.cache = ServerAddress::cache("redis://localhost/").ok(),
            |options| options.group = Some("1".to_owned()),
        ];
        for change in changes {
            let mut options = AdsOptions::default();
            change(&mut options);
            assert!(matches!(options.check(), Err(AdsError::Server(_))), "{options:?}");
        }
    }
}
