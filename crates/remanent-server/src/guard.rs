//! Who may ask. Checked before a request is routed.
//!
//! A page of another site can send requests to a server on this machine. It cannot choose the `Host` header,
//! so a foreign name there is refused, which also defeats names that are made to point to 127.0.0.1 (DNS
//! rebinding). Requests that a browser marks as coming from another site are refused as well. On an
//! interface that other machines reach, a token is needed besides.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::Next;
use axum::response::IntoResponse;

use crate::address::Address;
use crate::error::ApiError;

/// The cookie that carries the token.
const COOKIE: &str = "remanent_token";
/// The longest path with its parameters.
const LONGEST_URI: usize = 8192;

/// What a page may do: nothing but what comes from here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Checks a request, and adds the headers that every answer has.
pub async fn check(
    State(address): State<Arc<Address>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let mut response = match verdict(&address, &request) {
        Ok(None) => next.run(request).await,
        Ok(Some(redirect)) => redirect,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Nothing to object, or an answer instead of the one that was asked for.
fn verdict(address: &Address, request: &Request) -> Result<Option<Response<Body>>, ApiError> {
    let uri = request.uri();
    let length = uri.path().len() + uri.query().map_or(0, str::len);
    if length > LONGEST_URI {
        let text =
            format!("the address has {length} characters, and at most {LONGEST_URI} are read");
        return Err(ApiError::new(StatusCode::URI_TOO_LONG, text));
    }
    let headers = request.headers();
    let host =
        one(headers, "host")?.ok_or_else(|| ApiError::malformed("the Host header is missing"))?;
    if !is_own(host, address) {
        let text = "the Host header is not a name of this server; open the address that it printed";
        return Err(ApiError::new(StatusCode::FORBIDDEN, text));
    }
    let foreign = || ApiError::new(StatusCode::FORBIDDEN, "the request comes from another site");
    if let Some(origin) = one(headers, "origin")?
        && origin.strip_prefix("http://") != Some(host)
    {
        return Err(foreign());
    }
    let site = one(headers, "sec-fetch-site")?;
    if uri.path() != "/" && site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(foreign());
    }
    let Some(token) = &address.token else { return Ok(None) };
    if given(headers)?.is_some_and(|given| equal(given, token)) {
        return Ok(None);
    }
    let asked =
        uri.query().and_then(|query| query.split('&').find_map(|p| p.strip_prefix("token=")));
    if uri.path() == "/" && asked.is_some_and(|asked| equal(asked, token)) {
        return Ok(Some(with_cookie(token)));
    }
    let text = "a token is needed: open the address that the server printed, with ?token=…";
    Err(ApiError::new(StatusCode::UNAUTHORIZED, text))
}

/// The header, if it is there once and is text.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ApiError> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() {
        return Err(ApiError::malformed(format!("the header {name} is there twice")));
    }
    first
        .map(HeaderValue::to_str)
        .transpose()
        .map_err(|_| ApiError::malformed(format!("the header {name} is not text")))
}

/// Whether a Host header names this machine: an address, or a name that is known. The port may be that of a
/// tunnel.
fn is_own(host: &str, address: &Address) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        // An address of version 6 without a port.
        Some(_) if host.ends_with(']') => host,
        Some(_) => return false,
        None => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let ip = bare.parse::<IpAddr>().ok();
    let own = &address.socket.ip();
    name.eq_ignore_ascii_case("localhost")
        || address.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
        || ip.is_some_and(|ip| ip.is_loopback() || ip == *own || own.is_unspecified())
}

/// The token of a request: a cookie, or `Authorization: Bearer`.
fn given(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    if let Some(text) = one(headers, "authorization")? {
        return Ok(text.strip_prefix("Bearer "));
    }
    let cookies = one(headers, "cookie")?.unwrap_or_default().split(';');
    Ok(cookies.filter_map(|pair| pair.trim().split_once('=')).find(|p| p.0 == COOKIE).map(|p| p.1))
}

/// Compares in a time that does not tell where the texts differ.
fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// To the page, with the token in a cookie instead of the address.
fn with_cookie(token: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Request {
        let mut builder = Request::builder().uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(Body::empty()).unwrap()
    }

    fn status(address: &Address, uri: &str, headers: &[(&str, &str)]) -> u16 {
        match verdict(address, &request(uri, headers)) {
            Ok(None) => 200,
            Ok(Some(response)) => response.status().as_u16(),
            Err(error) => error.status.as_u16(),
        }
    }

    #[test]
    fn only_this_machine_is_asked() {
        let here = Address::loopback(8117);
        for host in [
            "127.0.0.1:8117",
            "localhost:8117",
            "LOCALHOST:9000",
            "[::1]:8117",
            "127.0.0.1",
            "[::1]",
        ] {
            assert_eq!(status(&here, "/", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8117",
            "127.0.0.1.evil.example",
            "192.168.0.2:8117",
            "",
            ":",
            "a:b:c",
        ] {
            assert_eq!(status(&here, "/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&here, "/", &[]), 400);
        assert_eq!(status(&here, "/", &[("host", "localhost"), ("host", "localhost")]), 400);
    }

    #[test]
    fn other_sites_are_refused() {
        let here = Address::loopback(8117);
        let own = ("host", "127.0.0.1:8117");
        let ask = |more: (&str, &str)| status(&here, "/api/runs", &[own, more]);
        assert_eq!(ask(("origin", "http://127.0.0.1:8117")), 200);
        for origin in
            ["http://evil.example", "null", "https://127.0.0.1:8117", "http://127.0.0.1:80"]
        {
            assert_eq!(ask(("origin", origin)), 403, "{origin}");
        }
        assert_eq!(ask(("sec-fetch-site", "same-origin")), 200);
        assert_eq!(ask(("sec-fetch-site", "cross-site")), 403);
        // A link in a message opens the page.
        assert_eq!(status(&here, "/", &[own, ("sec-fetch-site", "cross-site")]), 200);
    }

    #[test]
    fn other_machines_need_the_token() {
        let token = "0123456789abcdef0123";
        let open =
            Address::bind(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8117, Some(token.into())).unwrap();
        let host = ("host", "192.168.0.2:8117");
        assert_eq!(status(&open, "/", &[host]), 401);
        assert_eq!(status(&open, "/?token=wrong", &[host]), 401);
        assert_eq!(status(&open, &format!("/?token={token}"), &[host]), 303);
        assert_eq!(status(&open, &format!("/api/runs?token={token}"), &[host]), 401);
        let cookie = format!("other=1; {COOKIE}={token}");
        assert_eq!(status(&open, "/api/runs", &[host, ("cookie", &cookie)]), 200);
        let bearer = format!("Bearer {token}");
        assert_eq!(status(&open, "/api/runs", &[host, ("authorization", &bearer)]), 200);
        assert_eq!(
            status(&open, "/api/runs", &[("host", "evil.example"), ("cookie", &cookie)]),
            403
        );
    }
}
