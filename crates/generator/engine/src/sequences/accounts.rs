//! The subscriptions of a shard's users to numbered messages, and what is reported of them.

use std::collections::HashMap;
use std::hash::Hash;

use plan::{MessageId, Plan};
use serde::{Deserialize, Serialize};

use super::track::{NumberFit, Track};
use super::{GRACE_SLOTS, sequence, slot};

/// Sequences that are tracked for one user: a server could name any number of them.
const SEQUENCES_MAX: usize = 1_024;
/// Heads, and settlements, that a shard reports in one interval.
const REPORTS_MAX: usize = 65_536;
/// No slot: still subscribed, or never reconnected.
const NEVER: u32 = u32::MAX;

/// The step that opened a subscription. Of those opened by one step, each gets what any gets. `None`: it
/// is known by its name (a topic, or a key).
pub type OpeningStep = Option<u64>;

/// The numbers of a sequence that a shard's users got in one slot: the lowest and the highest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Place in the plan's messages.
    pub message: MessageId,
    pub sequence: u64,
    pub opening: OpeningStep,
    pub slot: u32,
    pub lowest: u64,
    pub highest: u64,
}

/// The claim of a subscription that is over on the numbers that it should have got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Claim {
    /// It began in this slot, and this was its first number.
    First { since: u32, first: u64 },
    /// It ended in this slot, and this was its last number.
    Last { until: u32, highest: u64 },
    /// It got none from one slot to the other.
    Nothing { since: u32, until: u32 },
}

/// Subscriptions to a sequence that make the same claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settlement {
    /// Place in the plan's messages.
    pub message: MessageId,
    pub sequence: u64,
    pub opening: OpeningStep,
    pub claim: Claim,
}

/// The heads of one interval.
#[derive(Debug, Default)]
pub struct Heads {
    all: HashMap<(MessageId, u64, OpeningStep, u32), (u64, u64)>,
    /// The last one reported: receivers of a broadcast follow one another.
    last: Option<Head>,
}

impl Heads {
    /// A user got a number. False if there are too many to report it.
    pub fn add(
        &mut self,
        message: MessageId,
        sequence: u64,
        opening: OpeningStep,
        now_ns: u64,
        number: u64,
    ) -> bool {
        let slot = slot(now_ns);
        if let Some(last) = self.last
            && (last.message, last.sequence, last.opening, last.slot)
                == (message, sequence, opening, slot)
            && (last.lowest..=last.highest).contains(&number)
        {
            return true;
        }
        let name = (message, sequence, opening, slot);
        let is_full = self.all.len() >= REPORTS_MAX;
        let (lowest, highest) = match self.all.get_mut(&name) {
            Some(known) => {
                *known = (known.0.min(number), known.1.max(number));
                *known
            }
            None if is_full => return false,
            None => {
                self.all.insert(name, (number, number));
                (number, number)
            }
        };
        self.last = Some(Head { message, sequence, opening, slot, lowest, highest });
        true
    }

    /// All of them, in order.
    pub fn take(&mut self) -> Vec<Head> {
        self.last = None;
        let all = self.all.drain();
        let all = all.map(|((message, sequence, opening, slot), (lowest, highest))| Head {
            message,
            sequence,
            opening,
            slot,
            lowest,
            highest,
        });
        let mut all: Vec<Head> = all.collect();
        all.sort_unstable_by_key(|head| (head.slot, head.message, head.sequence, head.opening));
        all
    }
}

/// The settlements of one interval, with the number of subscriptions that make each.
#[derive(Debug, Default)]
pub struct Settlements(HashMap<Settlement, u64>);

impl Settlements {
    /// False if there are too many to report it.
    fn add(&mut self, settlement: Settlement) -> bool {
        let is_full = self.0.len() >= REPORTS_MAX;
        match self.0.get_mut(&settlement) {
            Some(subscriptions) => *subscriptions += 1,
            None if is_full => return false,
            None => {
                self.0.insert(settlement, 1);
            }
        }
        true
    }

    /// Takes all settlements. Their sum does not depend on their order.
    pub fn take(&mut self) -> Vec<(Settlement, u64)> {
        self.0.drain().collect()
    }
}

