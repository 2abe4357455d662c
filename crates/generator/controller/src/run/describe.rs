//! The beginning of the record: the contents of `run.json`, and notes on what workers do not share.

use driver::real::WaitMode;
use engine::meeting::RunPart;
use engine::schedule::share::region_loops;
use machine::host;
use machine::loops::open_files_max;
use plan::Plan;
use plan::{MeasureKind, Phase, PhaseKind, Spacing, Target, Trace};
use record::run_id;
use record::schema::{
    FORMAT_VERSION, GeneratorInfo, MeasureInfo, MetricInfo, PhaseInfo, RegionInfo, RunInfo,
    RunStatus, WorkerInfo,
};
use workers::{LoopsSetup, ScenarioText, hex_digest};

use crate::secrets::Secrets;

/// A run that is about to start.
#[derive(Debug)]
pub(super) struct RunStart<'a> {
    pub(super) plan: &'a Plan,
    pub(super) scenario: &'a ScenarioText,
    /// Throng's version.
    pub(super) throng: &'a str,
    pub(super) setup: &'a LoopsSetup,
    pub(super) workers: Vec<WorkerInfo>,
    pub(super) secrets: &'a Secrets,
    /// The zero, since the Unix epoch.
    pub(super) unix_ns: u64,
    /// Names and values that a lab adds to the facts of the host.
    pub(super) facts: Vec<(String, String)>,
}

impl RunStart<'_> {
    /// For `run.json`.
    pub(super) fn info(&self) -> RunInfo {
        let &RunStart {
            plan,
            scenario,
            throng,
            setup,
            ref workers,
            secrets,
            unix_ns: started_unix_ns,
            ref facts,
        } = self;
        // The low digits of the start distinguish runs of the same second.
        let entropy = (started_unix_ns / 1_000 % 0x1_0000) as u16;
        let mut info = RunInfo {
            format: FORMAT_VERSION,
            id: run_id(started_unix_ns / 1_000_000_000, &plan.name, entropy),
            name: plan.name.clone(),
            throng: throng.to_owned(),
            status: RunStatus::Running,
            seed: plan.seed,
            scenario_hash: hex_digest(&secrets.recorded(&scenario.text)),
            overrides: scenario
                .overrides
                .iter()
                .enumerate()
                .map(|(at, (key, value))| match plan.secret_sets.contains(&at) {
                    true => format!("{key}=(secret)"),
                    false => format!("{key}={value}"),
                })
                .collect(),
            target: target(plan),
            started_unix_ns,
            ended_ns: 0,
            clock: "CLOCK_MONOTONIC, zero tied to CLOCK_REALTIME once at the start".to_owned(),
            generator: GeneratorInfo {
                mode: match setup.layout.waiting {
                    WaitMode::Precise => "precise".to_owned(),
                    WaitMode::Wide => "wide".to_owned(),
                },
                loops: setup.layout.loops_count,
                cores: setup.cores,
                files_per_loop: open_files_max(),
                lag_max_ns: plan.options.lag_max_ns,
            },
            workers: workers.clone(),
            host: host::facts().into_iter().chain(facts.clone()).collect(),
            regions: regions(plan, setup),
            measures: measures(plan),
            metrics: plan.metrics.iter().map(metric).collect(),
            sessions: plan.sessions.iter().map(|session| session.name.clone()).collect(),
            steps: steps(plan),
            expects_overload: plan.expects_overload,
            phases: plan.phases.iter().map(|one| phase(plan, one)).collect(),
            tls_unverified: !plan.options.tls.verify && plan.endpoints.iter().any(|e| e.tls),
        };
        secrets.hide_in_info(&mut info);
        info
    }
}

fn target(plan: &Plan) -> String {
    match &plan.target {
        // The way to the target is named as well: figures through a proxy are not those of the target alone.
        Target::Url(url) => url.clone() + &plan.detour(&plan.endpoints[0]),
        Target::Builtin { name, .. } => {
            let endpoint = &plan.endpoints[0];
            format!("{name} (built in, at {}:{})", endpoint.host, endpoint.port)
        }
    }
}

/// The measures of the steps of sessions that users may have: what these begin, check or measure.
fn steps(plan: &Plan) -> Vec<u16> {
    let sessions = plan.sessions.iter().enumerate();
    let had = sessions.filter(|(number, _)| plan.has_users_of(*number));
    let ops = had.flat_map(|(_, session)| &session.ops);
    let steps = ops.filter_map(|op| match op {
        plan::Op::TransactionStart { measure, .. }
        | plan::Op::Check { measure, .. }
        | plan::Op::Measure { measure, .. } => Some(*measure),
        // Its name stands in a script's text, which need not mean that the script ever makes it.
        plan::Op::Http(http) if http.by_script => None,
        op => op.measure(),
    });
    let recorded = plan.recorded();
    let steps = steps.flat_map(|measure| recorded.all_of(measure));
    let steps: std::collections::BTreeSet<u16> = steps.map(|measure| measure.0).collect();
    steps.into_iter().collect()
}

