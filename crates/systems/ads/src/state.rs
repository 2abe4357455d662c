//! State that all serving threads share: ads, publishers, offers, and the records of all events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::AdsError;
use super::cache::{self, Admission, Cache};
use super::database::Registration;
use super::inventory::{Inventory, Lengths, List, Viewer};
use super::metrics::Metrics;
use super::offers::{Change, Offer, Offers};
use super::options::AdsOptions;
use super::publishers::{self, Publisher};
use super::record::Record;
use super::records::{OpenRecords, Records};
use super::request_error::RequestError;
use super::step::Step;
use super::store::Past;
use server::access_log::AccessLog;
use server::database::ServerAddress;
use server::{Drain, wall_ms};

/// How often who waits for another's record looks whether it is there.
const LOOK: Duration = Duration::from_millis(10);

/// A publisher that was requested.
#[derive(Debug)]
struct RequestedPublisher {
    key: Arc<str>,
    list: List,
}

/// The ad network behind its threads.
pub(super) struct AdsState {
    pub(super) options: AdsOptions,
    pub(super) metrics: Arc<Metrics>,
    pub(super) log: Option<Arc<AccessLog>>,
    pub(super) records: Records,
    /// State shared with other processes; without it, this process knows everything.
    pub(super) cache: Option<Cache>,
    inventory: Arc<Inventory>,
    /// Publishers whose requests are served; `None`: any.
    given: Option<HashMap<String, Publisher>>,
    known: Mutex<HashMap<Arc<str>, Arc<RequestedPublisher>>>,
    offers: Mutex<Offers>,
    next_offer: AtomicU64,
    store_failing: Arc<AtomicBool>,
    pub(super) drain: Drain,
}

/// The threads that write, to be joined at the end.
pub(super) type WriterThreads = Vec<JoinHandle<()>>;

impl AdsState {
    /// Opens store, cache and log if there are any.
    pub(super) fn open(options: &AdsOptions) -> Result<(AdsState, WriterThreads), AdsError> {
        let inventory = Inventory::new(options.ads, options.campaign_limit, options.seed);
        let inventory = Arc::new(inventory);
        let metrics = Arc::new(Metrics::default());
        let store_failing = Arc::default();
        let OpenRecords { records, past, server, threads: mut writing } =
            open_records(options, &metrics, &store_failing)?;
        let mut next_offer = past.first_offer.max(1);
        let offers = restore(past, options, &inventory);
        let mut cache = None;
        if let Some((store, registration)) = server {
            next_offer = registration.first_offer;
            match start_cache(options, store, registration, &inventory, &metrics) {
                Ok(None) => {}
                Ok(Some((started, thread))) => {
                    cache = Some(started);
                    writing.push(thread);
                }
                Err(error) => {
                    end_early(records, None, writing);
                    return Err(error);
                }
            }
        }
        let mut log = None;
        if let Some(path) = &options.access_log {
            match AccessLog::start(path, options.log_format, Some("publisher")) {
                Ok((started, thread)) => {
                    log = Some(Arc::new(started));
                    writing.push(thread);
                }
                Err(source) => {
                    end_early(records, cache, writing);
                    let path = path.clone();
                    return Err(AdsError::Log { path, source });
                }
            }
        }
        let given = options.publishers.as_ref().map(|publishers| {
            let given = publishers.iter().map(|p| (p.key.clone(), p.clone()));
            given.collect()
        });
        let state = AdsState {
            options: options.clone(),
            metrics,
            log,
            records,
            cache,
            inventory,
            given,
            known: Mutex::default(),
            offers: Mutex::new(offers),
            next_offer: AtomicU64::new(next_offer),
            store_failing,
            drain: Drain::default(),
        };
        Ok((state, writing))
    }

