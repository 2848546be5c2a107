//! Errors as answers: a status, and a sentence in JSON.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

/// Why a request is refused.
#[derive(Debug)]
pub struct ApiError {
    pub status: StatusCode,
    pub message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The request cannot be understood.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The request is understood, and out of bounds.
    pub fn out_of_bounds(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    pub fn not_found(what: impl AsRef<str>) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {}", what.as_ref()))
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        let body = json!({"error": self.message}).to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// An answer of a type.
pub fn typed(content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer in JSON.
pub fn json_answer(value: &impl serde::Serialize) -> Result<Response<Body>, ApiError> {
    let body = serde_json::to_vec(value).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(typed("application/json", body))
}
