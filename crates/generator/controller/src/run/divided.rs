//! Notes on users that share something, if they are in several processes.

use engine::meeting::RunPart;
use plan::Plan;
use record::schema::WorkerInfo;

/// A sentence for each thing that is not what it is in one process.
pub(super) fn notes(plan: &Plan, workers: &[WorkerInfo]) -> Vec<String> {
    if workers.len() < 2 {
        return Vec::new();
    }
    let of = workers.iter().map(|worker| worker.loops).sum();
    let parts =
        workers.iter().map(|worker| RunPart { first: worker.loops_first, count: worker.loops, of });
    let mut notes = Vec::new();
    for rendezvous in &plan.meetings.rendezvous {
        let shares = parts.clone().map(|part| part.share(rendezvous.users));
        let shares: Vec<String> = shares.map(|share| share.to_string()).collect();
        notes.push(format!(
            "users of the rendezvous {:?} met within each worker: {} of the {} users",
            rendezvous.name,
            shares.join(", "),
            rendezvous.users
        ));
    }
    for queue in &plan.meetings.queues {
        notes.push(format!(
            "each worker had a queue {:?} of its own: values were taken in the worker in which they were put",
            queue.name
        ));
    }
    for counter in &plan.meetings.counters {
        notes.push(format!(
            "each worker had numbers of its own of the counter {:?}: no number was drawn twice",
            counter.name
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divided_users_are_noted_and_others_are_not() {
        let plan = crate::testing::plan(
            "
target: http://127.0.0.1:80/
shared: { rendezvous: { sale: 10 }, queues: { unpaid: }, counters: { orders: } }
sessions: { main: [ { get: / } ] }
arrivals: [ { users: 10, for: 1s } ]
",
        );
        let worker =
            |loops_first, loops| WorkerInfo { loops_first, loops, ..WorkerInfo::default() };
        assert!(notes(&plan, &[worker(0, 3)]).is_empty());
        let notes = notes(&plan, &[worker(0, 1), worker(1, 2)]);
        assert_eq!(
            notes[0],
            "users of the rendezvous \"sale\" met within each worker: 3, 7 of the 10 users"
        );
        assert_eq!(notes.len(), 3);
    }
}
