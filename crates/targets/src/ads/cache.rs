//! What the app servers of one database share, in Redis: how often each campaign and each ad was shown,
//! how often ads converted, and how far the last offers came.
//!
//! Each question is a script that Redis runs in one go, so that no two processes can both take a
//! campaign's last place. One thread a process asks, all that waits in one message (`line`); once a
//! second it takes over what others did to ads. What Redis has lost is made anew from the database.

mod line;
mod scripts;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use redis::Value;
use tokio::sync::oneshot;

use super::address::{AddressError, ServerAddress};
use super::database::{Begun, Figures};
use super::fault::Fault;
use super::inventory::Inventory;
use super::offers::{Offer, Step};
use line::Line;
use scripts::Script;

/// Questions that may wait.
const WAITING_MAX: usize = 16 * 1024;
/// How long Redis keeps an offer, in seconds; later it is found in the database.
const OFFER_S: u32 = 3600;

/// How a cache is used.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) address: ServerAddress,
    /// Where what is lost is found again.
    pub(super) store: ServerAddress,
    /// How long a request waits, and a connection for an answer.
    pub(super) wait: Duration,
    pub(super) begun: Begun,
    /// What the counts are counts of.
    pub(super) seed: u64,
    pub(super) ads: usize,
    /// Processes that tell their figures to each other; `None`: this one is alone.
    pub(super) group: Option<String>,
}

/// Why a cache cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CacheError(pub(super) String);

/// A place that was asked for in a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    /// The campaign has been shown as often as it may be.
    Full,
}

/// The app servers' end.
#[derive(Debug)]
pub(super) struct Cache {
    questions: SyncSender<Question>,
    keys: Keys,
    hall: Arc<Hall>,
}

/// What the app servers and the thread share.
#[derive(Debug)]
struct Hall {
    settings: Settings,
    inventory: Arc<Inventory>,
    figures: Arc<Figures>,
    ending: AtomicBool,
    waiting: AtomicUsize,
    /// This process's own figures as text, for the others of its group.
    own: Box<dyn Own>,
    /// Theirs.
    others: Mutex<Vec<String>>,
}

/// Tells a process's figures, for others to add up.
pub(super) trait Own: Send + Sync + std::fmt::Debug {
    fn text(&self) -> String;
}

/// A script that is to be run.
#[derive(Debug)]
struct Question {
    script: Script,
    keys: Vec<String>,
    values: Vec<String>,
    /// Whoever asked may be gone.
    done: oneshot::Sender<Result<Value, Fault>>,
}

/// Names of everything of one database.
#[derive(Debug, Clone)]
struct Keys {
    /// `ads:STORE:`
    prefix: String,
}

impl Keys {
    fn of(store: i64) -> Keys {
        Keys {
            prefix: format!("ads:{store:x}:"),
        }
    }

    fn name(&self, what: &str) -> String {
        format!("{}{what}", self.prefix)
    }

    fn offer(&self, id: u64) -> String {
        format!("{}offer:{id:x}", self.prefix)
    }
}

/// Tells whether the client takes the address.
pub(super) fn check(address: &ServerAddress) -> Result<(), AddressError> {
    match redis::Client::open(address.reveal()) {
        Ok(_) => Ok(()),
        Err(error) => Err(address.wrong(&error.to_string())),
    }
}

impl Cache {
    /// Connects, and sees that Redis has what the database knows.
    pub(super) fn start(
        settings: Settings,
        inventory: Arc<Inventory>,
        own: Box<dyn Own>,
        figures: Arc<Figures>,
    ) -> Result<(Cache, JoinHandle<()>), CacheError> {
        let keys = Keys::of(settings.begun.store);
        let (questions, asked) = sync_channel(WAITING_MAX);
        let hall = Arc::new(Hall {
            settings,
            inventory,
            figures,
            ending: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            own,
            others: Mutex::default(),
        });
        let line = Line::connect(Arc::clone(&hall), keys.clone(), asked).map_err(CacheError)?;
        let thread = std::thread::Builder::new()
            .name("cache".to_owned())
            .spawn(move || line.work())
            .map_err(|error| CacheError(format!("a thread cannot be started: {error}")))?;
        let cache = Cache {
            questions,
            keys,
            hall,
        };
        Ok((cache, thread))
    }

    /// Takes a place in the campaign of the offer's ad, and keeps the offer.
    pub(super) async fn take(&self, offer: &Offer) -> Result<Taken, Fault> {
        let inventory = &self.hall.inventory;
        let campaign = inventory.campaign(offer.ad);
        let values = vec![
            self.hall.settings.mark(),
            campaign.to_string(),
            inventory.campaign_limit().to_string(),
            offer.ad.to_string(),
            written(offer),
            OFFER_S.to_string(),
        ];
        let keys = self.counts(offer.id);
        let told: (i64, u32, u32) = self.ask(Script::Take, keys, values).await?;
        match told {
            (1, campaign_shown, shown) => {
                inventory.told_campaign(campaign, campaign_shown);
                inventory.told_shown(offer.ad, shown);
                Ok(Taken::Yes)
            }
            (0, campaign_shown, _) => {
                inventory.told_campaign(campaign, campaign_shown);
                Ok(Taken::Full)
            }
            _ => Err(Fault::Cache),
        }
    }

