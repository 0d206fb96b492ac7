use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use trefoil::{
    Error, Result,
    cluster::{
        Cluster, EmbedOutcome, EmbedText, MadeVectors, MemoryTruth, NodeReport, NodeSeen,
        OutOfReach, Place, Request, RequestId, RowSink, Shard, Touched, Truth,
    },
};

/// A connection that can be cut.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    truth: MemoryTruth,
    is_away: Arc<AtomicBool>,
    /// What nodes tell each other of themselves is cut, and nothing else.
    pub(crate) are_others_away: bool,
}

impl Cut {
    pub(crate) fn new(truth: MemoryTruth) -> Self {
        Self { truth, is_away: Arc::default(), are_others_away: false }
    }

    pub(crate) fn set(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    fn ask(&self) -> Result<&MemoryTruth> {
        if self.is_away.load(Ordering::Relaxed) { Err(self.cut()) } else { Ok(&self.truth) }
    }

    fn ask_of_others(&self) -> Result<&MemoryTruth> {
        if self.are_others_away { Err(self.cut()) } else { self.ask() }
    }

    fn cut(&self) -> Error {
        let (truth, doing) = (self.truth.name(), "ask");
        Error::Unavailable { truth, doing, source: "it is cut".into() }
    }
}

impl Truth for Cut {
    fn name(&self) -> String {
        self.truth.name()
    }
    fn head(&self) -> Result<Place> {
        self.ask()?.head()
    }
    fn shard(&self) -> Result<Shard> {
        self.ask()?.shard()
    }
    fn lead(&self, from: Place, lease: Duration) -> Result<Option<Place>> {
        self.ask()?.lead(from, lease)
    }
    fn renew(&self, place: Place, lease: Duration) -> Result<()> {
        self.ask()?.renew(place, lease)
    }
    fn resign(&self, place: Place) -> Result<()> {
        self.ask()?.resign(place)
    }
    fn hand_over(&self, place: Place, to: &str, lease: Duration) -> Result<()> {
        self.ask()?.hand_over(place, to, lease)
    }
    fn append(&self, place: Place, touched: &Touched) -> Result<Place> {
        self.ask()?.append(place, touched)
    }
    fn pull(&self, after: Place, into: &mut dyn RowSink) -> Result<Place> {
        self.ask()?.pull(after, into)
    }
    fn prune(&self, place: Place, upto: u64) -> Result<()> {
        self.ask()?.prune(place, upto)
    }
}

impl Cluster for Cut {
    fn send(&self, request: &Request) -> Result<()> {
        self.ask()?.send(request)
    }
    fn answer(&self, id: RequestId) -> Result<Option<(u64, Vec<u8>)>> {
        self.ask()?.answer(id)
    }
    fn requests(&self, limit: usize) -> Result<Vec<Request>> {
        self.ask()?.requests(limit)
    }
    fn forget(&self, id: RequestId) -> Result<()> {
        self.ask()?.forget(id)
    }
    fn want_vectors(&self, fingerprint: &str, texts: &[EmbedText]) -> Result<()> {
        self.ask()?.want_vectors(fingerprint, texts)
    }
    fn outcomes(&self, fingerprint: &str, limit: usize) -> Result<Vec<(String, EmbedOutcome)>> {
        self.ask()?.outcomes(fingerprint, limit)
    }
    fn forget_vectors(&self, fingerprint: &str, hashes: &[String]) -> Result<()> {
        self.ask()?.forget_vectors(fingerprint, hashes)
    }
    fn retain_texts(&self, keep: &[(&str, &str)]) -> Result<()> {
        self.ask()?.retain_texts(keep)
    }
    fn claim_texts(
        &self,
        fingerprint: &str,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<EmbedText>> {
        self.ask()?.claim_texts(fingerprint, limit, lease)
    }
    fn put_vectors(&self, fingerprint: &str, vectors: &[(String, MadeVectors)]) -> Result<()> {
        self.ask()?.put_vectors(fingerprint, vectors)
    }
    fn return_texts(&self, fingerprint: &str, texts: &[(String, Option<String>)]) -> Result<()> {
        self.ask()?.return_texts(fingerprint, texts)
    }
    fn report(&self, report: &NodeReport) -> Result<()> {
        self.ask_of_others()?.report(report)
    }
    fn nodes(&self, within: Duration) -> Result<Vec<NodeSeen>> {
        self.ask_of_others()?.nodes(within)
    }
    fn node_name(&self) -> String {
        self.truth.node_name()
    }
    fn vacuum(&self) -> Result<Vec<OutOfReach>> {
        self.ask_of_others()?.vacuum()
    }
}
