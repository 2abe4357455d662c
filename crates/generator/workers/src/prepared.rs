//! A worker that sends prepared reports instead of running loops, so that a controller can be measured with more of them
//! than a machine has room for. For `bench/fleet`; not part of the crate's interface.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use driver::real::LoopNews;
use engine::measure::{Counts, Delta, MeasureDelta, OUTCOMES};
use machine::clock::monotonic_ns;
use plan::MeasureId;
use record::Outcome;
use serde::Serialize;
use stats::hist::LogHistogram;

use crate::carrier::{Bytes, Carrier};
use crate::frame::{FrameError, FrameReader, send};
use crate::protocol::{Loops, ToController, ToWorker, Usage};
use crate::serve::{WorkError, handshake};

/// An interval is a second.
const SECOND_NS: u64 = 1_000_000_000;
/// Response times are spread over three decades from here on: 0.2 ms to 0.2 s.
const LEAST_NS: f64 = 200_000.0;
const DECADES: f64 = 3.0;
/// Steps of the golden ratio are spread evenly.
const STEP: f64 = 0.618_033_988_749_895;

/// The reports that each loop sends, one a second.
#[derive(Debug, Clone, Copy)]
pub struct PreparedReports {
    /// The number of measures, which the plan must have.
    pub measures: u16,
    /// Operations of each measure in a report.
    pub operations: u64,
    /// The number of reports.
    pub seconds: u64,
}

/// Acts as a worker for the controller at the other end of `carrier`, which is at `place`; `token` and `throng` are those
/// of [`crate::serve`]. Returns the number of bytes that it has sent each second, lengths of frames included.
pub fn serve_prepared(
    carrier: &Arc<dyn Carrier>,
    place: &str,
    token: &str,
    throng: &str,
    prepared: PreparedReports,
) -> Result<u64, WorkError> {
    let gone =
        |error: FrameError| WorkError::Gone { place: place.to_owned(), problem: error.to_string() };
    let mut reader = handshake(carrier, token, throng).map_err(gone)??;
    let mut stream = Bytes(Arc::clone(carrier));
    let loops = match reader.next().map_err(gone)? {
        ToWorker::Slice(slice) => slice.loops,
        _ => return Err(gone(FrameError::Cut)),
    };
    send(&mut stream, &ToController::Ready).map_err(gone)?;
    let zero_ns = loop {
        match reader.next().map_err(gone)? {
            ToWorker::Ping { number } => pong(&mut stream, number).map_err(gone)?,
            ToWorker::Start { clock_ns, .. } => break clock_ns,
            _ => {}
        }
    };
    carrier.note_start();
    let (pings, pinged) = channel();
    let reading = std::thread::spawn(move || read(reader, &pings));
    let sent = report(&mut stream, zero_ns, loops, prepared, &pinged).map_err(gone);
    // It ends when the controller, which knows that we are done, closes the connection.
    let _ = reading.join();
    Ok(sent? / prepared.seconds.max(1))
}

/// Passes the numbers of pings on until the connection ends.
fn read(mut reader: FrameReader<Bytes>, pings: &std::sync::mpsc::Sender<u32>) {
    while let Ok(message) = reader.next() {
        if let ToWorker::Ping { number } = message {
            let _ = pings.send(number);
        }
    }
}

fn pong(stream: &mut Bytes, number: u32) -> Result<(), FrameError> {
    let clock_ns = monotonic_ns();
    send(stream, &ToController::Pong { number, clock_ns })
}

/// Sends the seconds, each when it is over, and the end.
fn report(
    stream: &mut Bytes,
    zero_ns: u64,
    loops: Loops,
    prepared: PreparedReports,
    pinged: &Receiver<u32>,
) -> Result<u64, FrameError> {
    let mut bytes = 0;
    for second in 0..prepared.seconds {
        let due_ns = zero_ns.saturating_add((second + 1) * SECOND_NS);
        await_due(stream, due_ns, pinged)?;
        for loop_id in loops.numbers() {
            let delta = delta(loop_id as u16, second, prepared);
            let news = ToController::News(LoopNews::Delta(Box::new(delta)));
            bytes += length(&news);
            send(stream, &news)?;
        }
        let usage = ToController::Usage(Usage::default());
        bytes += length(&usage);
        send(stream, &usage)?;
    }
    for loop_id in loops.numbers() {
        let loop_id = loop_id as u16;
        send(stream, &ToController::News(LoopNews::Ended { loop_id }))?;
    }
    send(stream, &ToController::Done)?;
    Ok(bytes)
}

/// Answers pings until then.
fn await_due(stream: &mut Bytes, due_ns: u64, pinged: &Receiver<u32>) -> Result<(), FrameError> {
    loop {
        let left_ns = due_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Ok(());
        }
        match pinged.recv_timeout(Duration::from_nanos(left_ns)) {
            Ok(number) => pong(stream, number)?,
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => return Err(FrameError::Closed),
        }
    }
}

/// Bytes of a frame.
fn length(message: &impl Serialize) -> u64 {
    let bytes = postcard::to_stdvec(message).map_or(0, |bytes| bytes.len());
    bytes as u64 + 4
}

/// The report of a loop on a second.
fn delta(loop_id: u16, second: u64, prepared: PreparedReports) -> Delta {
    let done = prepared.operations * u64::from(prepared.measures);
    let mut lag = LogHistogram::new();
    lag.record_n(20_000, done);
    let measures = (0..prepared.measures).map(|number| {
        let first = f64::from(loop_id) + f64::from(number) * 0.1 + second as f64 * 0.01;
        measure(MeasureId(number), first, prepared.operations)
    });
    Delta {
        counts: Counts { sends: done, done, ..Counts::default() },
        measures: measures.collect(),
        lag,
        ..Delta::new(loop_id, second * SECOND_NS, (second + 1) * SECOND_NS)
    }
}

/// A measure whose operations all succeeded, in times that are spread evenly over their logarithms.
fn measure(measure: MeasureId, first: f64, operations: u64) -> MeasureDelta {
    let mut response = LogHistogram::new();
    let mut lag = LogHistogram::new();
    for number in 0..operations {
        let place = (first + number as f64 * STEP).fract();
        response.record((LEAST_NS * 10_f64.powf(place * DECADES)) as u64);
    }
    lag.record_n(20_000, operations);
    let mut outcomes = [0; OUTCOMES];
    outcomes[Outcome::Ok as usize] = operations;
    MeasureDelta {
        due: operations,
        begun: operations,
        outcomes,
        service: response.clone(),
        response,
        lag,
        ..MeasureDelta::new(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Check;
    use crate::testing::plan;

    #[test]
    fn a_controller_takes_what_is_prepared() {
        let plan = plan(
            "target: http://127.0.0.1:1\nsessions: { one: [ { get: / }, { get: /b } ] }\n\
             arrivals: [ { hold: 3s } ]\n",
        );
        let prepared =
            PreparedReports { measures: plan.measures.len() as u16, operations: 20, seconds: 3 };
        let mut check = Check::new(&plan, Loops::all(1));
        for second in 0..prepared.seconds {
            let delta = delta(0, second, prepared);
            assert!(delta.measures.iter().all(|m| m.response.count() == 20));
            check.news(&LoopNews::Delta(Box::new(delta))).unwrap();
        }
        check.news(&LoopNews::Ended { loop_id: 0 }).unwrap();
        assert!(check.all_ended());
    }
}
