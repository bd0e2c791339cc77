//! A bucket of S3 or of a server with its interface. `rusty-s3` signs the requests and does no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use rusty_s3::actions::ListObjectsV2;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use ureq::http::{Method, Request};
use url::Url;
use zeroize::Zeroizing;

use super::server::{Reply, Server, repeat};
use super::{Place, parse_path, path};
use crate::chains::Dot;
use crate::object::MOST_SEALED;

/// A bucket, or what has a prefix in it.
pub(super) struct S3Place {
    server: Server,
    bucket: Bucket,
    credentials: Credentials,
    /// Empty, or it ends with `/`.
    prefix: String,
}

impl S3Place {
    /// The place at `s3://BUCKET/PREFIX`. Does no I/O but reading the settings of AWS.
    pub(super) fn open(location: &str) -> io::Result<Self> {
        let settings = Settings::read(|name| env::var(name).ok());
        let server = Server::new(location, settings.endpoint.as_deref().unwrap_or_default());
        let invalid = |cause: &str| server.error(ErrorKind::InvalidInput, cause);
        let rest = location.strip_prefix("s3://").unwrap_or_default();
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_letter) {
            return Err(invalid(
                "the bucket in s3://BUCKET/PREFIX has letters, digits, `.`, `-` and `_`; credentials do not belong there",
            ));
        }
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() && prefix.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid("the prefix has an empty part, or a part `.` or `..`"));
        }
        let (Some(key), Some(mut secret)) = (settings.key, settings.secret) else {
            return Err(server.error(
                ErrorKind::PermissionDenied,
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put them into ~/.aws/credentials",
            ));
        };
        // They wipe the secret.
        let secret = std::mem::take(&mut *secret);
        let credentials = match settings.token {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        };
        let own = settings.endpoint;
        // A certificate of AWS has room for a name without dots only.
        let is_path = own.is_some() || name.contains('.');
        let style = if is_path { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let endpoint =
            own.unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", settings.region));
        let endpoint = Url::parse(&endpoint).map_err(|_| invalid("AWS_ENDPOINT_URL is not a URL"));
        let bucket = Bucket::new(endpoint?, style, name.to_owned(), settings.region);
        let bucket = bucket.map_err(|error| invalid(&error.to_string()))?;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Self { server, bucket, credentials, prefix })
    }

    fn key(&self, dot: &Dot) -> String {
        format!("{}{}", self.prefix, path(dot))
    }

    /// Sends a request, and again if the server was busy. Each time it is signed anew.
    fn send<'a>(
        &self,
        method: &Method,
        action: &impl S3Action<'a>,
        body: &[u8],
        most: usize,
    ) -> io::Result<Reply> {
        repeat(|| {
            let url = action.sign(SIGNED);
            let request = Request::builder().method(method).uri(url.as_str()).body(body);
            let request = request.map_err(|_| {
                self.server.error(ErrorKind::InvalidInput, "the address is not valid")
            });
            self.server.send(request?, most)
        })
    }
}

impl Place for S3Place {
    fn list(&self) -> io::Result<BTreeSet<Dot>> {
        let mut dots = BTreeSet::new();
        let mut next: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut action = self.bucket.list_objects_v2(Some(&self.credentials));
            action.with_prefix(self.prefix.as_str());
            if let Some(token) = &next {
                action.with_continuation_token(token.as_str());
            }
            let reply = self.server.success(self.send(&Method::GET, &action, &[], MOST_PAGE)?)?;
            let text = String::from_utf8_lossy(&reply.body);
            let page = ListObjectsV2::parse_response(&text).map_err(|_| {
                self.server.error(ErrorKind::InvalidData, "the server sent no listing of a bucket")
            })?;
            let keys =
                page.contents.iter().filter_map(|found| found.key.strip_prefix(&self.prefix));
            dots.extend(keys.filter_map(parse_path));
            next = page.next_continuation_token;
            if next.is_none() {
                return Ok(dots);
            }
        }
        Err(self.server.error(ErrorKind::FileTooLarge, "the listing does not end"))
    }

    fn get(&self, dot: &Dot) -> io::Result<Option<Vec<u8>>> {
        let key = self.key(dot);
        let action = self.bucket.get_object(Some(&self.credentials), &key);
        self.server.object(self.send(&Method::GET, &action, &[], MOST_SEALED))
    }

    fn put(&self, dot: &Dot, bytes: &[u8]) -> io::Result<()> {
        let key = self.key(dot);
        let action = self.bucket.put_object(Some(&self.credentials), &key);
        self.server.success(self.send(&Method::PUT, &action, bytes, MOST_PAGE)?).map(drop)
    }

    fn remove(&self, dot: &Dot) -> io::Result<()> {
        let key = self.key(dot);
        let action = self.bucket.delete_object(Some(&self.credentials), &key);
        self.server.removed(self.send(&Method::DELETE, &action, &[], MOST_PAGE)?)
    }

    fn has(&self, _: &Dot, _: &[u8]) -> io::Result<bool> {
        Ok(true)
    }
}

