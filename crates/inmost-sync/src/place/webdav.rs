//! A folder on a WebDAV server, such as Nextcloud.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roxmltree::Document;
use ureq::http::Request;
use url::Url;
use zeroize::Zeroizing;

use super::server::{Reply, Server, is_here, repeat};
use super::{Place, parse, path, unhex};
use crate::chains::{Dot, LogId};
use crate::names::hex;
use crate::object::MOST_SEALED;

/// A folder on a WebDAV server. It is laid out as a [`FolderPlace`](super::FolderPlace).
pub(super) struct WebDavPlace {
    server: Server,
    /// Ends with `/`.
    folder: Url,
    /// The value of the header `Authorization`.
    authorization: Option<Zeroizing<String>>,
}

impl WebDavPlace {
    /// The place at an `https:` URL; `http:` on this machine only. Does no I/O but reading the netrc file.
    pub(super) fn open(location: &str) -> io::Result<Self> {
        let invalid = |cause: &str| io::Error::new(ErrorKind::InvalidInput, cause);
        let mut folder = Url::parse(location).map_err(|error| invalid(&error.to_string()))?;
        // An error must not repeat a password.
        if !folder.username().is_empty() || folder.password().is_some() {
            return Err(invalid(
                "the URL has a user name or a password, which would stand in lists of processes; put them into the file ~/.netrc",
            ));
        }
        if folder.query().is_some() || folder.fragment().is_some() {
            return Err(invalid("the URL of a folder has no `?` and no `#`"));
        }
        if folder.scheme() != "https" && !is_here(&folder) {
            return Err(invalid("http: would show the password to the network; use https:"));
        }
        if !folder.path().ends_with('/') {
            folder.set_path(&format!("{}/", folder.path()));
        }
        let host = folder.host_str().unwrap_or_default();
        let login = netrc_file().and_then(|text| login(&text, host));
        let authorization =
            login.map(|login| Zeroizing::new(format!("Basic {}", STANDARD.encode(&*login))));
        Ok(Self { server: Server::new(location, location), folder, authorization })
    }

    fn url(&self, path: &str) -> io::Result<Url> {
        let url = self.folder.join(path);
        url.map_err(|error| self.server.error(ErrorKind::InvalidInput, &error.to_string()))
    }

    /// Sends a request once.
    fn send(
        &self,
        method: &str,
        url: &Url,
        headers: &[(&str, &str)],
        body: &[u8],
        most: usize,
    ) -> io::Result<Reply> {
        let mut request = Request::builder().method(method).uri(url.as_str());
        let authorization =
            self.authorization.iter().map(|value| ("Authorization", value.as_str()));
        for (name, value) in headers.iter().copied().chain(authorization) {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|_| {
            self.server.error(ErrorKind::InvalidInput, "the address or the login is not valid")
        })?;
        self.server.send(request, most)
    }

    /// The last parts of the paths in a folder; `None` if there is no such folder.
    fn names(&self, url: &Url) -> io::Result<Option<BTreeSet<String>>> {
        let headers = [("Depth", "1"), ("Content-Type", "application/xml")];
        let ask = || self.send("PROPFIND", url, &headers, ASKED, MOST_LISTING);
        let reply = repeat(ask)?;
        if reply.status == 404 {
            return Ok(None);
        }
        let reply = self.server.success(reply)?;
        let text = str::from_utf8(&reply.body).unwrap_or_default();
        let parsed = Document::parse(text);
        let parsed = parsed.ok().filter(|parsed| {
            reply.status == 207 && parsed.root_element().has_tag_name((DAV, "multistatus"))
        });
        let parsed = parsed.ok_or_else(|| {
            self.server.error(ErrorKind::Unsupported, "the server did not send a listing of WebDAV")
        })?;
        let paths = parsed.descendants().filter(|node| node.has_tag_name((DAV, "href")));
        let last =
            |path: &str| path.trim().trim_end_matches('/').rsplit('/').next().map(str::to_owned);
        Ok(Some(paths.filter_map(|node| node.text().and_then(last)).collect()))
    }
}

impl Place for WebDavPlace {
    fn list(&self) -> io::Result<BTreeSet<Dot>> {
        let logs = self.names(&self.folder)?.ok_or_else(|| {
            self.server.error(ErrorKind::NotFound, "the server has no such folder")
        })?;
        let mut dots = BTreeSet::new();
        for log in logs {
            let Some(id) = unhex(&log) else { continue };
            // It may be gone by now.
            let names = self.names(&self.url(&format!("{log}/"))?)?.unwrap_or_default();
            dots.extend(names.iter().filter_map(|name| parse(LogId(id), name)));
        }
        Ok(dots)
    }

