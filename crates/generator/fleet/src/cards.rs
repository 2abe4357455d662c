//! Cards by which agents and runs present themselves: JSON in a key-value bucket, renewed every two seconds and gone
//! some seconds after the last renewal.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use machine::limits::{Demand, Sources, USERS_MAX};
use machine::{Facts, MachineLimits, Memory};
use record::controls::is_control;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use workers::PROTOCOL_VERSION;

use crate::keys::{KeyError, Purpose, Signature, UserKey, is_signed};
use crate::names;
use crate::nats::{Nats, NatsError};

/// How often a card is renewed.
pub(crate) const RENEW: Duration = Duration::from_secs(2);
/// How long it lasts without.
pub(crate) const LAST: Duration = Duration::from_secs(8);
/// Larger cards are not read.
const CARD_BYTES_MAX: usize = 64 << 10;
/// How long reading all may take: a server that goes away in the midst of a list does not end it.
const READ_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a list of keys may take. One of which a card goes by its age has no end, and is requested again.
const LIST_TIME_MAX: Duration = Duration::from_secs(3);
/// More cards are not read.
const CARDS_MAX: usize = 10_000;

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentCard {
    pub name: String,
    /// Throng's version.
    pub throng: String,
    /// The version of the worker protocol.
    pub protocol: u32,
    /// This agent among all that ever had its name.
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub pid: u32,
    /// The same for all agents of a machine, until it is booted again.
    #[serde(default)]
    pub machine: String,
    #[serde(default)]
    pub cores: u32,
    #[serde(default)]
    pub memory_bytes: u64,
    /// Open files that each loop may have.
    #[serde(default)]
    pub files_per_loop: u64,
    /// Users that it can hold at once if the target is elsewhere, ports aside.
    #[serde(default)]
    pub holds: u64,
    /// The same with the target on its machine.
    #[serde(default)]
    pub holds_with_target: u64,
    /// Ports for each pair of an own address and one of the target.
    #[serde(default)]
    pub ports: u64,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The public key by which it reads scenarios.
    #[serde(default)]
    pub key: String,
    /// By the agent's own key: that this name, this agent and the key by which it reads belong together.
    #[serde(default)]
    pub(crate) signature: Option<Signature>,
    /// The run that it takes part in.
    #[serde(default)]
    pub run: Option<String>,
    /// It takes no further run and ends.
    #[serde(default)]
    pub draining: bool,
}

/// A run in progress.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunCard {
    pub run: String,
    /// The scenario's file.
    pub scenario: String,
    pub agents: Vec<String>,
    /// The controller's host.
    #[serde(default)]
    pub host: String,
    /// The controller, among all on that host.
    #[serde(default)]
    pub(crate) holder: String,
    /// Outcome of the run: the verdict, or why there is none; `None`: it is in progress.
    #[serde(default)]
    pub outcome: Option<String>,
}

impl RunCard {
    /// As it may be shown.
    fn legible(self) -> RunCard {
        RunCard {
            run: legible(&self.run),
            scenario: legible(&self.scenario),
            agents: self.agents.iter().map(|agent| legible(agent)).collect(),
            host: legible(&self.host),
            outcome: self.outcome.as_deref().map(legible),
            ..self
        }
    }
}

impl AgentCard {
    /// The card of an agent on this machine that has one part of `parts` of it.
    pub(crate) fn of_this_machine(name: &str, throng: &str, parts: u32) -> AgentCard {
        let facts = Facts::read();
        let parts = u64::from(parts.max(1));
        let holds = |target_here| {
            let demand = Demand { users: USERS_MAX, target_here, sources: Sources::Loopback };
            let limits = MachineLimits::compute(&facts, demand);
            limits.shortage().map_or(USERS_MAX, |(users, _)| users) / parts
        };
        let range = facts.ports.map_or(0, |(low, high)| high.saturating_sub(low) + 1);
        let boot = machine::procfs::read("sys/kernel/random/boot_id").unwrap_or_default();
        AgentCard {
            name: name.to_owned(),
            throng: throng.to_owned(),
            protocol: PROTOCOL_VERSION,
            id: machine::secret(8).unwrap_or_default(),
            pid: std::process::id(),
            machine: boot.trim().to_owned(),
            cores: (u64::from(machine::loops::cores()) / parts).max(1) as u32,
            memory_bytes: Memory::read().map_or(0, |memory| memory.total_bytes),
            files_per_loop: machine::loops::open_files_max(),
            holds: holds(false),
            holds_with_target: holds(true),
            ports: range / parts,
            ..AgentCard::default()
        }
    }

    /// Signs the card by the agent's own key.
    pub(crate) fn sign(&mut self, key: &UserKey) -> Result<(), KeyError> {
        self.signature = Some(key.sign(&self.signed_text())?);
        Ok(())
    }

    /// The public key of the agent, if it has signed the card by it.
    pub(crate) fn signer(&self) -> Option<&str> {
        let signature = self.signature.as_ref()?;
        is_signed(&self.signed_text(), signature).then_some(signature.by.as_str())
    }

    fn signed_text(&self) -> Bytes {
        Purpose::Card.text(&json(&(&self.name, &self.id, &self.key)))
    }

    /// As it may be shown.
    fn legible(self) -> AgentCard {
        let labels = self.labels.iter().map(|(key, value)| (legible(key), legible(value)));
        AgentCard {
            throng: legible(&self.throng),
            labels: labels.collect(),
            run: self.run.as_deref().map(legible),
            ..self
        }
    }

