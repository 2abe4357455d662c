use engine::measure::{
    ConsoleLine, Counts, Delta, ErrorDelta, Gauges, LoopCpu, MeasureDelta, MetricDelta, OUTCOMES,
    Sample, SessionTimes,
};
use engine::sequences::{Broadcast, Claim, ClockReading, Head, Settlement};
use engine::traffic::Traffic;
use plan::{MeasureId, MessageId, MetricId};
use proptest::prelude::*;
use record::Outcome;
use record::schema::{SessionEnd, StepWork, UnfinishedSessions, UserState, WorkKind};
use stats::decimal::Decimal;
use stats::hist::LogHistogram;
use stats::metrics::{MetricKind, MetricValues};

use super::super::adoption::Lot;
use super::*;

fn delta() -> Delta {
    let mut hist = LogHistogram::new();
    hist.record_n(1_000, 3);
    let mut outcomes = [0; OUTCOMES];
    outcomes[Outcome::Ok as usize] = 3;
    Delta {
        loop_id: 27,
        start_ns: 1_000_000_000,
        end_ns: 2_000_000_000,
        phase: 1,
        counts: Counts { sends: 4, done: 3, ..Counts::default() },
        gauges: Gauges { users: 2, users_peak: 3, connections: 2, in_flight: 1, closed_late_ns: 0 },
        measures: vec![MeasureDelta {
            measure: MeasureId(1),
            due: 6,
            missed: [1, 0, 0, 1],
            begun: 4,
            outcomes,
            retried: 2,
            response: hist.clone(),
            failed: hist.clone(),
            censored: LogHistogram::new(),
            service: hist.clone(),
            lag: LogHistogram::new(),
            late: LogHistogram::new(),
        }],
        lag: hist.clone(),
        errors: vec![ErrorDelta {
            measure: MeasureId(1),
            own_step: None,
            outcome: Outcome::Tls,
            detail: Some("late".to_owned()),
            count: 2,
        }],
        samples: vec![Sample {
            at_ns: 5,
            measure: MeasureId(1),
            own_step: None,
            outcome: Outcome::Status,
            detail: Some("503".to_owned()),
            user: 300,
            text: "no".to_owned(),
            request: Some("GET /".to_owned()),
            status: None,
            headers: vec![("a".to_owned(), "b".to_owned())],
            body: Some("x".to_owned()),
        }],
        console: vec![ConsoleLine { at_ns: 6, text: "said".to_owned() }],
        endings: vec![UnfinishedSessions {
            session: 0,
            step: Some(1),
            state: UserState::Waiting,
            end: SessionEnd::Failed,
            outcome: Some("step".to_owned()),
            own_step: Some("`set` of `code`".to_owned()),
            users: 2,
        }],
        own_work: vec![StepWork {
            kind: WorkKind::Encoding,
            measure: Some(1),
            session: None,
            own_step: None,
            count: 4,
            total_ns: 300,
            max_ns: 200,
        }],
        metrics: vec![MetricDelta { metric: MetricId(1), values: quantities() }],
        sessions: SessionTimes { finished: hist, unfinished: LogHistogram::new() },
        broadcasts: vec![Broadcast {
            message: MessageId(0),
            sequence: 300,
            number: 5,
            sent_ns: 1,
            first_ns: 2,
            last_ns: 3,
            first_late_ns: 4,
            last_late_ns: 5,
        }],
        heads: vec![Head {
            message: MessageId(0),
            sequence: 300,
            opening: Some(1),
            slot: 2,
            lowest: 3,
            highest: 4,
        }],
        settlements: vec![(
            Settlement {
                message: MessageId(0),
                sequence: 300,
                opening: None,
                claim: Claim::Last { until: 5, highest: 6 },
            },
            7,
        )],
        clocks: vec![ClockReading {
            message: MessageId(0),
            offset_ns: -1,
            round_trip_ns: 2,
            resolution_ns: 3,
            replies: 4,
        }],
        cpu: LoopCpu { used_ns: 7, waited_ns: 8, idle_ns: 9 },
        traffic: Traffic {
            connections: 1,
            segments_out: 2,
            segments_in: 3,
            payload_out: 4,
            payload_in: 5,
            retransmits: 6,
            ip_out: 7,
            ip_in: 8,
        },
    }
}

/// Three times a thousandth.
fn quantities() -> MetricValues {
    let mut values = MetricValues::new(MetricKind::Quantity);
    (0..3).for_each(|_| values.record(1, Decimal::from_millionths(1_000)));
    values
}

fn row() -> Measurement {
    Measurement {
        due_ns: 128,
        sent_ns: 129,
        done_ns: 1 << 40,
        user: 300,
        measure: 1,
        session: 0,
        loop_id: 27,
        outcome: Outcome::Status,
        status: 503,
        weight: 1,
        bytes_out: 100,
        bytes_in: 2_000,
    }
}

fn hex(message: &impl Serialize) -> String {
    let bytes = postcard::to_stdvec(message).unwrap();
    units::hex(&bytes)
}

