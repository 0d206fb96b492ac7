//! What it costs to write an index through PostgreSQL: `measure URL INDEX`, where INDEX is the
//! folder of an index whose documents are written again, 64 files a transaction, and then their
//! vectors, 64 a transaction. A node follows. Run it by `tests/postgres/start.py --durable`: the
//! time of the server's processes is read from /proc, so it has to be on this machine.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program that measures, and ends where it cannot"
)]

use std::{
    fs, iter,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio_postgres::NoTls;
use trefoil_core::{Result, RowId};
use trefoil_postgres::{PostgresConfig, PostgresTruth};
use trefoil_store::{
    Access, EmbedSource, EmbeddedText, NewChunk, NewEmbedding, NewFile, Store, SystemClock,
    truth::{NodeTimes, Place, RowSink, Shard, Touched, Truth},
};

/// Times each transaction on its way to the truth.
#[derive(Debug)]
struct Timed(PostgresTruth, Mutex<Vec<Duration>>);

impl Truth for Timed {
    fn name(&self) -> String {
        self.0.name()
    }

    fn head(&self) -> Result<Place> {
        self.0.head()
    }

    fn shard(&self) -> Result<Shard> {
        self.0.shard()
    }

    fn lead(&self, from: Place, lease: Duration) -> Result<Option<Place>> {
        self.0.lead(from, lease)
    }

    fn renew(&self, place: Place, lease: Duration) -> Result<()> {
        self.0.renew(place, lease)
    }

    fn resign(&self, place: Place) -> Result<()> {
        self.0.resign(place)
    }
    fn hand_over(&self, place: Place, to: &str, lease: Duration) -> Result<()> {
        self.0.hand_over(place, to, lease)
    }

    fn append(&self, place: Place, touched: &Touched) -> Result<Place> {
        let begun = Instant::now();
        let next = self.0.append(place, touched);
        self.1.lock().unwrap().push(begun.elapsed());
        next
    }

    fn pull(&self, after: Place, into: &mut dyn RowSink) -> Result<Place> {
        self.0.pull(after, into)
    }

    fn prune(&self, place: Place, upto: u64) -> Result<()> {
        self.0.prune(place, upto)
    }
}

impl Timed {
    /// The median and the 99th percentile of the transactions since the last call.
    fn percentiles(&self) -> String {
        let mut times = std::mem::take(&mut *self.1.lock().unwrap());
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        format!("{} appends, p50 {:.1} ms, p99 {:.1} ms", times.len(), at(50), at(99))
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, index] = words.as_slice() else { panic!("measure URL INDEX") };
    let (files, vectors) = documents(Path::new(index));
    let chunks = files.iter().map(|file| file.chunks.len()).sum::<usize>();
    println!("{} files, {chunks} chunks", files.len());

    let config: PostgresConfig = format!("{url}?index=measured").parse().unwrap();
    trefoil_postgres::init(&config, 1).unwrap();
    let node = |name: &str| PostgresTruth::new(config.clone().with_node(name).unwrap()).unwrap();
    let truth = Arc::new(Timed(node("writer"), Mutex::default()));
    let (writer, follower) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |folder: &Path, truth: Arc<dyn Truth>| {
        Store::open_node(folder, truth, NodeTimes::default(), Arc::new(SystemClock)).unwrap()
    };
    let store = open(writer.path(), Arc::<Timed>::clone(&truth));
    assert!(store.lead().unwrap(), "an index is there already");

    let (begun, cpu) = (Instant::now(), server_seconds(url));
    store.set_fingerprint("measured").unwrap();
    for files in files.chunks(64) {
        store.put_files(files).unwrap();
    }
    let texts = (begun.elapsed().as_secs_f64(), server_seconds(url) - cpu);
    println!("texts: {}; {}", truth.percentiles(), rate(chunks, texts));

    let (begun, cpu) = (Instant::now(), server_seconds(url));
    let mut vectors = vectors.iter().cycle();
    loop {
        let jobs = store.claim_embed_jobs(64, 60).unwrap();
        if jobs.is_empty() {
            break;
        }
        let done = jobs.iter().zip(&mut vectors).map(|(job, vector)| {
            assert!(matches!(job.source, EmbedSource::Chunk(_)));
            (job.job, job.row, EmbeddedText::from(vector.clone()))
        });
        store.finish_embed_jobs(&done.collect::<Vec<_>>()).unwrap();
    }
    let embedded = (begun.elapsed().as_secs_f64(), server_seconds(url) - cpu);
    println!("vectors: {}; {}", truth.percentiles(), rate(chunks, embedded));
    let both = (texts.0 + embedded.0, texts.1 + embedded.1);
    println!("both: {}", rate(chunks, both));

    let (begun, cpu) = (Instant::now(), server_seconds(url));
    let follower = open(follower.path(), Arc::new(node("follower")));
    follower.follow(&mut |_| Ok(())).unwrap();
    let followed = (begun.elapsed().as_secs_f64(), server_seconds(url) - cpu);
    println!("a new node: {}", rate(chunks, followed));

    let (begun, cpu) = (Instant::now(), server_seconds(url));
    for _ in 0..2000 {
        truth.head().unwrap();
    }
    let asked = (begun.elapsed() / 2000, (server_seconds(url) - cpu) / 2000.0 * 1e6);
    println!("head: {:?}, {:.0} µs of the server", asked.0, asked.1);

    let sizes = query(
        url,
        "SELECT relname, pg_total_relation_size(c.oid)::text FROM pg_class c
         JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'trefoil' AND relkind = 'r'
         ORDER BY pg_total_relation_size(c.oid) DESC",
    );
    let bytes = |row: &Vec<String>| row[1].parse::<usize>().unwrap() / chunks;
    println!("size: {} bytes a chunk", sizes.iter().map(bytes).sum::<usize>());
    for row in sizes.iter().take(7) {
        println!("    {}: {}", row[0], bytes(row));
    }
}

/// The documents of an index as they came, and vectors to give them again.
fn documents(index: &Path) -> (Vec<NewFile>, Vec<Vec<f32>>) {
    let store = Store::open(index, Access::ReadOnly, Arc::new(SystemClock)).unwrap();
    let mut vectors = Vec::new();
    let file = |state: &trefoil_store::FileState| {
        let chunks = store.chunks_of(&state.path).unwrap();
        let info = Arc::clone(&chunks.first()?.file);
        let rows: Vec<RowId> = chunks.iter().map(|chunk| chunk.row).collect();
        let said = store.extractions(&rows).unwrap();
        vectors.extend(store.cached_embeddings(&rows).unwrap().into_iter().map(|(_, one)| one));
        let chunk = |(chunk, (row, extraction)): (&Arc<trefoil_core::StoredChunk>, _)| NewChunk {
            chunk: chunk.chunk.clone(),
            embedding_hash: format!("{:064x}", RowId::get(row)),
            embedding: NewEmbedding::Model,
            extraction,
        };
        Some(NewFile {
            path: state.path.clone(),
            title: info.title.clone(),
            tags: info.tags.clone(),
            date: info.date,
            metadata: info.metadata.clone(),
            size: state.size,
            mtime: state.mtime,
            sha256: state.sha256.clone(),
            chunks: chunks.iter().zip(said).map(chunk).collect(),
        })
    };
    let files = store.files().unwrap().iter().filter_map(file).collect();
    (files, vectors)
}

fn rate(chunks: usize, (wall, cpu): (f64, f64)) -> String {
    let chunks = chunks as f64;
    format!("{:.0} chunks a second, {:.0} a server CPU second", chunks / wall, chunks / cpu)
}

/// The processor time of the server's processes, of those that have ended too.
fn server_seconds(url: &str) -> f64 {
    // Of a process: its parent, and its time and that of its children, in hundredths of a second.
    let times = |process: &str| -> Option<(String, [f64; 4])> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let words: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        Some((words[1].to_owned(), [11, 12, 13, 14].map(|at| words[at].parse().unwrap())))
    };
    let folder = query(url, "SHOW data_directory")[0][0].clone();
    let server = fs::read_to_string(format!("{folder}/postmaster.pid")).unwrap();
    let server = server.lines().next().unwrap().to_owned();
    let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let process = entry.unwrap().file_name().into_string().ok()?;
        let (parent, times) = times(&process)?;
        (parent == server).then(|| times[0] + times[1])
    });
    let ended = times(&server).unwrap().1;
    children.chain(iter::once(ended.iter().sum())).sum::<f64>() / 100.0
}

fn query(url: &str, sql: &str) -> Vec<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let rows = client.query(sql, &[]).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        rows.iter().map(|row| (0..row.len()).map(|at| row.get(at)).collect()).collect()
    })
}
