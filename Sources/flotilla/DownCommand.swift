internal import Glibc
internal import Lifecycle
internal import Settings
internal import Store

extension Command {
    /// What Ctrl-C does, from another terminal or a script.
    static let down = Command(
        name: "down",
        summary: "Stops a `flotilla up` of this machine in order, and returns when it has ended.",
        usage: "[--demo] [--data DIR]", example: "flotilla down --data /var/lib/flotilla",
        namespace: "up", settings: ["up.", "lifecycle."],
        options: [("--demo", false, "the demonstration, where no data directory is named")]
    ) { invocation in
        try invocation.refuseWords()
        let data = try dataDirectory(
            invocation.settings, isDemo: invocation.options["--demo"] != nil)
        guard let process = DirectoryLock.holder(of: data) else {
            print("nothing runs in \(data)")
            return
        }
        guard kill(process, SIGTERM) == 0 || errno == ESRCH else {
            throw Refusal(
                status: .noPermission,
                "may not stop process \(process), which runs in \(data): be its user, or root")
        }
        // It ends itself when its own limit is over; one second more is for the kernel.
        let limit = invocation.settings[ProcessSettings.self].drainMilliseconds + 1_000
        let end = Instant.now().advanced(byMilliseconds: limit)
        while DirectoryLock.holder(of: data) == process {
            guard Instant.now() < end else {
                throw Refusal(
                    status: .unavailable,
                    "process \(process) was told to stop and has not ended after \(limit) ms; see its log")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        print("process \(process) has stopped")
    }
}
