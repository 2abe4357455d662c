//! `throng fleet attach`: continues a run whose controller is gone.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use controller::{AttachRequest, Control, Fleet, RecordSettings};
use fleet::Session;

use super::{access, failure, notice, read_key};
use crate::args::fleet::AttachArgs;
use crate::exit::{Exit, Failure};
use crate::page;
use crate::terminal::View;
use crate::verbs::run;

pub(super) fn attach(args: &AttachArgs) -> Result<Exit, Failure> {
    run::check_results(&args.results)?;
    let interrupt = run::interrupt()?;
    let pause = run::pause()?;
    let view = Rc::new(RefCell::new(View::new(args.quiet || args.json)));
    let notify = {
        let view = Rc::clone(&view);
        Box::new(move |what: &str| notice(&mut view.borrow_mut(), what))
    };
    let stop = {
        let interrupt = Arc::clone(&interrupt);
        move || {
            interrupt.request();
        }
    };
    let version = env!("CARGO_PKG_VERSION");
    let key = read_key(args.key.as_deref())?;
    let access = access(&args.nats.nats, &args.nats.access);
    let attached =
        Session::attach(&access, &args.run, version, key, notify, stop).map_err(failure)?;
    let session = attached.session;
    session.notify(&format!(
        "run {} continues on {}",
        session.run(),
        units::counted(session.agents().len() as u64, "agent")
    ));
    let request = AttachRequest {
        fleet: Rc::new(session),
        state: &attached.state,
        material: &attached.material,
        version,
        record: RecordSettings {
            runs: &args.runs,
            durability: args.durable.durability(),
            allow_lost_workers: args.lost_workers.allow_lost_workers,
        },
        control: Control { interrupt, pause },
    };
    let conducted = controller::attach(&request, &mut |tick| view.borrow_mut().tick(tick));
    view.borrow_mut().end();
    let conducted = conducted.map_err(run::failure)?;
    let made = page::after_run(&conducted.directory, &conducted.summary);
    let shown = run::Shown { json: args.json, quiet: args.quiet, full: args.full };
    run::conclude(shown, &args.results, &conducted, made, Ok(()))
}
