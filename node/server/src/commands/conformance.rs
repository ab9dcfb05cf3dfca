//! `milepost conformance URL`: whether a server answers as interface 1.2.11 says.
//!
//! Requests that are invalid or about nothing on any chain have the responses that the shared
//! vectors declare; live answers are read by the types of the wire. Requests are sent one by one,
//! no more than `--rate` in a second, and none changes anything. Nothing that a server sends is
//! printed with control characters, and no token at all. Exit codes: 0 nothing differs, 1 something
//! does; an error if there is no server.

mod expectations;
mod live;
mod report;

use core::time::Duration;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use milepost::primitives::{AccountId, CryptoHash};
use milepost_feeds::{HttpClient, Token};
use tokio::time::{self, Interval, MissedTickBehavior};

use crate::log::print_line;
use crate::serve;
use report::Report;

/// Arguments of `milepost conformance`
#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    /// Address of the server, `https://HOST[/PATH]` or `http://HOST[/PATH]`
    pub(crate) url: String,
    /// Hash of a transaction whose live answers are checked
    ///
    /// The default is one of the newest blocks, if the server has the methods `block` and `chunk`,
    /// or one of the practice chain.
    #[arg(requires = "sender")]
    pub(crate) transaction: Option<CryptoHash>,
    /// Account that signed it
    pub(crate) sender: Option<AccountId>,
    /// File with a token
    ///
    /// The token is sent as `Authorization: Bearer`.
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Maximum number of requests in a second
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub(crate) rate: u32,
}

/// The version of the interface
const INTERFACE: &str = "1.2.11";
/// Maximum time of a request; nodes let a request wait 10 s for a milestone
const TIMEOUT: Duration = Duration::from_secs(20);
/// How often a request is repeated that the server puts off
const MAX_RETRIES: usize = 3;
/// The pause before that, unless the server names one
const RETRY: Duration = Duration::from_secs(1);
/// The longest pause that is kept
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The number of requests in a row without a response after which no more are sent
const MAX_FAILURES: usize = 3;

/// Compares a server with the interface
pub(crate) fn run(args: &ConformanceArgs) -> Result<ExitCode, String> {
    let token = args.token_file.as_deref().map(Token::from_file).transpose()?;
    // The session spaces the requests.
    let client = HttpClient::new(&args.url, token)?;
    let report = serve::runtime(Some(1))?.block_on(compare(client, args))?;
    print_line(report.to_json(&args.url));
    Ok(if report.differs() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

async fn compare(client: HttpClient, args: &ConformanceArgs) -> Result<Report, String> {
    let mut session = Session::new(client, args);
    let mut report = Report::default();
    let transaction = args.transaction.zip(args.sender.as_ref());
    let transaction = transaction.map(|(hash, sender)| (hash.to_string(), sender.to_string()));
    let done = async {
        expectations::check(&mut session, &mut report).await?;
        live::check(&mut session, transaction, &mut report).await
    };
    match done.await {
        Ok(()) => Ok(report),
        // The server has answered before, so this is about its answers.
        Err(Stopped(text)) if session.has_answered => {
            report.skip("the rest", &text);
            Ok(report)
        }
        Err(Stopped(text)) => Err(text),
    }
}

/// No more requests are sent, for this reason
struct Stopped(String);

/// A response
struct RawResponse {
    status: u16,
    body: Vec<u8>,
}

/// Sends requests one by one
struct Session {
    client: HttpClient,
    ticks: Interval,
    has_answered: bool,
    /// Requests in a row that had no response
    failures: usize,
}

impl Session {
    fn new(client: HttpClient, args: &ConformanceArgs) -> Self {
        let mut ticks = time::interval(Duration::from_secs(1) / args.rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { client, ticks, has_answered: false, failures: 0 }
    }

    /// Posts a body to a path below the URL; without a response, adds that to the report
    async fn post(
        &mut self,
        check: &str,
        path: &str,
        body: &[u8],
        report: &mut Report,
    ) -> Result<Option<RawResponse>, Stopped> {
        report.checks += 1;
        match self.try_post(path, body).await {
            Ok(reply) => {
                (self.has_answered, self.failures) = (true, 0);
                Ok(Some(reply))
            }
            Err(text) => {
                self.failures += 1;
                report.differs_in(check, "", "a response", &text);
                // Without any response so far, this is no server.
                if !self.has_answered || self.failures == MAX_FAILURES {
                    return Err(Stopped(format!("no response: {text}")));
                }
                Ok(None)
            }
        }
    }

    async fn try_post(&mut self, path: &str, body: &[u8]) -> Result<RawResponse, String> {
        let mut retries = 0;
        loop {
            self.ticks.tick().await;
            let response = time::timeout(TIMEOUT, self.client.post(path, body.to_vec())).await;
            let response = response.map_err(|_| format!("none within {TIMEOUT:?}"))?;
            let response = response.map_err(|error| error.detail)?;
            let pause = response.retry_after.unwrap_or(RETRY);
            if response.status != 429 || retries == MAX_RETRIES || pause > MAX_PAUSE {
                return Ok(RawResponse { status: response.status, body: response.body });
            }
            retries += 1;
            time::sleep(pause).await;
        }
    }

    /// The JSON at a path below the URL, which servers of others may not have
    async fn get_json(&mut self, path: &str) -> Option<serde_json::Value> {
        self.ticks.tick().await;
        let response = time::timeout(TIMEOUT, self.client.get(path)).await.ok()?.ok()?;
        (response.status == 200).then(|| serde_json::from_slice(&response.body).ok())?
    }
}
