//! The stream of a run, and what is put back if NATS has lost it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use bytes::Bytes;
use futures_util::TryStreamExt;
use tokio::time::timeout;

use crate::nats::{ANSWER_TIME_MAX, bucket};
use crate::{names, plans};

/// The least time for which NATS keeps the messages of a run.
const AGE_MIN: Duration = Duration::from_secs(24 * 3_600);
/// The greatest such time, however long the plan is. NATS counts nanoseconds in 63 bits.
const AGE_MAX: Duration = Duration::from_secs(366 * 24 * 3_600);

/// How long NATS keeps what a run has sent: a run is continued from its first message on, as long as agents may wait for
/// another controller, and a day more.
pub(crate) fn age(length: Duration, alone: Duration) -> Duration {
    let both = length.saturating_add(alone);
    both.saturating_add(AGE_MIN).min(AGE_MAX)
}

/// More runs are not listed.
const RUNS_MAX: usize = 1_000;

/// The state of a run's stream.
pub(crate) enum StreamState {
    There(Box<Stream>),
    /// The run is over, and its stream was removed.
    Over,
    /// NATS does not answer.
    Unknown,
}

/// The contents that are put back when a stream is lost: a run can be continued from them.
#[derive(Debug)]
pub(crate) struct StreamContents {
    /// How long NATS keeps the stream's messages.
    age: Duration,
    /// The scenario with all that it reads.
    plan: Mutex<Bytes>,
    /// State that another controller needs besides.
    state: Mutex<Bytes>,
}

impl StreamContents {
    /// The contents of a stream whose messages are kept for this time.
    pub(crate) fn lasting(age: Duration) -> StreamContents {
        StreamContents {
            age: age.clamp(AGE_MIN, AGE_MAX),
            plan: Mutex::default(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn age(&self) -> Duration {
        self.age
    }

    pub(crate) fn keep_plan(&self, plan: Bytes) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    pub(crate) fn keep_state(&self, state: Bytes) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// The state, if it is known.
    pub(crate) fn state(&self) -> Option<Bytes> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Some(state.clone()).filter(|state| !state.is_empty())
    }

    pub(crate) fn plan(&self) -> Bytes {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.clone()
    }

    async fn put_back(&self, jet: &Context, run: &str) {
        if let Some(state) = self.state() {
            let _ = put_state(jet, run, state).await;
        }
        let plan = self.plan();
        if !plan.is_empty() {
            // Only a controller that continues the run needs it.
            let _ = plans::put_into(jet, run, &plan, plans::RENEW).await;
        }
    }
}

/// Makes the stream of a run, or finds that there is one.
pub(crate) async fn create(
    jet: &Context,
    run: &str,
    age: Duration,
) -> Result<(), async_nats::Error> {
    let subject = |way: &str| format!("throng.run.{run}.{way}");
    let config = stream::Config {
        name: names::stream(run),
        subjects: vec![subject("from.*"), subject("to.*"), names::state(run)],
        storage: stream::StorageType::File,
        max_age: age,
        ..stream::Config::default()
    };
    jet.create_stream(config).await?;
    Ok(())
}

/// Looks for the stream of a run that goes on. If NATS has lost it, it is made again with what was kept; without that, it
/// is left to others.
pub(crate) async fn find(jet: &Context, run: &str, kept: Option<&StreamContents>) -> StreamState {
    let name = names::stream(run);
    let Ok(found) = timeout(ANSWER_TIME_MAX, jet.get_stream(&name)).await else {
        return StreamState::Unknown;
    };
    match found {
        Ok(stream) => return StreamState::There(Box::new(stream)),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {}
            _ => return StreamState::Unknown,
        },
    }
    match is_over(jet, run).await {
        Some(true) => return StreamState::Over,
        Some(false) => {}
        None => return StreamState::Unknown,
    }
    let Some(kept) = kept else {
        return StreamState::Unknown;
    };
    let created = timeout(ANSWER_TIME_MAX, create(jet, run, kept.age)).await;
    if !matches!(created, Ok(Ok(()))) {
        return StreamState::Unknown;
    }
    kept.put_back(jet, run).await;
    match timeout(ANSWER_TIME_MAX, jet.get_stream(&name)).await {
        Ok(Ok(stream)) => StreamState::There(Box::new(stream)),
        _ => StreamState::Unknown,
    }
}

/// Whether the end of a run was written down; `None`: NATS does not answer.
pub(crate) async fn is_over(jet: &Context, run: &str) -> Option<bool> {
    let look = async { bucket(jet, names::ENDED).await.ok()?.get(run).await.ok() };
    let found = timeout(ANSWER_TIME_MAX, look).await.ok().flatten()?;
    Some(found.is_some())
}

/// Puts what another controller needs into the stream. The error is for people.
pub(crate) async fn put_state(jet: &Context, run: &str, state: Bytes) -> Result<(), String> {
    let sent = async {
        let sent = jet.publish(names::state(run), state).await;
        sent.map_err(|e| e.to_string())?.await.map_err(|e| e.to_string())
    };
    match timeout(ANSWER_TIME_MAX, sent).await {
        Ok(done) => done.map(drop),
        Err(_) => Err("NATS does not answer".to_owned()),
    }
}

/// The last state in the stream; `None`: there is none. The error is for people.
pub(crate) async fn get_state<I: Sync>(
    stream: &Stream<I>,
    run: &str,
) -> Result<Option<Bytes>, String> {
    let subject = names::state(run);
    let look = stream.get_last_raw_message_by_subject(&subject);
    match timeout(ANSWER_TIME_MAX, look).await {
        Ok(Ok(message)) => Ok(Some(message.payload)),
        Ok(Err(error)) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("NATS does not answer".to_owned()),
    }
}

/// The runs that have a stream.
pub(crate) async fn runs(jet: &Context) -> Result<Vec<String>, async_nats::Error> {
    let names: Vec<String> = jet.stream_names().try_collect().await?;
    let runs = names.iter().filter_map(|name| names::run_of(name));
    Ok(runs.map(str::to_owned).take(RUNS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_kept_for_a_day_longer_than_its_agents_wait() {
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        assert_eq!(age(hours(30), hours(2)), hours(56));
        assert_eq!(age(Duration::ZERO, Duration::ZERO), AGE_MIN);
        assert_eq!(age(Duration::MAX, Duration::MAX), AGE_MAX);
        assert!(i64::try_from(AGE_MAX.as_nanos()).is_ok());
        // What an older or a hostile controller says.
        assert_eq!(StreamContents::lasting(Duration::ZERO).age(), AGE_MIN);
        assert_eq!(StreamContents::lasting(Duration::MAX).age(), AGE_MAX);
    }
}
