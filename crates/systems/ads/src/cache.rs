//! State that the app servers of one database share in Redis: how often each campaign and each ad was shown,
//! how often ads converted, and how far the last offers came.
//!
//! Each query is a script that Redis runs in one go, so that no two processes can both take a
//! campaign's last place. One thread a process queries Redis, and sends all waiting queries in one message (`thread`); once a
//! second it takes over what others did to ads. What Redis has lost is restored from the database.
//!
//! A request that is refused has changed nothing: what it took is given back, also where nobody
//! knows whether it was taken, as soon as Redis answers again. An event has happened when it is recorded;
//! until then its offer is pending, and no other process takes it any further.

mod scripts;
mod thread;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use redis::Value;
use tokio::sync::oneshot;

use super::database::Registration;
use super::inventory::Inventory;
use super::link::LinkFigures;
use super::offers::{Change, Offer};
use super::request_error::RequestError;
use super::step::Step;
use scripts::Script;
use server::database::ServerAddress;
use thread::RedisThread;

/// Queries that may wait.
const WAITING_MAX: usize = 16 * 1024;
/// Leading hexadecimal digits of a Redis run's name: enough to distinguish it from all other runs.
const RUN_CHARS: usize = 16;
/// Most that is remembered of what Redis still has to do.
const OWED_MAX: usize = 64 * 1024;
/// How long Redis keeps an offer, in seconds; later it is found in the database.
const OFFER_S: u32 = 3600;
/// How much longer than requests wait Redis keeps an offer that somebody is taking a step further. Who died
/// meanwhile is not waited for: what became of it is found in the database.
const PENDING_MORE: Duration = Duration::from_secs(1);
/// How names and values are written. Others mean nothing here.
const LAYOUT: u32 = 3;

/// How a cache is used.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) address: ServerAddress,
    /// The database from which state that Redis has lost is restored.
    pub(super) store: ServerAddress,
    /// How long a request waits, and a connection for an answer.
    pub(super) wait: Duration,
    pub(super) registration: Registration,
    /// Seed of the ads; counts of another seed mean other ads.
    pub(super) seed: u64,
    pub(super) ads: usize,
    /// Processes that report their figures to each other; `None`: this one is alone.
    pub(super) group: Option<String>,
}

/// Why a cache cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CacheError(pub(super) String);

/// The result of requesting a place in a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Yes,
    /// The campaign has been shown as often as it may be.
    Full,
}

/// The app servers' end.
#[derive(Debug)]
pub(super) struct Cache {
    queries: SyncSender<Query>,
    shared: Arc<CacheState>,
    /// Numbered as offers are: each process has numbers of its own.
    next_change: AtomicU64,
}

/// State that the app servers and the thread share.
#[derive(Debug)]
struct CacheState {
    settings: Settings,
    inventory: Arc<Inventory>,
    figures: Arc<LinkFigures>,
    /// As of the connection that there is, or was last.
    keys: Mutex<Arc<Keys>>,
    ending: AtomicBool,
    waiting: AtomicUsize,
    /// This process's own figures as text, for the others of its group.
    own: Box<dyn OwnFigures>,
    /// The last report of each process of the group, as far as it arrived here.
    reports: Mutex<BTreeMap<i64, String>>,
    /// Commands that Redis still has to run.
    owed: Mutex<Vec<Command>>,
}

/// Reports a process's figures, for others to add up.
pub(super) trait OwnFigures: Send + Sync + std::fmt::Debug {
    fn text(&self) -> String;
}

/// A script that is to be run. Its keys and values are all that it needs.
#[derive(Debug, Clone)]
struct Command {
    script: Script,
    keys: Vec<String>,
    values: Vec<String>,
}

impl Command {
    /// The command to run if nobody knows whether this one was run.
    fn amends(self) -> Option<Command> {
        let script = self.script.amends()?;
        Some(Command { script, ..self })
    }
}

/// A command, and who waits for the answer.
#[derive(Debug)]
struct Query {
    command: Command,
    /// The requester may be gone.
    done: oneshot::Sender<Result<Value, RequestError>>,
}

/// Names of everything of one database in one run of Redis: what one knows that was restarted may be old.
#[derive(Debug)]
struct Keys {
    /// `ads:STORE:`
    prefix: String,
    /// Value of the mark while the counts are those of this database, put there in this run.
    mark: String,
    /// A part of the run's name.
    run: String,
}

impl Keys {
    /// Keys for the run of Redis with this name.
    fn for_run(settings: &Settings, run: &str) -> Keys {
        let Registration { store, epoch, .. } = settings.registration;
        let run: String = run.chars().take(RUN_CHARS).collect();
        Keys {
            prefix: format!("ads:{store:x}:"),
            mark: format!("{LAYOUT} {epoch} {} {} {run}", settings.seed, settings.ads),
            run,
        }
    }

