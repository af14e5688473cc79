//! The trial's own iceoryx2 domain. The files of the iceoryx2 domain are in the trial's folder, and the domain's
//! shared-memory names contain the run id. The domain never affects other users of iceoryx2, and hopmeter finds the
//! files that a killed process leaves behind.

use std::sync::{Mutex, PoisonError};

use hopmeter_instrument::prelude::*;
use iceoryx2::config::Config;
use iceoryx2::node::Node;
use iceoryx2::prelude::{CallbackProgression, FileName, NodeBuilder, Path, SignalHandlingMode, ipc};
use iceoryx2::testing::remove_global_mgmt_segment;

/// The iceoryx2 node of this process, in the trial's domain.
pub struct Domain {
    config: Config,
    /// A lock protects the iceoryx2 node, which only one thread at a time may use. The node is `None` only while the
    /// domain is being dropped.
    node: Mutex<Option<Node<ipc::Service>>>,
}

impl Domain {
    pub fn enter(setup: &Setup) -> Result<Self> {
        let config = config(setup)?;
        let node = NodeBuilder::new()
            .config(&config)
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .context("creating an iceoryx2 node")?;
        Ok(Self { config, node: Mutex::new(Some(node)) })
    }

    pub fn with_node<T>(&self, use_it: impl FnOnce(&Node<ipc::Service>) -> T) -> T {
        let node = lock(&self.node);
        use_it(node.as_ref().expect("the node is there until the domain is dropped"))
    }
}

fn config(setup: &Setup) -> Result<Config> {
    let mut config = Config::default();
    let root = setup.directory.display().to_string();
    config.global.set_root_path(&Path::try_from(root.as_str()).context(format!("using {root} as iceoryx2's root"))?);
    config.global.prefix = FileName::try_from(format!("{}_", setup.run).as_str()).context("naming iceoryx2's files")?;
    Ok(config)
}

/// iceoryx2 creates one small segment per domain, in which iceoryx2 counts the domain's nodes. The domain's last node
/// removes the segment. If two nodes exit concurrently, both of them may try to remove the segment.
impl Drop for Domain {
    fn drop(&mut self) {
        drop(self.node.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        let mut alone = true;
        let listed = Node::<ipc::Service>::list(&self.config, |_other| {
            alone = false;
            CallbackProgression::Stop
        });
        if listed.is_ok() && alone {
            // SAFETY: the domain belongs to this trial and has no other node. The run's clean-up removes any file that
            // remains.
            let _ = unsafe { remove_global_mgmt_segment::<ipc::Service>(&self.config) };
        }
    }
}
