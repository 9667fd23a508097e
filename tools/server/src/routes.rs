//! The addresses of the server, each with its handler, and the checks before each of them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use crate::access::Right;
use crate::api::{change, compare, documents, operations, query, top};
use crate::error::{ApiError, RefusalKind};
use crate::page::{self, browse, copies, groups, health, review, search};
use crate::server::Server;

/// An address of the server.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    right: Right,
}

impl Route {
    /// Returns `true` for an address of the page, which is for people.
    fn is_page(&self) -> bool {
        let others = ["/healthz", "/openapi.json", "/metrics"];
        !self.path.starts_with("/v1/") && !others.contains(&self.path)
    }
}

/// Declares the list of routes and the router that has them, so that neither can lack one.
macro_rules! routes {
    ($($method:ident $path:literal $right:ident $handler:path;)*) => {
        /// All addresses. `openapi.json` describes each of them, which a test compares.
        pub const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            right: Right::$right,
        }),*];

        fn routed() -> Router<Arc<Server>> {
            Router::new()$(.route($path, $method($handler)))*
        }
    };
}

routes! {
    get "/healthz" Open operations::healthz;
    get "/openapi.json" Open operations::openapi;
    get "/metrics" Read operations::metrics;
    get "/v1/settings" Read operations::settings;
    get "/v1/stats" Read operations::stats;
    get "/v1/doctor" Read operations::doctor;
    post "/v1/backup" Write operations::backup;
    get "/v1/documents" Read documents::list;
    post "/v1/documents" Write change::change;
    get "/v1/documents/{name}" Read documents::get;
    delete "/v1/documents/{name}" Write change::remove;
    get "/v1/top" Read top::top;
    post "/v1/query" Read query::query;
    post "/v1/similar" Read query::similar;
    post "/v1/compare" Read compare::compare;
    get "/" Read browse::browse;
    get "/search" Read search::search;
    post "/search" Read search::search_form;
    get "/groups" Read groups::groups;
    get "/copies" Read copies::copies;
    get "/review" Read review::review;
    post "/review" Write review::answer;
    get "/health" Read health::health;
    get "/style.css" Open page::style;
    get "/page.js" Open page::script;
    get "/icon.svg" Open page::icon;
}

/// The most frequent address: small inserts, of which a server answers tens of thousands a second.
const DOCUMENTS: &str = "/v1/documents";

/// All handlers with the checks before them.
#[derive(Clone)]
pub struct Service {
    server: Arc<Server>,
    router: TowerToHyperService<Router>,
}

impl Service {
    pub fn new(server: Arc<Server>) -> Self {
        let router = TowerToHyperService::new(router(Arc::clone(&server)));
        Self { server, router }
    }

    /// Answers a request. Changes do without the router, whose layers take a tenth of the time of a
    /// small insert.
    pub async fn answer(self, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        if request.method() != Method::POST || request.uri().path() != DOCUMENTS {
            return self.router.call(request).await;
        }
        let server = Arc::clone(&self.server);
        let change = |request: Request| async move {
            let (parts, body) = request.into_parts();
            let options = Query::try_from_uri(&parts.uri);
            let answered = change::change(State(server), options, parts.headers, body).await;
            answered.into_response()
        };
        let request = request.map(Body::new);
        Ok(guarded(&self.server, Some(DOCUMENTS), request, change).await)
    }
}

/// The router with the checks before its handlers.
fn router(server: Arc<Server>) -> Router {
    let guarded = routed()
        .fallback(|uri: Uri, headers: HeaderMap| async move {
            let message = format!(
                "there is nothing at {}; a key in an address is percent-encoded, / as %2F",
                uri.path()
            );
            let error = ApiError::new(StatusCode::NOT_FOUND, "no_address", message);
            refused(page::is_asked(&headers), &headers, error)
        })
        .method_not_allowed_fallback(|| async {
            let message = "this address does not take this method";
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&server), guard));
    guarded.with_state(server)
}

async fn guard(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map(MatchedPath::as_str);
    guarded(&server, path, request, |request| next.run(request)).await
}

