/* Between a program and its files: records what it does to the files of one folder, and lets the n-th call fail.
   Built by shim.py and loaded with LD_PRELOAD. Calls on files elsewhere go through untouched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define MAX_FD 4096
enum { OPEN = 'O', CLOSE = 'C', WRITE = 'W', SYNC = 'S', TRUNCATE = 'T', RENAME = 'R', UNLINK = 'U', LINK = 'L',
       NOTE = 'N', FAILED_SYNC = 'F' };

struct __attribute__((packed)) record { uint8_t kind; int32_t fd; int64_t offset; uint32_t first, second; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_size;
static int log_fd = -1;
static char ours[MAX_FD];   /* whether a descriptor is of a file in the folder */

static char fault_kinds[16];
static long fault_first, fault_times, fault_seen, fault_hits;
static int fault_error, fault_short;

#define REAL(name) ({ static typeof(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

static void log_record(int kind, int fd, int64_t offset, const void *first, size_t a, const void *second, size_t b) {
    if (log_fd < 0) return;
    struct record head = { kind, fd, offset, a, b };
    size_t size = sizeof head + a + b;
    char *buffer = malloc(size);
    memcpy(buffer, &head, sizeof head);
    if (a) memcpy(buffer + sizeof head, first, a);
    if (b) memcpy(buffer + sizeof head + a, second, b);
    for (size_t done = 0; done < size; ) {
        long n = syscall(SYS_write, log_fd, buffer + done, size - done);
        if (n <= 0) abort();
        done += n;
    }
    free(buffer);
}

static int is_ours(const char *path) {
    return root_size && path && strncmp(path, root, root_size) == 0 && (path[root_size] == '/' || !path[root_size]);
}

static int fd_is_ours(int fd) { return fd >= 0 && fd < MAX_FD && ours[fd]; }

/* Whether this call is to fail; counts it. */
static int fails(char kind) {
    if (!fault_times || !strchr(fault_kinds, kind)) return 0;
    long number = ++fault_seen;
    if (number < fault_first || number >= fault_first + fault_times) return 0;
    fault_hits++;
    return 1;
}

/* For tests: called from Python. */
void prove_record(const char *path, const char *folder) {
    if (log_fd >= 0) syscall(SYS_close, log_fd);
    log_fd = path && *path ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    strncpy(root, folder, sizeof root - 1);
    root_size = strlen(root);
}

void prove_note(const char *text) {
    pthread_mutex_lock(&lock);
    log_record(NOTE, -1, 0, text, strlen(text), NULL, 0);
    pthread_mutex_unlock(&lock);
}

void prove_arm(const char *kinds, long first, long times, int error, int short_write) {
    pthread_mutex_lock(&lock);
    strncpy(fault_kinds, kinds, sizeof fault_kinds - 1);
    fault_first = first; fault_times = times; fault_error = error; fault_short = short_write;
    fault_seen = fault_hits = 0;
    pthread_mutex_unlock(&lock);
}

long prove_seen(void) { return fault_seen; }
long prove_hits(void) { return fault_hits; }

