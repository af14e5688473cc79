//! Runs a node: one process with one or more endpoints, which communicates with the launcher over the control channel.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::affinity;
use crate::arguments::Arguments;
use crate::clock;
use crate::codec::Codec;
use crate::contract::{Setup, Transport};
use crate::control::{Control, Order, Report};
use crate::empty;
use crate::error::{Error, Result};
use crate::frame::HEADER_BYTES;
use crate::memory;
use crate::phase::Phase;
use crate::resources::Meter;
use crate::roles::{self, Progress, RoleContext};
use crate::scripted_node;
use crate::shm_ring::{RingTransport, WhenFull};
use crate::spec::{Begin, Endpoint, Flow, Heap, RoleKind, Spec};
use crate::tolerant::Tolerant;

mod description;
mod means;

use description::describe;
use means::Means;

/// Creates the codec of a flow.
pub type MakeCodec = dyn Fn(&Flow) -> Result<Arc<dyn Codec>> + Sync;

/// The language-specific parts of a node: its transport, its codecs, and the code around its threads.
pub struct Host<'a> {
    pub transport: &'a str,
    pub language: &'a str,
    /// The adapter's compiler and its flags, or the interpreter for Python.
    pub compiler: String,
    pub flags: String,
    /// Returns the version of the transport's library, as the library itself reports it.
    pub version: &'a (dyn Fn() -> String + Sync),
    pub open: &'a (dyn Fn(&Setup) -> Result<Arc<dyn Transport>> + Sync),
    /// Opens the empty transport ([`crate::empty`]) in the node's language.
    pub open_empty: &'a (dyn Fn(&Setup) -> Result<Arc<dyn Transport>> + Sync),
    /// Creates the codec of a flow if the flow's spec names one. `None` if the node's language has no objects.
    pub codec: Option<&'a MakeCodec>,
    /// Wraps all code that runs on an endpoint's thread. For Python, the wrapper keeps the thread state alive.
    pub around: fn(&mut dyn FnMut()),
}

/// The `main` function of a Rust node.
pub fn main(
    transport: &str,
    language: &str,
    open: impl Fn(&Setup) -> Result<Arc<dyn Transport>> + Sync,
    version: impl Fn() -> String + Sync,
) -> ExitCode {
    let host = Host {
        transport,
        language,
        compiler: env!("HOPMETER_RUSTC").to_owned(),
        flags: env!("HOPMETER_FLAGS").to_owned(),
        version: &version,
        open: &open,
        open_empty: &empty::open,
        codec: None,
        around: |body| body(),
    };
    run(&host, std::env::args().skip(1))
}

/// Runs a node. `arguments` does not contain the program's name.
pub fn run(host: &Host<'_>, arguments: impl Iterator<Item = String>) -> ExitCode {
    let outcome = Arguments::parse(arguments).and_then(|arguments| match arguments {
        Arguments::Describe => describe(host),
        Arguments::Measure { spec, control_fd } => measure(host, &spec, control_fd),
        Arguments::ScriptedNode { control_fd } => run_scripted(host, control_fd),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hopmeter node {} ({}): {error}", host.transport, host.language);
            ExitCode::FAILURE
        }
    }
}

/// When this process had loaded its libraries.
static LOADED_NS: AtomicI64 = AtomicI64::new(0);

/// Notes that the process has loaded its libraries. A node that loads its transport's library later, such as a Python
/// node, then calls `note_loaded` again.
pub fn note_loaded() {
    LOADED_NS.store(clock::now_ns(), Ordering::Relaxed);
}

fn measure(host: &Host<'_>, spec: &Path, control_fd: RawFd) -> Result<()> {
    note_loaded();
    affinity::die_with_parent();
    let (control, orders) = Control::open(control_fd)?;
    let control = Arc::new(control);
    let phase = Arc::new(Phase::default());
    let heard = phase.clone();
    std::thread::spawn(move || read_orders(&heard, orders));
    let run = |spec: Spec| Node { host, spec: &spec, control: &control, phase: &phase }.run();
    let outcome = Spec::read(spec).and_then(run);
    if let Err(error) = &outcome {
        control.say(&Report::failure(error));
    }
    outcome
}

