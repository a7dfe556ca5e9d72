internal import Broker
internal import Foundation
internal import Lifecycle
internal import Settings
internal import Synchronization

extension AllSettings {
    static let upData = Setting(
        "up.data", default: "",
        "where `flotilla up` keeps everything; else flotilla in the user's state directory")

    static let up: [Declaration] = [upData.declaration]
}

extension Command {
    /// A whole installation on one machine: the embedded broker and, one by one as they are built, the stages.
    static let up = Command(
        name: "up", summary: "Runs a whole installation on this machine, durable, without Kafka or Docker.",
        usage: "[--demo] [--data DIR]", example: "flotilla up --demo --data /tmp/flotilla-demo",
        namespace: "up", settings: ["up.", "broker.listen", "broker.flush", "admin.", "log.", "lifecycle."],
        options: [
            ("--demo", false, "shows what works, on this installation, and leaves it running to be tried")
        ], runsUntilStopped: true
    ) { invocation in
        try invocation.refuseWords()
        let isDemo = invocation.options["--demo"] != nil
        let data = try dataDirectory(invocation.settings)
        let process = RunningProcess(invocation.settings)
        let admin = AdminService(invocation.settings)
        let address = BrokerAddress()
        let broker = BrokerService(try brokerSettings(invocation.settings, data: data + "/broker")) {
            running in
            address.set("\(running.host):\(running.port)")
        }
        var services: [any Service] = [admin, broker]
        if isDemo {
            services.append(DemonstrationService(data: data, broker: address, admin: admin))
        }
        try await process.run(services) { admin.beginServing() }
    }

    /// Made when it is missing: everything else lies below it.
    private static func dataDirectory(_ settings: ResolvedSettings) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map { $0 + "/.local/state" }
        let named = settings[AllSettings.upData]
        guard let path = named.isEmpty ? state.map({ $0 + "/flotilla" }) : named else {
            throw Refusal(
                status: .usage, "there is no home directory to keep the data in; name a place with --data")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Refusal(
                status: .cannotCreate,
                "cannot make the data directory \(path); name another place with --data")
        }
        return path
    }
}

/// Where the broker serves, known when it has started: the port may be the system's choice.
final class BrokerAddress: Sendable {
    private let text = Mutex("")
    func set(_ address: String) { text.withLock { $0 = address } }
    var value: String { text.withLock { $0 } }
}