static int opened(int fd, const char *path, int flags) {
    if (fd >= 0 && fd < MAX_FD) {
        pthread_mutex_lock(&lock);
        ours[fd] = is_ours(path);
        if (ours[fd]) log_record(OPEN, fd, flags, path, strlen(path), NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return fd;
}

static int refuses_open(const char *path, int flags) {
    if (!is_ours(path) || !(flags & (O_WRONLY | O_RDWR | O_CREAT))) return 0;
    pthread_mutex_lock(&lock);
    int refused = fails(OPEN);
    pthread_mutex_unlock(&lock);
    if (refused) errno = fault_error;
    return refused;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, int); va_end(a); }

int open(const char *path, int flags, ...) {
    MODE
    return refuses_open(path, flags) ? -1 : opened(REAL(open)(path, flags, mode), path, flags);
}
int open64(const char *path, int flags, ...) {
    MODE
    return refuses_open(path, flags) ? -1 : opened(REAL(open64)(path, flags, mode), path, flags);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE
    return refuses_open(path, flags) ? -1 : opened(REAL(openat)(folder, path, flags, mode), path, flags);
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE
    return refuses_open(path, flags) ? -1 : opened(REAL(openat64)(folder, path, flags, mode), path, flags);
}

int close(int fd) {
    if (!fd_is_ours(fd)) return REAL(close)(fd);
    pthread_mutex_lock(&lock);
    ours[fd] = 0;
    log_record(CLOSE, fd, 0, NULL, 0, NULL, 0);
    int result = REAL(close)(fd);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Writes at an offset, or where the descriptor is when it is negative. */
static ssize_t write_at(int fd, const void *data, size_t size, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t result;
    if (size && fails(WRITE)) {
        if (!fault_short || size < 2) { errno = fault_error; result = -1; goto end; }
        size /= 2;
    }
    off_t start = offset;
    if (offset < 0) {
        struct stat status;
        int appends = syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND;
        start = appends && fstat(fd, &status) == 0 ? status.st_size : lseek(fd, 0, SEEK_CUR);
    }
    result = offset < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, offset);
    if (result > 0) log_record(WRITE, fd, start, data, result, NULL, 0);
end:
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t write(int fd, const void *data, size_t size) {
    return fd_is_ours(fd) ? write_at(fd, data, size, -1) : REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    return fd_is_ours(fd) ? write_at(fd, data, size, offset) : REAL(pwrite)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    return fd_is_ours(fd) ? write_at(fd, data, size, offset) : REAL(pwrite64)(fd, data, size, offset);
}

/* Copies by the kernel would not be seen: the callers fall back to write. */
ssize_t sendfile(int out, int in, off_t *offset, size_t count) {
    (void)in; (void)offset; (void)count;
    errno = EINVAL;
    return fd_is_ours(out) ? -1 : syscall(SYS_sendfile, out, in, offset, count);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) {
    errno = EINVAL;
    return fd_is_ours(out) ? -1 : syscall(SYS_sendfile, out, in, offset, count);
}

static int sync_fd(int fd) {
    pthread_mutex_lock(&lock);
    int result = 0;
    if (fails(SYNC)) {
        log_record(FAILED_SYNC, fd, 0, NULL, 0, NULL, 0);
        errno = fault_error;
        result = -1;
    } else {
        result = syscall(SYS_fsync, fd);
        if (result == 0) log_record(SYNC, fd, 0, NULL, 0, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    return result;
}
int fsync(int fd) { return fd_is_ours(fd) ? sync_fd(fd) : REAL(fsync)(fd); }
int fdatasync(int fd) { return fd_is_ours(fd) ? sync_fd(fd) : REAL(fdatasync)(fd); }

static int truncate_fd(int fd, off_t size) {
    pthread_mutex_lock(&lock);
    int result = -1;
    if (fails(TRUNCATE)) errno = fault_error;
    else if ((result = syscall(SYS_ftruncate, fd, size)) == 0) log_record(TRUNCATE, fd, size, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int ftruncate(int fd, off_t size) { return fd_is_ours(fd) ? truncate_fd(fd, size) : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return fd_is_ours(fd) ? truncate_fd(fd, size) : REAL(ftruncate64)(fd, size); }

static int change_names(char kind, const char *from, const char *to) {
    pthread_mutex_lock(&lock);
    int result = -1;
    if (fails(kind)) errno = fault_error;
    else {
        result = kind == RENAME ? syscall(SYS_rename, from, to)
               : kind == LINK ? syscall(SYS_link, from, to) : syscall(SYS_unlink, from);
        if (result == 0) log_record(kind, -1, 0, from, strlen(from), to, to ? strlen(to) : 0);
    }
    pthread_mutex_unlock(&lock);
    return result;
}
int rename(const char *from, const char *to) {
    return is_ours(from) ? change_names(RENAME, from, to) : REAL(rename)(from, to);
}
int link(const char *from, const char *to) {
    return is_ours(from) ? change_names(LINK, from, to) : REAL(link)(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    return is_ours(from) ? change_names(LINK, from, to) : REAL(linkat)(a, from, b, to, flags);
}
int unlink(const char *path) { return is_ours(path) ? change_names(UNLINK, path, NULL) : REAL(unlink)(path); }
