//! Requests to a fleet, and a view of its agents and runs.

use std::sync::Arc;

use tokio::time::timeout;

use crate::access::Access;
use crate::cards::{self, AgentCard, RunCard, json, parse};
use crate::keys::UserKey;
use crate::nats::{ANSWER_TIME_MAX, Nats};
use crate::session::{Order, Reply, Request};
use crate::{FleetError, names, session, stream};

/// A connection to look at a fleet.
#[derive(Debug)]
pub struct Admin {
    pub(crate) nats: Arc<Nats>,
}

/// An agent that was drained, and the run that it finishes before it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainedAgent {
    pub agent: String,
    pub run: Option<String>,
}

/// A run, and whether it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatus {
    pub card: RunCard,
    pub state: RunState,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// The controller of the run is gone; another one may continue it.
    Orphaned,
    /// The run is over, and its card has the outcome.
    Ended,
}

impl Admin {
    pub fn connect(access: &Access) -> Result<Admin, FleetError> {
        let nats = Nats::connect(access, "throng fleet")?;
        Ok(Admin { nats })
    }

    pub fn agents(&self) -> Result<Vec<AgentCard>, FleetError> {
        Ok(self.nats.block(cards::agents(&self.nats))?)
    }

    pub fn runs(&self) -> Result<Vec<RunCard>, FleetError> {
        Ok(self.nats.block(cards::runs(&self.nats))?)
    }

    /// All runs that are known: in progress, orphaned, and those of the last days.
    pub fn all_runs(&self) -> Result<Vec<RunStatus>, FleetError> {
        let (running, ended, streams) = self.nats.block(async {
            let running = cards::runs(&self.nats).await?;
            let ended = cards::ended(&self.nats).await?;
            let streams = stream::runs(&self.nats.jet).await;
            let streams = streams.map_err(|e| self.nats.refused("list streams", &e))?;
            Ok::<_, FleetError>((running, ended, streams))
        })?;
        let is_known = |run: &str| running.iter().chain(&ended).any(|card| card.run == *run);
        let orphans = streams.iter().filter(|run| !is_known(run));
        let orphans = orphans.map(|run| RunStatus {
            card: self.nats.block(session::card_of(&self.nats, run)),
            state: RunState::Orphaned,
        });
        let mut all: Vec<RunStatus> = orphans.collect();
        let with = |state| move |card| RunStatus { card, state };
        all.extend(running.into_iter().map(with(RunState::Running)));
        all.extend(ended.into_iter().map(with(RunState::Ended)));
        all.sort_by(|a, b| a.card.run.cmp(&b.card.run));
        Ok(all)
    }

    /// Requests the end of a run in good order.
    pub fn stop(&self, run: &str) -> Result<(), FleetError> {
        if !names::is_name(run) {
            return Err(FleetError::NoRun(run.to_owned()));
        }
        let sent = async {
            let request = self.nats.client.request(names::run(run), "stop".into());
            timeout(ANSWER_TIME_MAX, request).await
        };
        match self.nats.block(sent) {
            Ok(Ok(_)) => Ok(()),
            _ => Err(FleetError::NoRun(run.to_owned())),
        }
    }

    /// Lets agents end once they are free; those with these labels. Agents that trust some keys require one of them.
    pub fn drain(
        &self,
        select: &[(String, String)],
        key: Option<&UserKey>,
    ) -> Result<Vec<DrainedAgent>, FleetError> {
        let has = |card: &AgentCard| {
            let mut wanted = select.iter();
            wanted.all(|(key, value)| card.labels.get(key) == Some(value))
        };
        let agents = self.agents()?.into_iter().filter(has);
        agents.map(|card| self.drain_one(card, key)).collect()
    }

    fn drain_one(
        &self,
        card: AgentCard,
        key: Option<&UserKey>,
    ) -> Result<DrainedAgent, FleetError> {
        let request = match key {
            Some(key) => Request::DrainSigned(Order::drain(&card, key)?),
            None => Request::Drain,
        };
        let agent = card.name;
        let sent = async {
            let request = self.nats.client.request(names::agent(&agent), json(&request));
            timeout(ANSWER_TIME_MAX, request).await
        };
        let problem = match self.nats.block(sent) {
            Ok(Ok(answer)) => match parse::<Reply>(&answer.payload) {
                Some(Reply { refused: None }) => None,
                Some(Reply { refused: Some(problem) }) => {
                    return Err(FleetError::Refused { agent, problem });
                }
                None => Some("its answer cannot be read".to_owned()),
            },
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("no answer in time".to_owned()),
        };
        match problem {
            None => Ok(DrainedAgent { agent, run: card.run }),
            Some(problem) => Err(FleetError::Silent { agent, problem }),
        }
    }
}