/// The properties of a kind of message that its accounts depend on.
#[derive(Debug, Clone, Copy)]
struct Kind {
    message: MessageId,
    /// All users get the same numbers.
    shared: bool,
    /// The sequences have names of their own, inside the messages.
    keyed: bool,
}

impl Kind {
    /// True if its sequences on such a connection are known by names.
    fn is_named(self, opened: SubscriptionOrigin) -> bool {
        opened.topics || self.keyed
    }

    /// True if what users get over such connections is compared.
    fn is_compared(self, opened: SubscriptionOrigin) -> bool {
        self.shared && (self.is_named(opened) || opened.alike)
    }
}

/// How a subscription was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionOrigin {
    /// The step that opened it.
    pub by: u64,
    /// It carries topics, which are joined one by one.
    pub topics: bool,
    /// All that this step opens are the same, so that each brings what any brings.
    pub alike: bool,
}

/// One user's subscription: what it opened, from when until when, and what it got.
#[derive(Debug)]
struct Account {
    opened: SubscriptionOrigin,
    since: u32,
    /// The last moment at which it was known to be connected, if it may not be: when its event stream
    /// was lost, or its last poll was answered.
    until: u32,
    /// When a lost event stream was there again.
    reopened: u32,
    tracks: Vec<Track>,
}

impl Account {
    /// Until when others' numbers are demanded of it, if it ends in slot `now`.
    fn ends(&self, now: u32) -> u32 {
        let reopened_long_ago =
            self.reopened != NEVER && now.saturating_sub(self.reopened) > GRACE_SLOTS;
        if reopened_long_ago { now } else { self.until.min(now) }
    }
}

/// The meaning of a user's number for its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountedNumber {
    /// How it fits what the user got before.
    pub got: NumberFit,
    /// Opening of the subscription by which it came.
    pub opening: OpeningStep,
    /// Others must get it, too.
    pub compared: bool,
}

/// The accounts of users that are subscribed to numbered messages. `K` names a user.
#[derive(Debug, Default)]
pub struct Accounts<K> {
    kinds: Vec<Kind>,
    users: HashMap<K, Account>,
}

impl<K: Copy + Eq + Hash> Accounts<K> {
    /// None yet, of the plan's kinds of messages.
    pub fn new(plan: &Plan) -> Accounts<K> {
        let kinds = plan.messages.iter().enumerate();
        let kinds = kinds.filter_map(|(place, message)| {
            message.numbered.as_ref().map(|numbered| Kind {
                message: MessageId(place as u16),
                shared: numbered.shared,
                keyed: numbered.sequence.is_some(),
            })
        });
        Accounts { kinds: kinds.collect(), users: HashMap::new() }
    }

