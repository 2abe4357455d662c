//! The loop of one user, in this process and without a record.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use driver::real::{StopFlag, WaitMode};
use engine::trace::{TraceRequest, TracedEvent};
use plan::{Plan, SessionId};
use workers::{Layout, LoopsSetup, Pool, PoolEvent, rows_channel};

use super::error::ConductError;
use super::recording::zero_soon;
use crate::control::Interrupt;

/// The longest wait for the loop before the request to end is looked at.
const POLL: Duration = Duration::from_millis(20);

/// One loop, which has one user.
pub(super) const SOLO: Layout = Layout { waiting: WaitMode::Wide, loops_count: 1, users_max: 1 };

/// The loop of a user that runs alone.
#[derive(Debug)]
pub(super) struct SoloLoop<'a> {
    /// The settings that it shares with the loops of the run.
    pub(super) setup: &'a LoopsSetup,
    /// The user's request to end it; `None`: only a second Ctrl-C does.
    pub(super) interrupt: Option<&'a Interrupt>,
}

/// The user that runs alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct SoloUser {
    /// The number of the user, from 0.
    pub(super) number: u64,
    pub(super) session: SessionId,
    /// Measured steps until it leaves.
    pub(super) steps_max: u64,
}

impl SoloLoop<'_> {
    /// Runs a user of `plan`, which starts nobody by itself.
    pub(super) fn run(
        &self,
        plan: &Arc<Plan>,
        user: SoloUser,
        on_event: &mut dyn FnMut(TracedEvent),
    ) -> Result<(), ConductError> {
        let (sink, events) = channel();
        let setup = LoopsSetup {
            target: self.setup.target,
            places: self.setup.places.iter().take(1).cloned().collect(),
            sources: self.setup.sources.clone(),
            trust: self.setup.trust.clone(),
            layout: SOLO,
            cores: self.setup.cores,
            trace: Some(TraceRequest {
                user: user.number,
                session: user.session,
                steps_max: user.steps_max,
                sink,
            }),
        };
        let stop = Arc::new(StopFlag::default());
        // The rows go nowhere.
        let (rows_in, rows) = rows_channel();
        let mut pool = Pool::prepare(plan, &setup, None, &stop, rows_in)?;
        pool.start(zero_soon(false));
        loop {
            let is_over = matches!(pool.receive(POLL), PoolEvent::Finished);
            rows.try_iter().for_each(drop);
            events.try_iter().for_each(&mut *on_event);
            if is_over {
                break;
            }
            if self.interrupt.is_some_and(Interrupt::is_requested) {
                stop.drain();
            }
        }
        Ok(pool.join()?)
    }
}
