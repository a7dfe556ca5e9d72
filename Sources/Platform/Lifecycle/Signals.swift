internal import CLinux
internal import Glibc

/// The handling of signals to the process. SIGTERM and SIGINT request an orderly stop, and the second of them
/// requests an immediate exit. SIGHUP requests a reload of files. One thread takes them with `sigwait`,
/// because almost no function may be called inside a signal handler.
package enum Signals {
    private static let watched: [(number: Int32, name: String)] = [
        (SIGTERM, "SIGTERM"), (SIGINT, "SIGINT"), (SIGHUP, "SIGHUP"),
    ]

    /// Blocks these signals in all threads, so that only the thread of `watch` takes them. It must run before
    /// the process has a second thread, because a thread inherits the blocked signals of its creator.
    package static func block() {
        var set = makeSignalSet()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Parks the main thread while others work. Its signals are blocked, so it never wakes.
    package static func sleepForever() -> Never {
        while true { pause() }
    }

    /// Ignores SIGPIPE, so that a peer that hangs up causes an error of one write instead of ending the
    /// process.
    package static func ignorePipe() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Ignores SIGXFSZ, so that a file at its size limit causes an error of one write, like a full disk.
    package static func ignoreFileSize() {
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Starts the thread that takes the signals, after `block`. It runs until the process ends.
    ///
    /// - Parameters:
    ///   - reload: Called at each SIGHUP.
    ///   - exitNow: Called at the second request to stop. It must not return.
    package static func watch(
        requesting shutdown: Shutdown, reload: @escaping @Sendable () -> Void,
        exitNow: @escaping @Sendable () -> Void
    ) {
        let watcher = SignalWatcher(shutdown: shutdown, reload: reload, exitNow: exitNow)
        var thread = pthread_t()
        let reference = unsafe Unmanaged.passRetained(watcher).toOpaque()
        let status = unsafe pthread_create(&thread, nil, runSignalWatcher, reference)
        precondition(status == 0, "cannot start the signal thread: error \(status)")
        pthread_detach(thread)
    }

    private static func makeSignalSet() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for (number, _) in watched { unsafe sigaddset(&set, number) }
        return set
    }

    fileprivate final class SignalWatcher: Sendable {
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
            var set = Signals.makeSignalSet()
            while true {
                var number: Int32 = 0
                guard unsafe sigwait(&set, &number) == 0 else { continue }
                if number == SIGHUP {
                    reload()
                } else if shutdown.isRequested {
                    exitNow()
                } else {
                    shutdown.request(
                        because: .signal(watched.first { $0.number == number }?.name ?? "signal \(number)"))
                }
            }
        }
    }
}

private func runSignalWatcher(_ reference: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<Signals.SignalWatcher>.fromOpaque(reference!).takeRetainedValue().waitForever()
    return nil
}
