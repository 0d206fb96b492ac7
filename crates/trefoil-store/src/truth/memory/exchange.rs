//! What nodes tell each other, in memory.

use std::{collections::BTreeMap, time::Duration};

use trefoil_core::Result;

use super::MemoryTruth;
use crate::truth::{
    Cluster, Done, EmbedText, NodeReport, NodeSeen, OutOfReach, Request, RequestId,
};

/// The transaction that did a request, and what its sender is told.
type Answer = (u64, Vec<u8>);

#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    /// Requests, and what came of those that are done: the transaction and the answer.
    inbox: BTreeMap<RequestId, (Vec<u8>, Option<Answer>)>,
    /// Texts by fingerprint and hash.
    texts: BTreeMap<(String, String), Wanted>,
    /// What nodes said, and when.
    nodes: BTreeMap<String, (NodeReport, Duration)>,
}

#[derive(Clone, Debug)]
struct Wanted {
    content: String,
    vector: Option<Vec<f32>>,
    tries: u32,
    taken_until: Duration,
}

impl Exchange {
    /// Notes the answers to requests that a transaction has done.
    pub(super) fn done(&mut self, tx: u64, done: &[Done]) {
        for Done { id, answer } in done {
            if let Some((_, is_done)) = self.inbox.get_mut(id) {
                is_done.get_or_insert_with(|| (tx, answer.clone()));
            }
        }
    }
}

impl Cluster for MemoryTruth {
    fn send(&self, request: &Request) -> Result<()> {
        let mut shard = self.lock();
        shard.exchange.inbox.entry(request.id).or_insert_with(|| (request.body.clone(), None));
        Ok(())
    }

    fn answer(&self, id: RequestId) -> Result<Option<(u64, Vec<u8>)>> {
        Ok(self.lock().exchange.inbox.get(&id).and_then(|(_, answer)| answer.clone()))
    }

    fn requests(&self, limit: usize) -> Result<Vec<Request>> {
        let shard = self.lock();
        let waiting = shard.exchange.inbox.iter().filter(|(_, (_, answer))| answer.is_none());
        let waiting = waiting.map(|(&id, (body, _))| Request { id, body: body.clone() });
        Ok(waiting.take(limit).collect())
    }

    fn forget(&self, id: RequestId) -> Result<()> {
        self.lock().exchange.inbox.remove(&id);
        Ok(())
    }

    fn want_vectors(&self, fingerprint: &str, texts: &[EmbedText]) -> Result<()> {
        let mut shard = self.lock();
        for EmbedText { text_hash, text } in texts {
            let key = (fingerprint.to_owned(), text_hash.clone());
            shard.exchange.texts.entry(key).or_insert_with(|| Wanted {
                content: text.clone(),
                vector: None,
                tries: 0,
                taken_until: Duration::ZERO,
            });
        }
        Ok(())
    }

    fn vectors(
        &self,
        fingerprint: &str,
        text_hashes: &[String],
    ) -> Result<Vec<(String, Vec<f32>)>> {
        let shard = self.lock();
        let found = text_hashes.iter().filter_map(|hash| {
            let text = shard.exchange.texts.get(&(fingerprint.to_owned(), hash.clone()))?;
            Some((hash.clone(), text.vector.clone()?))
        });
        Ok(found.collect())
    }

    fn forget_vectors(&self, fingerprint: &str, text_hashes: &[String]) -> Result<()> {
        let mut shard = self.lock();
        for hash in text_hashes {
            shard.exchange.texts.remove(&(fingerprint.to_owned(), hash.clone()));
        }
        Ok(())
    }

    fn claim_texts(
        &self,
        fingerprint: &str,
        limit: usize,
        lease: Duration,
        tries: u32,
    ) -> Result<Vec<EmbedText>> {
        let now = (self.time)();
        let mut shard = self.lock();
        let waiting = shard.exchange.texts.iter_mut().filter(|((of, _), text)| {
            let is_free = text.taken_until <= now && text.tries < tries;
            of == fingerprint && text.vector.is_none() && is_free
        });
        let claimed = waiting.take(limit).map(|((_, hash), text)| {
            text.tries += 1;
            text.taken_until = now + lease;
            EmbedText { text_hash: hash.clone(), text: text.content.clone() }
        });
        Ok(claimed.collect())
    }

    fn put_vectors(&self, fingerprint: &str, vectors: &[(String, Vec<f32>)]) -> Result<()> {
        let mut shard = self.lock();
        for (hash, vector) in vectors {
            let key = (fingerprint.to_owned(), hash.clone());
            if let Some(text) = shard.exchange.texts.get_mut(&key) {
                text.vector = Some(vector.clone());
            }
        }
        Ok(())
    }

    fn report(&self, report: &NodeReport) -> Result<()> {
        let now = (self.time)();
        self.lock().exchange.nodes.insert(self.node.clone(), (report.clone(), now));
        Ok(())
    }

    fn nodes(&self, within: Duration) -> Result<Vec<NodeSeen>> {
        let now = (self.time)();
        let shard = self.lock();
        let nodes = shard.exchange.nodes.iter().map(|(node, (report, at))| NodeSeen {
            node: node.clone(),
            report: report.clone(),
            ago: now.saturating_sub(*at),
        });
        Ok(nodes.filter(|node| node.ago <= within).collect())
    }

    fn node_name(&self) -> String {
        self.node.clone()
    }

    fn vacuum(&self) -> Result<Vec<OutOfReach>> {
        // A row that is gone is nowhere.
        Ok(Vec::new())
    }
}
