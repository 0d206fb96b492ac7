//! What every request shares, and who is let in.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use tokio::sync::watch;
use trefoil::{BoxError, admin::Clock};

use crate::{
    auth::{Caller, Tokens},
    indexes::Indexes,
    job::Jobs,
    limit::Gates,
    local::Announced,
    metrics::Metrics,
    problem::Problem,
    settings::{Kind, Limits, ServerSettings},
};

/// How soon a stream ends after its token has.
const TOKEN_IS_CHECKED: Duration = Duration::from_secs(4);

/// What every request shares.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) indexes: Indexes,
    pub(crate) jobs: Jobs,
    pub(crate) metrics: Metrics,
    pub(crate) tokens: Tokens,
    pub(crate) reference: Reference,
    /// Where it is announced; nowhere if others than the owner of the machine reach it.
    announced: Mutex<Option<Announced>>,
    no_auth: bool,
    clock: Arc<dyn Clock>,
    changing: RwLock<Arc<Changing>>,
    reloading: Mutex<()>,
    stopping: watch::Sender<bool>,
}

/// What a reload may change.
#[derive(Debug)]
pub(crate) struct Changing {
    pub(crate) settings: ServerSettings,
    pub(crate) gates: Arc<Gates>,
}

/// Texts about the server, made once from the table of routes.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) openapi: serde_json::Value,
    pub(crate) docs: String,
}

impl App {
    pub(crate) fn new(
        settings: ServerSettings,
        tokens: Tokens,
        indexes: Indexes,
        reference: Reference,
        announced: Option<Announced>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            indexes,
            jobs: Jobs::start(Arc::clone(&settings.clock))?,
            metrics: Metrics::new(),
            tokens,
            reference,
            announced: Mutex::new(announced),
            no_auth: settings.no_auth,
            clock: Arc::clone(&settings.clock),
            changing: RwLock::new(Arc::new(Changing {
                gates: Arc::new(Gates::new(&settings.limits)),
                settings,
            })),
            reloading: Mutex::default(),
            stopping: watch::Sender::new(false),
        })
    }

    /// Settings and counts as they are now.
    pub(crate) fn now(&self) -> Arc<Changing> {
        Arc::clone(&self.changing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the settings again and takes what may change: limits, hosts, roots and indexes.
    /// Where limits change, what is counted begins again from zero. What has changed.
    ///
    /// # Errors
    /// What is wrong with the settings or the tokens; then nothing has changed.
    pub(crate) fn reload(&self) -> Result<Vec<String>, BoxError> {
        // One after the other.
        let _turn = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.now();
        let ServerSettings { indexes, hosts, roots, limits, .. } = before.settings.read_again()?;
        let after = ServerSettings { indexes, hosts, roots, limits, ..before.settings.clone() };
        after.limits.check()?;
        self.tokens.check()?;
        let indexes = self.indexes.reload(&after)?;
        if let Some(announced) = &mut *self.announced()
            && let Err(error) = announced.follow(&after.indexes)
        {
            tracing::error!("commands do not find this server: {}", error.chain());
        }
        let mut changed: Vec<String> =
            indexes.into_iter().map(|name| format!("indexes.{name}")).collect();
        let same_limits = after.limits == before.settings.limits;
        for (name, is_same) in [
            ("limits", same_limits),
            ("hosts", after.hosts == before.settings.hosts),
            ("roots", after.roots == before.settings.roots),
        ] {
            if !is_same {
                changed.push(name.to_owned());
            }
        }
        let gates = if same_limits {
            Arc::clone(&before.gates)
        } else {
            Arc::new(Gates::new(&after.limits))
        };
        let mut changing = self.changing.write().unwrap_or_else(PoisonError::into_inner);
        *changing = Arc::new(Changing { settings: after, gates });
        Ok(changed)
    }

    fn announced(&self) -> MutexGuard<'_, Option<Announced>> {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on nobody is told of it, even if a request goes on that is cut off.
    pub(crate) fn end(&self) {
        drop(self.announced().take());
    }

    pub(crate) fn limits(&self) -> Limits {
        self.now().settings.limits
    }

    /// The time by the server's clock.
    pub(crate) fn time(&self) -> Timestamp {
        Timestamp::from_second(self.clock.now()).unwrap_or(Timestamp::MAX)
    }

    /// Whether the server has been told to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// From now on nothing is ready, and streams end.
    pub(crate) fn begin_to_stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Waits until a stream of a caller has to end: its token has, or the server stops.
    pub(crate) async fn ends(self: Arc<Self>, caller: Caller) {
        let mut stopping = self.stopping.subscribe();
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => return,
                () = tokio::time::sleep(TOKEN_IS_CHECKED) => {}
            }
            if !self.no_auth && !self.tokens.is_valid(&caller.id, self.time()) {
                return;
            }
        }
    }

    /// A page of another site, whose name leads here, is to learn nothing.
    pub(crate) fn check_host(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text(header::HOST).unwrap_or_default();
        let name = host_name(host);
        let is_loopback = name == "localhost"
            || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let is_own = |own: &String| own.eq_ignore_ascii_case(name);
        if !is_loopback && !self.now().settings.hosts.iter().any(is_own) {
            let detail = "the `Host` is no name of this server; add it to `hosts` of the settings";
            return Err(Problem::own("host_refused", detail));
        }
        let own = |origin: &str| {
            let authority = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        match text(header::ORIGIN) {
            Some(origin) if !own(origin) => {
                Err(Problem::own("origin_refused", "only pages of this server may ask it"))
            }
            _ => Ok(()),
        }
    }

    /// Who asks, by the token of a request.
    pub(crate) fn authenticate(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<Caller, Problem> {
        if self.no_auth {
            return Ok(Caller::local());
        }
        let (now, gates) = (Instant::now(), &self.now().gates);
        if !gates.failures.has(&peer, now) {
            let detail = "too many tokens of this address were wrong; wait";
            return Err(Problem::own("too_many_requests", detail).after(60));
        }
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let secret = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        };
        let secret = secret
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let token = secret.and_then(|(_, secret)| self.tokens.find(secret.trim(), self.time()));
        token.map(Caller::from).ok_or_else(|| {
            _ = gates.failures.take(&peer, now);
            self.metrics.refused();
            let detail = "send `Authorization: Bearer` with a token of `trefoil token create`";
            Problem::own("unauthorized", detail)
        })
    }

    /// Counts a request of a caller.
    pub(crate) fn count(&self, kind: Kind, caller: &Caller) -> Result<(), Problem> {
        let (now, gates) = (Instant::now(), &self.now().gates);
        let taken = gates.requests.take(&caller.id, now).and_then(|()| match kind {
            Kind::Write => gates.writes.take(&caller.id, now),
            Kind::Short | Kind::Search | Kind::Memory => Ok(()),
        });
        taken.map_err(|seconds| {
            let detail = format!("this token asks too often; wait {seconds} seconds");
            Problem::own("too_many_requests", detail).after(seconds)
        })
    }
}

/// The host of `Host` without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn a_host_is_told_from_its_port() {
        for (host, name) in
            [("a", "a"), ("a:1", "a"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("", "")]
        {
            // The last part of an address without a port may look like one; brackets tell.
            assert_eq!(host_name(host), name, "{host}");
        }
    }
}
