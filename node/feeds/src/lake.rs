//! A NEAR Lake: one object for each block and one for each of its shards, by height.
//!
//! For history: a range of heights is read in order, and the newest block is not waited for. A
//! height without a block object is skipped if the next block says so, and every shard that a
//! block lists has to be there. Credentials are read from the environment and are in no error, no
//! log and no `Debug`. Objects of shards that are not tracked are not asked for.

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use milepost::config::TrackedShards;
use milepost::import::lake_message;
use milepost::primitives::BlockHeight;
use milepost::storage::BlockPoint;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreExt as _};
use serde::Deserialize;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time;

use crate::http::{Address, with_tls};
use milepost_follow::FeedBlock;

/// Maximum size of an object: recent messages have some 2 MB in all
const MAX_OBJECT: u64 = 64 << 20;
/// Number of heights that are fetched ahead
const LOOKAHEAD: usize = 16;
/// How often an object is asked for, besides the repetitions of the library
const MAX_ATTEMPTS: u32 = 6;
const RETRY: Duration = Duration::from_millis(250);
/// Maximum number of shards of a block
const MAX_SHARDS: usize = 1_024;

/// A lake in a bucket or in a directory
#[derive(Clone)]
pub struct Lake {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The address, which has no secret
    url: String,
    track_shards: TrackedShards,
}

/// Reads the blocks of a range of heights in order
#[derive(Debug)]
pub struct LakeReader {
    lake: Lake,
    first: BlockHeight,
    /// The next height to ask for; `None` after the last
    next: Option<BlockHeight>,
    last: BlockHeight,
    /// Blocks that are being fetched, in the order of heights
    ahead: VecDeque<(BlockHeight, Fetch)>,
    /// The block before the next one
    after: Option<BlockPoint>,
}

/// The task that fetches a block; dropping it ends the task
#[derive(Debug)]
struct Fetch(JoinHandle<Result<Option<FeedBlock>, String>>);

#[derive(Deserialize)]
struct Block {
    chunks: Vec<Chunk>,
}

#[derive(Deserialize)]
struct Chunk {
    shard_id: u64,
}

impl Lake {
    /// The lake at `s3://bucket[/prefix]`, or in the directory `file://path`
    ///
    /// Credentials, region and endpoint are read from the usual variables: `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT`; `AWS_ALLOW_HTTP=true` allows an
    /// endpoint without TLS, and `AWS_REQUEST_PAYER=true` pays for the requests, as public lakes
    /// demand. Buckets are in the path of a URL unless `AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true`.
    ///
    /// # Errors
    ///
    /// The address has another form, or the variables contradict each other.
    pub fn open(url: &str) -> Result<Self, String> {
        let form = || "a lake is neither s3://bucket[/prefix] nor file://path".to_owned();
        if let Some(path) = url.strip_prefix("file://") {
            let store = LocalFileSystem::new_with_prefix(PathBuf::from(path))
                .map_err(|error| format!("{url}: {error}"))?;
            return Ok(Self::over(Arc::new(store), "", url));
        }
        let place = url.strip_prefix("s3://").ok_or_else(form)?;
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() || bucket.contains(['@', '?', '#']) {
            return Err(form());
        }
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
        let connector = Connector::of(endpoint.as_deref())?;
        let store = builder
            .with_http_connector(connector)
            .build()
            .map_err(|error| format!("s3://{bucket}: {error}"))?;
        Ok(Self::over(Arc::new(store), prefix, url))
    }

    fn over(store: Arc<dyn ObjectStore>, prefix: &str, url: &str) -> Self {
        Self {
            store,
            prefix: Path::from(prefix),
            url: url.trim_end_matches('/').to_owned(),
            track_shards: TrackedShards::ALL,
        }
    }

    /// The same lake, of which these shards only are read
    #[must_use]
    pub const fn with_track_shards(mut self, track_shards: TrackedShards) -> Self {
        self.track_shards = track_shards;
        self
    }

    /// Reads the blocks of these heights, both included, in a runtime of tokio
    pub fn read(&self, first: BlockHeight, last: BlockHeight) -> LakeReader {
        LakeReader {
            lake: self.clone(),
            first,
            next: Some(first).filter(|first| *first <= last),
            last,
            ahead: VecDeque::new(),
            after: None,
        }
    }

    /// The block at a height; `None` if the lake has no object of it
    async fn block(&self, height: BlockHeight) -> Result<Option<FeedBlock>, String> {
        let Some(block) = self.object(height, "block.json").await? else { return Ok(None) };
        let name = |file: &str| self.name(height, file);
        let listed: Block = serde_json::from_slice(&block)
            .map_err(|error| format!("{}: {error}", name("block.json")))?;
        if listed.chunks.len() > MAX_SHARDS {
            let detail = format!("{} shards, the limit is {MAX_SHARDS}", listed.chunks.len());
            return Err(format!("{}: {detail}", name("block.json")));
        }
        let mut tasks = JoinSet::new();
        let is_tracked = |chunk: &&Chunk| self.track_shards.contains(chunk.shard_id);
        for (index, chunk) in listed.chunks.iter().filter(is_tracked).enumerate() {
            let (lake, file) = (self.clone(), format!("shard_{}.json", chunk.shard_id));
            tasks.spawn(async move {
                let shard = lake.object(height, &file).await?;
                let missing = || {
                    format!(
                        "{}: missing, but block.json lists this shard",
                        lake.name(height, &file)
                    )
                };
                Ok::<_, String>((index, shard.ok_or_else(missing)?))
            });
        }
        let mut shards = Vec::with_capacity(listed.chunks.len());
        while let Some(shard) = tasks.join_next().await {
            shards.push(shard.map_err(|error| error.to_string())??);
        }
        shards.sort_unstable_by_key(|(index, _)| *index);
        let texts = shards.iter().map(|(_, text)| text.as_slice());
        let block = FeedBlock::read(lake_message(&block, texts), self.track_shards)
            .map_err(|error| format!("{}: {error}", name("")))?;
        match block.block.height {
            found if found == height => Ok(Some(block)),
            found => Err(format!("{}: the block of height {found}", name("block.json"))),
        }
    }