    /// True if any of the plan's messages is numbered.
    pub fn are_kept(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// The user's connection is ready to bring messages. One that is ready already stays as it is.
    pub fn open(&mut self, user: K, opened: SubscriptionOrigin, now_ns: u64) {
        self.users.entry(user).or_insert_with(|| Account {
            opened,
            since: slot(now_ns),
            until: NEVER,
            reopened: NEVER,
            tracks: Vec::new(),
        });
    }

    /// The user joined a topic.
    pub fn join(&mut self, user: K, topic: &[u8], now_ns: u64) {
        let Some(account) = self.users.get_mut(&user) else {
            return;
        };
        let sequence = sequence(topic);
        for kind in self.kinds.iter().filter(|kind| kind.shared && !kind.keyed) {
            let is_known =
                |track: &Track| track.sequence == sequence && track.message == kind.message;
            if account.tracks.len() < SEQUENCES_MAX && !account.tracks.iter().any(is_known) {
                let track = Track::new(kind.message, sequence, slot(now_ns));
                account.tracks.push(track);
            }
        }
    }

    /// The user's event stream is lost and will reconnect.
    pub fn interrupt(&mut self, user: K, now_ns: u64) {
        if let Some(account) = self.users.get_mut(&user) {
            let now = slot(now_ns);
            account.until = account.ends(now);
            account.reopened = NEVER;
        }
    }

    /// It is there again.
    pub fn resume(&mut self, user: K, now_ns: u64) {
        if let Some(account) = self.users.get_mut(&user) {
            account.reopened = slot(now_ns);
        }
    }

    /// The user's poll was answered: it has what there was until now.
    pub fn polled(&mut self, user: K, now_ns: u64) {
        if let Some(account) = self.users.get_mut(&user) {
            account.until = slot(now_ns);
        }
    }

    /// The user of this key got a number of a sequence.
    pub fn take(
        &mut self,
        user: K,
        message: MessageId,
        sequence: u64,
        number: u64,
        now_ns: u64,
    ) -> AccountedNumber {
        let Some(account) = self.users.get_mut(&user) else {
            return AccountedNumber {
                got: NumberFit::Unsubscribed,
                opening: None,
                compared: false,
            };
        };
        let now = slot(now_ns);
        let opened = account.opened;
        let kind = self.kinds.iter().find(|kind| kind.message == message);
        let by_name = kind.is_some_and(|kind| kind.is_named(opened));
        let opening = (!by_name).then_some(opened.by);
        let compared = kind.is_some_and(|kind| kind.is_compared(opened));
        let is_known = |track: &Track| track.message == message && track.sequence == sequence;
        let place = match account.tracks.iter().position(is_known) {
            Some(place) => place,
            None if account.tracks.len() >= SEQUENCES_MAX => {
                return AccountedNumber { got: NumberFit::Untracked, opening, compared };
            }
            None => {
                // What is known by a name alone begins with its first message.
                let since = if by_name { now } else { account.since };
                account.tracks.push(Track::new(message, sequence, since));
                account.tracks.len() - 1
            }
        };
        let track = &mut account.tracks[place];
        if track.range().is_none() {
            track.began_late = now > track.since.saturating_add(GRACE_SLOTS);
        }
        AccountedNumber { got: track.take(number), opening, compared }
    }

    /// The user left the topics of these sequences.
    pub fn leave(
        &mut self,
        user: K,
        left: &[u64],
        now_ns: u64,
        settlements: &mut Settlements,
    ) -> Vec<EndedSequence> {
        let Some(account) = self.users.get_mut(&user) else {
            return Vec::new();
        };
        let until = account.ends(slot(now_ns));
        let opened = account.opened;
        let gone = account.tracks.extract_if(.., |track| left.contains(&track.sequence));
        let kinds = &self.kinds;
        gone.map(|track| settle(kinds, opened, &track, Some(until), settlements)).collect()
    }

    /// The user's subscription is over: what is missing is lost. Of the topics, those `joined` were
    /// there to the end; when the others ended is unknown.
    pub fn close(
        &mut self,
        user: K,
        joined: &[u64],
        now_ns: u64,
        settlements: &mut Settlements,
    ) -> Vec<EndedSequence> {
        if self.users.is_empty() {
            return Vec::new();
        }
        let Some(account) = self.users.remove(&user) else {
            return Vec::new();
        };
        let until = account.ends(slot(now_ns));
        let opened = account.opened;
        let unnamed =
            self.kinds.iter().filter(|kind| kind.is_compared(opened) && !kind.is_named(opened));
        let silent =
            unnamed.filter(|kind| !account.tracks.iter().any(|t| t.message == kind.message));
        let silent: Vec<Track> =
            silent.map(|kind| Track::new(kind.message, sequence(b""), account.since)).collect();
        let tracks = account.tracks.iter().chain(&silent);
        let ended = tracks.map(|track| {
            let named = self.kinds.iter().any(|k| k.message == track.message && k.keyed);
            let until =
                (!opened.topics || named || joined.contains(&track.sequence)).then_some(until);
            settle(&self.kinds, opened, track, until, settlements)
        });
        ended.collect()
    }
}

/// The account of a sequence whose subscription is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedSequence {
    /// Place in the plan's messages.
    pub message: MessageId,
    /// Numbers between the first and the last that the user got.
    pub missing: u64,
    /// True if there was no room to report the rest.
    pub unreported: bool,
}

