internal import Glibc
internal import Lifecycle
internal import LiveActivity

/// The catalog's apps as the planner sees them. Owned by one thread.
final class KnownApps {
    /// The age up to which a send of an unknown app waits. A send can be slightly ahead of the catalog that
    /// this process has read. After this time the app counts as unknown.
    static let catalogMilliseconds: Int64 = 1000
    /// The most unknown apps to remember. Only the first send of a remembered app waits.
    static let strangersMax = 1000

    private let read: () -> [String: App]?
    private var apps: [String: App] = [:]
    private var strangers: Set<String> = []

    init(_ read: @escaping () -> [String: App]?) { self.read = read }

    /// Whether the catalog has been read.
    var isReady: Bool { read() != nil }

    /// Reads the catalog again. Called once for each batch.
    func refresh() { apps = read() ?? [:] }

    /// Returns the app, or nil if the catalog does not have it even after a wait.
    ///
    /// - Parameter age: the age of the send, in milliseconds.
    func app(_ id: String, age: Int64) -> App? {
        // The wait uses the steady clock. By a wall clock that is behind, the send would stay young for as
        // long.
        let wait = Int(min(max(0, Self.catalogMilliseconds - age), Self.catalogMilliseconds))
        let until = Instant.now().advanced(byMilliseconds: wait)
        while true {
            if let app = apps[id] { return app }
            if strangers.contains(id) { return nil }
            if Instant.now() >= until {
                if strangers.count >= Self.strangersMax { strangers.removeAll() }
                strangers.insert(id)
                return nil
            }
            usleep(20_000)
            refresh()
        }
    }
}
