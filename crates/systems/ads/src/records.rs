//! The destination of records: none, the embedded database, or a database server.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use super::database::{self, Pool, Registration, Tables};
use super::metrics::Metrics;
use super::offers::Offer;
use super::options::{AdsOptions, Writes};
use super::record::Record;
use super::request_error::RequestError;
use super::store::{Past, Store, StoreError, Writer};
use server::database::{ServerAddress, StoreAddress};

/// The app servers' end of whatever keeps records.
pub(super) enum Records {
    Nowhere,
    File(Writer, Writes),
    Server(Pool),
}

/// Records that can be kept from now on.
pub(super) struct OpenRecords {
    pub(super) records: Records,
    pub(super) past: Past,
    /// Address of the server that keeps the records, and the start of the process on it.
    pub(super) server: Option<(ServerAddress, Registration)>,
    /// Threads to join at the end.
    pub(super) threads: Vec<JoinHandle<()>>,
}

impl Records {
    /// Opens what the options say. `failing` is set as long as nothing can be stored.
    pub(super) fn open(
        options: &AdsOptions,
        metrics: &Arc<Metrics>,
        failing: &Arc<AtomicBool>,
    ) -> Result<OpenRecords, StoreError> {
        let counted = Arc::clone(metrics);
        match &options.store {
            None => Ok(OpenRecords {
                records: Records::Nowhere,
                past: Past::default(),
                server: None,
                threads: Vec::new(),
            }),
            Some(StoreAddress::File(path)) => {
                let mut store = Store::open(path, options.seed, options.ads)?;
                let past = store.past(options.offers_max)?;
                let lost = move |count| counted.records_lost.add(count);
                let (writer, thread) = store.start(Arc::clone(failing), lost)?;
                Ok(OpenRecords {
                    records: Records::File(writer, options.writes),
                    past,
                    server: None,
                    threads: vec![thread],
                })
            }
            Some(StoreAddress::Server(address)) => {
                let settings = database::Settings {
                    address: address.clone(),
                    connections: options.store_connections,
                    wait: options.store_wait,
                    sync: options.writes == Writes::Sync,
                    alone: options.cache.is_none(),
                };
                let tables = Tables {
                    // The same 64 bits, and far fewer ads than 2⁶³.
                    seed: options.seed.cast_signed(),
                    ads: options.ads as i64,
                };
                let lost = move |count| counted.records_lost.add(count);
                let reports = database::Reports {
                    figures: Arc::clone(&metrics.store),
                    failing: Arc::clone(failing),
                    lost: Box::new(lost),
                };
                let (pool, registration, threads) = Pool::start(settings, tables, reports)?;
                let mut past = Past::default();
                if options.cache.is_none() {
                    past.ads = performance(address, options)?;
                }
                Ok(OpenRecords {
                    records: Records::Server(pool),
                    past,
                    server: Some((address.clone(), registration)),
                    threads,
                })
            }
        }
    }

    pub(super) async fn write(&self, record: Record) -> Result<(), RequestError> {
        match self {
            Records::Nowhere => Ok(()),
            Records::File(writer, Writes::Sync) => writer.write(record).await,
            Records::File(writer, Writes::Async) => writer.write_later(record),
            Records::Server(pool) => pool.write(record).await,
        }
    }

    /// An offer that is in no memory any more.
    pub(super) async fn find(&self, id: u64) -> Result<Offer, RequestError> {
        match self {
            Records::Nowhere | Records::File(..) => Err(RequestError::NoOffer),
            Records::Server(pool) => pool.find(id).await?.ok_or(RequestError::NoOffer),
        }
    }

    /// How many records wait.
    pub(super) fn waiting(&self) -> usize {
        match self {
            Records::Nowhere => 0,
            Records::File(writer, _) => writer.waiting(),
            Records::Server(pool) => pool.waiting(),
        }
    }

    pub(super) fn is_server(&self) -> bool {
        matches!(self, Records::Server(_))
    }

    /// Has everything written that waits.
    pub(super) async fn end(&self) {
        match self {
            Records::Nowhere => {}
            Records::File(writer, _) => writer.end().await,
            Records::Server(pool) => pool.end(),
        }
    }
}

/// Showings and conversions of ads from before this process began.
fn performance(
    address: &ServerAddress,
    options: &AdsOptions,
) -> Result<Vec<(u32, u32, u32)>, StoreError> {
    let known = database::connect(address, options.store_wait)
        .and_then(|mut sql| database::performance(&mut *sql))
        .map_err(database::DatabaseError::from)?;
    let few = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(known.into_iter().map(|(ad, shown, converted)| (ad, few(shown), few(converted))).collect())
}
