//! A logging disk: a FUSE file system with the files `disk`, `ack` and `ctl`.
//!
//! `disk` is held in memory. Every write and flush of it, and every write to `ack`, is appended to one log in
//! order of arrival. A write of `fail` to `ctl` makes a flush fail soon: it returns EIO, and the writes since the last
//! flush are gone, although the kernel may still have them in its cache. Any other write to `ctl` dumps the log.
//! Arguments: image, mount point, log file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, consts,
};

const DISK: u64 = 2;
const ACK: u64 = 3;
const FILES: [(u64, &str); 3] = [(DISK, "disk"), (ACK, "ack"), (4, "ctl")];

/// The first bytes of ext4's own journal blocks, descriptors and commits.
const JBD2_MAGIC: [u8; 4] = [0xC0, 0x3B, 0x39, 0x98];

enum Event {
    Write(u64, Vec<u8>),
    Flush,
    FailedFlush,
    Acknowledged(Vec<u8>),
}

struct LoggingDisk {
    disk: Vec<u8>,
    log: Vec<Event>,
    /// The bytes that the writes since the last flush have replaced.
    replaced: Vec<(usize, Vec<u8>)>,
    fail_next: bool,
    out: String,
    acknowledged: u64,
}

impl LoggingDisk {
    fn attributes(&self, ino: u64) -> FileAttr {
        let size = match ino {
            DISK => self.disk.len() as u64,
            ACK => self.acknowledged,
            _ => 0,
        };
        let (kind, perm) =
            if ino == 1 { (FileType::Directory, 0o755) } else { (FileType::RegularFile, 0o666) };
        let time = UNIX_EPOCH;
        FileAttr {
            ino,
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }

    fn dump(&self) -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(&self.out)?);
        for event in &self.log {
            let (kind, at, bytes) = match event {
                Event::Flush => {
                    out.write_all(b"F")?;
                    continue;
                }
                Event::FailedFlush => {
                    out.write_all(b"X")?;
                    continue;
                }
                Event::Write(at, bytes) => (b"W", *at, bytes),
                Event::Acknowledged(bytes) => (b"A", 0, bytes),
            };
            out.write_all(kind)?;
            out.write_all(&at.to_le_bytes())?;
            out.write_all(&(bytes.len() as u64).to_le_bytes())?;
            out.write_all(bytes)?;
        }
        out.flush()
    }
}

impl LoggingDisk {
    /// Whether the next flush belongs to a commit of ext4's own journal. ext4 becomes read-only if that fails.
    fn commits_file_system(&self) -> bool {
        self.replaced.iter().any(|(from, bytes)| {
            let written = &self.disk[*from..*from + bytes.len()];
            written.chunks(1024).any(|block| block.starts_with(&JBD2_MAGIC))
        })
    }
}

impl Filesystem for LoggingDisk {
    fn lookup(&mut self, _: &Request, parent: u64, name: &OsStr, reply: ReplyEntry) {
        match FILES.iter().find(|(_, known)| parent == 1 && name == *known) {
            // Prevents the kernel from asking again for the size of the disk.
            Some((DISK, _)) => reply.entry(&Duration::from_secs(3600), &self.attributes(DISK), 0),
            Some((ino, _)) => reply.entry(&Duration::ZERO, &self.attributes(*ino), 0),
            None => reply.error(libc::ENOENT),
        }
    }

    fn getattr(&mut self, _: &Request, ino: u64, _: Option<u64>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &self.attributes(ino));
    }

    fn setattr(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        reply.attr(&Duration::ZERO, &self.attributes(ino));
    }

    fn open(&mut self, _: &Request<'_>, ino: u64, _: i32, reply: ReplyOpen) {
        // Without the kernel's cache of this file, so that a failed flush really loses what it lost.
        reply.opened(ino, consts::FOPEN_DIRECT_IO);
    }

    fn read(
        &mut self,
        _: &Request,
        ino: u64,
        _: u64,
        at: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        if ino != DISK {
            return reply.data(&[]);
        }
        let from = (at as usize).min(self.disk.len());
        let to = (from + size as usize).min(self.disk.len());
        reply.data(&self.disk[from..to]);
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        _: u64,
        at: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        match ino {
            DISK => {
                let from = at as usize;
                self.replaced.push((from, self.disk[from..from + data.len()].to_vec()));
                self.disk[from..from + data.len()].copy_from_slice(data);
                self.log.push(Event::Write(at as u64, data.to_vec()));
            }
            ACK => {
                self.acknowledged += data.len() as u64;
                self.log.push(Event::Acknowledged(data.to_vec()));
            }
            _ if data.starts_with(b"fail") => self.fail_next = true,
            _ => {
                if self.dump().is_err() {
                    return reply.error(libc::EIO);
                }
            }
        }
        reply.written(data.len() as u32);
    }

    fn fsync(&mut self, _: &Request<'_>, ino: u64, _: u64, _: bool, reply: ReplyEmpty) {
        if ino != DISK {
            return reply.ok();
        }
        if self.fail_next && !self.replaced.is_empty() && !self.commits_file_system() {
            self.fail_next = false;
            for (from, bytes) in self.replaced.drain(..).rev() {
                self.disk[from..from + bytes.len()].copy_from_slice(&bytes);
            }
            self.log.push(Event::FailedFlush);
            return reply.error(libc::EIO);
        }
        self.replaced.clear();
        self.log.push(Event::Flush);
        reply.ok();
    }

    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&mut self, _: &Request, _: u64, _: u64, from: i64, mut reply: ReplyDirectory) {
        for (index, (ino, name)) in FILES.iter().enumerate().skip(from as usize) {
            if reply.add(*ino, index as i64 + 1, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, image, mount_point, out] = &arguments[..] else {
        panic!("arguments: image, mount point, log file");
    };
    let disk = std::fs::read(image).expect("the image");
    let file_system = LoggingDisk {
        disk,
        log: Vec::new(),
        replaced: Vec::new(),
        fail_next: false,
        out: out.clone(),
        acknowledged: 0,
    };
    let options = [MountOption::FSName("fusedisk".into())];
    fuser::mount2(file_system, mount_point, &options).expect("mounting");
}
