internal import Glibc
internal import Lifecycle
internal import Settings
internal import Store

extension Command {
    /// `flotilla down`: does from another terminal or a script what Ctrl-C does.
    static let down = Command(
        name: "down",
        summary: "Stops a `flotilla up` on this machine cleanly, and returns when it has ended.",
        usage: "[--demo] [--data DIR]", example: "flotilla down --data /var/lib/flotilla",
        namespace: "up", settings: ["up.", "lifecycle."],
        options: [("--demo", false, "stops the demonstration if no data directory is named")]
    ) { invocation in
        try invocation.requireNoPositionals()
        let data = try dataDirectory(
            settings: invocation.settings, isDemo: invocation.options["--demo"] != nil)
        guard let process = DirectoryLock.holder(of: data) else {
            print("nothing runs in \(data)")
            return
        }
        guard kill(process, SIGTERM) == 0 || errno == ESRCH else {
            throw CommandError(
                status: .noPermission,
                "no permission to stop process \(process), which runs in \(data); run this as its user or as root"
            )
        }
        // The process ends itself at its own limit. The kernel gets one second more.
        let limitMilliseconds = invocation.settings[ProcessSettings.self].drainMilliseconds + 1_000
        let deadline = Instant.now().advanced(byMilliseconds: limitMilliseconds)
        while DirectoryLock.holder(of: data) == process {
            guard Instant.now() < deadline else {
                throw CommandError(
                    status: .unavailable,
                    "process \(process) got SIGTERM and has not ended after \(limitMilliseconds) ms; see its log"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        print("process \(process) has stopped")
    }
}