    /// Whether it is a part of the same fleet as this version.
    pub(crate) fn fits(&self, throng: &str) -> bool {
        self.throng == throng && self.protocol == PROTOCOL_VERSION
    }
}

/// All agents, by name.
pub(crate) async fn agents(nats: &Nats) -> Result<Vec<AgentCard>, NatsError> {
    let cards: Vec<AgentCard> = read(nats, names::AGENTS).await?;
    let named = cards.into_iter().filter(|card| names::is_name(&card.name));
    Ok(named.map(AgentCard::legible).collect())
}

/// All runs in progress.
pub(crate) async fn runs(nats: &Nats) -> Result<Vec<RunCard>, NatsError> {
    legible_runs(nats, names::RUNS).await
}

/// All runs that are over and not forgotten.
pub(crate) async fn ended(nats: &Nats) -> Result<Vec<RunCard>, NatsError> {
    legible_runs(nats, names::ENDED).await
}

async fn legible_runs(nats: &Nats, bucket: &str) -> Result<Vec<RunCard>, NatsError> {
    let cards: Vec<RunCard> = read(nats, bucket).await?;
    Ok(cards.into_iter().map(RunCard::legible).collect())
}

/// A text on one line that controls no terminal. Cards are shown as they are, and anybody at NATS may have written them.
fn legible(text: &str) -> String {
    text.chars().map(|c| if is_control(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// All cards of a bucket, by key. What cannot be read is left out: it is of no version that we know.
async fn read<T: DeserializeOwned>(nats: &Nats, bucket: &str) -> Result<Vec<T>, NatsError> {
    let late = |_| nats.refused("list the fleet", &"it does not answer");
    timeout(READ_TIME_MAX, read_all(nats, bucket)).await.map_err(late)?
}

async fn read_all<T: DeserializeOwned>(nats: &Nats, bucket: &str) -> Result<Vec<T>, NatsError> {
    let store = nats.bucket(bucket).await?;
    let failed = |error: &dyn std::fmt::Display| nats.refused("list the fleet", error);
    let mut keys = loop {
        let list = async { store.keys().await.map_err(|e| failed(&e)) };
        let list = async { list.await?.try_collect().await.map_err(|e| failed(&e)) };
        let listed: Result<Result<Vec<String>, NatsError>, _> = timeout(LIST_TIME_MAX, list).await;
        if let Ok(keys) = listed {
            break keys?;
        }
    };
    keys.sort();
    let mut cards = Vec::new();
    for key in keys.into_iter().take(CARDS_MAX) {
        let value = store.get(key).await.map_err(|e| failed(&e))?;
        cards.extend(value.and_then(|value| parse(&value)));
    }
    Ok(cards)
}

/// Reads JSON that came over NATS.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    let fits = text.len() <= CARD_BYTES_MAX;
    fits.then(|| serde_json::from_slice(text).ok()).flatten()
}

/// JSON of something of ours.
pub(crate) fn json(value: &impl Serialize) -> Bytes {
    let text = serde_json::to_vec(value).expect("cards are maps with texts as keys");
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_of_another_version_is_read_as_far_as_it_is_known() {
        let old = br#"{"name": "old", "throng": "0.1.0", "protocol": 3, "more": [1]}"#;
        let card: AgentCard = parse(old).unwrap();
        assert_eq!((card.name.as_str(), card.fits("0.1.0")), ("old", false));
        for bad in [&b"{}"[..], b"[", b"null", &[0xff; 9], &vec![b' '; CARD_BYTES_MAX + 1]] {
            assert_eq!(parse::<AgentCard>(bad), None);
        }
    }

    #[test]
    fn what_a_card_says_controls_no_terminal() {
        let hostile = "x\u{1b}[31m\n\u{202e}RED";
        let plain = "x\u{fffd}[31m\u{fffd}\u{fffd}RED".to_owned();
        let card = AgentCard {
            throng: hostile.to_owned(),
            labels: [(hostile.to_owned(), hostile.to_owned())].into(),
            run: Some(hostile.to_owned()),
            ..AgentCard::default()
        };
        let shown = card.legible();
        assert_eq!(shown.labels, BTreeMap::from([(plain.clone(), plain.clone())]));
        assert_eq!((shown.throng, shown.run), (plain.clone(), Some(plain.clone())));
        let run = RunCard {
            run: hostile.to_owned(),
            scenario: hostile.to_owned(),
            agents: vec![hostile.to_owned()],
            host: hostile.to_owned(),
            outcome: Some(hostile.to_owned()),
            ..RunCard::default()
        };
        let shown = run.legible();
        assert_eq!([&shown.run, &shown.scenario, &shown.host, &shown.agents[0]], [&plain; 4]);
        assert_eq!(shown.outcome, Some(plain));
    }

    #[test]
    fn a_part_of_a_machine_holds_a_part_of_its_users() {
        let whole = AgentCard::of_this_machine("a", "1.2.3", 1);
        let third = AgentCard::of_this_machine("a", "1.2.3", 3);
        assert!(whole.fits("1.2.3") && !whole.fits("1.2.4"));
        assert!(whole.holds >= whole.holds_with_target && third.cores >= 1);
        // Memory that is left changes a little between two looks.
        assert!(third.holds <= whole.holds / 2, "{} of {}", third.holds, whole.holds);
    }
}