/// Runs the commands of the conformance suite on a thread that `host` has prepared.
fn run_scripted(host: &Host<'_>, control_fd: RawFd) -> Result<()> {
    affinity::die_with_parent();
    let mut outcome = Ok(());
    (host.around)(&mut || outcome = scripted_node::run(host, control_fd));
    outcome
}

/// Reads the launcher's orders. If the control channel closes, the launcher has ended, and the node ends too.
fn read_orders(phase: &Phase, orders: impl Iterator<Item = Result<Order>>) {
    for order in orders {
        match order {
            Ok(Order::End) => {
                phase.apply(Order::End);
                return;
            }
            Ok(order) => phase.apply(order),
            Err(error) => {
                eprintln!("{error}");
                break;
            }
        }
    }
    // SAFETY: this ends the process immediately. Without an immediate end, library destructors could wait for processes
    // that have also ended.
    unsafe { libc::_exit(1) };
}

/// The transport for bridges between the processes of one participant: a ring in memory. If the ring is full, it
/// refuses a message, so the bridge itself drops no messages.
static BRIDGE: RingTransport = RingTransport { slots: 16, when_full: WhenFull::Busy };

struct Node<'a> {
    host: &'a Host<'a>,
    spec: &'a Spec,
    control: &'a Arc<Control>,
    phase: &'a Arc<Phase>,
}

