internal import JSON
internal import Members

/// The answer about all processes, from the facts that they publish about themselves: versions, settings that
/// differ, and open breakers of senders. An app's key sees only the breakers of its app.
struct ProcessesReport {
    /// A setting that does not have the same value in all processes.
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
        breakers = processes.flatMap { process in
            process.openBreakers.filter { $0.app == app }.map { (process.process, $0) }
        }
        var values: [String: [String: [String]]] = [:]
        for process in processes {
            for setting in process.settings
            where !Self.perProcessSuffixes.contains(where: { setting.key.hasSuffix($0) }) {
                values[setting.key, default: [:]][setting.value, default: []].append(process.process)
            }
        }
        differences = values.filter { $0.value.count > 1 }.map { Difference(key: $0.key, values: $0.value) }
            .sorted { $0.key < $1.key }
    }

    /// Writes the environments in which pushes of the app pause, without the processes.
    func writeBreakers(to writer: inout JSONWriter) {
        writer.objects("openBreakers", of: Set(breakers.map(\.breaker.environment)).sorted()) {
            environment, writer in writer.field("environment", environment)
        }
    }

    /// Writes the fields into an open object.
    func write(to writer: inout JSONWriter) {
        writer.objects("processes", of: processes) { process, writer in
            writer.field("process", process.process)
            writer.field("version", process.version)
            writer.field("stages", process.stages)
            writer.field("suspectTokens", process.suspectTokens)
            writer.field("startedAt", process.startedAt)
            writer.field("heardAt", process.at)
        }
        writer.objects("openBreakers", of: breakers) { entry, writer in
            writer.field("process", entry.process)
            writer.field("environment", entry.breaker.environment)
        }
        writer.objects("differences", of: differences) { difference, writer in
            writer.field("key", difference.key)
            writer.objects("values", of: difference.values.sorted { $0.key < $1.key }) { value, writer in
                writer.field("value", value.key)
                writer.field("processes", value.value)
            }
        }
    }
}
