//! Shares that are dealt, once and more often.

use super::*;

const S: u64 = 1_000_000_000;

fn plan(regions: &str) -> Plan {
    let text = format!(
        "target: http://127.0.0.1:1\n{regions}sessions: {{ one: [ {{ get: / }} ] }}\n\
         arrivals: [ {{ constant: 60/s, for: 10s }} ]\n"
    );
    crate::testing::plan(&text)
}

fn loops(first: u32, count: u32, of: u32) -> Loops {
    Loops { first, count, of }
}

fn loss(worker: usize, loops: Loops, from_ns: u64) -> Loss {
    Loss { worker, loops, from_ns }
}

/// The loops that start each user of the plan.
fn starters(plan: &Plan, deals: &Deals) -> Vec<Vec<u32>> {
    let all = Arrivals::new(plan, Share::new(0, 1));
    let by = all.map(|arrival| {
        let theirs = deals.held.iter().filter(|held| {
            let share = held.lot.share(deals.loops_count, &plan.regions).unwrap();
            share.takes(arrival.user) && arrival.due_ns >= held.from_ns
        });
        theirs.map(|held| held.by).collect()
    });
    by.collect()
}

#[test]
fn the_moment_of_a_deal_is_the_beginning_of_a_second_when_all_know_it() {
    assert_eq!(moment(5 * S, 0), 7 * S);
    assert_eq!(moment(5 * S + 1, 0), 8 * S);
    assert_eq!(moment(5 * S, 20 * S + 1), 21 * S);
    assert_eq!(moment(u64::MAX, u64::MAX), u64::MAX);
}

#[test]
fn each_loop_has_its_share_and_nothing_is_dealt_unless_wanted() {
    let plan = plan("");
    let mut deals = Deals::new(false, 4, Vec::new());
    let settled = deals.lose(&plan, loss(1, loops(2, 2, 4), 3 * S), &[0, 1]);
    let own = LostUsers { own: 300, ..LostUsers::default() };
    assert_eq!(settled, own);
}

/// Every user is started by one loop that is left; those who were due before never come.
#[test]
fn a_share_is_dealt_evenly_and_dealt_again_if_its_taker_is_lost() {
    let plan = plan("");
    let mut deals = Deals::new(true, 6, Vec::new());
    let first = deals.lose(&plan, loss(0, loops(0, 2, 6), 3 * S), &[2, 3, 4, 5]);
    // Twenty users a second.
    assert_eq!((first.own, first.dealt, first.untaken), (60, 140, 0));
    let mut counts = [0; 6];
    for by in starters(&plan, &deals).iter().skip(180) {
        assert_eq!(by.len(), 1, "each has one loop");
        counts[by[0] as usize] += 1;
    }
    assert_eq!(counts, [0, 0, 105, 105, 105, 105]);
    let second = deals.lose(&plan, loss(1, loops(2, 1, 6), 5 * S), &[3, 4, 5]);
    // Ten a second of its own for five seconds, and five of the first one's for two.
    assert_eq!((second.own, second.dealt), (50 + 10, 75));
    assert!(starters(&plan, &deals).iter().skip(300).all(|by| by.len() == 1));
    assert_eq!(deals.made.len(), 2);
}

/// The second is known earlier than what it takes of the first.
#[test]
fn users_are_not_started_before_the_first_deal_that_they_were_in() {
    let plan = plan("");
    let mut deals = Deals::new(true, 3, Vec::new());
    deals.lose(&plan, loss(0, loops(0, 1, 3), 8 * S), &[1, 2]);
    let second = deals.lose(&plan, loss(1, loops(1, 1, 3), 4 * S), &[2]);
    let adoptions = second.deal.unwrap().adoptions;
    let moments: Vec<u64> = adoptions.iter().map(|a| a.from_ns).collect();
    assert_eq!(moments, [4 * S, 8 * S]);
    assert_eq!((second.own, second.dealt), (80, 120 + 20));
}

#[test]
fn users_of_a_region_stay_there_or_are_started_by_nobody() {
    let plan = plan("regions: { north: 2, south: 1 }\n");
    let mut deals = Deals::new(true, 4, Vec::new());
    let regions = region_loops(&plan.regions, 4);
    let counts: Vec<u32> = regions.iter().map(|loops| loops.count).collect();
    assert_eq!(counts, [2, 2]);
    let one = deals.lose(&plan, loss(0, loops(0, 1, 4), 5 * S), &[1, 2, 3]);
    assert!(one.deal.unwrap().adoptions.iter().all(|a| a.by == 1));
    assert_eq!(one.untaken, 0);
    // One of the last two loops of the north, with the other's users, and one of the south.
    let both = deals.lose(&plan, loss(1, loops(1, 2, 4), 6 * S), &[3]);
    assert!(both.deal.unwrap().adoptions.iter().all(|a| a.by == 3));
    assert!(both.untaken > 150, "{}", both.untaken);
    let nobody = deals.lose(&plan, loss(2, loops(3, 1, 4), 7 * S), &[]);
    assert_eq!((nobody.deal, nobody.dealt), (None, 0));
}

#[test]
fn what_another_controller_has_dealt_is_dealt_the_same() {
    let plan = plan("");
    let mut first = Deals::new(true, 3, Vec::new());
    let made = first.lose(&plan, loss(1, loops(1, 1, 3), 4 * S), &[0, 2]);
    let mut next = Deals::new(true, 3, first.made.clone());
    let again = next.lose(&plan, loss(1, loops(1, 1, 3), 9 * S), &[0]);
    assert_eq!(again, made);
    assert_eq!(next.made, first.made);
}

#[test]
fn nothing_is_dealt_after_the_end_of_the_plan() {
    let plan = plan("");
    let mut deals = Deals::new(true, 2, Vec::new());
    let settled = deals.lose(&plan, loss(0, loops(0, 1, 2), 10 * S), &[1]);
    assert_eq!((settled.own, settled.deal), (300, None));
}

#[test]
fn parts_are_as_many_as_make_even_shares() {
    for (lots, takers, parts) in [(1, 2, 2), (2, 4, 2), (4, 2, 1), (3, 2, 2), (10, 90, 9)] {
        assert_eq!(even_parts(lots, takers), Some(parts));
    }
    assert_eq!(even_parts(0, 2), Some(1));
    assert_eq!(even_parts(2, 0), None);
}