impl Node<'_> {
    fn run(&self) -> Result<()> {
        self.prepare_process()?;
        let means = Means::of(self.spec, self.host.codec)?;
        let transport = self.open_transport()?;
        let meter = Arc::new(Meter::default());
        std::thread::scope(|scope| {
            let (say, progress) = channel();
            for me in &self.spec.endpoints {
                let (say, meter, means) = (say.clone(), meter.clone(), &means);
                let transport = transport.as_ref();
                scope.spawn(move || self.participate(me, transport, means, &meter, say));
            }
            drop(say);
            let outcome = self.coordinate(&progress, transport.as_ref(), &meter);
            if let Err(error) = &outcome {
                self.fail_at_once(error);
            }
        });
        Ok(())
    }

    /// Opens the transport. If the trial has a planned restart, the transport's errors after the restart do not end the
    /// node.
    fn open_transport(&self) -> Result<Arc<dyn Transport>> {
        let transport = (self.host.open)(&self.setup())?;
        Ok(match self.spec.restart {
            Some(restart) => Arc::new(Tolerant::new(transport, self.phase.clone(), restart)),
            None => transport,
        })
    }

    /// Reports the failure and ends the process immediately, because other endpoints may wait for messages that never
    /// arrive.
    fn fail_at_once(&self, error: &Error) -> ! {
        self.control.say(&Report::failure(error));
        eprintln!("hopmeter node {} ({}): {error}", self.host.transport, self.host.language);
        // SAFETY: this ends the process immediately, without running library destructors.
        unsafe { libc::_exit(1) }
    }

    /// Applies the settings of the process. The function must run before the process starts any thread, so that all
    /// threads inherit the settings.
    fn prepare_process(&self) -> Result<()> {
        let cores: Vec<_> = self.spec.endpoints.iter().filter_map(|me| me.core).collect();
        affinity::pin_among(&cores)?;
        if self.spec.heap == Heap::Retain {
            memory::retain_freed_memory();
        }
        if self.spec.mlock {
            affinity::lock_memory()?;
        }
        if self.spec.no_idle_states {
            affinity::stay_awake()?;
        }
        if self.spec.fifo > 0 {
            affinity::go_real_time(self.spec.fifo)?;
        }
        Ok(())
    }

    fn setup(&self) -> Setup {
        Setup {
            run: self.spec.run.clone(),
            directory: self.spec.directory.clone(),
            broker: self.spec.broker.clone(),
            bind: self.spec.bind,
            advertised: self.spec.advertised,
            settings: self.spec.settings.clone(),
            largest_frame_bytes: HEADER_BYTES + self.spec.largest_payload_bytes(),
        }
    }

    /// Combines the endpoints' reports into the node's report.
    fn coordinate(&self, progress: &Receiver<Progress>, transport: &dyn Transport, meter: &Meter) -> Result<()> {
        let all = self.spec.endpoints.len();
        let receivers = self.spec.endpoints.iter().filter(|me| me.role == RoleKind::Sink).count();
        let mut links = BTreeMap::new();
        let (mut bound, mut ready, mut arrived) = (0, 0, 0);
        let mut tallies = Vec::new();
        while tallies.len() < all {
            let gone = |_| Error::new("an endpoint ended without a report");
            match progress.recv().map_err(gone)? {
                Progress::Bound(addresses) => {
                    links.extend(addresses);
                    bound += 1;
                    if bound == all {
                        self.report_bound(std::mem::take(&mut links), transport);
                    }
                }
                Progress::Ready => {
                    ready += 1;
                    if ready == all {
                        self.control.say(&Report::Ready);
                    }
                }
                Progress::Arrived => {
                    arrived += 1;
                    if arrived == receivers {
                        self.control.say(&Report::Arrived);
                    }
                }
                Progress::Done(tally) => tallies.push((*tally)?),
            }
        }
        let resources = meter.end();
        tallies.sort_by_key(|tally| tally.id);
        let facts = transport.facts().into_iter().collect();
        let loaded_ns = LOADED_NS.load(Ordering::Relaxed);
        self.control.say(&Report::Done { endpoints: tallies, resources, facts, loaded_ns });
        Ok(())
    }

    fn report_bound(&self, links: BTreeMap<String, String>, transport: &dyn Transport) {
        let clock = (self.spec.begin == Begin::Linked).then(clock::measure_quality);
        let version = transport.version().unwrap_or_else(|| (self.host.version)());
        self.control.say(&Report::Bound { links, version, pid: std::process::id(), clock });
    }

    /// Runs the thread of one endpoint, from binding its link ends to closing them.
    fn participate(
        &self,
        me: &Endpoint,
        transport: &dyn Transport,
        means: &Means,
        meter: &Arc<Meter>,
        say: Sender<Progress>,
    ) {
        let name = format!("endpoint {} ({:?}, {} {})", me.id, me.role, self.host.transport, self.host.language);
        (self.host.around)(&mut || {
            let taken = catch_unwind(AssertUnwindSafe(|| self.take_role(me, transport, means, meter, say.clone())));
            let taken = taken.unwrap_or_else(|_| Err(Error::new("panicked; the log shows where")));
            let (tally, ends) = match taken {
                Ok((tally, ends)) => (Ok(tally), ends),
                Err(error) => (Err(error.within(&name)), Vec::new()),
            };
            let _ = say.send(Progress::Done(Box::new(tally)));
            self.phase.wait_for_end();
            drop(ends);
        });
    }

    fn take_role(
        &self,
        me: &Endpoint,
        transport: &dyn Transport,
        means: &Means,
        meter: &Arc<Meter>,
        node: Sender<Progress>,
    ) -> Result<(crate::control::Tally, roles::OpenEnds)> {
        if let Some(core) = me.core {
            affinity::pin(core)?;
        }
        let (spec, control, phase, run) = (self.spec, self.control, self.phase, self.spec.run_id()?);
        let flow = spec.flow(me.flow)?;
        let transport = if flow.bridge { &BRIDGE } else { transport };
        let codec = means.codecs.get(&me.flow).cloned();
        let content = means.contents.get(&me.flow).cloned().unwrap_or_default();
        let open_empty = &|| (self.host.open_empty)(&self.setup());
        roles::take(&RoleContext {
            spec,
            me,
            flow,
            run,
            transport,
            open_empty,
            codec,
            content,
            phase,
            triggers: &means.triggers,
            permits: &means.permits,
            meter,
            control,
            node,
        })
    }
}
