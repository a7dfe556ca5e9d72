internal import Catalog
internal import CatalogRecords
internal import FoundationEssentials
internal import Glibc
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

/// The catalog of apps, API keys, activity types and segments for one call of a command. It is read once to
/// its end. Each change is written together with a line in the audit.
struct CatalogAccess {
    let snapshot: CatalogSnapshot
    private let settings: ResolvedSettings

    init(settings: ResolvedSettings) throws {
        self.settings = settings
        let topic = TopicLayout(settings: settings).name(of: .catalog)
        snapshot = try CatalogReader.readToEnd(settings[KafkaSettings.self], topic: topic, metrics: Metrics())
    }

    func makeWriter() throws -> CatalogWriter {
        let layout = TopicLayout(settings: settings)
        return try CatalogWriter(
            settings[KafkaSettings.self], catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
            author: Self.author, metrics: Metrics())
    }

    /// Returns the app as it was written, without the activity types that have their own records.
    func document(of id: String) throws -> App { try requireApp(id: id) { $0.documents[id] } }

    /// Returns the app with all its activity types.
    func app(id: String) throws -> App { try requireApp(id: id) { $0.apps[id] } }

    private func requireApp(id: String, lookup: (CatalogSnapshot) -> App?) throws -> App {
        if let app = lookup(snapshot) { return app }
        let recordKey = String(decoding: RecordKey.join("app", id, ""), as: UTF8.self)
        if let reason = snapshot.unusableRecords[recordKey] {
            throw CommandError(status: .dataError, "the record of app \(id) cannot be read: \(reason)")
        }
        throw CommandError(status: .usage, "there is no app \(id); `flotilla apps` lists them")
    }

    /// The operator's user name and the host name, for the audit.
    static var author: String {
        let user = ProcessInfo.processInfo.environment["USER"] ?? "uid \(getuid())"
        return "\(user)@\(hostName)"
    }

    /// The name of this machine.
    static var hostName: String {
        // One more than the limit of POSIX for names of hosts, so that the last byte stays zero.
        var host = [CChar](repeating: 0, count: 256)
        unsafe gethostname(&host, host.count - 1)
        return String(decoding: host.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
    }
}
