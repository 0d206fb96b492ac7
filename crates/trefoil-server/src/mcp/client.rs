//! Who asks over the protocol, and what there is for it.

use std::{collections::BTreeSet, sync::Arc, time::Duration, time::Instant};

use trefoil::memory::BoundaryClass;

use super::{
    shared::{SharedIndex, Writable},
    tool::ToolSet,
};
use crate::{
    app::App,
    auth::Caller,
    indexes::Opened,
    metrics::Metrics,
    problem::Problem,
    settings::{Kind, Limits},
    turns::without_turn,
};

/// What holds the index.
#[derive(Clone, Debug)]
pub(crate) enum Host {
    /// A server, with its limits.
    Server(Arc<App>),
    /// This process, alone.
    Own(Arc<SharedIndex>),
}

/// Who asks, and of which index.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) host: Host,
    pub(crate) caller: Caller,
    /// The index; the only one that the caller sees, if absent.
    pub(crate) index: Option<String>,
    /// The sets of tools that it is given.
    pub(crate) sets: BTreeSet<ToolSet>,
    /// Whether it is given nothing that writes.
    pub(crate) read_only: bool,
}

impl Client {
    /// Sees these classes of memory and no other: those of both, at least one.
    ///
    /// # Errors
    /// `boundary_denied` for a class that it does not see already.
    pub(crate) fn narrowed(mut self, classes: &[BoundaryClass]) -> Result<Self, Problem> {
        if classes.is_empty() {
            return Ok(self);
        }
        classes.iter().try_for_each(|class| self.caller.may_see(*class))?;
        self.caller.grant.boundary.boundary_classes = classes.iter().copied().collect();
        Ok(self)
    }

    /// The index to read.
    pub(crate) fn reads(&self) -> Result<Opened, Problem> {
        match &self.host {
            Host::Server(app) => app.indexes.find(self.index.as_deref(), &self.caller.grant),
            Host::Own(shared) => shared.reader().map_err(|error| {
                let mut problem = Problem::from(error);
                if problem.code == "index_missing" {
                    let detail = "there is no index yet: run `trefoil index PATH`";
                    detail.clone_into(&mut problem.detail);
                }
                problem
            }),
        }
    }

    /// The index to read, if it is open already.
    pub(crate) fn opened(&self) -> Option<Opened> {
        match &self.host {
            Host::Server(_) => self.reads().ok(),
            Host::Own(shared) => shared.opened(),
        }
    }

    /// The index to write to.
    pub(crate) fn writes(&self) -> Result<Writable, Problem> {
        match &self.host {
            Host::Server(_) => Ok(self.reads()?.into()),
            Host::Own(shared) => Ok(shared.writer()?),
        }
    }

    /// The names of the indexes that it may ask of: the one that it named, or all that it sees.
    pub(crate) fn names(&self) -> Vec<String> {
        let seen = match &self.host {
            Host::Server(app) => app.indexes.seen_by(&self.caller.grant),
            Host::Own(shared) => vec![(shared.settings.name.clone(), None)],
        };
        let names = seen.into_iter().map(|(name, _)| name);
        names.filter(|name| self.index.as_ref().is_none_or(|index| index == name)).collect()
    }

    /// Whether nothing can be written, whoever asks.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only || matches!(&self.host, Host::Server(app) if app.now().settings.read_only)
    }

    /// The metrics, where there are any.
    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        match &self.host {
            Host::Server(app) => Some(&app.metrics),
            Host::Own(_) => None,
        }
    }

    /// How long a call may take.
    pub(crate) fn deadline(&self, kind: Kind) -> Duration {
        match &self.host {
            Host::Server(app) => app.limits().deadline(kind),
            Host::Own(_) => Limits::default().deadline(kind),
        }
    }

    /// Does `work` on a thread for what may wait, within the time of its kind, once it has its
    /// turn.
    ///
    /// # Errors
    /// `overloaded`, `too_many_requests`, `deadline`, `internal`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        kind: Kind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let deadline = self.deadline(kind);
        let Host::Server(app) = &self.host else { return without_turn(deadline, work).await };
        let gates = Arc::clone(&app.now().gates);
        match kind {
            Kind::Search => return gates.searches.run(deadline, |_| work()).await,
            Kind::Write => {
                let taken = gates.writes.take(&self.caller.id, Instant::now());
                taken.map_err(|seconds| {
                    let detail = format!("this token writes too often; wait {seconds} seconds");
                    Problem::own("too_many_requests", detail).after(seconds)
                })?;
            }
            Kind::Short | Kind::Memory => {}
        }
        without_turn(deadline, work).await
    }
}