/// What the variables and files say that other programs for S3 use.
#[cfg_attr(test, derive(Debug, PartialEq, Eq))]
struct Settings {
    key: Option<String>,
    secret: Option<Zeroizing<String>>,
    token: Option<String>,
    region: String,
    endpoint: Option<String>,
}

impl Settings {
    /// Keys come from the variables, or else from the profile: never one from here and one from there.
    fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let file = |name: &str, usual: &str| {
            let usual = || env::home_dir().map(|home| home.join(".aws").join(usual));
            let path = variable(name).map(PathBuf::from).or_else(usual);
            Zeroizing::new(path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default())
        };
        let mut found = section(&file("AWS_CONFIG_FILE", "config"), &profile);
        found.extend(section(&file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &profile));
        let mut wiped = |name: &str| found.remove(name);
        let mut secret = wiped("aws_secret_access_key");
        let mut found = |name: &str| wiped(name).map(|mut value| std::mem::take(&mut *value));
        let (mut key, mut token) = (found("aws_access_key_id"), found("aws_session_token"));
        if let Some(named) = variable("AWS_ACCESS_KEY_ID") {
            key = Some(named);
            secret = variable("AWS_SECRET_ACCESS_KEY").map(Zeroizing::new);
            token = variable("AWS_SESSION_TOKEN");
        }
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        Self {
            key,
            secret,
            token,
            region: region.or_else(|| found("region")).unwrap_or_else(|| "us-east-1".to_owned()),
            endpoint: endpoint.or_else(|| found("endpoint_url")),
        }
    }
}

/// The values of a section `[NAME]` or `[profile NAME]`. Indented lines belong to a value that is not used here.
fn section(text: &str, name: &str) -> BTreeMap<String, Zeroizing<String>> {
    let mut is_inside = false;
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let header = line.strip_prefix('[').and_then(|line| line.split_once(']'));
        if let Some((header, _)) = header {
            is_inside = header.trim().trim_start_matches("profile ").trim() == name;
        } else if let Some((key, value)) = line.split_once('=')
            && is_inside
            && !line.starts_with([' ', '\t', '#', ';'])
        {
            values.insert(key.trim().to_owned(), Zeroizing::new(value.trim().to_owned()));
        }
    }
    values
}

/// How long a signature is valid, and how far the clocks may differ: as much as AWS allows.
const SIGNED: Duration = Duration::from_secs(900);
/// The most bytes of a page of a listing, which has 1,000 keys of up to 1,024 bytes, and of other replies.
const MOST_PAGE: usize = 16 << 20;
/// The most pages of a listing: ten million keys.
const MOST_PAGES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chains::{LogId, Tag};

    #[test]
    fn settings_are_those_of_other_programs() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name).display().to_string()
        };
        let config = file(
            "config",
            "[default]\nregion = eu-west-1\n[profile nas]\ns3 =\n  region = none\nendpoint_url=http://nas\n",
        );
        let keys = file(
            "keys",
            "[default]\naws_access_key_id=A\n#\n[nas]\naws_access_key_id = N\naws_secret_access_key = S=\n",
        );
        let read = |more: &[(&str, &str)]| {
            let mut all =
                vec![("AWS_CONFIG_FILE", &*config), ("AWS_SHARED_CREDENTIALS_FILE", &*keys)];
            all.extend(more);
            Settings::read(|name| {
                all.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let own = |text: &str| Some(text.to_owned());
        let nas = Settings {
            key: own("N"),
            secret: own("S=").map(Zeroizing::new),
            token: None,
            region: "us-east-1".to_owned(),
            endpoint: own("http://nas"),
        };
        assert_eq!(read(&[("AWS_PROFILE", "nas")]), nas);
        let mixed =
            read(&[("AWS_ACCESS_KEY_ID", "V"), ("AWS_PROFILE", "nas"), ("AWS_REGION", "r")]);
        assert_eq!(mixed, Settings { key: own("V"), secret: None, region: "r".to_owned(), ..nas });
        assert_eq!(read(&[]).region, "eu-west-1");
    }

    #[test]
    fn a_listing_has_objects_whatever_the_server_encodes_in_the_prefix() {
        let dot = Dot { log: LogId([1; 16]), number: 1, tag: Tag([2; 16]) };
        for (encoding, prefix) in [
            ("<EncodingType>url</EncodingType>", "my+notes/a%2Bb/"),
            ("<EncodingType>url</EncodingType>", "my%20notes%2Fa%2Bb%2F"),
            ("", "my notes/a+b/"),
        ] {
            let text = format!(
                "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{encoding}\
                 <Contents><Key>{prefix}{}</Key></Contents></ListBucketResult>",
                path(&dot)
            );
            let page = ListObjectsV2::parse_response(&text).unwrap();
            let key =
                page.contents.first().and_then(|found| found.key.strip_prefix("my notes/a+b/"));
            assert_eq!(key.and_then(parse_path), Some(dot), "{prefix}");
        }
    }

    #[test]
    fn a_bucket_has_a_name_and_no_credentials() {
        for location in [
            "s3://",
            "s3:///a",
            "s3://me:secret@bucket/a",
            "s3://b/../a",
            "s3://b/a//c",
            "s3://b/./",
        ] {
            let error = S3Place::open(location).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{location}: {error}");
        }
    }
}
