// Kills the process before its n-th change of a file. Preload it; see tests/process/kill_points.rs.
//
//   SHIM_DIR      folder whose changes count, including subfolders
//   SHIM_KILL_AT  number of the change before which the process gets SIGKILL, starting at 0; -1 means never
//   SHIM_LOG      file that gets a line for each change: number, call, file, offset or length
//
// cc -O2 -shared -fPIC -o shim.so shim.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH 4096

static char dir[PATH];
static long kill_at = -1;
static int log_fd = -1;
static atomic_long changes;
static atomic_int ready;

#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real) real = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    REAL(open64);
    const char *value = getenv("SHIM_DIR");
    if (value) snprintf(dir, sizeof dir, "%s", value);
    if ((value = getenv("SHIM_KILL_AT"))) kill_at = atol(value);
    if ((value = getenv("SHIM_LOG"))) log_fd = real(value, O_WRONLY | O_CREAT | O_APPEND, 0600);
    atomic_store(&ready, 1);
}

static int counts(const char *path) {
    return atomic_load(&ready) && dir[0] && path && strncmp(path, dir, strlen(dir)) == 0;
}

static void change(const char *call, const char *path, long long at) {
    long number = atomic_fetch_add(&changes, 1);
    if (log_fd >= 0) dprintf(log_fd, "%ld %s %s %lld\n", number, call, path + strlen(dir), at);
    if (number == kill_at) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
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

static void change_of(int fd, const char *name, const char *call, long long at) {
    char buffer[PATH];
    if (!atomic_load(&ready) || fd == log_fd) return;
    const char *path = path_of(fd, name, buffer);
    if (counts(path)) change(call, path, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    REAL(pwrite64);
    change_of(fd, NULL, "pwrite", at);
    return real(fd, bytes, count, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    REAL(pwrite);
    change_of(fd, NULL, "pwrite", at);
    return real(fd, bytes, count, at);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    if (fd > 2) change_of(fd, NULL, "write", count);
    return real(fd, bytes, count);
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    change_of(fd, NULL, "ftruncate", length);
    return real(fd, length);
}

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    change_of(fd, NULL, "ftruncate", length);
    return real(fd, length);
}

int fsync(int fd) {
    REAL(fsync);
    change_of(fd, NULL, "fsync", 0);
    return real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    change_of(fd, NULL, "fdatasync", 0);
    return real(fd);
}

int sync_file_range(int fd, off64_t at, off64_t length, unsigned flags) {
    REAL(sync_file_range);
    change_of(fd, NULL, "sync_file_range", at);
    return real(fd, at, length, flags);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    if (counts(from)) change("rename", from, 0);
    return real(from, to);
}

int unlink(const char *path) {
    REAL(unlink);
    if (counts(path)) change("unlink", path, 0);
    return real(path);
}

int unlinkat(int fd, const char *name, int flags) {
    REAL(unlinkat);
    change_of(fd, name, "unlinkat", 0);
    return real(fd, name, flags);
}

int rmdir(const char *path) {
    REAL(rmdir);
    if (counts(path)) change("rmdir", path, 0);
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (counts(path)) change("mkdir", path, 0);
    return real(path, mode);
}

int chmod(const char *path, mode_t mode) {
    REAL(chmod);
    if (counts(path)) change("chmod", path, mode);
    return real(path, mode);
}

int open64(const char *path, int flags, ...) {
    REAL(open64);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (counts(path)) {
        if ((flags & O_CREAT) && access(path, F_OK) != 0) change("create", path, 0);
        else if (flags & O_TRUNC) change("truncate", path, 0);
    }
    return real(path, flags, mode);
}