/// The regions and their loops.
fn regions(plan: &Plan, setup: &LoopsSetup) -> Vec<RegionInfo> {
    let loops = region_loops(&plan.regions, setup.layout.loops_count);
    let regions = plan.regions.iter().zip(loops).zip(&setup.places);
    let regions = regions.map(|((region, loops), place)| {
        let netns = place.netns.as_ref();
        RegionInfo {
            name: region.name.clone(),
            share: region.share,
            loops_first: loops.first,
            loops: loops.count,
            netns: netns.map(|netns| netns.path().display().to_string()),
        }
    });
    regions.collect()
}

fn measures(plan: &Plan) -> Vec<MeasureInfo> {
    let recorded = plan.recorded();
    let mut measures: Vec<MeasureInfo> = recorded.measures.iter().map(measure).collect();
    let ops = plan.sessions.iter().flat_map(|session| &session.ops);
    for waiting in ops.filter_map(plan::Op::waiting_measure) {
        for measure in recorded.all_of(waiting) {
            measures[measure.index()].waits = true;
        }
    }
    measures
}

/// A kind of measures, as the record names it.
pub(crate) fn kind_name(kind: MeasureKind) -> &'static str {
    match kind {
        MeasureKind::Connect => "connect",
        MeasureKind::Request => "request",
        MeasureKind::Handshake => "handshake",
        MeasureKind::Message => "message",
        MeasureKind::Redirect => "redirect",
        MeasureKind::Meeting => "meeting",
        MeasureKind::Transaction => "transaction",
        MeasureKind::Check => "check",
        MeasureKind::Value => "value",
        MeasureKind::Step => "step",
    }
}

fn measure(measure: &plan::Measure) -> MeasureInfo {
    MeasureInfo {
        name: measure.name.clone(),
        kind: kind_name(measure.kind).to_owned(),
        tags: measure.tags.clone(),
        shared_name: measure.shared_name.clone(),
        waits: false,
    }
}

fn metric(metric: &plan::Metric) -> MetricInfo {
    MetricInfo { name: metric.name.clone(), kind: metric.kind, unit: metric.unit.clone() }
}

fn phase(plan: &Plan, phase: &Phase) -> PhaseInfo {
    let is_only = plan.populations.is_empty();
    let meanwhile = kinds_meanwhile(plan, phase);
    PhaseInfo {
        name: phase.name.clone(),
        kind: if is_only { kind(phase) } else { kind_of_all(&meanwhile) }.to_owned(),
        start_ns: phase.start_ns,
        end_ns: phase.end_ns(),
        users_planned: plan.users_planned_in(phase),
        // Sessions are counted over all populations, so how many of them are the phase's own is not known.
        sessions_planned: phase.sessions_planned().filter(|_| is_only),
        users_vary: !is_only && meanwhile.contains(&"closed-ramp"),
    }
}

/// The kinds of the phases of all populations that lie in the time of this one. A closed population that begins or ends
/// meanwhile changes the number of users, as a ramp does.
fn kinds_meanwhile(plan: &Plan, phase: &Phase) -> Vec<&'static str> {
    let meanwhile = plan.arrivals().flatten();
    let meanwhile = meanwhile
        .filter(|other| other.start_ns < phase.end_ns() && phase.start_ns < other.end_ns());
    let kinds = meanwhile.map(|other| match kind(other) {
        "closed" if other.start_ns > phase.start_ns || other.end_ns() < phase.end_ns() => {
            "closed-ramp"
        }
        kind => kind,
    });
    kinds.collect()
}

