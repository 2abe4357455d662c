//! Scenarios with their files in the object store, by digest: each agent fetches one once a run, in pieces below the
//! message limit.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{Config, ObjectStore};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::names;
use crate::nats::{Nats, NatsError};

/// A scenario with all that it reads is not longer, as with worker processes.
pub(crate) const PLAN_BYTES_MAX: usize = 64 << 20;
/// How long putting or fetching one may take.
const TIME_MAX: Duration = Duration::from_secs(100);
/// Scenarios go after this time.
const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Puts a scenario into the store unless it is there; returns its name.
pub(crate) async fn put(nats: &Nats, plan: &[u8]) -> Result<String, NatsError> {
    let put = put_into(&nats.jet, plan).await;
    put.map_err(|problem| nats.refused("keep the scenario", &problem))
}

/// The same. The error is for people.
pub(crate) async fn put_into(jet: &Context, plan: &[u8]) -> Result<String, String> {
    if plan.len() > PLAN_BYTES_MAX {
        return Err(format!(
            "it has {} bytes, {PLAN_BYTES_MAX} are the maximum",
            plan.len()
        ));
    }
    let store = store(jet).await?;
    let name = name(plan);
    if store
        .info(&name)
        .await
        .is_ok_and(|info| info.size == plan.len())
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
    timeout(TIME_MAX, fetch)
        .await
        .map_err(|_| failed(&"it took too long"))??;
    if name(&plan) != wanted {
        return Err(failed(&"it is not the one that was put there"));
    }
    Ok(plan)
}

async fn store(jet: &Context) -> Result<ObjectStore, String> {
    let config = Config {
        bucket: names::PLANS.to_owned(),
        max_age: AGE_MAX,
        ..Config::default()
    };
    let made = jet.create_object_store(config).await;
    made.map_err(|error| error.to_string())
}

/// The hexadecimal SHA-256.
fn name(plan: &[u8]) -> String {
    let digest = Sha256::digest(plan);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
