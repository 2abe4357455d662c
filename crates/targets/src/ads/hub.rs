//! What all serving threads share: ads, publishers, offers, and where it is all recorded.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::AdsError;
use super::fault::Fault;
use super::inventory::{Audience, Inventory, Lengths, List};
use super::log::AccessLog;
use super::metrics::Metrics;
use super::offers::{Offer, Offers, Step};
use super::options::{AdsOptions, Writes};
use super::publishers::{self, Publisher};
use super::store::{Record, Store, Writer};
use crate::wire::wall_ms;

/// A publisher that was asked for.
#[derive(Debug)]
struct Known {
    key: Arc<str>,
    list: List,
}

/// The ad network behind its threads.
pub(super) struct Hub {
    pub(super) options: AdsOptions,
    pub(super) metrics: Arc<Metrics>,
    pub(super) log: Option<AccessLog>,
    inventory: Inventory,
    /// Those whose requests are served; `None`: any.
    given: Option<HashMap<String, Publisher>>,
    known: Mutex<HashMap<Arc<str>, Arc<Known>>>,
    offers: Mutex<Offers>,
    next_offer: AtomicU64,
    writer: Option<Writer>,
    store_failing: Arc<AtomicBool>,
    draining: AtomicBool,
}

/// The threads that write, to be joined at the end.
pub(super) type Writing = Vec<JoinHandle<()>>;

impl Hub {
    /// Opens store and log where there are any.
    pub(super) fn open(options: &AdsOptions) -> Result<(Hub, Writing), AdsError> {
        let inventory = Inventory::new(options.ads, options.campaign_limit, options.seed);
        let mut offers = Offers::new(options.offers_max);
        let (metrics, store_failing) = (Arc::new(Metrics::default()), Arc::default());
        let (mut writing, mut writer, mut next_offer) = (Writing::new(), None, 1);
        if let Some(path) = &options.store {
            let refused = |source| AdsError::Store {
                path: path.clone(),
                source,
            };
            let store = Store::open(path, options.seed, options.ads).map_err(refused)?;
            let past = store.past(options.offers_max).map_err(refused)?;
            for (ad, shown, converted) in past.ads {
                inventory.recall(ad, shown, converted);
            }
            next_offer = past.offers.last().map_or(1, |offer| offer.id + 1);
            past.offers.into_iter().for_each(|offer| offers.put(offer));
            let counted = Arc::clone(&metrics);
            let lost = move |count| counted.records_lost.add(count);
            let (started, thread) = store
                .start(Arc::clone(&store_failing), lost)
                .map_err(refused)?;
            writer = Some(started);
            writing.push(thread);
        }
        let mut log = None;
        if let Some(path) = &options.access_log {
            let started = AccessLog::start(path, options.log_format);
            let (started, thread) = started.map_err(|source| AdsError::Log {
                path: path.clone(),
                source,
            })?;
            log = Some(started);
            writing.push(thread);
        }
        let given = options.publishers.as_ref().map(|publishers| {
            let given = publishers.iter().map(|p| (p.key.clone(), p.clone()));
            given.collect()
        });
        let hub = Hub {
            options: options.clone(),
            metrics,
            log,
            inventory,
            given,
            known: Mutex::default(),
            offers: Mutex::new(offers),
            next_offer: AtomicU64::new(next_offer),
            writer,
            store_failing,
            draining: AtomicBool::new(false),
        };
        Ok((hub, writing))
    }

    /// An ad for somebody, and whose it is; `None` where there is none to show.
    pub(super) async fn serve(
        &self,
        publisher: &str,
        user: &str,
        audience: Audience,
    ) -> Result<Option<(Offer, u32)>, Fault> {
        let publisher = self.publisher(publisher)?;
        let id = self.next_offer.fetch_add(1, Ordering::Relaxed);
        let Some(ad) = self.inventory.choose(&publisher.list, audience, id) else {
            self.metrics.no_ad.add(1);
            return Ok(None);
        };
        let offer = Offer {
            id,
            ad,
            publisher: Arc::clone(&publisher.key),
            user: user.into(),
            step: Step::Served,
        };
        self.record(offer.clone(), Step::Served).await?;
        self.offers().put(offer.clone());
        self.metrics.steps[Step::Served as usize].add(1);
        Ok(Some((offer, self.inventory.advertiser(ad))))
    }

    /// Something happened to an offer; of the same event once more nothing is recorded.
    pub(super) async fn happened(&self, id: u64, step: Step) -> Result<Offer, Fault> {
        let (offer, is_new) = self.offers().advance(id, step)?;
        if !is_new {
            self.metrics.repeated.add(1);
            return Ok(offer);
        }
        if let Err(fault) = self.record(offer.clone(), step).await {
            self.offers().undo(id, step);
            return Err(fault);
        }
        self.metrics.steps[step as usize].add(1);
        if step == Step::Convert {
            self.inventory.converted(offer.ad);
        }
        Ok(offer)
    }

    /// Whose ad it is.
    pub(super) fn advertiser(&self, offer: &Offer) -> u32 {
        self.inventory.advertiser(offer.ad)
    }

    /// The offer of this number, if it is this advertiser's.
    pub(super) fn of_advertiser(&self, id: u64, advertiser: u32) -> Result<(), Fault> {
        let ad = self.offers().get(id).map(|offer| offer.ad);
        match ad {
            Some(ad) if self.inventory.advertiser(ad) == advertiser => Ok(()),
            _ => Err(Fault::NoOffer),
        }
    }

    async fn record(&self, offer: Offer, step: Step) -> Result<(), Fault> {
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        let record = Record {
            offer,
            step,
            at_ms: wall_ms(),
        };
        match self.options.writes {
            Writes::Sync => writer.write(record).await,
            Writes::Async => writer.write_later(record),
        }
    }

    fn publisher(&self, key: &str) -> Result<Arc<Known>, Fault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(key) {
            return Ok(Arc::clone(known));
        }
        let given = match &self.given {
            Some(given) => Some(given.get(key).ok_or(Fault::NoPublisher)?),
            None if !publishers::is_key(key) => return Err(Fault::NoPublisher),
            None if known.len() == publishers::PUBLISHERS_MAX => {
                return Err(Fault::TooManyPublishers);
            }
            None => None,
        };
        let options = &self.options;
        let lengths = Lengths {
            short: options.short_list,
            long: options.long_list,
            long_share: options.long_share,
        };
        let found = Arc::new(Known {
            key: key.into(),
            list: self.inventory.list(key, given, &lengths),
        });
        known.insert(Arc::clone(&found.key), Arc::clone(&found));
        Ok(found)
    }

    fn offers(&self) -> std::sync::MutexGuard<'_, Offers> {
        // No thread leaves them half changed.
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn publishers_count(&self) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.len()
    }

    /// How many connections there are.
    pub(super) fn connections(&self) -> u64 {
        let opened = self.metrics.connections_opened.get();
        opened.saturating_sub(self.metrics.connections_closed.get())
    }

    pub(super) fn records_waiting(&self) -> usize {
        self.writer.as_ref().map_or(0, Writer::waiting)
    }

    pub(super) fn store_failing(&self) -> bool {
        self.store_failing.load(Ordering::Relaxed)
    }

    /// From now on this server is not ready any more.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Has everything written that waits.
    pub(super) async fn end(&self) {
        if let Some(writer) = &self.writer {
            writer.end().await;
        }
        if let Some(log) = &self.log {
            log.end();
        }
    }
}
