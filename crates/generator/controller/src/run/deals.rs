//! Deals: the loops that start the users of lost workers, and the moments from which they do. With what else another
//! controller of a fleet needs to continue the run, they are kept there.

use std::net::SocketAddr;

use engine::schedule::arrivals::Arrivals;
use engine::schedule::share::{Share, region_loops};
use plan::Plan;
use record::schema::RunInfo;
use serde::{Deserialize, Serialize};
use workers::{Adoption, Fleet, Loops, Lot};

/// The time from the decision to the moment of the deal: it reaches the other agents, and they skip users who were due before.
const LEAD_NS: u64 = 2_000_000_000;
/// The moment is the beginning of a second, so that no second is half of one and half of the other.
const SECOND_NS: u64 = 1_000_000_000;

/// The share of a lost worker, as it was dealt to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Deal {
    pub(super) worker: usize,
    pub(super) from_ns: u64,
    pub(super) adoptions: Vec<Adoption>,
}

/// The state of a run besides its scenario, as the fleet keeps it for another controller.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handover {
    pub(super) info: RunInfo,
    /// The loops of each agent.
    pub(super) shares: Vec<Loops>,
    /// The address of the built-in target.
    pub(super) target: Option<SocketAddr>,
    pub(super) plan_digest: String,
    /// The zero on the monotonic clock of the first controller, to which the offsets of agents' clocks are.
    pub(super) zero_ns: u64,
    pub(super) allow_lost_workers: bool,
    /// Shares of lost agents that were dealt.
    #[serde(default)]
    pub(super) deals: Vec<Deal>,
    /// When `until` has ended the load; `None`: it has not.
    #[serde(default)]
    pub(super) load_end_ns: Option<u64>,
}

impl Handover {
    /// Keeps it with the run. The error is for people.
    pub(super) fn keep(&self, fleet: &dyn Fleet) -> Result<(), String> {
        fleet.keep(&serde_json::to_string(self).map_err(|error| error.to_string())?)
    }
}

/// The deals of a run, and the loops that start each user.
#[derive(Debug)]
pub(super) struct Deals {
    /// True if shares of lost workers are dealt.
    rebalances: bool,
    loops_count: u32,
    /// The own share of each loop that is not lost, and the shares that were dealt to it.
    held: Vec<Adoption>,
    /// All deals of the run, those of another controller first.
    made: Vec<Deal>,
    /// The state for another controller of the fleet.
    handover: Option<Handover>,
}

/// A worker that is lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    pub(super) worker: usize,
    pub(super) loops: Loops,
    /// The moment from which its users are dealt, unless another controller has dealt them.
    pub(super) from_ns: u64,
}

/// The users of a lost worker, by who starts them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LostUsers {
    /// Users whom the worker had to start: those before the moment of the deal, or all if they are not dealt. Those whom
    /// it has not started never come.
    pub(super) own: u64,
    /// Users whom others start.
    pub(super) dealt: u64,
    /// Users among `own` whom nobody could take: no loop of their region is left.
    pub(super) untaken: u64,
    /// `None`: nothing was dealt.
    pub(super) deal: Option<Deal>,
}

/// The moment from which users are dealt if that is decided at `now_ns` and the lost worker starts nobody from `silent_ns` on.
pub(super) fn moment(now_ns: u64, silent_ns: u64) -> u64 {
    let soon_ns = now_ns.saturating_add(LEAD_NS).max(silent_ns);
    soon_ns.checked_next_multiple_of(SECOND_NS).unwrap_or(u64::MAX)
}

impl Deals {
    /// The deals of a run with this number of loops; `handover` has those that another controller has made.
    pub(super) fn of_run(
        fleet: Option<&dyn Fleet>,
        loops_count: u32,
        handover: Option<Handover>,
    ) -> Deals {
        let rebalances = fleet.is_some_and(|fleet| fleet.tolerances().rebalances);
        let made = handover.as_ref().map(|handover| handover.deals.clone());
        let made = made.unwrap_or_default();
        Deals { handover, ..Deals::new(rebalances, loops_count, made) }
    }

    /// `made`: by another controller.
    fn new(rebalances: bool, loops_count: u32, made: Vec<Deal>) -> Deals {
        let own = (0..loops_count).map(|by| Adoption { by, lot: Lot::of_loop(by), from_ns: 0 });
        Deals { rebalances, loops_count, held: own.collect(), made, handover: None }
    }

    /// When another controller has ended the load, as it kept that.
    pub(super) fn load_end_ns(&self) -> Option<u64> {
        self.handover.as_ref()?.load_end_ns
    }

