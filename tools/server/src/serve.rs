//! The run of the server: from the options to the end of the last request.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use simdb::Error;
use simdb_tools::console::{Output, note};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::access::Access;
use crate::connections::{Listener, serve};
use crate::history::{BETWEEN, Moment};
use crate::metrics::Metrics;
use crate::options::{ListenAddress, Options};
use crate::routes::{ROUTES, Service};
use crate::server::{Server, most_blocking_threads};
use crate::stop::stopped;

/// The time for open requests after SIGTERM.
const DRAIN_TIME: Duration = Duration::from_secs(30);

/// Serves until a signal.
pub fn run(options: &Options, output: &mut Output) -> Result<()> {
    options.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(most_blocking_threads())
        .build()
        .context("cannot start threads")?;
    let served = runtime.block_on(serve_database(options, output));
    // Work that cannot be stopped does not hold the process: the database is closed by now.
    runtime.shutdown_background();
    served
}

async fn serve_database(options: &Options, output: &mut Output) -> Result<()> {
    // Before the database is opened, which takes a while: an address in use is reported at once.
    let listener = Listener::bind(&options.listen).await?;
    let address = listener.address()?;
    let database = tokio::task::block_in_place(|| options.open())?;
    // Loads the dictionary before the first request.
    tokio::task::block_in_place(|| _ = database.fingerprinter());
    let access = Access::new(options, &address)?;
    let (stop_in, stop) = watch::channel(false);
    stop_at_signals(stop_in)?;
    let routes = ROUTES.iter().map(|route| (route.method, route.path));
    let metrics = Arc::new(Metrics::new(routes));
    let server = Server::new(
        database,
        access,
        options,
        Arc::clone(&metrics),
        stop.clone(),
    )?;
    // When nothing is left that can fail.
    announce(options, &address, &server.access, output)?;
    let server = Arc::new(server);
    tokio::spawn(record_history(Arc::clone(&server)));
    serve(
        listener,
        Service::new(Arc::clone(&server)),
        metrics,
        options.connections,
        stop,
        DRAIN_TIME,
    )
    .await;
    // Waits for submitted changes, and merges the journal into the tables.
    match tokio::task::block_in_place(|| server.database.close()) {
        // A report that still runs holds a snapshot. All changes are in the file nevertheless, and
        // each request has the errors of its changes.
        Ok(()) | Err(Error::SnapshotHeld { .. } | Error::NotAllWritten { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    note("the database is closed");
    Ok(())
}

/// Counts, for the plots of the page, until the server ends.
async fn record_history(server: Arc<Server>) {
    let mut stop = server.stop.clone();
    let mut ticks = interval(BETWEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = (0, 0.0);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut stop) => break,
        }
        let shared = Arc::clone(&server);
        let snapshot = server
            .queries
            .run_in_turn(move || shared.database.snapshot())
            .await;
        let (count, seconds) = server.metrics.commit_seconds.count_and_sum();
        let (commits, taken) = (count - before.0, seconds - before.1);
        before = (count, seconds);
        // A database that cannot be read has no point in the plot.
        if let Ok(Ok(snapshot)) = snapshot {
            server.history.push(Moment {
                documents: snapshot.stored_len(),
                unmerged: snapshot.unmerged_changes(),
                commit_ms: (commits > 0).then(|| taken * 1000.0 / commits as f64),
            });
        }
    }
}

/// Prints the address, with the token if it was made for this run.
fn announce(
    options: &Options,
    address: &ListenAddress,
    access: &Access,
    output: &mut Output,
) -> Result<()> {
    let database = options.database.display();
    match address {
        ListenAddress::Tcp(address) => {
            let token = match (&access.token, &options.token_file) {
                (Some(token), None) => format!("?token={token}"),
                _ => String::new(),
            };
            output.line(format_args!(
                "{database} is served at http://{address}/{token}"
            ))?;
        }
        ListenAddress::Unix(path) => {
            output.line(format_args!(
                "{database} is served at unix:{}",
                path.display()
            ))?;
            if let (Some(token), None) = (&access.token, &options.token_file) {
                output.line(format_args!("token {token}"))?;
            }
        }
    }
    output.flush()
}

/// The exit code after a second signal.
const EXIT_AT_ONCE: i32 = 2;

fn stop_at_signals(stop: watch::Sender<bool>) -> Result<()> {
    let listen = |kind| signal(kind).context("cannot listen to signals");
    let (mut terminate, mut interrupt) = (
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
    );
    tokio::spawn(async move {
        for count in 0.. {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if count > 0 {
                std::process::exit(EXIT_AT_ONCE);
            }
            note("no new requests; open requests are answered");
            // Fails only if the server has ended.
            let _ = stop.send(true);
        }
    });
    Ok(())
}