/// Reports what others may know better. `until`: when the subscription ended, if that is known.
fn settle(
    kinds: &[Kind],
    opened: SubscriptionOrigin,
    track: &Track,
    until: Option<u32>,
    settlements: &mut Settlements,
) -> EndedSequence {
    let kind = kinds.iter().find(|kind| kind.message == track.message);
    let by_name = kind.is_some_and(|kind| kind.is_named(opened));
    let compared = kind.is_some_and(|kind| kind.is_compared(opened));
    let mut is_reported = true;
    let mut claim = |claim| {
        is_reported &= settlements.add(Settlement {
            message: track.message,
            sequence: track.sequence,
            opening: (!by_name).then_some(opened.by),
            claim,
        });
    };
    let since = track.since;
    match track.range() {
        _ if !compared => {}
        Some((first, highest)) => {
            if track.began_late {
                claim(Claim::First { since, first });
            }
            if let Some(until) = until {
                claim(Claim::Last { until, highest });
            }
        }
        None => {
            if let Some(until) = until {
                claim(Claim::Nothing { since, until });
            }
        }
    }
    EndedSequence { message: track.message, missing: track.missing(), unreported: !is_reported }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: SubscriptionOrigin = SubscriptionOrigin { by: 3, topics: false, alike: true };

    impl Accounts<u32> {
        /// Of one kind of messages, with one sequence.
        pub(crate) fn for_tests() -> Accounts<u32> {
            accounts(false)
        }
    }

    fn user(place: u32) -> u32 {
        place
    }

    fn accounts(keyed: bool) -> Accounts<u32> {
        let kind = Kind { message: MessageId(0), shared: true, keyed };
        Accounts { kinds: vec![kind], users: HashMap::new() }
    }

    #[test]
    fn sequences_of_one_user_are_bounded() {
        let mut accounts = accounts(true);
        accounts.open(user(7), OPENED, 0);
        accounts.open(user(8), OPENED, 0);
        let most = SEQUENCES_MAX as u64;
        let mut take = |user, sequence| accounts.take(user, MessageId(0), sequence, 5, 0).got;
        for sequence in 0..most {
            assert_eq!(take(user(7), sequence), NumberFit::New { lost: 0 });
        }
        assert_eq!(take(user(7), most), NumberFit::Untracked);
        assert_eq!(take(user(7), most - 1), NumberFit::Duplicate);
        assert_eq!(take(user(8), most), NumberFit::New { lost: 0 });
        assert_eq!(take(user(9), most), NumberFit::Unsubscribed);
        let mut settlements = Settlements::default();
        assert_eq!(accounts.close(user(7), &[], 0, &mut settlements).len(), SEQUENCES_MAX);
        assert_eq!(settlements.take().len(), SEQUENCES_MAX);
    }

    #[test]
    fn a_user_without_numbers_costs_its_entry_alone() {
        assert!(size_of::<(u32, Account)>() <= 64, "{}", size_of::<(u32, Account)>());
        assert!(size_of::<Track>() <= 40, "{}", size_of::<Track>());
        assert_eq!(Vec::<Track>::new().capacity(), 0);
    }

    #[test]
    fn subscriptions_that_end_alike_are_one_report() {
        let mut accounts = accounts(false);
        let mut settlements = Settlements::default();
        for user in 0..1_000 {
            accounts.open(user, OPENED, 0);
            if user >= 300 {
                accounts.take(user, MessageId(0), sequence(b""), 5, 1);
            }
        }
        for user in 0..1_000 {
            accounts.close(user, &[], 9, &mut settlements);
        }
        let mut reports: Vec<u64> = settlements.take().iter().map(|(_, n)| *n).collect();
        reports.sort_unstable();
        assert_eq!(reports, [300, 700]);
    }

    /// A stream that reconnects is demanded nothing of the time without it, unless it had the grace to
    /// catch up.
    #[test]
    fn a_stream_that_was_just_reopened_ends_when_it_was_lost() {
        const S: u64 = 1_000_000_000;
        for (lost_s, reopened_s, end_s, expected) in
            [(5, None, 9, 50), (5, Some(9), 9, 50), (5, Some(6), 9, 90)]
        {
            let mut accounts = accounts(false);
            accounts.open(user(7), OPENED, 0);
            accounts.interrupt(user(7), lost_s * S);
            if let Some(at_s) = reopened_s {
                accounts.resume(user(7), at_s * S);
            }
            let mut settlements = Settlements::default();
            accounts.close(user(7), &[], end_s * S, &mut settlements);
            let claims: Vec<Claim> = settlements.take().iter().map(|(s, _)| s.claim).collect();
            assert_eq!(claims, [Claim::Nothing { since: 0, until: expected }]);
        }
    }
}