/// The kind of a phase in which all populations come: random if one of them is, and closed if all are.
fn kind_of_all(kinds: &[&'static str]) -> &'static str {
    let by_weight = ["poisson", "rate", "closed-ramp", "closed"];
    by_weight.into_iter().find(|kind| kinds.contains(kind)).unwrap_or("hold")
}

fn kind(phase: &Phase) -> &'static str {
    match &phase.kind {
        PhaseKind::Rate { spacing: Spacing::Poisson, .. }
        | PhaseKind::Trace(Trace { spacing: Spacing::Poisson, .. }) => "poisson",
        // The sum of processes is random if one of them is.
        PhaseKind::Together(_) if phase.parts().any(|part| kind(part) == "poisson") => "poisson",
        PhaseKind::Rate { .. }
        | PhaseKind::Trace(_)
        | PhaseKind::Starts(_)
        | PhaseKind::Together(_) => "rate",
        PhaseKind::Hold => "hold",
        PhaseKind::Closed(population) if population.is_ramp() => "closed-ramp",
        PhaseKind::Closed(_) => "closed",
    }
}

/// A sentence for each thing that users share only with those of their own worker, where there are several.
pub(super) fn notes_on_shared(plan: &Plan, workers: &[WorkerInfo]) -> Vec<String> {
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
    fn steps_are_what_is_begun_checked_and_measured() {
        let text = "target: http://h/
sessions:
  s:
    - { get: /, as: page, save: { took: time } }
    - { check: took < 9, as: fast }
    - { measure: took, as: seen }
    - { set: { x: \"${took * 2}\" } }
arrivals: [ { hold: 1s }, { constant: 1/s, for: 1s } ]
";
        let plan = crate::testing::plan(text);
        let recorded = measures(&plan);
        let steps = steps(&plan).into_iter();
        let steps: Vec<&str> = steps.map(|step| &*recorded[usize::from(step)].name).collect();
        assert_eq!(steps, ["page", "fast", "seen"]);
        let own = recorded.iter().find(|measure| measure.name == "steps");
        assert_eq!(own.map(|measure| &*measure.kind), Some("step"));
    }

    #[test]
    fn users_that_vary_beside_an_open_population_are_noted() {
        let vary = |populations: &str| -> Vec<bool> {
            let plan = crate::testing::plan(&format!(
                "target: http://h/\nsessions: {{ s: [ {{ get: / }} ] }}\n{populations}\n"
            ));
            plan.phases.iter().map(|one| phase(&plan, one).users_vary).collect()
        };
        let open = "a: { arrivals: [ { constant: 1/s, for: 20s }, { constant: 2/s, for: 20s } ] }";
        for (beside, expected) in [
            ("b: { arrivals: [ { users: 4, for: 40s } ] }", [false, false]),
            ("b: { arrivals: [ { hold: 5s }, { users: 4, for: 35s } ] }", [true, false]),
            ("b: { arrivals: [ { hold: 20s }, { users: 4, for: 20s } ] }", [false, false]),
            ("b: { arrivals: [ { users: 0..9, for: 20s }, { hold: 20s } ] }", [true, false]),
            ("b: { arrivals: [ { constant: 4/s, for: 40s } ] }", [false, false]),
        ] {
            let found = vary(&format!("populations: {{ {open}, {beside} }}"));
            assert_eq!(found, expected, "{beside}");
        }
        // The kind says it of one population.
        assert_eq!(vary("arrivals: [ { users: 0..9, for: 20s } ]"), [false]);
    }

    #[test]
    fn a_phase_of_several_populations_is_of_the_kind_of_all() {
        let kinds = |populations: &str| -> Vec<(String, f64)> {
            let plan = crate::testing::plan(&format!(
                "target: http://h/\nsessions: {{ s: [ {{ get: / }} ] }}\npopulations: {{ {populations} }}\n"
            ));
            let phases = plan.phases.iter().map(|one| phase(&plan, one));
            phases.map(|phase| (phase.kind, phase.users_planned)).collect()
        };
        let users = "a: { arrivals: [ { users: 4, for: 10s }, { hold: 10s } ] }";
        for (beside, expected) in [
            ("b: { arrivals: [ { users: 3, for: 10s } ] }", [("closed", 7.0), ("hold", 0.0)]),
            ("b: { arrivals: [ { users: 3, for: 9s } ] }", [("closed-ramp", 7.0), ("hold", 0.0)]),
            (
                "b: { arrivals: [ { users: 0..9, for: 20s } ] }",
                [("closed-ramp", 9.0), ("closed-ramp", 4.0)],
            ),
            (
                "b: { arrivals: [ { hold: 9s }, { constant: 1/s, for: 11s } ] }",
                [("rate", 5.0), ("rate", 10.0)],
            ),
            (
                "b: { arrivals: [ { constant: 1/s, for: 20s } ] }, c: { arrivals: [ { poisson: 1/s, for: 10s } ] }",
                [("poisson", 24.0), ("rate", 10.0)],
            ),
        ] {
            let expected = expected.map(|(kind, users)| (kind.to_owned(), users));
            assert_eq!(kinds(&format!("{users}, {beside}")), expected, "{beside}");
        }
    }

    #[test]
    fn what_waits_for_messages_is_marked() {
        let text = "target: http://h/
sessions:
  s:
    - ws: /chat
    - expect: { when: { /n: 1 }, as: reply_of_n }
    - send: a
      reply: { when: { /n: 2 }, as: answered }
    - get: /
      as: page
arrivals: [ { hold: 1s } ]
";
        let measures = measures(&crate::testing::plan(text));
        let waiting: Vec<&str> = measures
            .iter()
            .filter(|measure| measure.waits)
            .map(|measure| measure.name.as_str())
            .collect();
        assert_eq!(waiting, ["reply_of_n"]);
    }

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
        assert!(notes_on_shared(&plan, &[worker(0, 3)]).is_empty());
        let notes = notes_on_shared(&plan, &[worker(0, 1), worker(1, 2)]);
        assert_eq!(
            notes[0],
            "users of the rendezvous \"sale\" met within each worker: 3, 7 of the 10 users"
        );
        assert_eq!(notes.len(), 3);
    }
}
