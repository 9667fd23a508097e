//! [`Access`]: the tokens, hosts and origins whose requests are answered.

use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};
use subtle::ConstantTimeEq;

use crate::error::ApiError;
use crate::options::{ListenAddress, Options};

/// The least right that an address asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// None: the address says nothing about the database.
    Open,
    Read,
    Write,
}

/// The name of the cookie with the token, which a browser gets from the link of the page. Other
/// servers on this machine have cookies of their own, although browsers ignore the port.
const COOKIE_NAME: &str = "simdb_token";

pub struct Access {
    /// The token of all requests; `None` if no token is asked for.
    pub token: Option<String>,
    read_only_token: Option<String>,
    hosts: HostRule,
    pub cookie: String,
}

/// The values of `Host` that are answered. A page of another site whose name is rebound to this
/// address sends the name of that site.
enum HostRule {
    /// A socket: no browser reaches it directly.
    Any,
    /// `localhost`, the IP addresses of this machine, and these names.
    Loopback(Vec<String>),
    /// `localhost`, each IP address, and these names.
    Named(Vec<String>),
}

impl Access {
    /// The access that the options ask for. The token is made unless a file has one.
    pub fn new(options: &Options, listen: &ListenAddress) -> Result<Self> {
        let token = match &options.token_file {
            Some(path) => Some(Options::read_token(path)?),
            None if options.no_token => None,
            None => Some(new_token()?),
        };
        let read = options.read_only_token_file.as_ref();
        let read_only_token = read.map(Options::read_token).transpose()?;
        ensure!(
            read_only_token.is_none() || read_only_token != token,
            "--token-file and --read-only-token-file have one token, which would write"
        );
        let hosts = options
            .host
            .iter()
            .map(|name| name.to_lowercase())
            .collect();
        Ok(Self {
            token,
            read_only_token,
            hosts: match listen {
                ListenAddress::Unix(_) => HostRule::Any,
                ListenAddress::Tcp(address) if address.ip().is_loopback() => {
                    HostRule::Loopback(hosts)
                }
                ListenAddress::Tcp(_) => HostRule::Named(hosts),
            },
            cookie: match listen {
                ListenAddress::Unix(_) => COOKIE_NAME.to_owned(),
                ListenAddress::Tcp(address) => format!("{COOKIE_NAME}_{}", address.port()),
            },
        })
    }

    /// Refuses a request for another host, from a page of another site, or without the token.
    pub fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        right: Right,
    ) -> Result<(), ApiError> {
        self.check_host(headers)?;
        check_origin(method, headers)?;
        self.check_token(headers, right)
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let name = host.map(|host| name_of(host).to_lowercase());
        let is_named = |names: &[String]| name.as_ref().is_some_and(|name| names.contains(name));
        let is_localhost = name.as_deref() == Some("localhost");
        let ip = name.as_ref().and_then(|name| name.parse::<IpAddr>().ok());
        let is_known = match &self.hosts {
            HostRule::Any => true,
            HostRule::Loopback(names) => {
                is_localhost || ip.is_some_and(|ip| ip.is_loopback()) || is_named(names)
            }
            // No other site can rebind `localhost`.
            HostRule::Named(names) => is_localhost || ip.is_some() || is_named(names),
        };
        match is_known {
            true => Ok(()),
            false => Err(ApiError::forbidden(
                "foreign_host",
                "the header Host names another host; name this host with --host",
            )),
        }
    }

    fn check_token(&self, headers: &HeaderMap, right: Right) -> Result<(), ApiError> {
        let Some(token) = self.token.as_ref().filter(|_| right > Right::Open) else {
            return Ok(());
        };
        let given = bearer(headers).or_else(|| self.cookie_token(headers));
        let Some(given) = given else {
            return Err(unauthorized(
                "the request has no token (`Authorization: Bearer TOKEN`)",
            ));
        };
        if is_equal(given, token) {
            return Ok(());
        }
        let may_read = self
            .read_only_token
            .as_ref()
            .is_some_and(|token| is_equal(given, token));
        match (may_read, right) {
            (true, Right::Write) => Err(ApiError::forbidden(
                "read_only_token",
                "this token is for queries only",
            )),
            (true, _) => Ok(()),
            (false, _) => Err(unauthorized("the token is not the token of this server")),
        }
    }

    /// The token, if it may be kept in a cookie: a token of the server.
    pub fn known<'t>(&self, given: &'t str) -> Option<&'t str> {
        let tokens = [&self.token, &self.read_only_token];
        tokens
            .into_iter()
            .flatten()
            .any(|token| is_equal(given, token))
            .then_some(given)
    }

    fn cookie_token<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let cookies = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|cookies| cookies.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .find_map(|cookie| {
                let (name, value) = cookie.trim().split_once('=')?;
                (name == self.cookie).then_some(value)
            })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
}

/// The time of a comparison depends on the lengths alone.
fn is_equal(given: &str, token: &str) -> bool {
    given.as_bytes().ct_eq(token.as_bytes()).into()
}

