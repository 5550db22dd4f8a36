//! `toolgate serve`: the server, and the tokens that open it.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolgate_app::{App, Approval, Metrics};
use toolgate_server::auth::{NewToken, Role, Tokens};
use toolgate_server::{Limits, ScopeText, Server, ServerOptions, TlsFiles, frames, openapi};

use crate::args::{Common, ServeArgs, ServeCommand, TokenCommand};
use crate::clean::say;
use crate::clean::style::{BOLD, DIM};
use crate::failure::CliError;
use crate::out::Out;
use crate::{assembly, input, signals};

/// The most bytes of a scope.
const SCOPE: usize = 64 * 1024;

pub(crate) async fn run(common: &Common, out: &Out, args: ServeArgs) -> Result<u8, CliError> {
    match &args.command {
        None => serve(common, out, &args).await,
        Some(ServeCommand::Token(command)) => token(common, out, command),
        Some(ServeCommand::Openapi) => out.json_page(&openapi()).map(|()| 0),
        Some(ServeCommand::Frames) => out.json_page(&frames::schema()).map(|()| 0),
    }
}

async fn serve(common: &Common, out: &Out, args: &ServeArgs) -> Result<u8, CliError> {
    let metrics = match common.metrics {
        Some(_) => common.counted.0.clone(),
        None => Metrics::new(),
    };
    // Questions wait for an answer of a client; conversations of every workspace are served.
    let options = assembly::options(assembly::home()?, common, out)
        .approval(Approval::Pending)
        .only_here(false)
        .metrics(metrics.clone());
    let app = App::open(options)?;
    let options = server_options(&app, args, metrics)?;
    let server = Server::bind(app, options).await;
    let server = server.map_err(|error| CliError::usage(error.to_string()))?;
    let stop = signals::stop_token()?;
    let stopper = server.stopper();
    if out.json {
        out.json_line(&json!({
            "address": server.address().to_string(), "url": server.url(), "token": server.token(),
            "link": server.link(),
        }))?;
    } else {
        out.text(say!("{}", server.link()))?;
        out.remark(say!(
            "Open the link in a browser. Programs send `Authorization: Bearer {}`.",
            server.token()
        ));
        out.remark("The token opens everything here. Ctrl-C stops the server.");
    }
    let stopping = tokio::spawn(async move {
        stop.cancelled().await;
        stopper.cancel();
    });
    server.run().await;
    stopping.abort();
    out.remark("Stopped. Turns that ran were cancelled; their conversations can go on.");
    Ok(0)
}

fn server_options(
    app: &App,
    args: &ServeArgs,
    metrics: Metrics,
) -> Result<ServerOptions, CliError> {
    let settings = app.config().settings();
    let server = &settings.server;
    let tls = match (&server.tls_certificate, &server.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        (None, None) => None,
        _ => {
            return Err(CliError::usage(
                "tls_certificate and tls_key in [server] belong together; set both or none",
            ));
        }
    };
    let defaults = ServerOptions::default();
    // Unless somebody said so, a question nobody sees does not wait for ever.
    let is_said = !app.config().is_built_in("tools.approval.timeout_seconds");
    let unwatched = match settings.tools.approval.timeout() {
        said if is_said => said,
        _ => defaults.unwatched,
    };
    Ok(ServerOptions {
        host: args.host.clone().unwrap_or_else(|| server.host.clone()),
        port: args.port.unwrap_or(server.port),
        allowed_hosts: server.allowed_hosts.clone(),
        allowed_origins: server.allowed_origins.clone(),
        workspaces: server.workspaces.clone(),
        tls,
        plain_remote: server.allow_plain_remote,
        unwatched,
        limits: Limits {
            connections: server.max_connections,
            conversations: server.max_conversations,
            requests_per_second: server.requests_per_second,
            ..Limits::default()
        },
        metrics,
    })
}

fn token(common: &Common, out: &Out, command: &TokenCommand) -> Result<u8, CliError> {
    let tokens = Tokens::at(assembly::home()?.server().join("tokens.json"));
    let told = |error: toolgate_server::auth::TokenError| CliError::usage(error.to_string());
    match command {
        TokenCommand::Create {
            name,
            role,
            directories,
            scope,
        } => {
            let new = NewToken {
                name: name.clone(),
                role: Role::named(role).ok_or_else(|| {
                    CliError::usage(format!(
                        "{role:?} is no role; known are owner, approver and reader"
                    ))
                })?,
                workspaces: resolved(common, directories)?,
                scope: scope.as_deref().map(read_scope).transpose()?,
                now_ms: toolgate_app::Clock::now_ms(&toolgate_app::SystemClock),
            };
            let (text, token) = tokens.create(new).map_err(told)?;
            if out.json {
                out.json_line(&json!({"id": token.id, "name": token.name, "token": text}))?;
            } else {
                out.text(say!("{}", text))?;
                out.remark("Keep it: only its digest is stored, so it cannot be shown again.");
            }
        }
        TokenCommand::List => {
            for token in tokens.list().map_err(told)? {
                if out.json {
                    out.json_line(&json!({
                        "id": token.id, "name": token.name, "role": token.role.as_str(),
                        "workspaces": token.workspaces, "scope": token.scope,
                        "created_ms": token.created_ms,
                    }))?;
                    continue;
                }
                let places: Vec<String> = token
                    .workspaces
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                out.text(say!(
                    "{}  {}  {}  {}",
                    BOLD.on(token.id),
                    token.name,
                    token.role.as_str(),
                    DIM.on(places.join(", "))
                ))?;
            }
        }
        TokenCommand::Revoke { token } => {
            if !tokens.revoke(token).map_err(told)? {
                return Err(CliError::usage(format!(
                    "there is no token {token:?}; `toolgate serve token list` lists them"
                )));
            }
            out.remark("Revoked. A server that runs refuses it from now on.");
        }
    }
    Ok(0)
}

/// The directories of a token, with links resolved.
fn resolved(common: &Common, named: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let own = [assembly::workspace(common)];
    let named = if named.is_empty() { &own[..] } else { named };
    let resolve = |path: &PathBuf| {
        path.canonicalize()
            .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))
    };
    named.iter().map(resolve).collect()
}

fn read_scope(path: &Path) -> Result<ScopeText, CliError> {
    let text = input::file(Some(path), SCOPE)?;
    let wrong = |why: String| CliError::usage(format!("{}: {why}", path.display()));
    let scope: ScopeText =
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    scope.scope().map_err(wrong)?;
    Ok(scope)
}
