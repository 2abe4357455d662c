//! Users of lost loops that other loops start.

use driver::real::AdoptedUsers;
use engine::schedule::share::Share;
use plan::Region;
use serde::{Deserialize, Serialize};

/// A share is divided into no more parts in all: numbers of users have to fit.
const PARTS_MAX: u64 = 1 << 40;

/// The users of a loop, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lot {
    /// The loop, by its number in the run.
    pub loop_number: u32,
    /// Successive divisions, each as the number of a part and the number of parts: the first divides the users of the loop,
    /// each further one the part that the one before has chosen.
    pub parts: Vec<(u32, u32)>,
}

impl Lot {
    /// All users of a loop.
    pub fn of_loop(loop_number: u32) -> Lot {
        Lot { loop_number, parts: Vec::new() }
    }

    /// One of several equal parts; the same if there is one.
    pub fn part(&self, part: u32, parts: u32) -> Lot {
        let mut lot = self.clone();
        if parts > 1 {
            lot.parts.push((part, parts));
        }
        lot
    }

    /// True if it can be divided into that many parts.
    pub fn may_have(&self, loops_count: u32, parts: u32) -> bool {
        self.part(0, parts).parts_count(loops_count).is_some()
    }

    /// The number of parts of the run's users of which it is one; `None`: there are too many, or it is none of them.
    fn parts_count(&self, loops_count: u32) -> Option<u64> {
        let of = (self.loop_number < loops_count).then_some(u64::from(loops_count));
        let product = self.parts.iter().try_fold(of?, |product, &(part, parts)| {
            let product = product.checked_mul(u64::from(parts))?;
            (part < parts).then_some(product)
        });
        product.filter(|&product| product <= PARTS_MAX)
    }

    /// The users of the lot, in a run with this number of loops and these regions; `None`: it is impossible there.
    pub fn share(&self, loops_count: u32, regions: &[Region]) -> Option<Share> {
        self.parts_count(loops_count)?;
        let own = Share::of_loop(self.loop_number, loops_count, regions);
        let parts = self.parts.iter();
        Some(parts.fold(own, |share, &(part, parts)| share.part(part, parts)))
    }
}

/// Users that a loop starts from a moment on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adoption {
    /// The number of the loop that starts them.
    pub by: u32,
    /// The users of which it starts some.
    pub lot: Lot,
    /// It starts those who are due from this moment on.
    pub from_ns: u64,
}

impl Adoption {
    /// The adoption as the loops take it, in a run with this number of loops and these regions; `None`: it is impossible
    /// there.
    pub fn adopted(&self, loops_count: u32, regions: &[Region]) -> Option<AdoptedUsers> {
        Some(AdoptedUsers {
            by: self.by,
            share: self.lot.share(loops_count, regions)?,
            from_ns: self.from_ns,
        })
    }
}