    /// An ad for somebody, and whose it is; `None` where there is none to show.
    pub(super) async fn serve(
        &self,
        publisher: &str,
        user: &str,
        viewer: Viewer,
    ) -> Result<Option<(Offer, u32)>, RequestError> {
        let publisher = self.publisher(publisher)?;
        let id = self.next_offer.fetch_add(1, Ordering::Relaxed);
        let mut offer = Offer {
            id,
            ad: 0,
            publisher: Arc::clone(&publisher.key),
            user: user.into(),
            step: Step::Served,
        };
        if !self.take_ad(&publisher.list, viewer, &mut offer).await? {
            self.metrics.no_ad.add(1);
            return Ok(None);
        }
        if let Err(fault) = self.record(offer.clone(), Step::Served).await {
            match &self.cache {
                Some(cache) => cache.give_back(&offer).await,
                None => self.inventory.give_back(offer.ad),
            }
            return Err(fault);
        }
        if self.cache.is_none() {
            self.offers().put(offer.clone());
        }
        let ad = offer.ad;
        self.metrics.steps[Step::Served as usize].add(1);
        Ok(Some((offer, self.inventory.advertiser(ad))))
    }

    /// Gives an offer the ad that suits best and counts it as shown; false where there is none.
    async fn take_ad(
        &self,
        list: &List,
        viewer: Viewer,
        offer: &mut Offer,
    ) -> Result<bool, RequestError> {
        let Some(cache) = &self.cache else {
            let chosen = self.inventory.choose(list, viewer, offer.id);
            offer.ad = chosen.unwrap_or_default();
            return Ok(chosen.is_some());
        };
        let mut taste = self.inventory.taste(offer.id);
        while let Some(ad) = self.inventory.look(list, viewer, &mut taste) {
            offer.ad = ad;
            // A campaign that others have shown often enough is left out of the next look.
            if cache.take(offer).await? == Admission::Yes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Something happened to an offer; of the same event once more nothing is recorded.
    pub(super) async fn happened(&self, id: u64, step: Step) -> Result<Offer, RequestError> {
        let (offer, change) = self.advance_in_turn(id, step).await?;
        let Some(change) = change else {
            self.metrics.repeated.add(1);
            return Ok(offer);
        };
        let recorded = self.record(offer.clone(), step).await;
        let is_recorded = recorded.is_ok();
        match &self.cache {
            Some(cache) => cache.settle(id, step, change, is_recorded).await,
            None => self.offers().settle(id, step, change, is_recorded),
        }
        recorded?;
        self.metrics.steps[step as usize].add(1);
        if step == Step::Convert && self.cache.is_none() {
            self.inventory.converted(offer.ad);
        }
        Ok(offer)
    }

    /// Takes an offer a step further when it is known what came of whoever is doing so, now or at another
    /// process.
    async fn advance_in_turn(
        &self,
        id: u64,
        step: Step,
    ) -> Result<(Offer, Option<Change>), RequestError> {
        let mut waited = Duration::ZERO;
        loop {
            match self.advance(id, step).await {
                Err(RequestError::Pending) if waited < self.options.store_wait => {
                    tokio::time::sleep(LOOK).await;
                    waited += LOOK;
                }
                done => return done,
            }
        }
    }

    /// Begins to take an offer a step further, by a change where that is new and not the same event once
    /// more.
    async fn advance(&self, id: u64, step: Step) -> Result<(Offer, Option<Change>), RequestError> {
        let Some(cache) = &self.cache else {
            let advanced = self.offers().advance(id, step);
            if advanced == Err(RequestError::NoOffer) && self.records.is_server() {
                let found = self.records.find(id).await?;
                let mut offers = self.offers();
                offers.put_back(&found);
                return offers.advance(id, step);
            }
            return advanced;
        };
        if let Some(advanced) = cache.advance(id, step).await? {
            return Ok(advanced);
        }
        cache.put(&self.records.find(id).await?).await?;
        cache.advance(id, step).await?.ok_or(RequestError::NoOffer)
    }

    /// An offer by its number: from memory or cache, else from the records.
    async fn known_offer(&self, id: u64) -> Result<Offer, RequestError> {
        let kept = match &self.cache {
            Some(cache) => cache.get(id).await?,
            None => self.offers().get(id).cloned(),
        };
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let found = self.records.find(id).await?;
        match &self.cache {
            Some(cache) => cache.put(&found).await?,
            None => self.offers().put_back(&found),
        }
        Ok(found)
    }

    /// The advertiser of an offer's ad.
    pub(super) fn advertiser(&self, offer: &Offer) -> u32 {
        self.inventory.advertiser(offer.ad)
    }

    /// The offer of this number, if it is this advertiser's.
    pub(super) async fn of_advertiser(&self, id: u64, advertiser: u32) -> Result<(), RequestError> {
        let offer = self.known_offer(id).await?;
        match self.inventory.advertiser(offer.ad) == advertiser {
            true => Ok(()),
            false => Err(RequestError::NoOffer),
        }
    }

    async fn record(&self, offer: Offer, step: Step) -> Result<(), RequestError> {
        let record = Record { offer, step, at_ms: wall_ms() };
        self.records.write(record).await
    }

    fn publisher(&self, key: &str) -> Result<Arc<RequestedPublisher>, RequestError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(key) {
            return Ok(Arc::clone(known));
        }
        let given = match &self.given {
            Some(given) => Some(given.get(key).ok_or(RequestError::NoPublisher)?),
            None if !publishers::is_key(key) => return Err(RequestError::NoPublisher),
            None if known.len() == publishers::PUBLISHERS_MAX => {
                return Err(RequestError::TooManyPublishers);
            }
            None => None,
        };
        let options = &self.options;
        let lengths = Lengths {
            short: options.short_list,
            long: options.long_list,
            long_share: options.long_share,
        };
        let found = Arc::new(RequestedPublisher {
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

    pub(super) fn store_failing(&self) -> bool {
        self.store_failing.load(Ordering::Relaxed)
    }

    /// Whether there is a cache, and it cannot be reached.
    pub(super) fn cache_failing(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.is_connected())
    }

    /// Has everything written that waits.
    pub(super) async fn end(&self) {
        self.records.end().await;
        if let Some(cache) = &self.cache {
            cache.end();
        }
        if let Some(log) = &self.log {
            log.end();
        }
    }
}

fn open_records(
    options: &AdsOptions,
    metrics: &Arc<Metrics>,
    failing: &Arc<AtomicBool>,
) -> Result<OpenRecords, AdsError> {
    Records::open(options, metrics, failing).map_err(|source| AdsError::Store {
        at: options.store.as_ref().map(ToString::to_string).unwrap_or_default(),
        source,
    })
}

/// The offers that a store contains, whose counts go to the inventory.
fn restore(past: Past, options: &AdsOptions, inventory: &Inventory) -> Offers {
    for (ad, shown, converted) in past.ads {
        inventory.recall(ad, shown, converted);
    }
    let mut offers = Offers::new(options.offers_max);
    past.offers.into_iter().for_each(|offer| offers.put(offer));
    offers
}

/// The cache beside a database server and its thread, if the options name one.
fn start_cache(
    options: &AdsOptions,
    store: ServerAddress,
    registration: Registration,
    inventory: &Arc<Inventory>,
    metrics: &Arc<Metrics>,
) -> Result<Option<(Cache, JoinHandle<()>)>, AdsError> {
    let Some(address) = &options.cache else {
        return Ok(None);
    };
    let settings = cache::Settings {
        address: address.clone(),
        store,
        wait: options.store_wait,
        registration,
        seed: options.seed,
        ads: options.ads,
        group: options.group.clone(),
    };
    let own = Box::new(Arc::clone(metrics));
    let figures = Arc::clone(&metrics.cache);
    let started = Cache::start(settings, Arc::clone(inventory), own, figures);
    started.map(Some).map_err(|source| {
        let at = address.to_string();
        AdsError::Cache { at, source }
    })
}

/// Ends the threads of a store and a cache that are not to be used after all.
fn end_early(records: Records, cache: Option<Cache>, threads: WriterThreads) {
    if let Records::Server(pool) = &records {
        pool.end();
    }
    if let Some(cache) = &cache {
        cache.end();
    }
    // The embedded store's ends when nobody can query it any more.
    drop((records, cache));
    // The threads have got no request yet.
    threads.into_iter().for_each(|thread| drop(thread.join()));
}
