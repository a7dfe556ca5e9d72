internal import CLinux
internal import Glibc

/// The signals of an operator: TERM and INT ask for an orderly stop, a second one for an exit at
/// once; HUP asks to read files again. Each is taken by one thread with `sigwait`, because hardly
/// anything may be called inside a handler.
package enum Signals {
    private static let watched: [(number: Int32, name: String)] = [
        (SIGTERM, "SIGTERM"), (SIGINT, "SIGINT"), (SIGHUP, "SIGHUP"),
    ]

    /// Keeps the watched signals for `watch`. Must run before the process has a second thread:
    /// threads inherit the mask of the one that made them.
    package static func block() {
        var set = makeSet()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// What the main thread does while others work. Its signals are blocked, so it never wakes.
    package static func sleepForever() -> Never {
        while true { pause() }
    }

    /// A peer that hangs up is an error of one write, not the end of the process.
    package static func ignorePipe() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// A file that reaches a limit of its size is an error of one write, as a full disk is.
    package static func ignoreFileSize() {
        signal(SIGXFSZ, SIG_IGN)
    }

    /// - Parameters:
    ///   - reload: called on HUP.
    ///   - exitNow: called on the second request to stop; does not return.
    package static func watch(
        _ shutdown: Shutdown, reload: @escaping @Sendable () -> Void,
        exitNow: @escaping @Sendable () -> Void
    ) {
        let watcher = Watcher(shutdown: shutdown, reload: reload, exitNow: exitNow)
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(watcher).toOpaque()
        let status = unsafe pthread_create(&thread, nil, watcherThread, argument)
        precondition(status == 0, "no thread for signals: \(status)")
        pthread_detach(thread)
    }

    private static func makeSet() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for (number, _) in watched { unsafe sigaddset(&set, number) }
        return set
    }

    fileprivate final class Watcher: Sendable {
        let shutdown: Shutdown
        let reload: @Sendable () -> Void
        let exitNow: @Sendable () -> Void

        init(
            shutdown: Shutdown, reload: @escaping @Sendable () -> Void,
            exitNow: @escaping @Sendable () -> Void
        ) {
            self.shutdown = shutdown
            self.reload = reload
            self.exitNow = exitNow
        }

        func waitForever() {
            var set = Signals.makeSet()
            while true {
                var number: Int32 = 0
                guard unsafe sigwait(&set, &number) == 0 else { continue }
                if number == SIGHUP {
                    reload()
                } else if shutdown.isRequested {
                    exitNow()
                } else {
                    shutdown.request(
                        .signal(watched.first { $0.number == number }?.name ?? "signal \(number)"))
                }
            }
        }
    }
}

private func watcherThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<Signals.Watcher>.fromOpaque(argument!).takeRetainedValue().waitForever()
    return nil
}
