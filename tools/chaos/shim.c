/* Every call that changes a file below one folder, counted, and the process killed at the call of a given number.

   Loaded before the C library (LD_PRELOAD), so that it sees what Python, NumPy, Arrow and safetensors write alike. A
   call is killed before it happens; a write of several bytes is killed when half of them are on the disk. What goes
   into mapped memory is no call, and is not seen. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOM (2 * PATH_MAX)
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char root[PATH_MAX];
static size_t root_length;
static long fatal, count;
static int told_to = -1;

/* Count what happens below a folder from now on, and die at the call of this number (0: never); each call is told to
   an open file, where one is given. */
void chaos_arm(const char *folder, long number, int file) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    fatal = number;
    count = 0;
    told_to = file;
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

static void of_descriptor(int file, char *whole, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, whole, room - 1);
    whole[length < 0 ? 0 : length] = 0;
}

static void of_path(int folder, const char *path, char *whole) {
    char before[PATH_MAX] = "";
    if (path[0] != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(before, sizeof before))
                before[0] = 0;
        } else
            of_descriptor(folder, before, sizeof before);
    }
    snprintf(whole, ROOM, "%s%s%s", before, before[0] ? "/" : "", path);
}

/* Whether this call is the one to die at. */
static int comes(const char *kind, const char *whole) {
    if (!root_length || strncmp(whole, root, root_length) || (whole[root_length] && whole[root_length] != '/'))
        return 0;
    long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (told_to >= 0) {
        char line[ROOM + 64];
        int length = snprintf(line, sizeof line, "%s\t%s\n", kind, whole + root_length);
        if (syscall(SYS_write, told_to, line, length) != length)
            die();
    }
    return number == fatal;
}

static void with_path(const char *kind, int folder, const char *path) {
    int before = errno;
    char whole[ROOM];
    if (root_length) {
        of_path(folder, path, whole);
        if (comes(kind, whole))
            die();
    }
    errno = before;
}

/* Whether the write to this file is the one to die at. */
static int with_file(const char *kind, int file) {
    int before = errno, here = 0;
    char whole[ROOM];
    if (root_length && file != told_to) {
        of_descriptor(file, whole, sizeof whole);
        here = comes(kind, whole);
    }
    errno = before;
    return here;
}

#define OPENING(name, parameters, folder, path, ...)                                                                  \
    int name parameters {                                                                                             \
        mode_t mode = 0;                                                                                              \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                                        \
            va_list rest;                                                                                             \
            va_start(rest, flags);                                                                                    \
            mode = va_arg(rest, mode_t);                                                                              \
            va_end(rest);                                                                                             \
        }                                                                                                             \
        if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))                                                          \
            with_path("open", folder, path);                                                                          \
        return NEXT(name)(__VA_ARGS__, flags, mode);                                                                  \
    }

OPENING(open, (const char *path, int flags, ...), AT_FDCWD, path, path)
OPENING(open64, (const char *path, int flags, ...), AT_FDCWD, path, path)
OPENING(openat, (int folder, const char *path, int flags, ...), folder, path, folder, path)
OPENING(openat64, (int folder, const char *path, int flags, ...), folder, path, folder, path)

FILE *fopen64(const char *path, const char *mode) {
    if (mode[0] != 'r' || strchr(mode, '+'))
        with_path("open", AT_FDCWD, path);
    return NEXT(fopen64)(path, mode);
}

ssize_t write(int file, const void *data, size_t size) {
    if (with_file("write", file)) {
        syscall(SYS_write, file, data, size / 2);
        die();
    }
    return NEXT(write)(file, data, size);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) {
    if (with_file("write", file)) {
        syscall(SYS_pwrite64, file, data, size / 2, place);
        die();
    }
    return NEXT(pwrite64)(file, data, size, place);
}

ssize_t writev(int file, const struct iovec *parts, int number) {
    if (with_file("write", file)) {
        syscall(SYS_writev, file, parts, number / 2);
        die();
    }
    return NEXT(writev)(file, parts, number);
}

int rename(const char *from, const char *to) {
    with_path("rename", AT_FDCWD, to);
    return NEXT(rename)(from, to);
}

int renameat(int one, const char *from, int other, const char *to) {
    with_path("rename", other, to);
    return NEXT(renameat)(one, from, other, to);
}

int unlink(const char *path) {
    with_path("unlink", AT_FDCWD, path);
    return NEXT(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags) {
    with_path(flags & AT_REMOVEDIR ? "rmdir" : "unlink", folder, path);
    return NEXT(unlinkat)(folder, path, flags);
}

int rmdir(const char *path) {
    with_path("rmdir", AT_FDCWD, path);
    return NEXT(rmdir)(path);
}

int mkdir(const char *path, mode_t mode) {
    with_path("mkdir", AT_FDCWD, path);
    return NEXT(mkdir)(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    with_path("mkdir", folder, path);
    return NEXT(mkdirat)(folder, path, mode);
}

int fsync(int file) {
    if (with_file("fsync", file))
        die();
    return NEXT(fsync)(file);
}

int fdatasync(int file) {
    if (with_file("fsync", file))
        die();
    return NEXT(fdatasync)(file);
}

int ftruncate64(int file, off64_t size) {
    if (with_file("truncate", file))
        die();
    return NEXT(ftruncate64)(file, size);
}

int ftruncate(int file, off_t size) {
    if (with_file("truncate", file))
        die();
    return NEXT(ftruncate)(file, size);
}