    fn name(&self, what: &str) -> String {
        format!("{}{what}", self.prefix)
    }

    /// Key of the figures of a group. It names the run: figures that a snapshot holds are older.
    fn figures(&self, group: &str) -> String {
        format!("{}figures:{}:{group}", self.prefix, self.run)
    }

    fn offer(&self, id: u64) -> String {
        format!("{}offer{LAYOUT}:{}:{id:x}", self.prefix, self.run)
    }
}

impl Cache {
    /// Connects, and sees that Redis has what the database knows.
    pub(super) fn start(
        settings: Settings,
        inventory: Arc<Inventory>,
        own: Box<dyn OwnFigures>,
        figures: Arc<LinkFigures>,
    ) -> Result<(Cache, JoinHandle<()>), CacheError> {
        let keys = Mutex::new(Arc::new(Keys::for_run(&settings, "")));
        let (queries, received) = sync_channel(WAITING_MAX);
        let shared = Arc::new(CacheState {
            settings,
            inventory,
            figures,
            keys,
            ending: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            own,
            reports: Mutex::default(),
            owed: Mutex::default(),
        });
        let next_change = AtomicU64::new(shared.settings.registration.first_offer);
        let thread = RedisThread::connect(Arc::clone(&shared), received).map_err(CacheError)?;
        let thread = std::thread::Builder::new()
            .name("cache".to_owned())
            .spawn(move || thread.work())
            .map_err(|error| CacheError(format!("a thread cannot be started: {error}")))?;
        let cache = Cache { queries, shared, next_change };
        Ok((cache, thread))
    }

    /// Takes a place in the campaign of the offer's ad, and keeps the offer.
    pub(super) async fn take(&self, offer: &Offer) -> Result<Admission, RequestError> {
        let inventory = &self.shared.inventory;
        let campaign = inventory.campaign(offer.ad);
        let values = [
            campaign.to_string(),
            offer.ad.to_string(),
            inventory.campaign_limit().to_string(),
            written(offer),
            OFFER_S.to_string(),
        ];
        let command = self.command(Script::Take, offer.id, values);
        let answer: (i64, u32, u32) = self.query(command).await?;
        match answer {
            (1, campaign_shown, shown) => {
                inventory.set_campaign_shown(campaign, campaign_shown);
                inventory.set_shown(offer.ad, shown);
                Ok(Admission::Yes)
            }
            (0, campaign_shown, _) => {
                inventory.set_campaign_shown(campaign, campaign_shown);
                Ok(Admission::Full)
            }
            _ => Err(RequestError::Cache),
        }
    }

    /// Undoes [`take`](Self::take), now or as soon as Redis answers: the offer could not be recorded.
    pub(super) async fn give_back(&self, offer: &Offer) {
        let campaign = self.shared.inventory.campaign(offer.ad);
        let values = [campaign.to_string(), offer.ad.to_string()];
        self.see_to(self.command(Script::GiveBack, offer.id, values)).await;
    }

    /// Keeps an offer that was found in the database, unless it is kept already.
    pub(super) async fn put(&self, offer: &Offer) -> Result<(), RequestError> {
        let values = [written(offer), OFFER_S.to_string()];
        let command = self.command(Script::Put, offer.id, values);
        let _: i64 = self.query(command).await?;
        Ok(())
    }

    /// An offer; `None` where it is not kept.
    pub(super) async fn get(&self, id: u64) -> Result<Option<Offer>, RequestError> {
        let command = self.command(Script::Get, id, []);
        let text: Option<String> = self.query(command).await?;
        let found = text.map(|text| read(id, &text).ok_or(RequestError::Cache));
        Ok(found.transpose()?.map(|(offer, _)| offer))
    }

    /// Begins to take an offer a step further, as [`Offers::advance`](super::offers::Offers::advance) does;
    /// `None` where it is not kept.
    pub(super) async fn advance(
        &self,
        id: u64,
        to: Step,
    ) -> Result<Option<(Offer, Option<Change>)>, RequestError> {
        let change = Change(self.next_change.fetch_add(1, Ordering::Relaxed));
        let advance = self.stepping(Script::Advance, id, to, change);
        let text: Option<String> = self.query(advance).await?;
        let Some(text) = text else {
            return Ok(None);
        };
        let (mut offer, pending) = read(id, &text).ok_or(RequestError::Cache)?;
        if !offer.is_next(to, pending.is_somebody())? {
            return Ok(Some((offer, None)));
        }
        offer.step = to;
        Ok(Some((offer, Some(change))))
    }

    /// Ends what [`advance`](Self::advance) began, now or as soon as Redis answers.
    pub(super) async fn settle(&self, id: u64, to: Step, change: Change, is_recorded: bool) {
        let script = match is_recorded {
            true => Script::Confirm,
            false => Script::Undo,
        };
        self.see_to(self.stepping(script, id, to, change)).await;
    }

