//! The settings of the manifest as quinn's options.

use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{IdleTimeout, TransportConfig};

pub fn read(setup: &Setup) -> Result<TransportConfig> {
    let mut options = TransportConfig::default();
    let milliseconds = |name| Ok::<_, Error>(Duration::from_millis(setup.setting(name)?));
    let max_idle =
        IdleTimeout::try_from(milliseconds("max_idle_timeout_ms")?).context("reading max_idle_timeout_ms")?;
    let keep_alive = milliseconds("keep_alive_interval_ms")?;
    options
        .congestion_controller_factory(congestion(setup)?)
        .stream_receive_window(setup.setting::<u32>("stream_receive_window")?.into())
        .send_window(setup.setting("send_window")?)
        .max_idle_timeout(Some(max_idle))
        .keep_alive_interval((!keep_alive.is_zero()).then_some(keep_alive));
    Ok(options)
}

fn congestion(setup: &Setup) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    let initial_window = setup.setting("initial_window")?;
    let (mut cubic, mut newreno, mut bbr) = (CubicConfig::default(), NewRenoConfig::default(), BbrConfig::default());
    Ok(match setup.setting::<String>("congestion_controller")?.as_str() {
        "newreno" => Arc::new(std::mem::take(newreno.initial_window(initial_window))),
        "bbr" => Arc::new(std::mem::take(bbr.initial_window(initial_window))),
        _ => Arc::new(std::mem::take(cubic.initial_window(initial_window))),
    })
}
