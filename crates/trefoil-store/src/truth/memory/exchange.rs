//! What nodes tell each other, in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use trefoil_core::{Language, Result};

use super::MemoryTruth;
use crate::truth::{
    Cluster, Done, EMBED_TRIES, EmbedOutcome, EmbedText, MadeVectors, NodeReport, NodeSeen,
    OutOfReach, Request, RequestId, format,
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
    language: Option<Language>,
    made: Option<MadeVectors>,
    tries: u32,
    /// What was wrong with it when it was tried last.
    failed: Option<String>,
    /// Who has taken it, and for how long.
    owner: Option<String>,
    taken_until: Duration,
}

impl Wanted {
    /// What became of it, if that is known.
    fn outcome(&self, now: Duration) -> Option<EmbedOutcome> {
        let has_failed = self.tries >= EMBED_TRIES && self.taken_until <= now;
        let made = self.made.clone().map(EmbedOutcome::Made);
        made.or_else(|| has_failed.then(|| EmbedOutcome::Failed(self.failed.clone())))
    }
}

impl Exchange {
    /// How many texts there are, with a vector or without.
    pub(super) fn texts(&self) -> usize {
        self.texts.len()
    }

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
        for EmbedText { text_hash, text, language } in texts {
            let key = (fingerprint.to_owned(), text_hash.clone());
            shard.exchange.texts.entry(key).or_insert_with(|| Wanted {
                content: text.clone(),
                language: *language,
                made: None,
                tries: 0,
                failed: None,
                owner: None,
                taken_until: Duration::ZERO,
            });
        }
        Ok(())
    }

    fn outcomes(&self, fingerprint: &str, limit: usize) -> Result<Vec<(String, EmbedOutcome)>> {
        let now = (self.time)();
        let shard = self.lock();
        let of = shard.exchange.texts.iter().filter(|((of, _), _)| of == fingerprint);
        let known = of.filter_map(|((_, hash), text)| Some((hash.clone(), text.outcome(now)?)));
        Ok(known.take(limit).collect())
    }

    fn forget_vectors(&self, fingerprint: &str, text_hashes: &[String]) -> Result<()> {
        let mut shard = self.lock();
        for hash in text_hashes {
            shard.exchange.texts.remove(&(fingerprint.to_owned(), hash.clone()));
        }
        Ok(())
    }

    fn retain_texts(&self, keep: &[(&str, &str)]) -> Result<()> {
        let keep: BTreeSet<_> = keep.iter().copied().collect();
        let is_kept = |(of, hash): &(String, String)| keep.contains(&(of.as_str(), hash.as_str()));
        self.lock().exchange.texts.retain(|key, _| is_kept(key));
        Ok(())
    }

    fn claim_texts(
        &self,
        fingerprint: &str,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<EmbedText>> {
        let now = (self.time)();
        let mut shard = self.lock();
        let waiting = shard.exchange.texts.iter_mut().filter(|((of, _), text)| {
            let is_free = text.taken_until <= now && text.tries < EMBED_TRIES;
            of == fingerprint && text.made.is_none() && is_free
        });
        let claimed = waiting.take(limit).map(|((_, hash), text)| {
            text.tries += 1;
            text.owner = Some(self.node.clone());
            text.taken_until = now + lease;
            let (content, language) = (text.content.clone(), text.language);
            EmbedText { text_hash: hash.clone(), text: content, language }
        });
        Ok(claimed.collect())
    }

    fn put_vectors(&self, fingerprint: &str, vectors: &[(String, MadeVectors)]) -> Result<()> {
        let mut shard = self.lock();
        for (hash, made) in vectors {
            let key = (fingerprint.to_owned(), hash.clone());
            if let Some(text) = shard.exchange.texts.get_mut(&key) {
                text.made = Some(made.clone());
            }
        }
        Ok(())
    }

    fn return_texts(&self, fingerprint: &str, texts: &[(String, Option<String>)]) -> Result<()> {
        let mut shard = self.lock();
        for (hash, failed) in texts {
            let key = (fingerprint.to_owned(), hash.clone());
            let found = shard.exchange.texts.get_mut(&key);
            let Some(text) = found.filter(|text| text.owner.as_ref() == Some(&self.node)) else {
                continue;
            };
            (text.owner, text.taken_until) = (None, Duration::ZERO);
            match failed {
                Some(failed) => text.failed = Some(failed.clone()),
                None => text.tries = text.tries.saturating_sub(1),
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
            format: Some(format()),
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
