//! How a call reaches a connection, how long it may take, and what is counted of it.

use super::link::{Failure, Limit, Role, Session};
use super::metrics::Call;
use super::{Connections, Sql};
use crate::bus::model::GameId;
use crate::transactions::StoreError;

impl Sql {
    /// A read that may be a little behind: from the replica, if there is one with a connection.
    pub(super) async fn read<T, W>(&self, call: Call, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Session<'_>) -> Result<T, Failure> + Send + 'static,
    {
        match &self.replica {
            Some(replica) if !replica.is_able() => {
                self.metrics.diverted.add(1);
                self.call(call, Role::Master, work).await
            }
            Some(_) => self.call(call, Role::Replica, work).await,
            None => self.call(call, Role::Master, work).await,
        }
    }

    pub(super) async fn write<T, W>(&self, call: Call, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Session<'_>) -> Result<T, Failure> + Send + 'static,
    {
        self.call(call, Role::Master, work).await
    }

    async fn call<T, W>(&self, call: Call, role: Role, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Session<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let connections = match (&self.replica, role) {
            (Some(replica), Role::Replica) => replica,
            _ => &self.master,
        };
        let limit = Limit::from_now(self.wait);
        let answer = match connections {
            Connections::Async(pool) => pool.call(call, limit, work).await,
            Connections::Blocking(single) => single.call(call, limit, work),
        };
        self.count(call, role, limit, &answer);
        answer
    }

    /// A write that may need more time than a request has: if it was late in this game, it has more of it now.
    pub(super) async fn write_patiently<T, W>(
        &self,
        call: Call,
        game: GameId,
        work: W,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Session<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let limit = Limit::from_now(self.long_calls.limit(game));
        let answer = match &self.master {
            Connections::Async(_) => self.long_calls.pool()?.call(call, limit, work).await,
            Connections::Blocking(single) => single.call(call, limit, work),
        };
        match self.count(call, Role::Master, limit, &answer) {
            true => self.long_calls.was_late(game, limit.wait),
            false if answer.is_ok() => self.long_calls.was_done(game),
            // Any other failure says nothing about the time that the game needs.
            false => {}
        }
        answer
    }

    /// Counts a call that has ended. Whether it was late.
    fn count<T>(
        &self,
        call: Call,
        role: Role,
        limit: Limit,
        answer: &Result<T, StoreError>,
    ) -> bool {
        let counts = role.metrics(&self.metrics).call(call);
        let took = limit.start.elapsed();
        let is_late = took >= limit.wait;
        counts.calls.add(1);
        counts.micros.add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        if !matches!(answer, Err(StoreError::Unavailable(_))) {
            return false;
        }
        counts.failed.add(1);
        if is_late {
            self.metrics.late.add(1);
        }
        is_late
    }
}
