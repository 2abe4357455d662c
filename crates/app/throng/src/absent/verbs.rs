//! The verbs that this program was built without: each is an error that says how to get it.

/// `throng agent` and `throng fleet`, and runs by a fleet.
pub(crate) mod fleet {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;

    use controller::{Fleet, Interrupt};
    use plan::Plan;

    use crate::args::fleet::{AgentArgs, FleetArgs, RunFleetArgs};
    use crate::exit::{Exit, Failure};
    use crate::full::without;
    use crate::terminal::View;

    pub(crate) fn agent(_: &AgentArgs) -> Result<Exit, Failure> {
        Err(without("fleets"))
    }

    pub(crate) fn fleet(_: &FleetArgs) -> Result<Exit, Failure> {
        Err(without("fleets"))
    }

    /// A run here; one by a fleet is an error.
    pub(crate) fn of_run(
        args: &RunFleetArgs,
        _: &str,
        _: &Plan,
        _: &Arc<Interrupt>,
        _: &Rc<RefCell<View>>,
    ) -> Result<Option<Rc<dyn Fleet>>, Failure> {
        match args.fleet {
            Some(_) => Err(without("fleets")),
            None => Ok(None),
        }
    }
}

/// `throng import`.
pub(crate) mod import {
    use crate::args::ImportArgs;
    use crate::exit::{Exit, Failure};
    use crate::full::without_imports;

    pub(crate) fn import(_: &ImportArgs) -> Result<Exit, Failure> {
        Err(without_imports())
    }
}

/// `throng lab`, and runs in a lab.
pub(crate) mod lab {
    use std::sync::Arc;

    use controller::Surroundings;

    use crate::args::lab::LabVerb;
    use crate::exit::{Exit, Failure};
    use crate::full::without;

    pub(crate) fn lab(_: LabVerb) -> Result<Exit, Failure> {
        Err(without("labs"))
    }

    /// Nothing runs in a lab.
    #[expect(clippy::unnecessary_wraps, reason = "as with labs")]
    pub(crate) fn surroundings() -> Result<Option<Arc<dyn Surroundings>>, Failure> {
        Ok(None)
    }
}

/// `throng model`.
pub(crate) mod model {
    use crate::args::ModelArgs;
    use crate::exit::{Exit, Failure};
    use crate::full::without;

    pub(crate) fn model(_: &ModelArgs) -> Result<Exit, Failure> {
        Err(without("models"))
    }

    /// The page of a model that `throng ui` lists.
    #[cfg(feature = "quick")]
    pub(crate) fn page_of(_: &std::path::Path) -> Result<report::Page, Failure> {
        Err(without("models"))
    }
}

/// `throng protos`.
pub(crate) mod protos {
    use crate::args::ProtosArgs;
    use crate::exit::{Exit, Failure};
    use crate::full::without;

    pub(crate) fn protos(_: &ProtosArgs) -> Result<Exit, Failure> {
        Err(without("gRPC"))
    }
}

/// `throng record`.
pub(crate) mod record {
    use crate::args::RecordArgs;
    use crate::exit::{Exit, Failure};
    use crate::full::without;

    pub(crate) fn record(_: &RecordArgs) -> Result<Exit, Failure> {
        Err(without("the recorder"))
    }
}

/// `throng reproduce`.
pub(crate) mod reproduce {
    use crate::args::ReproduceArgs;
    use crate::exit::{Exit, Failure};
    use crate::full::without_imports;

    pub(crate) fn reproduce(_: &ReproduceArgs) -> Result<Exit, Failure> {
        Err(without_imports())
    }
}