    /// The text of an object, if there is one
    async fn object(&self, height: BlockHeight, file: &str) -> Result<Option<Vec<u8>>, String> {
        let path = format!("{}/{height:012}/{file}", self.prefix);
        let (path, mut attempt) = (Path::from(path), 1);
        loop {
            let error = match self.fetch(&path).await {
                Ok(text) => return Ok(Some(text)),
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                Err(error) => error,
            };
            let is_for_good = matches!(
                error,
                object_store::Error::PermissionDenied { .. }
                    | object_store::Error::Unauthenticated { .. }
                    | object_store::Error::NotSupported { .. }
            );
            if is_for_good || attempt == MAX_ATTEMPTS {
                return Err(format!("{}: {error}", self.name(height, file)));
            }
            time::sleep(RETRY * attempt).await;
            attempt += 1;
        }
    }

    async fn fetch(&self, path: &Path) -> Result<Vec<u8>, object_store::Error> {
        let object = self.store.get(path).await?;
        let size = object.meta.size;
        if size > MAX_OBJECT {
            let source = format!("{size} bytes, the limit is {MAX_OBJECT}").into();
            return Err(object_store::Error::NotSupported { source });
        }
        Ok(object.bytes().await?.into())
    }

    /// The name of an object in errors
    fn name(&self, height: BlockHeight, file: &str) -> String {
        format!("{}/{height:012}/{file}", self.url)
    }
}

impl fmt::Debug for Lake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Lake").field(&self.url).finish()
    }
}

impl LakeReader {
    /// The next block; `None` after the last height
    ///
    /// # Errors
    ///
    /// What is missing or cannot be read, with the name of the object. After an error the reader is
    /// used no more.
    pub async fn next(&mut self) -> Result<Option<FeedBlock>, String> {
        loop {
            while let Some(height) = self.next.filter(|_| self.ahead.len() < LOOKAHEAD) {
                let lake = self.lake.clone();
                let fetch = tokio::spawn(async move { lake.block(height).await });
                self.ahead.push_back((height, Fetch(fetch)));
                self.next = height.checked_add(1).filter(|next| *next <= self.last);
            }
            let Some((_, fetch)) = self.ahead.front_mut() else { return Ok(None) };
            // It stays in the queue while it is waited for, so this can be cancelled.
            let block = (&mut fetch.0).await.map_err(|error| error.to_string())?;
            let Some((height, _)) = self.ahead.pop_front() else { return Ok(None) };
            let Some(block) = block? else { continue };
            self.check_parent(height, &block)?;
            self.after = Some(block.block);
            return Ok(Some(block));
        }
    }

    /// Checks that no block is missing before this one
    fn check_parent(&self, height: BlockHeight, block: &FeedBlock) -> Result<(), String> {
        let name = self.lake.name(height, "block.json");
        match (self.after, block.prev_height) {
            (Some(after), _) if block.prev_hash == after.hash => Ok(()),
            (None, parent) if parent.is_none_or(|parent| parent < self.first) => Ok(()),
            (_, Some(parent)) if self.after.is_none_or(|after| parent > after.height) => {
                let missing = self.lake.name(parent, "block.json");
                Err(format!("{missing}: missing, but {name} has it as its parent"))
            }
            (after, _) => Err(format!(
                "{name}: the parent is {}, and does not follow block {:?}",
                block.prev_hash,
                after.map(|after| after.height)
            )),
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes the HTTP client of an object store
#[derive(Debug)]
struct Connector {
    is_loopback: bool,
    is_plain: bool,
}

impl Connector {
    /// For this endpoint, or for that of the bucket's region
    fn of(endpoint: Option<&str>) -> Result<Self, String> {
        let Some(endpoint) = endpoint else {
            return Ok(Self { is_loopback: false, is_plain: false });
        };
        let address = Address::parse(endpoint).map_err(|error| format!("AWS_ENDPOINT: {error}"))?;
        Ok(Self { is_loopback: address.is_loopback(), is_plain: address.is_plain() })
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_plain = options.get_config_value(&ClientConfigKey::AllowHttp);
        let builder = reqwest::Client::builder()
            .https_only(allows_plain.as_deref() != Some("true"))
            .connect_timeout(Duration::from_secs(10))
            .read_timeout(Duration::from_secs(20))
            .timeout(Duration::from_secs(60));
        let builder = if self.is_loopback { builder.no_proxy() } else { builder };
        let client = with_tls(builder, self.is_plain).map_err(|error| {
            object_store::Error::Generic { store: "S3", source: Box::new(error) }
        })?;
        Ok(HttpClient::new(client))
    }
}