    fn get(&self, dot: &Dot) -> io::Result<Option<Vec<u8>>> {
        let url = self.url(&path(dot))?;
        self.server.object(repeat(|| self.send("GET", &url, &[], &[], MOST_SEALED)))
    }

    /// Other devices must never list a part of it, so it gets its name when it is whole.
    fn put(&self, dot: &Dot, bytes: &[u8]) -> io::Result<()> {
        let folder = self.url(&format!("{}/", hex(&dot.log.0)))?;
        let temporary = self.url(&format!("{}/.{}.new", hex(&dot.log.0), hex(&dot.tag.0)))?;
        let url = self.url(&path(dot))?;
        let send =
            |method, url, headers: &[_], body| self.send(method, url, headers, body, MOST_REPLY);
        repeat(|| {
            let mut put = send("PUT", &temporary, &[], bytes)?;
            if matches!(put.status, 404 | 409) {
                let made = send("MKCOL", &folder, &[], &[])?;
                // 405: another request has made it.
                if made.status != 405 {
                    self.server.success(made)?;
                }
                put = send("PUT", &temporary, &[], bytes)?;
            }
            self.server.success(put)?;
            let headers = [("Destination", url.as_str()), ("Overwrite", "T")];
            self.server.success(send("MOVE", &temporary, &headers, &[])?).map(drop)
        })
    }

    /// The folder of the log stays: to delete a folder is to delete what others have put into it meanwhile.
    fn remove(&self, dot: &Dot) -> io::Result<()> {
        let url = self.url(&path(dot))?;
        self.server.removed(repeat(|| self.send("DELETE", &url, &[], &[], MOST_REPLY))?)
    }

    fn has(&self, _: &Dot, _: &[u8]) -> io::Result<bool> {
        Ok(true)
    }
}

/// The file that curl, git and others read: `NETRC` names it, or it is in the home folder.
fn netrc_file() -> Option<Zeroizing<String>> {
    let usual = || Some(env::home_dir()?.join(if cfg!(windows) { "_netrc" } else { ".netrc" }));
    let path = env::var_os("NETRC").map(PathBuf::from).or_else(usual)?;
    fs::read_to_string(path).ok().map(Zeroizing::new)
}

/// `NAME:PASSWORD` for a host, from a netrc file. `default` is for all hosts that do not come before it.
fn login(text: &str, host: &str) -> Option<Zeroizing<String>> {
    let mut words = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = words.by_ref().flat_map(str::split_whitespace);
    let (mut is_host, mut name, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" if is_host => break,
            "machine" => {
                is_host = words.next().is_some_and(|found| found.eq_ignore_ascii_case(host));
            }
            "default" => is_host = true,
            "login" if is_host => name = words.next(),
            "password" if is_host => password = words.next(),
            _ => {}
        }
    }
    Some(Zeroizing::new(format!("{}:{}", name?, password?)))
}

/// Which properties are wanted. The server sends all without it.
const ASKED: &[u8] = br#"<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>"#;
const DAV: &str = "DAV:";
/// The most bytes of a listing: some 100,000 objects of a log.
const MOST_LISTING: usize = 64 << 20;
/// The most bytes of other replies.
const MOST_REPLY: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_that_of_the_host() {
        let text = "# machine a login no\nmachine other login o password x\nmachine Cloud.example\n  login me\n  \
            password p:w\nmachine cloud.example login late password l\ndefault login d password y\n";
        let of = |host| login(text, host).map(|found| found.to_string());
        assert_eq!(of("cloud.example").as_deref(), Some("me:p:w"));
        assert_eq!(of("elsewhere").as_deref(), Some("d:y"));
        assert_eq!(login("machine a login b", "a"), None);
        assert_eq!(login("machine a login b machine b password c", "a"), None);
    }

    #[test]
    fn a_url_shows_no_password() {
        for location in [
            "https://me:secret@cloud.example/dav/",
            "https://me@cloud.example/dav/",
            "http://cloud.example/dav/",
            "http://127.0.0.1.example/dav/",
            "https://cloud.example/dav/?a",
            "https://",
        ] {
            let error = WebDavPlace::open(location).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(!error.to_string().contains("secret"));
        }
        assert!(WebDavPlace::open("http://[::1]:80/dav").is_ok());
    }
}
