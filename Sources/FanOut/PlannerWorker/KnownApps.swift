internal import Glibc
internal import Lifecycle
internal import LiveActivity

/// The catalogue's apps as the planner sees them. Owned by one thread.
final class KnownApps {
    /// A send can be a moment ahead of the catalogue that this process reads: so young a send of an app that is
    /// not known waits before it counts as nobody's.
    static let catalogMilliseconds: Int64 = 1000
    /// Apps of which it is remembered that nobody knew them, so that only the first send waits.
    static let strangersMax = 1000

    private let read: () -> [String: App]?
    private var apps: [String: App] = [:]
    private var strangers: Set<String> = []

    init(_ read: @escaping () -> [String: App]?) { self.read = read }

    /// The catalogue has been read.
    var isReady: Bool { read() != nil }

    /// Looks at the catalogue again; once per batch.
    func refresh() { apps = read() ?? [:] }

    /// Nil for an app that the catalogue does not have, not even after a while.
    ///
    /// - Parameter age: of the send, in milliseconds.
    func app(_ id: String, age: Int64) -> App? {
        // On the steady clock: by a wall clock that is behind, the send would be young for as long.
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
