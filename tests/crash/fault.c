/* Counts the changes that a process makes to files below a folder, and at a chosen one kills its
 * process or fails it as a disk would. For benchmarks/crash.py: LD_PRELOAD on Linux with glibc.
 *
 * CRASH_FAULT is "folder|counter file|first|last|action". Changes are numbered from 1, over all
 * processes that share the counter file (8 bytes, mapped). The action is done at changes first to
 * last: "kill" (the process), "killgroup", or the number of an errno. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static size_t folder_length;
static long first, last;
static int action; /* 0 none, -1 kill, -2 kill the group, else an errno */
static uint64_t *counter;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void crash_arm(void) {
    char words[2 * PATH_MAX + 100], *at = words, *file, *begin, *end, *what;
    const char *given = getenv("CRASH_FAULT");
    action = 0;
    folder_length = 0;
    if (!given || strlen(given) >= sizeof words) return;
    strcpy(words, given);
    strncpy(folder, strsep(&at, "|"), sizeof folder - 1);
    file = strsep(&at, "|");
    begin = strsep(&at, "|");
    end = strsep(&at, "|");
    what = strsep(&at, "|");
    if (!what) return;
    int handle = (int)openat(AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (handle < 0) return;
    void *map = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    close(handle);
    if (map == MAP_FAILED) return;
    counter = map;
    first = atol(begin);
    last = atol(end);
    action = !strcmp(what, "kill") ? -1 : !strcmp(what, "killgroup") ? -2 : atoi(what);
    folder_length = strlen(folder);
}

__attribute__((constructor)) static void begin(void) { crash_arm(); }

/* Whether the change fails; errno says how. A full disk lets what is there be removed. */
static int hit(int removes) {
    long number = (long)__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (number < first || number > last || !action) return 0;
    if (action == -1) kill(getpid(), SIGKILL);
    if (action == -2) kill(0, SIGKILL);
    if (removes && action == ENOSPC) return 0;
    errno = action;
    return 1;
}

static int below(const char *path) {
    return !strncmp(path, folder, folder_length) &&
           (path[folder_length] == '/' || !path[folder_length]);
}

static int link_below(const char *name, const char *rest) {
    char path[2 * PATH_MAX];
    ssize_t size = readlink(name, path, PATH_MAX - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    if (rest) snprintf(path + size, PATH_MAX, "/%s", rest);
    return below(path);
}

static int path_change(int at, const char *path, int removes) {
    char name[64];
    int saved = errno, found;
    if (!folder_length || !path) return 0;
    if (*path == '/') found = below(path);
    else if (at == AT_FDCWD) found = link_below("/proc/self/cwd", path);
    else {
        snprintf(name, sizeof name, "/proc/self/fd/%d", at);
        found = link_below(name, path);
    }
    errno = saved;
    return found && hit(removes);
}

static int path_hit(int at, const char *path) { return path_change(at, path, 0); }

static int handle_hit(int handle) {
    char name[64];
    int saved = errno, found;
    if (!folder_length || handle <= 2) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", handle);
    found = link_below(name, NULL);
    errno = saved;
    return found && hit(0);
}

#define CHANGES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *path, int flags, ...) {
    REAL(open);
    MODE(flags)
    return CHANGES(flags) && path_hit(AT_FDCWD, path) ? -1 : real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    REAL(open64);
    MODE(flags)
    return CHANGES(flags) && path_hit(AT_FDCWD, path) ? -1 : real(path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    REAL(openat);
    MODE(flags)
    return CHANGES(flags) && path_hit(at, path) ? -1 : real(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    REAL(openat64);
    MODE(flags)
    return CHANGES(flags) && path_hit(at, path) ? -1 : real(at, path, flags, mode);
}
ssize_t write(int handle, const void *data, size_t size) {
    REAL(write);
    return handle_hit(handle) ? -1 : real(handle, data, size);
}
ssize_t pwrite(int handle, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return handle_hit(handle) ? -1 : real(handle, data, size, at);
}
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    return handle_hit(handle) ? -1 : real(handle, data, size, at);
}
ssize_t writev(int handle, const struct iovec *parts, int count) {
    REAL(writev);
    return handle_hit(handle) ? -1 : real(handle, parts, count);
}
int fsync(int handle) {
    REAL(fsync);
    return handle_hit(handle) ? -1 : real(handle);
}
int fdatasync(int handle) {
    REAL(fdatasync);
    return handle_hit(handle) ? -1 : real(handle);
}
int ftruncate(int handle, off_t size) {
    REAL(ftruncate);
    return handle_hit(handle) ? -1 : real(handle, size);
}
int ftruncate64(int handle, off64_t size) {
    REAL(ftruncate64);
    return handle_hit(handle) ? -1 : real(handle, size);
}
int rename(const char *old, const char *new) {
    REAL(rename);
    return path_hit(AT_FDCWD, new) ? -1 : real(old, new);
}
int renameat(int from, const char *old, int to, const char *new) {
    REAL(renameat);
    return path_hit(to, new) ? -1 : real(from, old, to, new);
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    REAL(renameat2);
    return path_hit(to, new) ? -1 : real(from, old, to, new, flags);
}
int link(const char *old, const char *new) {
    REAL(link);
    return path_hit(AT_FDCWD, new) ? -1 : real(old, new);
}
int unlink(const char *path) {
    REAL(unlink);
    return path_change(AT_FDCWD, path, 1) ? -1 : real(path);
}
int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    return path_change(at, path, 1) ? -1 : real(at, path, flags);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return path_hit(AT_FDCWD, path) ? -1 : real(path, mode);
}
int rmdir(const char *path) {
    REAL(rmdir);
    return path_change(AT_FDCWD, path, 1) ? -1 : real(path);
}