    /// Notes when `until` has ended the load, for another controller.
    pub(super) fn end_load(&mut self, at_ns: u64) {
        if let Some(handover) = &mut self.handover {
            handover.load_end_ns = Some(at_ns);
        }
    }

    /// Keeps the state of the run for another controller. The error is for people.
    pub(super) fn keep(&mut self, fleet: &dyn Fleet) -> Result<(), String> {
        let Some(handover) = &mut self.handover else {
            return Ok(());
        };
        handover.deals.clone_from(&self.made);
        handover.keep(fleet)
    }

    /// Deals the users of a lost worker to the loops `takers`, or as another controller has dealt them.
    pub(super) fn lose(&mut self, plan: &Plan, loss: Loss, takers: &[u32]) -> LostUsers {
        let Loss { worker, loops, from_ns } = loss;
        let lost = |held: &mut Adoption| loops.numbers().contains(&held.by);
        let lots: Vec<Adoption> = self.held.extract_if(.., lost).collect();
        let known = self.made.iter().find(|deal| deal.worker == worker);
        let deal = match known {
            Some(known) => Some(known.clone()),
            None if self.rebalances && from_ns < plan.end_ns() => {
                let adoptions = self.deal(plan, &lots, from_ns, takers);
                let deal = Deal { worker, from_ns, adoptions };
                self.made.push(deal.clone());
                Some(deal)
            }
            None => None,
        };
        let deal = deal.filter(|deal| !deal.adoptions.is_empty());
        let adoptions = deal.iter().flat_map(|deal| deal.adoptions.iter().cloned());
        self.held.extend(adoptions);
        self.count_users(plan, &lots, deal)
    }

    /// Deals lots evenly among the loops that are left, in each region among its own.
    fn deal(&self, plan: &Plan, lots: &[Adoption], from_ns: u64, takers: &[u32]) -> Vec<Adoption> {
        let regions = region_loops(&plan.regions, self.loops_count);
        let region = |number: u32| regions.iter().rposition(|loops| loops.first <= number);
        let mut dealt = Vec::new();
        for own in 0..regions.len().max(1) {
            let is_here = |number: u32| region(number).is_none_or(|region| region == own);
            let here: Vec<&Adoption> =
                lots.iter().filter(|held| is_here(held.lot.loop_number)).collect();
            let takers = takers.iter().copied().filter(|&number| is_here(number));
            let takers: Vec<u32> = takers.collect();
            let Some(even) = even_parts(here.len(), takers.len()) else {
                continue;
            };
            let mut turns = takers.into_iter().cycle();
            for held in here {
                let may = held.lot.may_have(self.loops_count, even);
                let parts = if may { even } else { 1 };
                for (part, by) in (0..parts).zip(&mut turns) {
                    dealt.push(Adoption {
                        by,
                        lot: held.lot.part(part, parts),
                        from_ns: from_ns.max(held.from_ns),
                    });
                }
            }
        }
        dealt
    }

    /// Counts the users of these lots, by who starts them.
    fn count_users(&self, plan: &Plan, lots: &[Adoption], deal: Option<Deal>) -> LostUsers {
        let share = |lot: &Lot| lot.share(self.loops_count, &plan.regions);
        let shares = |all: &[Adoption]| -> Vec<(Share, u64)> {
            let known = all.iter();
            let known = known.filter_map(|held| Some((share(&held.lot)?, held.from_ns)));
            known.collect()
        };
        let own = shares(lots);
        let others = shares(deal.as_ref().map_or(&[], |deal| &deal.adoptions));
        let from_ns = deal.as_ref().map_or(u64::MAX, |deal| deal.from_ns);
        let mut users = LostUsers::default();
        for arrival in Arrivals::new(plan, Share::new(0, 1)) {
            let takes = |all: &[(Share, u64)]| {
                let mut all = all.iter();
                all.any(|(share, from_ns)| share.takes(arrival.user) && arrival.due_ns >= *from_ns)
            };
            if !takes(&own) {
                continue;
            }
            match takes(&others) {
                true => users.dealt += 1,
                false => {
                    users.own += 1;
                    users.untaken += u64::from(arrival.due_ns >= from_ns);
                }
            }
        }
        users.deal = deal;
        users
    }
}

/// Into how many parts each lot is divided, so that all takers get the same number of them; `None`: nobody takes any.
fn even_parts(lots: usize, takers: usize) -> Option<u32> {
    // Euclid's algorithm: the greatest number that divides both.
    let mut divisor = lots;
    let mut rest = takers;
    while rest > 0 {
        let next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    let parts = takers.checked_div(divisor).filter(|&parts| parts > 0)?;
    u32::try_from(parts).ok()
}

#[cfg(test)]
mod tests;
