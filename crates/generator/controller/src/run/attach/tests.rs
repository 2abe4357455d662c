//! The state of a run to continue, and the directory of its record.

use record::schema::WorkerInfo;

use super::*;
use crate::run::deals::Deal;
use workers::{Loops, Lot};

#[test]
fn a_second_directory_of_a_run_has_a_number() {
    let runs = tempfile::tempdir().unwrap();
    for expected in ["r", "r-2", "r-3"] {
        let id = free_id(runs.path(), "r");
        assert_eq!(id, expected);
        std::fs::create_dir(runs.path().join(id)).unwrap();
    }
}

fn agent(name: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        cores: 1,
        files_per_loop: 1,
        holds: 1,
        holds_with_target: 1,
        ports: 1,
        is_here: true,
    }
}

/// The state of a run on two agents with three loops.
fn handover() -> Handover {
    let info = r#"{"format": 1, "id": "r", "name": "r", "throng": "1.2.3", "status": "running", "seed": 1,
        "scenario_hash": "", "target": "", "started_unix_ns": 1, "clock": "", "host": {}, "measures": [],
        "sessions": [], "phases": [],
        "generator": {"mode": "wide", "loops": 3, "cores": 1, "files_per_loop": 1, "lag_max_ns": 1}}"#;
    let mut info: RunInfo = serde_json::from_str(info).unwrap();
    info.workers = vec![WorkerInfo::default(); 2];
    let share = |first, count| Loops { first, count, of: 3 };
    Handover {
        info,
        shares: vec![share(0, 1), share(1, 2)],
        target: None,
        plan_digest: String::new(),
        zero_ns: 0,
        allow_lost_workers: false,
        deals: Vec::new(),
        load_end_ns: None,
    }
}

#[test]
fn a_run_is_continued_whose_agents_have_all_of_its_loops() {
    let agents = [agent("a"), agent("b")];
    assert_eq!(check(&handover(), &agents), Ok(()));
    assert!(check(&handover(), &agents[..1]).is_err());
    assert!(check(&handover(), &[agent("a"), agent("a")]).is_err());
    let refused = |change: fn(&mut Handover)| {
        let mut changed = handover();
        change(&mut changed);
        check(&changed, &agents).expect_err("it is impossible");
    };
    refused(|kept| drop(kept.info.workers.pop()));
    refused(|kept| kept.shares[1].first = 2);
    refused(|kept| kept.shares[1].count = 1);
    refused(|kept| kept.shares[1].count = u32::MAX);
    refused(|kept| kept.shares[0].count = 0);
    refused(|kept| kept.shares[0].of = 4);
    refused(|kept| kept.info.generator.loops = 4);
    for (by, lot) in [(3, Lot::of_loop(0)), (0, Lot::of_loop(3))] {
        let mut changed = handover();
        let adoption = Adoption { by, lot, from_ns: 1 };
        changed.deals = vec![Deal { worker: 0, from_ns: 1, adoptions: vec![adoption] }];
        check(&changed, &agents).expect_err("it is impossible");
    }
    refused(|kept| {
        // All of it is consistent, and more than any run has.
        kept.info.generator.loops = u32::MAX;
        kept.shares[1].count = u32::MAX - 1;
        kept.shares.iter_mut().for_each(|share| share.of = u32::MAX);
    });
    for id in ["", ".", "..", "../r", "/r", "r/s", "r/"] {
        let mut changed = handover();
        changed.info.id = id.to_owned();
        assert!(check(&changed, &agents).is_err(), "{id:?}");
    }
}

#[test]
fn the_end_of_the_load_is_handed_over() {
    let mut deals = Deals::of_run(None, 3, Some(handover()));
    assert_eq!(deals.load_end_ns(), None);
    deals.end_load(7);
    assert_eq!(deals.load_end_ns(), Some(7));
    let kept = Handover { load_end_ns: Some(7), ..handover() };
    let text = serde_json::to_string(&kept).unwrap();
    let read: Handover = serde_json::from_str(&text).unwrap();
    assert_eq!(Deals::of_run(None, 3, Some(read)).load_end_ns(), Some(7));
    // A controller that has kept no such time has not ended the load.
    let text = text.replace(r#","load_end_ns":7"#, "");
    let read: Handover = serde_json::from_str(&text).unwrap();
    assert_eq!(read.load_end_ns, None);
    assert_eq!(Deals::of_run(None, 3, None).load_end_ns(), None);
}
