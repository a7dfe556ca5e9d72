internal import CatalogRecords
internal import Glibc
internal import Lifecycle

/// The catalog's apps as the planner sees them. Owned by one thread.
final class CatalogApps {
    /// The age up to which a send of an unknown app waits. A send can be slightly ahead of the catalog that
    /// this process has read. After this time the app counts as unknown.
    static let catalogWaitMilliseconds: Int64 = 1000
    /// The most unknown apps to remember. Only the first send of a remembered app waits.
    static let unknownAppsMax = 1000

    private let readApps: () -> [String: App]?
    private var apps: [String: App] = [:]
    private var unknownApps: Set<String> = []

    init(readApps read: @escaping () -> [String: App]?) { self.readApps = read }

    /// Whether the catalog has been read.
    var isReady: Bool { readApps() != nil }

    /// Reads the catalog again. Called once for each batch.
    func refresh() { apps = readApps() ?? [:] }

    /// Returns the app, or nil if the catalog does not have it even after a wait.
    ///
    /// - Parameter age: the age of the send, in milliseconds.
    func app(id: String, age: Int64) -> App? {
        // The wait uses the steady clock. By a wall clock that is behind, the send would stay young for as
        // long.
        let wait = Int(max(0, Self.catalogWaitMilliseconds - max(0, age)))
        let until = Instant.now().advanced(byMilliseconds: wait)
        while true {
            if let app = apps[id] { return app }
            if unknownApps.contains(id) { return nil }
            if Instant.now() >= until {
                if unknownApps.count >= Self.unknownAppsMax { unknownApps.removeAll() }
                unknownApps.insert(id)
                return nil
            }
            usleep(20_000)
            refresh()
        }
    }
}
