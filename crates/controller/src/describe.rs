//! What `run.json` says from the start.

use engine::driver::real::{Waiting, open_files_max};
use record::run_id;
use record::schema::{FORMAT_VERSION, GeneratorInfo, MeasureInfo, PhaseInfo, RunInfo, RunStatus};
use scenario::Plan;
use scenario::plan::{MeasureKind, Phase, PhaseKind, Spacing, Target};
use sha1::{Digest, Sha1};

use crate::conduct::RunRequest;
use crate::host;
use crate::layout::Layout;

/// The run as it is about to start.
pub(crate) fn info(
    request: &RunRequest<'_>,
    layout: &Layout,
    cores: u32,
    started_unix_ns: u64,
) -> RunInfo {
    let plan = &request.plan;
    // Tells runs of one second apart: the start's own low digits serve.
    let entropy = (started_unix_ns / 1_000 % 0x1_0000) as u16;
    RunInfo {
        format: FORMAT_VERSION,
        id: run_id(started_unix_ns / 1_000_000_000, &plan.name, entropy),
        name: plan.name.clone(),
        throng: request.version.to_owned(),
        status: RunStatus::Running,
        seed: plan.seed,
        scenario_hash: hex_digest(request.scenario),
        overrides: request.overrides.clone(),
        target: target(plan),
        started_unix_ns,
        ended_ns: 0,
        clock: "CLOCK_MONOTONIC, zero tied to CLOCK_REALTIME once at the start".to_owned(),
        generator: GeneratorInfo {
            mode: match layout.waiting {
                Waiting::Precise => "precise".to_owned(),
                Waiting::Wide => "wide".to_owned(),
            },
            loops: layout.loops_count,
            cores,
            files_per_loop: open_files_max(),
            lag_max_ns: plan.options.lag_max_ns,
        },
        host: host::facts(),
        measures: plan.measures.iter().map(measure).collect(),
        sessions: plan
            .sessions
            .iter()
            .map(|session| session.name.clone())
            .collect(),
        phases: plan.phases.iter().map(phase).collect(),
        tls_unverified: !plan.options.tls.verify && plan.endpoints.iter().any(|e| e.tls),
    }
}

fn target(plan: &Plan) -> String {
    match &plan.target {
        Target::Url(url) => url.clone(),
        Target::Builtin { name, .. } => {
            let endpoint = &plan.endpoints[0];
            format!("{name} (built in, at {}:{})", endpoint.host, endpoint.port)
        }
    }
}

fn measure(measure: &scenario::plan::Measure) -> MeasureInfo {
    let kind = match measure.kind {
        MeasureKind::Connect => "connect",
        MeasureKind::Request => "request",
        MeasureKind::Handshake => "handshake",
        MeasureKind::Message => "message",
        MeasureKind::Transaction => "transaction",
        MeasureKind::Check => "check",
    };
    MeasureInfo {
        name: measure.name.clone(),
        kind: kind.to_owned(),
    }
}

fn phase(phase: &Phase) -> PhaseInfo {
    let kind = match phase.kind {
        PhaseKind::Rate {
            spacing: Spacing::Even,
            ..
        } => "rate",
        PhaseKind::Rate {
            spacing: Spacing::Poisson,
            ..
        } => "poisson",
        PhaseKind::Hold => "hold",
        PhaseKind::Closed { .. } => "closed",
    };
    PhaseInfo {
        name: phase.name.clone(),
        kind: kind.to_owned(),
        start_ns: phase.start_ns,
        end_ns: phase.end_ns(),
        users_planned: phase.users_planned(),
    }
}

fn hex_digest(text: &str) -> String {
    Sha1::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
