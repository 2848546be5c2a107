/* Runs a program and kills it, with all its threads, just before its Nth operation that changes files.
 *
 *     kill_at N COMMAND...
 *
 * N = 0 kills nothing and prints the number of operations on standard error as the last line. Operations of all
 * threads are counted together. The exit code is that of the program, 137 if it was killed, and 125 if it
 * cannot be traced. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int changes(const struct __ptrace_syscall_info *info) {
    const __uint64_t *args = info->entry.args;
    switch (info->entry.nr) {
    case SYS_openat: return (args[2] & O_CREAT) != 0;
    case SYS_write: case SYS_pwrite64: return args[0] > 2;
#ifdef SYS_open
    case SYS_open: return (args[1] & O_CREAT) != 0;
    case SYS_mkdir: case SYS_rmdir: case SYS_unlink: case SYS_rename: case SYS_link:
#endif
    case SYS_mkdirat: case SYS_unlinkat: case SYS_renameat: case SYS_renameat2: case SYS_linkat: case SYS_ftruncate:
    case SYS_flock: case SYS_fsync: case SYS_fdatasync: return 1;
    default: return 0;
    }
}

int main(int count, char **words) {
    if (count < 3) return fputs("usage: kill_at N COMMAND...\n", stderr), 125;
    long last = atol(words[1]), done = 0;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(125);
        raise(SIGSTOP);
        execvp(words[2], words + 2);
        _exit(127);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 125;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, options) != 0) return 125;
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) return 125;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread != child) continue;
            if (last == 0) fprintf(stderr, "%ld\n", done);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 &&
                info.op == PTRACE_SYSCALL_INFO_ENTRY && changes(&info) && ++done == last)
                kill(child, SIGKILL);
            signal = 0;
        } else if (signal == SIGTRAP || signal == SIGSTOP) {
            /* A new thread, or the new program. */
            signal = 0;
        }
        ptrace(PTRACE_SYSCALL, thread, 0, signal);
    }
}
