//! The state that all link ends of a process share: the context, and the quality of service.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};

use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use r2r::{Context, Node, QosProfile};

use crate::rmw;

/// Domain numbers below 99 use only ports below the system's ephemeral ports.
const DOMAINS: u64 = 99;

/// If the discovery range is LOCALHOST, rmw_fastrtps replaces the transports in these profiles with its own transports.
const PROFILES: [&str; 2] = ["FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE"];

pub struct Session {
    context: Context,
    pub qos: QosProfile,
    domain: u64,
    opened: AtomicUsize,
}

impl Session {
    pub fn open(setup: &Setup) -> Result<Self> {
        let domain = domain_of(&setup.run)?;
        // r2r has one context per process, which reads these values only from environment variables.
        env::set_var("ROS_DOMAIN_ID", domain.to_string());
        let is_local = setup.advertised.is_loopback() && PROFILES.iter().all(|name| env::var_os(name).is_none());
        env::set_var("ROS_AUTOMATIC_DISCOVERY_RANGE", if is_local { "LOCALHOST" } else { "SUBNET" });
        if rmw::distribution() == "humble" {
            env::set_var("ROS_LOCALHOST_ONLY", if is_local { "1" } else { "0" }); // Humble ignores the range
        }
        env::set_var("ROS_LOG_DIR", &setup.directory);
        let context = Context::create().context("opening the context of ROS 2")?;
        Ok(Self { context, qos: qos_of(setup)?, domain, opened: AtomicUsize::new(0) })
    }

    /// Creates a node for one link end, because an r2r node belongs to the thread that spins it.
    pub fn node(&self) -> Result<Node> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let name = format!("hopmeter_{}_{number}", std::process::id());
        Node::create(self.context.clone(), &name, "").context("creating a ROS 2 node")
    }

    pub fn facts(&self) -> Vec<(String, String)> {
        let rmw = rmw::version();
        let facts = [
            ("path", rmw.clone()),
            ("rmw", rmw),
            ("domain", self.domain.to_string()),
            ("distribution", rmw::distribution()),
        ];
        facts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name.into(), text)).collect()
    }
}

/// Returns the ROS name of a link, which must begin with a letter; a link's name may begin with another character.
pub fn name_of(link: &Link) -> String {
    format!("/hopmeter_{}", link.name)
}

/// Returns the domain of a trial. Adapters in other languages compute the same domain number from the run id.
fn domain_of(run: &str) -> Result<u64> {
    let digits = run.get(..8).unwrap_or(run);
    let number = u64::from_str_radix(digits, 16).context(format!("reading the run's name `{run}`"))?;
    Ok(1 + number % DOMAINS)
}

fn qos_of(setup: &Setup) -> Result<QosProfile> {
    let is = |name: &str, value: &str| setup.setting::<String>(name).map(|text| text == value);
    if is("qos", "sensor-data")? {
        return Ok(QosProfile::sensor_data());
    }
    let qos = QosProfile::default();
    let qos = if is("history", "keep-all")? { qos.keep_all() } else { qos.keep_last(setup.setting("depth")?) };
    let qos = if is("reliability", "best-effort")? { qos.best_effort() } else { qos };
    Ok(if is("durability", "transient-local")? { qos.transient_local() } else { qos })
}
