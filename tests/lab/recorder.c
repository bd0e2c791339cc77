// Records every change of a file below a folder, in the order in which the changes take effect. Preload it.
//
//   REC_DIR      folder whose changes are recorded, including subfolders
//   REC_ACK      file whose writes are recorded as acknowledgements
//   REC_LOG      file that the record is appended to
//   REC_KILL_MS  after this many milliseconds the process gets SIGKILL, right after a change; 0 means never
//   REC_SYNC_US  microseconds that a sync takes at least, because a sync in memory takes no time
//
// One lock is held during each change and the writing of its event, so the record has the order of the effects, and a kill
// loses no event. A sync is two events, its start and its end, and others may change files in between.
//
// An event is: kind (1 byte), two numbers (8 bytes each), length (4 bytes), and that many bytes. Kinds:
//   C create: file, -, path            D make a folder: file, -, path     W write: file, offset, bytes
//   L set the length: file, length     S a sync begins: file, number      E it has succeeded: -, number
//   R rename: -, -, from NUL to        H link: -, -, from NUL to          U unlink or remove a folder: -, -, path
//   A acknowledgement: -, -, text      K killed: -, -                     ! a call that is not modelled: -, -, name
// A file is its inode number. Paths are relative to REC_DIR.
//
// cc -O2 -shared -fPIC -o recorder.so recorder.c -ldl -lpthread
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PATH 4096

static char dir[PATH], ack[PATH];
static size_t dir_length;
static int log_fd = -1;
static long kill_ms, sync_us;
static struct timespec began;
static uint32_t syncs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real) real = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *value = getenv("REC_DIR");
    if (!value) return;
    snprintf(dir, sizeof dir, "%s/", value);
    dir_length = strlen(dir);
    if ((value = getenv("REC_ACK"))) snprintf(ack, sizeof ack, "%s", value);
    if ((value = getenv("REC_KILL_MS"))) kill_ms = atol(value);
    if ((value = getenv("REC_SYNC_US"))) sync_us = atol(value);
    clock_gettime(CLOCK_MONOTONIC, &began);
    value = getenv("REC_LOG");
    log_fd = syscall(SYS_openat, AT_FDCWD, value ? value : "", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) abort();
}

static void put(const void *bytes, size_t length) {
    while (length) {
        ssize_t done = syscall(SYS_write, log_fd, bytes, length);
        if (done <= 0) abort();
        bytes = (const char *)bytes + done;
        length -= done;
    }
}

static void put_event(char kind, uint64_t first, uint64_t second, const void *bytes, uint32_t length) {
    char head[21];
    head[0] = kind;
    memcpy(head + 1, &first, 8);
    memcpy(head + 9, &second, 8);
    memcpy(head + 17, &length, 4);
    put(head, sizeof head);
    put(bytes, length);
}

// Called with the lock.
static void event(char kind, uint64_t first, uint64_t second, const void *bytes, uint32_t length) {
    put_event(kind, first, second, bytes, length);
    if (!kill_ms) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 < kill_ms) return;
    put_event('K', 0, 0, "", 0);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void event_of_path(char kind, uint64_t file, const char *path) {
    event(kind, file, 0, path, strlen(path));
}

// Returns the path of an open file, or of a name below an open folder.
static const char *path_of(int fd, const char *name, char *path) {
    char link[64];
    if (name && name[0] == '/') return name;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd == AT_FDCWD ? -1 : readlink(link, path, PATH / 2);
    if (length < 0) return name;
    path[length] = 0;
    if (name) snprintf(path + length, PATH - length, "/%s", name);
    return path;
}

// Returns the path below the folder, or NULL for any other.
static const char *below(const char *path) {
    if (log_fd < 0 || !path || strncmp(path, dir, dir_length - 1)) return NULL;
    if (!path[dir_length - 1]) return ".";
    return path[dir_length - 1] == '/' ? path + dir_length : NULL;
}