/// If one of these changes, so must `PROTOCOL_VERSION`, and `docs/worker-protocol.md`. The first
/// two must never change.
#[test]
fn messages_keep_their_form() {
    assert_eq!(PROTOCOL_VERSION, 21);
    let hello =
        Hello { magic: MAGIC, protocol: 1, throng: "0.1.0".to_owned(), token: "ab".to_owned() };
    assert_eq!(hex(&hello), "7468726f6e670105302e312e30026162");
    let answer = |refused: Option<&str>| Answer { refused: refused.map(str::to_owned) };
    assert_eq!(hex(&answer(None)), "00");
    assert_eq!(hex(&answer(Some("no"))), "01026e6f");
    let introduction = Introduction { pid: 300, cores: 2, files_per_loop: 20_000 };
    assert_eq!(hex(&introduction), "ac0202a09c01");
    let start = ToWorker::Start { clock_ns: 1, unix_ns: 2 };
    assert_eq!(hex(&ToWorker::Ping { number: 9 }), "0109");
    assert_eq!(hex(&start), "020102");
    assert_eq!(hex(&ToWorker::Stop { level: 1 }), "0301");
    assert_eq!(hex(&ToWorker::RowsTaken { frames: 1 }), "0401");
    assert_eq!(hex(&ToWorker::Pause { paused: true }), "0501");
    assert_eq!(hex(&ToWorker::Pause { paused: false }), "0500");
    let addresses = vec![vec![vec!["10.0.0.1:80".parse().unwrap()]]];
    // One endpoint, one resolver, one address of version 4.
    assert_eq!(hex(&ToWorker::Addresses(addresses)), "06010101000a00000150");
    let adoption = Adoption { by: 1, lot: Lot::of_loop(2).part(3, 4), from_ns: 128 };
    // Of one: by whom, the loop, one division, from when.
    assert_eq!(hex(&ToWorker::Adopt(vec![adoption])), "070101020103048001");
    let pong = ToController::Pong { number: 9, clock_ns: 128 };
    assert_eq!(hex(&ToController::Ready), "00");
    assert_eq!(hex(&pong), "02098001");
    assert_eq!(
        hex(&ToController::News(LoopNews::Delta(Box::new(delta())))),
        concat!(
            // News of a delta: loop, start, end, phase.
            "03001b8094ebdc0380a8d6b90701",
            // Counts and gauges.
            "000000000000000000000000000000000000000403000000000000000000000000000000000000",
            "0203020100",
            // One measure: its number, operations due, those that never began by reason, those that began, and how often
            // each of 62 outcomes.
            "01010601000001043e03",
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
            "000000000000000000000000000000000000000000",
            // Attempts that were tried again.
            "02",
            // Sum, least, greatest, and the bucket 1000 with its count; the same; nothing; the same; twice nothing.
            "b817e807e80701e80703",
            "b817e807e80701e80703",
            "00000000",
            "b817e807e80701e80703",
            "00000000",
            "00000000",
            // The lag.
            "b817e807e80701e80703",
            // Failures: their measure, no step of its own, outcome and detail, and how many.
            "010100080104",
            "6c617465",
            "02",
            // A sample: its time, measure, no step of its own, outcome, detail, user and text; the request, no status
            // line, a header, the body.
            "010501000d0103",
            "353033",
            "ac02026e6f",
            "0105474554202f000101610162010178",
            // A line of a script: its time and text.
            "01060473616964",
            // An ending: its session, step, state, end, outcome and own step, and how many.
            "010001010300010473746570010f6073657460206f662060636f64656002",
            // Our own work: its kind and measure, no session and no step of its own, how often, its sum and the longest.
            "01010101000004ac02c801",
            // A metric: its number and kind, no numbers below 0, and the others.
            "010103",
            "00000000",
            "b817e807e80701e80703",
            // Times of sessions that finished, and of others.
            "b817e807e80701e80703",
            "00000000",
            // A broadcast.
            "0100ac02050102030405",
            // A head, a settlement and how many make it.
            "0100ac020101020304",
            "0100ac020001050607",
            // A clock.
            "010001020304",
            // CPU, traffic.
            "0708090102030405060708"
        )
    );
    assert_eq!(hex(&ToController::News(LoopNews::Ended { loop_id: 27 })), "03011b");
    assert_eq!(
        hex(&ToController::Rows(vec![row()])),
        "040180018101808080808020ac0201001b0df7030164d00f"
    );
    let usage = Usage { cpu_ns: 1, resident_bytes: 2 };
    assert_eq!(hex(&ToController::Usage(usage)), "050102");
    assert_eq!(hex(&ToController::Done), "07");
    let left = |part, problem: Option<&str>| {
        ToController::RowsLeft(LeftRows {
            path: "/r".to_owned(),
            part,
            lost: 128,
            problem: problem.map(str::to_owned),
        })
    };
    // The path, the digest, rows and bytes; how many are lost, and why.
    let part = Some(("ab".to_owned(), 300, 1));
    assert_eq!(hex(&left(part, None)), "08022f7201026162ac0201800100");
    assert_eq!(hex(&left(None, Some("no"))), "08022f7200800101026e6f");
    assert_eq!(hex(&[Rows::Fetch, Rows::Leave, Rows::None]), "000102");
}

#[test]
fn figures_come_back_as_they_were() {
    let message = ToController::News(LoopNews::Delta(Box::new(delta())));
    let bytes = postcard::to_stdvec(&message).unwrap();
    assert_eq!(postcard::from_bytes::<ToController>(&bytes).unwrap(), message);
    let rows = ToController::Rows(vec![row(); 3]);
    let bytes = postcard::to_stdvec(&rows).unwrap();
    assert_eq!(postcard::from_bytes::<ToController>(&bytes).unwrap(), rows);
}

proptest! {
    /// Every loop has one worker, and no worker has more than one loop above another.
    #[test]
    fn loops_are_dealt_evenly(workers in 1_u32..40, more in 0_u32..100) {
        let all = Loops::all(workers + more);
        let shares: Vec<Loops> = (0..workers).map(|index| all.share(index, workers)).collect();
        let dealt: Vec<u32> = shares.iter().flat_map(|share| share.numbers()).collect();
        prop_assert_eq!(dealt, (0..workers + more).collect::<Vec<_>>());
        let counts = shares.iter().map(|share| share.count);
        let least = counts.clone().min().unwrap();
        let most = counts.max().unwrap();
        prop_assert!(least >= 1 && most - least <= 1);
    }
}
