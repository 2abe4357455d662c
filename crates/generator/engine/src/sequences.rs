//! Numbered messages: which of them each user got, and which it should have got.
//!
//! Also when the first and the last user got each.
//!
//! A number that one user got was published; whoever was subscribed then must get it, too. No shard
//! knows all users, so the account has two halves:
//!
//! | file | what it knows |
//! |---|---|
//! | `track` | the numbers that one user got of one sequence: gaps, duplicates, late ones |
//! | `accounts` | the subscriptions of a shard's users, and what is reported when one ends |
//! | `ledger` | the numbers that any user of any shard got, and when first: what lies before a user's first number, after its last, or was missed altogether |
//! | `broadcasts` | the first and the last receiver of each number |
//!
//! `clocks` is what the stamps of messages say of the clock that made them.

mod accounts;
mod broadcasts;
mod clocks;
mod ledger;
#[cfg(test)]
mod tests;
mod track;

use std::hash::{DefaultHasher, Hash, Hasher};

pub use accounts::{
    AccountedNumber, Accounts, Claim, EndedSequence, Head, Heads, OpeningStep, Settlement,
    Settlements, SubscriptionOrigin,
};
pub use broadcasts::{Broadcast, Broadcasts};
pub use clocks::ClockReading;
pub use ledger::{Ledger, LossCounts};
pub use track::NumberFit;

/// Times of accounts are kept in slots of this length, so that many of them are equal.
pub const SLOT_NS: u64 = 100_000_000;
/// How long a number that one user got may take to reach another, in slots: what was first seen within
/// this time of a subscription's beginning or end is not demanded of it. One second.
pub const GRACE_SLOTS: u32 = 10;
/// A number that is further ahead restarts its sequence: no run loses that many, and counts of lost
/// messages can still be added up.
const AHEAD_MAX: u64 = 1 << 24;

/// The slot of a time.
fn slot(now_ns: u64) -> u32 {
    u32::try_from(now_ns / SLOT_NS).unwrap_or(u32::MAX - 1)
}

/// A sequence by its name: the same in all shards.
pub fn sequence(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