static const char *below_of(int fd, const char *name, char *buffer) {
    if (log_fd < 0 || fd == log_fd) return NULL;
    int saved = errno;
    const char *path = below(path_of(fd, name, buffer));
    errno = saved;
    return path;
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static uint64_t inode_at(const char *path) {
    struct stat found;
    return lstat(path, &found) ? 0 : found.st_ino;
}

static void refuse(const char *path, const char *call) {
    if (!path) return;
    pthread_mutex_lock(&lock);
    event_of_path('!', 0, call);
    pthread_mutex_unlock(&lock);
}

// `at` is the offset, or -1 for a write at the position of the file.
static void written(int fd, const void *bytes, ssize_t count, off64_t at) {
    if (at < 0) at = lseek64(fd, 0, SEEK_CUR) - count;
    event('W', inode_of(fd), at, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    REAL(pwrite64);
    char buffer[PATH];
    if (!below_of(fd, NULL, buffer)) return real(fd, bytes, count, at);
    pthread_mutex_lock(&lock);
    ssize_t done = real(fd, bytes, count, at);
    if (done > 0) written(fd, bytes, done, at);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    char buffer[PATH];
    if (fd <= 2 || log_fd < 0 || fd == log_fd) return real(fd, bytes, count);
    const char *path = path_of(fd, NULL, buffer);
    int is_ack = path && !strcmp(path, ack);
    if (!is_ack && !below(path)) return real(fd, bytes, count);
    pthread_mutex_lock(&lock);
    ssize_t done = real(fd, bytes, count);
    if (done > 0 && is_ack) event('A', 0, 0, bytes, done);
    else if (done > 0) written(fd, bytes, done, -1);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    char buffer[PATH];
    if (!below_of(fd, NULL, buffer)) return real(fd, length);
    pthread_mutex_lock(&lock);
    int result = real(fd, length);
    if (!result) event('L', inode_of(fd), length, "", 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int sync_with(int (*real)(int), int fd) {
    char buffer[PATH];
    if (!below_of(fd, NULL, buffer)) return real(fd);
    pthread_mutex_lock(&lock);
    uint64_t number = (uint64_t)getpid() << 32 | ++syncs;
    event('S', inode_of(fd), number, "", 0);
    pthread_mutex_unlock(&lock);
    int result = real(fd);
    int saved = errno;
    if (sync_us) usleep(sync_us);
    pthread_mutex_lock(&lock);
    if (!result) event('E', 0, number, "", 0);
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int fsync(int fd) {
    REAL(fsync);
    return sync_with(real, fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return sync_with(real, fd);
}

static void event_of_two(char kind, const char *from, const char *to) {
    char both[2 * PATH];
    size_t length = strlen(from) + 1;
    memcpy(both, from, length);
    memcpy(both + length, to, strlen(to));
    event(kind, 0, 0, both, length + strlen(to));
}

int rename(const char *from, const char *to) {
    REAL(rename);
    if (!below(from) && !below(to)) return real(from, to);
    if (!below(from) || !below(to)) refuse("", "rename over the border");
    pthread_mutex_lock(&lock);
    int result = real(from, to);
    if (!result) event_of_two('R', below(from), below(to));
    pthread_mutex_unlock(&lock);
    return result;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    REAL(linkat);
    char from_buffer[PATH], to_buffer[PATH];
    const char *from_below = below_of(from_fd, from, from_buffer), *to_below = below_of(to_fd, to, to_buffer);
    if (!to_below) return real(from_fd, from, to_fd, to, flags);
    if (!from_below) refuse("", "link over the border");
    pthread_mutex_lock(&lock);
    int result = real(from_fd, from, to_fd, to, flags);
    if (!result) event_of_two('H', from_below, to_below);
    pthread_mutex_unlock(&lock);
    return result;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int fd, const char *name, int flags) {
    REAL(unlinkat);
    char buffer[PATH];
    const char *path = below_of(fd, name, buffer);
    if (!path) return real(fd, name, flags);
    pthread_mutex_lock(&lock);
    int result = real(fd, name, flags);
    if (!result) event_of_path('U', 0, path);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (!below(path)) return real(path, mode);
    pthread_mutex_lock(&lock);
    int result = real(path, mode);
    if (!result) event_of_path('D', inode_at(path), below(path));
    pthread_mutex_unlock(&lock);
    return result;
}

int open64(const char *path, int flags, ...) {
    REAL(open64);
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (!below(path) || !(flags & (O_CREAT | O_TRUNC))) return real(path, flags, mode);
    pthread_mutex_lock(&lock);
    int is_new = access(path, F_OK) != 0;
    int fd = real(path, flags, mode);
    if (fd >= 0 && is_new) event_of_path('C', inode_of(fd), below(path));
    else if (fd >= 0 && (flags & O_TRUNC)) event('L', inode_of(fd), 0, "", 0);
    pthread_mutex_unlock(&lock);
    return fd;
}

// What the model does not know must not be missed silently.

int fallocate64(int fd, int mode, off64_t at, off64_t length) {
    REAL(fallocate64);
    char buffer[PATH];
    refuse(below_of(fd, NULL, buffer), "fallocate");
    return real(fd, mode, at, length);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    REAL(writev);
    char buffer[PATH];
    if (fd > 2) refuse(below_of(fd, NULL, buffer), "writev");
    return real(fd, pieces, count);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
    REAL(copy_file_range);
    char buffer[PATH];
    refuse(below_of(out, NULL, buffer), "copy_file_range");
    return real(in, from, out, to, length, flags);
}

void *mmap64(void *place, size_t length, int protection, int flags, int fd, off64_t at) {
    REAL(mmap64);
    char buffer[PATH];
    if (fd >= 0 && (protection & PROT_WRITE) && (flags & MAP_SHARED)) refuse(below_of(fd, NULL, buffer), "mmap");
    return real(place, length, protection, flags, fd, at);
}