/// Refuses a request that a page of another site has made. A browser adds `Origin` to each request
/// that is not a plain `GET` of its own page.
fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let foreign = || {
        ApiError::forbidden(
            "foreign_origin",
            format!("a page of another site has sent this {method}"),
        )
    };
    let Some(origin) = headers.get(ORIGIN) else {
        // A picture or a frame of another site has no `Origin`, and may ask for groups, which take
        // all cores. A link that a person follows is a document.
        let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
        let is_foreign = is("sec-fetch-site", "cross-site") && !is("sec-fetch-dest", "document");
        return if is_foreign { Err(foreign()) } else { Ok(()) };
    };
    // A proxy with TLS turns https into http, so the scheme is not compared.
    let authority = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let is_own = authority.is_some_and(|(_, authority)| {
        host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
    });
    match is_own {
        true => Ok(()),
        false => Err(foreign()),
    }
}

/// The name or address in `name:port` or `[address]:port`.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

/// A token of 256 random bits.
fn new_token() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("the system has no random bytes for a token")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(hosts: HostRule) -> Access {
        Access {
            token: Some("a-token-of-the-tests".to_owned()),
            read_only_token: Some("another-token-of-tests".to_owned()),
            hosts,
            cookie: "simdb_token_1".to_owned(),
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (
                axum::http::HeaderName::from_static(name),
                value.parse().unwrap(),
            )
        };
        pairs.iter().map(pair).collect()
    }

    fn kind(access: &Access, pairs: &[(&'static str, &str)], right: Right) -> &'static str {
        let checked = access.check(&Method::POST, &headers(pairs), right);
        checked.map_or_else(|error| error.kind, |()| "")
    }

    #[test]
    fn host_of_another_site_is_refused() {
        let loopback = access(HostRule::Loopback(vec!["proxy.example".to_owned()]));
        for host in [
            "localhost",
            "LocalHost:7700",
            "127.0.0.1:1",
            "[::1]:7700",
            "proxy.example",
        ] {
            assert_eq!(
                kind(&loopback, &[("host", host)], Right::Open),
                "",
                "{host}"
            );
        }
        for host in [
            "evil.example:7700",
            "192.0.2.1:7700",
            "",
            "localhost.evil.example",
        ] {
            assert_eq!(
                kind(&loopback, &[("host", host)], Right::Open),
                "foreign_host",
                "{host}"
            );
        }
        assert_eq!(kind(&loopback, &[], Right::Open), "foreign_host");
        let named = access(HostRule::Named(Vec::new()));
        for host in ["192.0.2.1:7700", "localhost:7700"] {
            assert_eq!(kind(&named, &[("host", host)], Right::Open), "", "{host}");
        }
        assert_eq!(
            kind(&named, &[("host", "evil.example")], Right::Open),
            "foreign_host"
        );
        assert_eq!(kind(&access(HostRule::Any), &[], Right::Open), "");
    }

    #[test]
    fn origin_of_another_site_is_refused() {
        let any = access(HostRule::Any);
        let host = ("host", "db.example:7700");
        for origin in ["http://db.example:7700", "https://DB.example:7700"] {
            assert_eq!(kind(&any, &[host, ("origin", origin)], Right::Open), "");
        }
        for origin in [
            "null",
            "http://db.example",
            "http://evil.example",
            "db.example:7700",
        ] {
            assert_eq!(
                kind(&any, &[host, ("origin", origin)], Right::Open),
                "foreign_origin"
            );
        }
    }

    #[test]
    fn picture_or_frame_of_another_site_is_refused_and_a_link_is_not() {
        let any = access(HostRule::Any);
        for (site, dest, expected) in [
            ("cross-site", "image", "foreign_origin"),
            ("cross-site", "iframe", "foreign_origin"),
            ("cross-site", "document", ""),
            ("same-origin", "image", ""),
            ("none", "document", ""),
        ] {
            let headers = [("sec-fetch-site", site), ("sec-fetch-dest", dest)];
            assert_eq!(kind(&any, &headers, Right::Open), expected, "{site} {dest}");
        }
    }

    #[test]
    fn token_decides_the_right() {
        let any = access(HostRule::Any);
        let with = |value: &str, right| kind(&any, &[("authorization", value)], right);
        assert_eq!(with("Bearer a-token-of-the-tests", Right::Write), "");
        assert_eq!(with("bearer another-token-of-tests", Right::Read), "");
        assert_eq!(
            with("Bearer another-token-of-tests", Right::Write),
            "read_only_token"
        );
        for value in [
            "Bearer a-token-of-the-test",
            "Bearer ",
            "Basic a-token-of-the-tests",
            "a",
        ] {
            assert_eq!(with(value, Right::Read), "unauthorized", "{value}");
            assert_eq!(with(value, Right::Open), "", "{value}");
        }
        let with_cookie = |value: &str| kind(&any, &[("cookie", value)], Right::Write);
        assert_eq!(with_cookie("a=b; simdb_token_1=a-token-of-the-tests"), "");
        assert_eq!(
            with_cookie("simdb_token_2=a-token-of-the-tests"),
            "unauthorized"
        );
    }

    #[test]
    fn new_tokens_differ() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert!(one.len() == 64 && one != other, "{one} {other}");
    }
}