    fn stepping(&self, script: Script, id: u64, to: Step, change: Change) -> Command {
        // Nobody who lives has it pending for longer: one wait for the database, one for Redis.
        let pending = 2 * self.shared.settings.wait + PENDING_MORE;
        let values = [
            (to as usize).to_string(),
            digits(change),
            i64::from(to == Step::Convert).to_string(),
            pending.as_millis().to_string(),
            OFFER_S.to_string(),
        ];
        self.command(script, id, values)
    }

    /// A script about an offer.
    fn command<const N: usize>(&self, script: Script, offer: u64, values: [String; N]) -> Command {
        self.about(script, |keys| keys.offer(offer), values)
    }

    fn about<const N: usize>(
        &self,
        script: Script,
        name: impl Fn(&Keys) -> String,
        values: [String; N],
    ) -> Command {
        let keys = self.shared.keys();
        let counts = scripts::COUNTS.iter().map(|name| keys.name(name));
        Command {
            script,
            keys: counts.chain([name(&keys)]).collect(),
            values: [keys.mark.clone()].into_iter().chain(values).collect(),
        }
    }

    /// Has something done that must be, now or later.
    async fn see_to(&self, command: Command) {
        let done: Result<i64, RequestError> = self.query(command.clone()).await;
        if done == Err(RequestError::Busy) {
            // It may not even have been passed on. Twice is as good as once.
            self.shared.owe([command]);
        }
    }

    async fn query<T: redis::FromRedisValue>(&self, command: Command) -> Result<T, RequestError> {
        let (done, is_done) = oneshot::channel();
        let query = Query { command, done };
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        if self.queries.try_send(query).is_err() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(RequestError::Busy);
        }
        match tokio::time::timeout(self.shared.settings.wait, is_done).await {
            Ok(answer) => {
                let value = answer.unwrap_or(Err(RequestError::Cache))?;
                redis::from_redis_value(value).map_err(|_| RequestError::Cache)
            }
            Err(_) => {
                self.shared.figures.timeouts.add(1);
                Err(RequestError::Busy)
            }
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.shared.figures.open.load(Ordering::Relaxed) > 0
    }

    pub(super) fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// The last reports of all processes of the group, this one too, so that any of them answers the same and
    /// no sum ever falls; `None` where this one is alone. While Redis does not answer, the last that arrived.
    pub(super) async fn reports(&self) -> Option<Vec<String>> {
        let group = self.shared.settings.group.as_ref()?;
        let command = self.about(Script::Figures, |keys| keys.figures(group), []);
        let found: Result<Vec<(i64, String)>, RequestError> = self.query(command).await;
        let mut reports = self.shared.reports();
        reports.extend(found.unwrap_or_default());
        Some(reports.values().cloned().collect())
    }

    /// Ends the thread.
    pub(super) fn end(&self) {
        self.shared.ending.store(true, Ordering::Relaxed);
    }
}

impl CacheState {
    fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has Redis do these as soon as it can. Beyond this number, places that were taken stay so.
    fn owe(&self, commands: impl IntoIterator<Item = Command>) {
        let mut owed = self.owed();
        let room = OWED_MAX.saturating_sub(owed.len());
        owed.extend(commands.into_iter().take(room));
    }

    fn reports(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, String>> {
        // No thread leaves it half changed.
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owed(&self) -> std::sync::MutexGuard<'_, Vec<Command>> {
        // No thread leaves them half changed.
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An offer as Redis keeps it: its step, who is taking it to the next one, and what does not change. Scripts
/// know the places of the first two; keys and names have no blanks.
fn written(offer: &Offer) -> String {
    let Offer { ad, publisher, user, step, .. } = offer;
    let nobody = digits(Change::default());
    format!("{} {nobody} {ad} {publisher} {user}", *step as usize)
}

fn digits(Change(number): Change) -> String {
    format!("{number:016x}")
}

fn read(id: u64, text: &str) -> Option<(Offer, Change)> {
    let mut parts = text.splitn(5, ' ');
    let step: usize = parts.next()?.parse().ok()?;
    let pending = u64::from_str_radix(parts.next()?, 16).ok()?;
    let offer = Offer {
        id,
        step: *Step::ALL.get(step)?,
        ad: parts.next()?.parse().ok()?,
        publisher: parts.next()?.into(),
        user: parts.next()?.into(),
    };
    Some((offer, Change(pending)))
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
            let text = format!("3 0000000000000000 123 p_1 {user}");
            assert_eq!(written(&offer), text);
            assert_eq!(read(7, &text), Some((offer.clone(), Change::default())));
            let text = format!("3 00000000000000ff 123 p_1 {user}");
            assert_eq!(read(7, &text), Some((offer, Change(255))));
        }
        for text in ["", "9 0 1 p u", "1 0 x p u", "1 0 2 p", "1 z 2 p u"] {
            assert_eq!(read(7, text), None, "{text:?}");
        }
    }
}
