//! The roles a participant can take. They stamp, pace, record and count; adapters only move frames.

mod calls;
mod client;
mod desk;
mod emit;
mod empty_hop;
mod ends;
mod gate;
mod relay;
mod scatter;
mod schedule;
mod server;
mod sink;
mod source;
mod work;

pub use desk::{Desk, Progress};

use crate::control::Tally;
use crate::error::{Error, Result};
use crate::spec::{Pattern, RoleKind};

/// Takes one role from binding to the end of its measuring. Its ends stay open in what is returned.
///
/// # Errors
/// When an end cannot be opened, the transport fails, or the samples cannot be written.
pub fn take(desk: &Desk<'_>) -> Result<(Tally, OpenEnds)> {
    match (desk.me.role, desk.spec.pattern) {
        (RoleKind::Source, Pattern::Pubsub) => source::run(desk),
        (RoleKind::Relay, Pattern::Pubsub) => relay::run(desk),
        (RoleKind::Sink, Pattern::Pubsub) => sink::run(desk),
        (RoleKind::Client, Pattern::Rpc) => client::run(desk),
        (RoleKind::Client, Pattern::Scatter) => scatter::run(desk),
        (RoleKind::Relay, Pattern::Rpc) => calls::run_relay(desk),
        (RoleKind::Server, Pattern::Rpc | Pattern::Scatter) => server::run(desk),
        (role, pattern) => Err(Error::new(format!("there is no role {role:?} in the pattern {pattern:?}"))),
    }
}

/// Ends that must outlive the measuring of their participant, since other participants may still use them.
pub type OpenEnds = Vec<Box<dyn std::any::Any + Send>>;