    /// Undoes [`take`](Self::take): the offer could not be recorded.
    pub(super) async fn give_back(&self, offer: &Offer) -> Result<(), Fault> {
        let campaign = self.hall.inventory.campaign(offer.ad);
        let values = vec![
            self.hall.settings.mark(),
            campaign.to_string(),
            offer.ad.to_string(),
        ];
        let keys = self.counts(offer.id);
        let _: i64 = self.ask(Script::GiveBack, keys, values).await?;
        Ok(())
    }

    /// Keeps an offer that was found in the database, unless it is kept already.
    pub(super) async fn put(&self, offer: &Offer) -> Result<(), Fault> {
        let values = vec![written(offer), OFFER_S.to_string()];
        let keys = vec![self.keys.offer(offer.id)];
        let _: i64 = self.ask(Script::Put, keys, values).await?;
        Ok(())
    }

    /// An offer; `None` where it is not kept.
    pub(super) async fn get(&self, id: u64) -> Result<Option<Offer>, Fault> {
        let keys = vec![self.keys.offer(id)];
        let text: Option<String> = self.ask(Script::Get, keys, Vec::new()).await?;
        text.map(|text| read(id, &text).ok_or(Fault::Cache))
            .transpose()
    }

    /// Takes an offer a step further, as [`Offers::advance`](super::offers::Offers::advance) does;
    /// `None` where it is not kept.
    pub(super) async fn advance(&self, id: u64, to: Step) -> Result<Option<(Offer, bool)>, Fault> {
        let mut keys = self.counts(id);
        keys.rotate_right(1);
        let values = vec![
            (to as usize).to_string(),
            i64::from(to == Step::Convert).to_string(),
        ];
        let text: Option<String> = self.ask(Script::Advance, keys, values).await?;
        let Some(text) = text else {
            return Ok(None);
        };
        let mut offer = read(id, &text).ok_or(Fault::Cache)?;
        if offer.step >= to {
            return Ok(Some((offer, false)));
        }
        if to.before() != Some(offer.step) {
            let (wanted, found) = (to.before().unwrap_or(Step::Served), offer.step);
            return Err(Fault::TooEarly { wanted, found });
        }
        offer.step = to;
        Ok(Some((offer, true)))
    }

    /// Undoes [`advance`](Self::advance): the event could not be recorded.
    pub(super) async fn undo(&self, id: u64, step: Step) -> Result<(), Fault> {
        let mut keys = self.counts(id);
        keys.rotate_right(1);
        let values = vec![
            (step as usize).to_string(),
            i64::from(step == Step::Convert).to_string(),
        ];
        let _: i64 = self.ask(Script::Undo, keys, values).await?;
        Ok(())
    }

    /// The names of all counts, and of an offer.
    fn counts(&self, offer: u64) -> Vec<String> {
        let mut keys: Vec<String> = scripts::COUNTS
            .iter()
            .map(|name| self.keys.name(name))
            .collect();
        keys.push(self.keys.offer(offer));
        keys
    }

    async fn ask<T: redis::FromRedisValue>(
        &self,
        script: Script,
        keys: Vec<String>,
        values: Vec<String>,
    ) -> Result<T, Fault> {
        let (done, is_done) = oneshot::channel();
        let question = Question {
            script,
            keys,
            values,
            done,
        };
        self.hall.waiting.fetch_add(1, Ordering::Relaxed);
        if self.questions.try_send(question).is_err() {
            self.hall.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Fault::Busy);
        }
        match tokio::time::timeout(self.hall.settings.wait, is_done).await {
            Ok(answer) => {
                let value = answer.unwrap_or(Err(Fault::Cache))?;
                redis::from_redis_value(value).map_err(|_| Fault::Cache)
            }
            Err(_) => {
                self.hall.figures.timeouts.add(1);
                Err(Fault::Busy)
            }
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.hall.figures.open.load(Ordering::Relaxed) > 0
    }

    pub(super) fn waiting(&self) -> usize {
        self.hall.waiting.load(Ordering::Relaxed)
    }

    /// What the other processes of the group told last.
    pub(super) fn others(&self) -> Vec<String> {
        let others = self.hall.others.lock();
        others.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the thread.
    pub(super) fn end(&self) {
        self.hall.ending.store(true, Ordering::Relaxed);
    }
}

impl Settings {
    /// What stands in Redis where its counts are those of this database.
    fn mark(&self) -> String {
        let Begun { epoch, .. } = self.begun;
        format!("1 {epoch} {} {}", self.seed, self.ads)
    }
}

/// An offer as Redis keeps it. Its step is the first character; keys and names have no blanks.
fn written(offer: &Offer) -> String {
    let Offer {
        ad,
        publisher,
        user,
        step,
        ..
    } = offer;
    format!("{} {ad} {publisher} {user}", *step as usize)
}

fn read(id: u64, text: &str) -> Option<Offer> {
    let mut parts = text.splitn(4, ' ');
    let step: usize = parts.next()?.parse().ok()?;
    Some(Offer {
        id,
        step: *Step::ALL.get(step)?,
        ad: parts.next()?.parse().ok()?,
        publisher: parts.next()?.into(),
        user: parts.next()?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_read_as_they_were_written() {
        for user in ["", "u-1.x_y"] {
            let offer = Offer {
                id: 7,
                ad: 123,
                publisher: "p_1".into(),
                user: user.into(),
                step: Step::Click,
            };
            assert_eq!(written(&offer), format!("3 123 p_1 {user}"));
            assert_eq!(read(7, &written(&offer)), Some(offer));
        }
        for text in ["", "9 1 p u", "1 x p u", "1 2 p"] {
            assert_eq!(read(7, text), None, "{text:?}");
        }
    }
}
