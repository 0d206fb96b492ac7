//! A server: what it needs to start, and its accept loop.

use std::{
    convert::Infallible,
    fmt,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use trefoil::Engine;

use crate::{
    answer::{Peer, router},
    app::{App, Reference},
    auth::{Grant, NewToken, Tokens},
    indexes::Indexes,
    local::{Announced, LocalServer},
    openapi,
    settings::ServerSettings,
    timeouts::{Answering, Exchanges, TimedStream, Timeouts},
};

/// What keeps a server from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Others could reach it, and nobody would be asked for a token.
    #[error(
        "`{0}` is not a loopback address, and there is no token; \
         make one with `trefoil token create`, and leave out `--no-auth`"
    )]
    Unprotected(SocketAddr),
    /// The address cannot be listened at.
    #[error("cannot listen at `{address}`; take another address, or port 0 for a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A setting, or the file of the tokens, is not what it should be.
    #[error(transparent)]
    Settings(#[from] trefoil::Error),
    /// The system has no thread for it.
    #[error("cannot start the threads of the server")]
    Threads(#[source] std::io::Error),
}

/// Tells a server to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Lets the running requests end, and then the server.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// A server that listens, and has opened its indexes.
pub struct Server {
    app: Arc<App>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    own_token: Option<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the indexes and listens. On a loopback address it makes a token for as long as it
    /// lives, unless nobody is to be asked for one.
    ///
    /// # Errors
    /// [`StartError`]; an index that cannot be opened is none: the others are served.
    pub fn bind(settings: ServerSettings) -> Result<Self, StartError> {
        settings.limits.check()?;
        let mut tokens = Tokens::open(&settings.tokens)?;
        let has_tokens = !tokens.list().is_empty();
        let is_loopback = settings.addr.ip().is_loopback();
        if !is_loopback && (settings.no_auth || !has_tokens) {
            return Err(StartError::Unprotected(settings.addr));
        }
        let failed = |source| StartError::Listen { address: settings.addr, source };
        let listener = std::net::TcpListener::bind(settings.addr).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut own_token = None;
        if is_loopback && !settings.no_auth {
            let new = NewToken::local()?;
            tokens = tokens.with(new.token);
            own_token = Some(new.secret);
        }
        let indexes = Indexes::open(&settings)?;
        let mut announced = is_loopback.then(|| {
            Announced::new(LocalServer {
                address,
                pid: std::process::id(),
                token: own_token.clone(),
                mcp: cfg!(feature = "mcp") && !settings.no_mcp,
                index: String::new(),
            })
        });
        if let Some(announced) = &mut announced {
            announced.follow(&settings.indexes)?;
        }
        let reference = Reference { openapi: openapi::description(), docs: openapi::page() };
        let app = App::new(settings, tokens, indexes, reference, announced)
            .map_err(StartError::Threads)?;
        Ok(Self { app: Arc::new(app), listener, address, own_token })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The engine of an index that is open.
    pub fn engine(&self, index: &str) -> Option<Arc<Engine>> {
        self.app.indexes.find(Some(index), &Grant::everything()).ok().map(|opened| opened.engine)
    }

    /// The token that lives as long as it does; none where none is asked for, or on an address
    /// that others reach.
    pub fn token(&self) -> Option<&str> {
        self.own_token.as_deref()
    }

    /// Answers until it is told to stop, or the process is sent SIGTERM or SIGINT. Then running
    /// requests have a while to end; a second signal ends at once.
    ///
    /// # Errors
    /// [`StartError::Threads`], [`StartError::Listen`].
    pub fn run(self, stop: &Stop) -> Result<(), StartError> {
        #[cfg(feature = "mcp")]
        let router = router(Arc::clone(&self.app), crate::mcp::endpoint::talks());
        #[cfg(not(feature = "mcp"))]
        let router = router(Arc::clone(&self.app));
        self.run_router(&router, stop)
    }

    /// The same with another handler at `/mcp`: for the suite that checks the protocol with tools
    /// of its own.
    ///
    /// # Errors
    /// As [`Self::run`].
    #[cfg(feature = "conformance")]
    pub fn run_with<H: rmcp::ServerHandler + Clone>(
        self,
        stop: &Stop,
        handler: H,
        has_sessions: bool,
    ) -> Result<(), StartError> {
        let talks = crate::mcp::endpoint::talks_as(handler, has_sessions);
        let router = router(Arc::clone(&self.app), talks);
        self.run_router(&router, stop)
    }

    fn run_router(self, router: &Router, stop: &Stop) -> Result<(), StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let outcome = runtime.block_on(self.serve(router, stop));
        // What still runs on the blocking pool is not waited for longer than requests are.
        runtime.shutdown_timeout(Duration::from_secs(1));
        outcome
    }

    async fn serve(self, router: &Router, stop: &Stop) -> Result<(), StartError> {
        let failed = |source| StartError::Listen { address: self.address, source };
        let listener = TcpListener::from_std(self.listener).map_err(failed)?;
        let app = self.app;
        let connections = GracefulShutdown::new();
        let mut stopped = pin!(async {
            tokio::select! {
                () = signalled() => {}
                () = stop.0.notified() => {}
            }
        });
        let mut hangup = Hangup::new();
        loop {
            tokio::select! {
                () = hangup.next() => {
                    let app = Arc::clone(&app);
                    tokio::task::spawn_blocking(move || match app.reload() {
                        Ok(changed) => tracing::info!(?changed, "the settings were read again"),
                        Err(error) => tracing::error!("everything stays as it was: {error}"),
                    });
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => connect(&app, router, stream, peer.ip(), &connections),
                    // Without a file handle for it there is one when another connection ends.
                    Err(error) => {
                        tracing::warn!("a connection cannot be accepted: {error}");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                () = &mut stopped => break,
            }
        }
        drop(listener);
        app.begin_to_stop();
        app.jobs.stop();
        let rest = Duration::from_secs(app.limits().stop_seconds);
        let end = async {
            connections.shutdown().await;
            let app = Arc::clone(&app);
            drop(tokio::task::spawn_blocking(move || app.jobs.wait()).await);
        };
        tokio::select! {
            () = end => {}
            () = tokio::time::sleep(rest) => tracing::warn!("requests are cut off: it is time"),
            () = signalled() => tracing::warn!("requests are cut off: a second signal"),
        }
        app.end();
        Ok(())
    }
}

/// Waits for SIGINT or SIGTERM.
async fn signalled() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    drop(interrupt.await);
}

/// The signal to read the settings again, on systems that have it.
struct Hangup {
    #[cfg(unix)]
    signals: Option<tokio::signal::unix::Signal>,
}

impl Hangup {
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            signals: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signals) = &mut self.signals
            && signals.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Serves a connection on a task of its own, unless there are too many.
fn connect(
    app: &App,
    router: &Router,
    stream: TcpStream,
    peer: IpAddr,
    connections: &GracefulShutdown,
) {
    let now = app.now();
    let Some(counted) = now.gates.connections.add(&peer) else {
        tracing::warn!("a connection was closed: there are too many");
        return;
    };
    // Answers are small, and are not to wait for more.
    drop(stream.set_nodelay(true));
    let limits = &now.settings.limits;
    let router = TowerToHyperService::new(router.clone());
    let exchanges = Exchanges::default();
    let timeouts = Timeouts {
        idle: Duration::from_secs(limits.idle_seconds),
        head: Duration::from_secs(limits.head_seconds),
    };
    let stream = TimedStream::new(stream, timeouts, exchanges.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        let exchange = exchanges.begin();
        request.extensions_mut().insert(Peer(peer));
        let answer = router.call(request);
        async move { Ok::<_, Infallible>(answer.await?.map(|body| Answering::new(body, exchange))) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // With a timer hyper reads again as soon as it has answered, which starts ours.
        .header_read_timeout(timeouts.idle + timeouts.head)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("a connection has ended: {error}");
        }
        drop(counted);
    });
}
