//! Implements the roles of endpoints. Roles set timestamps, pace, record and count. Adapters only transfer frames.

mod calls;
mod client;
mod emit;
mod empty_hop;
mod ends;
mod follower;
mod following;
mod intake;
mod joining;
mod lanes;
mod message_loop;
mod passed;
mod relay;
mod returning;
mod role_context;
mod scatter;
mod server;
mod sink;
mod source;
mod triggers;
mod work;

pub use role_context::{Progress, RoleContext};
pub use triggers::Triggers;

use crate::control::Tally;
use crate::error::{Error, Result};
use crate::spec::{Pattern, RoleKind};

/// Runs the role of one endpoint, from binding its link ends to the end of the measurement. The link ends that `take`
/// returns are still open.
///
/// # Errors
///
/// Fails if a link end cannot be opened, the transport fails, or the samples cannot be written.
pub fn take(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    match (context.me.role, context.flow.pattern) {
        (RoleKind::Source, Pattern::Pubsub) if context.me.returns.is_some() => returning::run(context),
        (RoleKind::Source, Pattern::Pubsub) => source::run(context),
        (RoleKind::Follower, Pattern::Pubsub | Pattern::Rpc) => follower::run(context),
        (RoleKind::Relay, Pattern::Pubsub) => relay::run(context),
        (RoleKind::Sink, Pattern::Pubsub) => sink::run(context),
        (RoleKind::Client, Pattern::Rpc) => client::run(context),
        (RoleKind::Client, Pattern::Scatter) => scatter::run(context),
        (RoleKind::Relay, Pattern::Rpc) => calls::run_relay(context),
        (RoleKind::Server, Pattern::Rpc | Pattern::Scatter) => server::run(context),
        (role, pattern) => Err(Error::new(format!("there is no role {role:?} in the pattern {pattern:?}"))),
    }
}

/// Link ends that stay open after their endpoint has finished measuring, because other endpoints may still use them.
pub type OpenEnds = Vec<Box<dyn std::any::Any + Send>>;
