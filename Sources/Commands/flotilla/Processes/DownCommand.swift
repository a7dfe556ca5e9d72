internal import Glibc
internal import Lifecycle
internal import Settings
internal import Store

extension Command {
    /// `flotilla down`: stops a `flotilla up` from another terminal or a script, as Ctrl-C does.
    static let down = Command(
        name: "down",
        summary: "Stops a `flotilla up` on this machine cleanly, and returns when it has ended.",
        usage: "[--demo] [--data DIR]", example: "flotilla down --data /var/lib/flotilla",
        namespace: "up", settings: ["up.", "lifecycle."],
        options: [.flag("--demo", "stops the demonstration if no data directory is named")]
    ) { invocation in
        try invocation.requireNoPositionals()
        let dataDirectory = try Command.dataDirectory(
            settings: invocation.settings, isDemo: invocation.hasOption("--demo"))
        guard let process = DirectoryLock.holder(of: dataDirectory) else {
            print("nothing runs in \(dataDirectory)")
            return
        }
        // ESRCH: the process has ended in the meantime.
        guard kill(process, SIGTERM) == 0 || errno == ESRCH else {
            throw CommandError(
                status: .noPermission,
                "no permission to stop process \(process), which runs in \(dataDirectory); run this as its user or as root"
            )
        }
        // The process ends itself at its drain limit. One second more is for the kernel to remove it.
        let limitMilliseconds = invocation.settings[ProcessSettings.self].drainMilliseconds + 1_000
        let deadline = Instant.now().advanced(byMilliseconds: limitMilliseconds)
        while DirectoryLock.holder(of: dataDirectory) == process {
            guard Instant.now() < deadline else {
                throw CommandError(
                    status: .unavailable,
                    "process \(process) got SIGTERM and has not ended after \(limitMilliseconds) ms; see its log"
                )
            }
            try await Task.sleep(for: .milliseconds(pollMilliseconds))
        }
        print("process \(process) has stopped")
    }

    private static let pollMilliseconds = 20
}
