//! Translates the events of one growing log into encoded facts.
//!
//! Facts have the event ids and the content that the plugin produces for the same events. The caller passes raw events
//! in the order of the log; `translator` stores the state between events.

mod application;
mod cluster;
#[allow(clippy::all, clippy::pedantic, missing_docs)]
pub mod contract {
    //! The messages of `contracts/messages/fact.proto`, generated at build.
    include!(concat!(env!("OUT_DIR"), "/sparkfuse.contracts.rs"));
}
pub mod event_names;
mod exit_codes;
mod jobs;
mod line;
pub mod record;
mod sql;
mod stages;
mod streaming;
mod tasks;
pub mod texts;
pub mod translator;
