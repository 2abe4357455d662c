//! Arguments of verbs that only the whole program has.

mod import;
mod model;
mod record;

pub(crate) use self::record::{EXIT_CODES as RECORD_CODES, RecordArgs};
pub(crate) use import::{
    FileArgs, ImportArgs, Layout, Publication, ReproduceArgs, ResultsArgs, SamplesArgs,
    SessionsArg, Statics, UnitArg,
};
pub(crate) use model::{
    ArrivalsArg, BehaviourArg, LogFormat, ModelArgs, ModelCheckArgs, ModelVerb, ReferenceArgs,
};
