/* A disk that can be cut off and that can fail: loaded before the C library, it writes down every change of the files in one
 * directory, in order, and lets one of them fail. Syncs are written down and not done: what was synced, the journal says.
 *
 * LOPUB_DISK        the directory; files in it whose names end in -shm or .lock are left alone
 * LOPUB_DISK_LOG    the journal
 * LOPUB_DISK_FAULT  "N:E": the N-th change fails with errno E; E = 0: a write of which only half is done
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { MOST_FILES = 65536 };
enum { CREATE = 'C', WRITE = 'W', TRUNCATE = 'T', SYNC = 'S', SYNC_NAMES = 'D', UNLINK = 'U', LOST = 'L' };

static char *names[MOST_FILES]; /* by descriptor; the directory itself has the empty name */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static const char *directory;
static int journal = -1;
static long changes, fault_at = -1;
static int fault;
static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);
static int (*real_fsync)(int);

__attribute__((constructor)) static void begin(void) {
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    directory = getenv("LOPUB_DISK");
    const char *log = getenv("LOPUB_DISK_LOG"), *failing = getenv("LOPUB_DISK_FAULT");
    if (directory && log) journal = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (failing) sscanf(failing, "%ld:%d", &fault_at, &fault);
}

/* The name of a path within the directory; NULL where it is none of ours. */
static const char *inside(const char *path) {
    size_t n = directory ? strlen(directory) : 0;
    if (journal < 0 || strncmp(path, directory, n) != 0) return NULL;
    if (path[n] == 0) return path + n;
    if (path[n] != '/') return NULL;
    const char *name = path + n + 1, *end = name + strlen(name);
    if ((end - name >= 4 && !strcmp(end - 4, "-shm")) || (end - name >= 5 && !strcmp(end - 5, ".lock"))) return NULL;
    return name;
}

static const char *name_of(int fd) { return fd >= 0 && fd < MOST_FILES ? names[fd] : NULL; }

static void note(char kind, const char *name, int64_t offset, const void *data, uint32_t n) {
    struct __attribute__((packed)) { char kind; uint16_t name; int64_t offset; uint32_t data; } head;
    head.kind = kind; head.name = (uint16_t)strlen(name); head.offset = offset; head.data = n;
    char *record = malloc(sizeof head + head.name + n);
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, name, head.name);
    if (n) memcpy(record + sizeof head + head.name, data, n);
    size_t size = sizeof head + head.name + n, done = 0;
    while (done < size) {
        ssize_t more = real_write(journal, record + done, size - done);
        if (more <= 0) abort();
        done += (size_t)more;
    }
    free(record);
}

/* Whether this change is the one to fail. */
static int fails(void) { return ++changes == fault_at; }

static int opened(int fd, const char *path, int is_new) {
    const char *name = inside(path);
    if (fd >= 0 && fd < MOST_FILES && name) {
        pthread_mutex_lock(&turn);
        names[fd] = strdup(name);
        if (is_new) note(CREATE, name, 0, NULL, 0);
        pthread_mutex_unlock(&turn);
    }
    return fd;
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
    if (!real_open) begin();
    struct stat found;
    int is_new = (flags & O_CREAT) && stat(path, &found) != 0;
    return opened(real_open(path, flags, mode), path, is_new);
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
    return open64(path, flags, mode);
}

int close(int fd) {
    if (!real_close) begin();
    if (name_of(fd)) {
        pthread_mutex_lock(&turn);
        free(names[fd]);
        names[fd] = NULL;
        pthread_mutex_unlock(&turn);
    }
    return real_close(fd);
}

static ssize_t written(int fd, const void *data, size_t n, off64_t offset) {
    pthread_mutex_lock(&turn);
    ssize_t done = -1;
    int failing = fails();
    if (failing && fault) {
        errno = fault;
    } else {
        if (failing) n /= 2;
        note(WRITE, names[fd], offset, data, (uint32_t)n);
        done = real_pwrite(fd, data, n, offset);
    }
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t offset) {
    if (!real_pwrite) begin();
    return name_of(fd) ? written(fd, data, n, offset) : real_pwrite(fd, data, n, offset);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset) { return pwrite64(fd, data, n, offset); }

ssize_t write(int fd, const void *data, size_t n) {
    if (!real_write) begin();
    if (!name_of(fd)) return real_write(fd, data, n);
    off64_t at = lseek64(fd, 0, SEEK_CUR);
    ssize_t done = written(fd, data, n, at);
    if (done > 0) lseek64(fd, at + done, SEEK_SET);
    return done;
}

int ftruncate64(int fd, off64_t size) {
    if (!real_ftruncate) begin();
    if (!name_of(fd)) return real_ftruncate(fd, size);
    pthread_mutex_lock(&turn);
    int done = -1;
    if (fails() && fault) {
        errno = fault;
    } else {
        note(TRUNCATE, names[fd], size, NULL, 0);
        done = real_ftruncate(fd, size);
    }
    pthread_mutex_unlock(&turn);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* A sync that fails may have lost what it was to save, and the next one does not say so. */
static int synced(int fd) {
    pthread_mutex_lock(&turn);
    int failing = fails() && fault;
    note(failing ? LOST : names[fd][0] ? SYNC : SYNC_NAMES, names[fd], 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    if (failing) errno = fault;
    return failing ? -1 : 0;
}

int fsync(int fd) {
    if (!real_fsync) begin();
    return name_of(fd) ? synced(fd) : real_fsync(fd);
}

int fdatasync(int fd) { return fsync(fd); }

int unlink(const char *path) {
    if (!real_unlink) begin();
    const char *name = inside(path);
    if (name) {
        pthread_mutex_lock(&turn);
        note(UNLINK, name, 0, NULL, 0);
        pthread_mutex_unlock(&turn);
    }
    return real_unlink(path);
}