/// Checks a request, counts its answer, and adds the headers of all answers. `path` is the path of
/// its route.
async fn guarded<F: Future<Output = Response>>(
    server: &Server,
    path: Option<&str>,
    request: Request,
    run: impl FnOnce(Request) -> F,
) -> Response {
    let start = Instant::now();
    let index = path.and_then(|path| {
        let method = request.method();
        // HEAD is answered by the handler of GET.
        let method = if *method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        let is_it = |route: &Route| {
            route.path == path && route.method.eq_ignore_ascii_case(method.as_str())
        };
        ROUTES.iter().position(is_it)
    });
    let right = index.map_or(Right::Read, |index| ROUTES[index].right);
    let is_page = match index {
        Some(index) => ROUTES[index].is_page(),
        None => page::is_asked(request.headers()),
    };
    let checked = server
        .access
        .check(request.method(), request.headers(), right)
        .and_then(|()| check_encoding(request.headers()));
    let link = if is_page {
        token_link(server, &request)
    } else {
        None
    };
    let mut response = match (link, checked) {
        (Some(link), _) => link,
        (None, Ok(())) => run(request).await,
        (None, Err(error)) => refused(is_page, request.headers(), error),
    };
    if let Some(RefusalKind(kind)) = response.extensions().get() {
        server.metrics.refused(kind);
    }
    server
        .metrics
        .answered(index, response.status().as_u16(), start.elapsed());
    protect(response.headers_mut());
    response
}

/// A refusal as a page, or as JSON.
fn refused(is_page: bool, headers: &HeaderMap, error: ApiError) -> Response {
    if !is_page {
        return error.into_response();
    }
    let mut response = match error.status {
        StatusCode::UNAUTHORIZED => page::ask_for_token(headers),
        _ => page::refuse(headers, &error),
    };
    response.extensions_mut().insert(RefusalKind(error.kind));
    response
}

/// Refuses a compressed body, which would be read as a damaged document.
fn check_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "encoding",
                "the body has a Content-Encoding; send the body uncompressed",
            ))
        }
        _ => Ok(()),
    }
}

/// The answer to the link of the page with a token of the server, if the request is that link.
fn token_link(server: &Server, request: &Request) -> Option<Response> {
    let (method, headers) = (request.method(), request.headers());
    let query = request.uri().query()?;
    let fields: Vec<(String, String)> = serde_urlencoded::from_str(query).ok()?;
    let token = fields.iter().find(|(name, _)| name == "token");
    // A token has no blanks: a link that was written by hand has its `+` as it is.
    let token = token?.1.replace(' ', "+");
    // The host is checked: a page of another site learns nothing, and sets no cookie.
    server.access.check(method, headers, Right::Open).ok()?;
    let token = server.access.known(&token)?;
    Some(page::keep_token(
        headers,
        &server.access.cookie,
        token,
        request.uri().path(),
    ))
}

/// Headers that keep the answers out of caches, frames and pages of other sites.
fn protect(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Without a referrer for the page itself, a browser sends `Origin: null` with its forms.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
}

/// The page loads its style sheet and its script from this server, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn openapi_describes_each_route_and_no_other() {
        let described: Value = serde_json::from_str(include_str!("api/openapi.json")).unwrap();
        let mut found = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                found.insert((method.clone(), path.clone()));
                // An address without a token says so.
                let route = ROUTES
                    .iter()
                    .find(|route| route.path == path && route.method == method);
                let is_open = route.is_some_and(|route| route.right == Right::Open);
                assert_eq!(
                    operation.get("security").is_some(),
                    is_open,
                    "{method} {path}"
                );
            }
        }
        let routes = ROUTES.iter().filter(|route| !route.is_page());
        let routes = routes.map(|route| (route.method.to_owned(), route.path.to_owned()));
        assert_eq!(found, routes.collect());
    }

    #[test]
    fn openapi_refers_to_schemas_that_exist() {
        let described: Value = serde_json::from_str(include_str!("api/openapi.json")).unwrap();
        let schemas = described["components"]["schemas"].as_object().unwrap();
        let text = described.to_string();
        let names = text.split("#/components/schemas/").skip(1);
        let used: BTreeSet<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(used, schemas.keys().map(String::as_str).collect());
    }
}
