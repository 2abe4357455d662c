//! Branches that run at the same time.

use plan::{Op, Slot};

use crate::{plan, rendered, with_steps};

#[test]
fn branches_stand_one_behind_the_other_and_set_their_own_variables() {
    let plan = plan(&with_steps(
        "
- set: { x: 1 }
- parallel:
    - { get: /a, save: { a: /a } }
    - - retry: 2
        steps: [ { get: /b, save: { x: /x, b: /b } } ]
    - think: 1s
- get: /${a}${b}${x}
",
    ));
    let session = &plan.sessions[0];
    assert!(session.has_branches());
    assert_eq!(session.slot_names, ["x", "a", "b"]);
    let Op::Parallel(parallel) = &session.ops[1] else {
        panic!("no branches: {:?}", session.ops[1])
    };
    let instructions = parallel.branches.iter().map(|own| own.instructions.clone());
    assert_eq!(instructions.collect::<Vec<_>>(), [2..4, 4..10, 10..12]);
    assert_eq!(parallel.end, 12);
    for branch in &parallel.branches {
        assert_eq!(session.ops[branch.instructions.end as usize - 1], Op::BranchEnd);
    }
    let sets = parallel.branches.iter().map(|own| own.sets.clone());
    let expected = [vec![Slot(1)], vec![Slot(0), Slot(2)], vec![]];
    assert_eq!(sets.collect::<Vec<_>>(), expected);
    // Pauses between attempts are drawn by each branch.
    let draws = parallel.branches.iter().map(|own| own.retry_draws);
    let retry = &session.retries[0];
    assert_eq!(draws.collect::<Vec<_>>(), [None, Some(retry.draws), None]);
}

#[test]
fn a_pass_takes_as_long_as_the_longest_branch() {
    let plan = plan(&with_steps(
        "
- think: 1s
- parallel:
    - think: 2s
    - [ { think: 3s }, { loop: 2, steps: [ { think: 2s } ] } ]
    - think: 4s
- think: 1s
",
    ));
    assert_eq!(plan.sessions[0].length_mean_ns(), 9e9);
}

#[test]
fn branches_have_a_limit() {
    let branches = |count| {
        let branches = vec!["{ get: / }"; count].join(", ");
        with_steps(&format!("- parallel: [ {branches} ]"))
    };
    plan(&branches(64));
    let error = rendered(&branches(65), &[]);
    assert!(error.contains("there are more than 64 branches"), "{error}");
}

#[test]
fn a_loop_whose_branches_never_wait_would_spin() {
    let spins = rendered(
        &with_steps("- forever: [ { parallel: [ { set: { a: 1 } }, { set: { b: 1 } } ] } ]"),
        &[],
    );
    assert!(spins.contains("so it would be a busy loop"), "{spins}");
    plan(&with_steps("- forever: [ { parallel: [ { set: { a: 1 } }, { get: / } ] } ]"));
}

#[test]
fn items_share_the_instructions_of_branches() {
    let plan = plan(&with_steps(
        "
- set: { list: '[1]' }
- parallel: { foreach: list, as: item, at_once: 3, steps: [ { get: \"/${item}\", save: { x: /x } } ] }
- get: /
",
    ));
    let session = &plan.sessions[0];
    let parallel = session.ops.iter().find_map(|op| match op {
        Op::Parallel(parallel) => Some(parallel),
        _ => None,
    });
    let branches = &parallel.unwrap().branches;
    let firsts: Vec<i64> = branches.iter().map(|own| own.first.unwrap().1).collect();
    assert_eq!(firsts, [-3, -2, -1]);
    assert!(branches.iter().all(|own| own.instructions == branches[0].instructions));
    assert!(branches.iter().all(|own| own.sets.is_empty()));
    for (step, expected) in [
        (
            "parallel: { foreach: l, as: i, at_once: 65, steps: [ { get: / } ] }",
            "write a number from 1 to 64",
        ),
        (
            "parallel: { foreach: l, as: i, at_once: 0, steps: [ { get: / } ] }",
            "write a number from 1 to 64",
        ),
        (
            "parallel: { foreach: l, as: i, steps: [ { set: { a: 1 } } ] }",
            "so it would be a busy loop",
        ),
        ("parallel: { foreach: l, as: i, steps: [ { stop: } ] }", "cannot stand in a branch"),
        ("parallel: { foreach: l, steps: [ { get: / } ] }", "`as`"),
    ] {
        let error = rendered(&with_steps(&format!("- set: {{ l: '[]' }}\n- {step}\n")), &[]);
        assert!(error.contains(expected), "{step}: {error}");
    }
    let behind = "- set: { l: '[]' }\n- parallel: { foreach: l, as: i, steps: [ { get: /, save: { x: /x } } ] }\n- get: /${x}\n";
    let error = rendered(&with_steps(behind), &[]);
    assert!(error.contains("`x`"), "{error}");
}
