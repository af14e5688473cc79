//! Converts the manifest's settings to quality of service.

use hopmeter_instrument::prelude::*;
use ros2_client::QosProfile;
use ros2_client::qos::{Durability, History, Reliability, WhenFull};

/// If the writer's queue is full, a write returns busy without waiting.
const RELIABLE: Reliability = Reliability::Reliable { when_full: WhenFull::Fail };

pub struct Quality {
    pub topics: QosProfile,
    /// The quality of service for service topics: reliable and volatile, as in ROS 2, with the history of the settings.
    pub services: QosProfile,
}

impl Quality {
    pub fn read(setup: &Setup) -> Result<Self> {
        let chosen = |name: &str, value: &str| setup.setting::<String>(name).map(|text| text == value);
        let reliability = if chosen("reliability", "reliable")? { RELIABLE } else { Reliability::BestEffort };
        let late = chosen("durability", "transient-local")?;
        let durability = if late { Durability::TransientLocal } else { Durability::Volatile };
        let depth = setup.setting("depth")?;
        let history = if chosen("history", "keep-last")? { History::KeepLast { depth } } else { History::KeepAll };
        let services = QosProfile::default().reliability(RELIABLE).durability(Durability::Volatile).history(history);
        Ok(Self { topics: services.clone().reliability(reliability).durability(durability), services })
    }
}

/// Returns the requested settings that RustDDS does not support.
pub fn unsupported_settings(setup: &Setup) -> Result<Vec<String>> {
    let mut unheeded = Vec::new();
    for (name, heeded) in [("dds", "cyclonedds"), ("delivery", "synchronous"), ("profile", "default")] {
        let value: String = setup.setting(name)?;
        if value != heeded {
            unheeded.push(format!("{name} = {value}"));
        }
    }
    Ok(unheeded)
}
