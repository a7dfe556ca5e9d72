internal import JSON
internal import Members

/// The facts that processes publish about themselves: versions, settings that differ, and open breakers of
/// senders. An app's key sees only its own breakers.
struct ProcessesReport {
    struct Difference: Hashable {
        var key: String
        /// The processes that have each value, by value.
        var values: [String: [String]]
    }

    let processes: [ProcessFacts]
    let differences: [Difference]
    /// The open breakers of the app, by process.
    private let breakers: [(process: String, breaker: ProcessFacts.Breaker)]

    /// Settings that each process has for itself. Their difference is not a problem.
    private static let perProcessSuffixes = [".listen", ".address", ".data"]

    init(processes: [ProcessFacts], app: String) {
        self.processes = processes
        breakers = processes.flatMap { one in
            one.openBreakers.filter { $0.app == app }.map { (one.process, $0) }
        }
        var values: [String: [String: [String]]] = [:]
        for one in processes {
            for setting in one.settings
            where !Self.perProcessSuffixes.contains(where: { setting.key.hasSuffix($0) }) {
                values[setting.key, default: [:]][setting.value, default: []].append(one.process)
            }
        }
        differences = values.filter { $0.value.count > 1 }.map { Difference(key: $0.key, values: $0.value) }
            .sorted { $0.key < $1.key }
    }

    /// Writes the fields into an open object.
    func write(to writer: inout JSONWriter) {
        writer.objects("processes", of: processes) { one, writer in
            writer.field("process", one.process)
            writer.field("version", one.version)
            writer.field("stages", one.stages)
            writer.field("suspectTokens", one.suspectTokens)
            writer.field("startedAt", one.startedAt)
            writer.field("heardAt", one.at)
        }
        writer.objects("openBreakers", of: breakers) { one, writer in
            writer.field("process", one.process)
            writer.field("environment", one.breaker.environment)
        }
        writer.objects("differences", of: differences) { one, writer in
            writer.field("key", one.key)
            writer.objects("values", of: one.values.sorted { $0.key < $1.key }) { value, writer in
                writer.field("value", value.key)
                writer.field("processes", value.value)
            }
        }
    }
}
