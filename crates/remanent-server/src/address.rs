//! Where the server listens, and who may ask.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use thiserror::Error;

/// An address and what it takes to use it.
#[derive(Clone, Debug)]
pub struct Address {
    /// Where to listen.
    pub socket: SocketAddr,
    /// What a client must know; none on loopback.
    pub token: Option<String>,
    /// Further names of this machine that a request may be addressed to.
    pub hosts: Vec<String>,
}

/// Why an address cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// A token that is easy to guess, or cannot be part of an address.
    #[error("the token must have at least 16 letters and digits; omit it to have one made")]
    Token,
    /// No random numbers.
    #[error("cannot make a token: {0}; state one")]
    Random(#[from] std::io::Error),
}

impl Address {
    /// On this machine only. Port 0 is a free one.
    pub fn loopback(port: u16) -> Self {
        let socket = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        Self { socket, token: None, hosts: Vec::new() }
    }

    /// On an interface that other machines reach: a token is made unless one is given. Loopback needs none.
    pub fn bind(ip: IpAddr, port: u16, token: Option<String>) -> Result<Self, AddressError> {
        let is_good = |token: &String| {
            token.len() >= 16
                && token.len() <= 200
                && token.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let token = match token {
            Some(token) if is_good(&token) => Some(token),
            Some(_) => return Err(AddressError::Token),
            None if ip.is_loopback() => None,
            None => Some(random_token()?),
        };
        Ok(Self { socket: SocketAddr::new(ip, port), token, hosts: Vec::new() })
    }
}

fn random_token() -> Result<String, std::io::Error> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_a_token() {
        let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let made = Address::bind(everywhere, 0, None).unwrap().token.unwrap();
        let other = Address::bind(everywhere, 0, None).unwrap().token.unwrap();
        assert!(made.len() == 32 && made != other);
        for bad in ["", "short", "with/slash/and/more", "täglich-ein-neues"] {
            assert!(Address::bind(everywhere, 0, Some(bad.into())).is_err(), "{bad}");
        }
        assert!(Address::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, None).unwrap().token.is_none());
    }
}
