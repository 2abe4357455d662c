//! Scenarios with their files in the object store, by digest and run: each agent fetches one once, in pieces below the
//! message limit.
//!
//! NATS removes a scenario some time after it was put there. Whoever takes part in a run puts it there again before, so that
//! a run of any length can be continued. Each run has its own: what is put again replaces what others may be fetching.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{Config, ObjectInfo, ObjectStore};
use machine::clock::unix_ns;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};

use crate::names;
use crate::nats::{Nats, NatsError};
use crate::stream::StreamContents;

/// A scenario with all that it reads is not longer, as with worker processes.
pub(crate) const PLAN_BYTES_MAX: usize = 64 << 20;
/// How long putting or fetching one may take.
const TIME_MAX: Duration = Duration::from_secs(100);
/// Scenarios go after this time.
const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// A controller puts one again that is older, and a worker one that no controller has put again.
pub(crate) const RENEW: Duration = Duration::from_secs(3_600);
pub(crate) const RENEW_ALONE: Duration = Duration::from_secs(2 * 3_600);
/// How often it is looked.
const LOOK: Duration = Duration::from_secs(600);

/// Puts the scenario of a run into the store; returns its name.
pub(crate) async fn put(nats: &Nats, run: &str, plan: &[u8]) -> Result<String, NatsError> {
    let put = put_into(&nats.jet, run, plan, RENEW).await;
    put.map_err(|problem| nats.refused("keep the scenario", &problem))
}

/// Puts the scenario of a run again whenever it is older than this, for ever.
pub(crate) async fn renew(jet: Context, run: String, kept: Arc<StreamContents>, older: Duration) {
    loop {
        sleep(LOOK).await;
        let plan = kept.plan();
        if !plan.is_empty() {
            // What fails is tried again.
            let _ = put_into(&jet, &run, &plan, older).await;
        }
    }
}

/// Puts the scenario of a run into the store, unless one that is not older than this is there; returns its name. The error
/// is for people.
pub(crate) async fn put_into(
    jet: &Context,
    run: &str,
    plan: &[u8],
    older: Duration,
) -> Result<String, String> {
    if plan.len() > PLAN_BYTES_MAX {
        return Err(format!("it has {} bytes, {PLAN_BYTES_MAX} are the maximum", plan.len()));
    }
    let store = store(jet).await?;
    let name = format!("{}.{run}", digest(plan));
    if store.info(&name).await.is_ok_and(|info| info.size == plan.len() && is_younger(&info, older))
    {
        return Ok(name);
    }
    let put = async { store.put(name.as_str(), &mut &plan[..]).await };
    match timeout(TIME_MAX, put).await {
        Ok(Ok(_)) => Ok(name),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it took too long".to_owned()),
    }
}

/// Fetches a scenario.
pub(crate) async fn get(nats: &Nats, wanted: &str) -> Result<Vec<u8>, NatsError> {
    let failed = |problem: &dyn std::fmt::Display| nats.refused("give the scenario", problem);
    let store = store(&nats.jet).await.map_err(|e| failed(&e))?;
    let mut plan = Vec::new();
    let fetch = async {
        let object = store.get(wanted).await.map_err(|e| failed(&e))?;
        let mut limited = object.take(PLAN_BYTES_MAX as u64 + 1);
        limited.read_to_end(&mut plan).await.map_err(|e| failed(&e))
    };
    timeout(TIME_MAX, fetch).await.map_err(|_| failed(&"it took too long"))??;
    if wanted.split('.').next() != Some(&digest(&plan)) {
        return Err(failed(&"it is not the one that was put there"));
    }
    Ok(plan)
}

async fn store(jet: &Context) -> Result<ObjectStore, String> {
    let config = Config { bucket: names::PLANS.to_owned(), max_age: AGE_MAX, ..Config::default() };
    let made = jet.create_object_store(config).await;
    made.map_err(|error| error.to_string())
}

/// Whether it was put there in this time, by the clocks of who put it there and ours. With clocks that are far apart it is
/// put there again, which is no harm.
fn is_younger(info: &ObjectInfo, age_max: Duration) -> bool {
    let now_s = (unix_ns() / 1_000_000_000).cast_signed();
    info.modified.is_some_and(|at| at.unix_timestamp().abs_diff(now_s) < age_max.as_secs())
}

/// The hexadecimal SHA-256.
fn digest(plan: &[u8]) -> String {
    units::hex(&Sha256::digest(plan))
}
