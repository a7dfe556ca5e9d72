internal import Glibc
internal import JSON
internal import Lifecycle
internal import LiveActivity

/// The merge functions that the loop calls: one `Merge` per app. A `Merge` is made again when the catalog has
/// changed its app. One thread owns this object.
final class AppMerges {
    /// The maximum wait for an app in the catalog. A report can be slightly ahead of the catalog that this
    /// process has read. So a young report of an unknown app waits before it is rejected.
    static let catalogMilliseconds: Int64 = 1000
    /// The maximum number of unknown apps that are remembered. Only the first report of each has to wait.
    static let strangersMax = 1000

    let seal: TokenSeal
    let reader = JSONReader()
    private let apps: @Sendable () -> [String: App]?
    private var merges: [String: Merge] = [:]
    private var strangers: Set<String> = []
    /// Apps with installations that are missing in the catalog, and the time when this process noticed.
    private var gone: [String: Instant] = [:]
    private let tokenlessMilliseconds: Int64
    /// The last result. Most consecutive reports are of the same app.
    private var last: Merge?

    init(_ keys: SealingKeys?, tokenlessMilliseconds: Int64, apps: @escaping @Sendable () -> [String: App]?) {
        seal = TokenSeal(keys)
        self.tokenlessMilliseconds = tokenlessMilliseconds
        self.apps = apps
    }

    /// Whether the catalog has been read.
    var isReady: Bool { apps() != nil }

    /// Reads the catalog again. Called once per batch.
    func refresh() {
        let known = apps() ?? [:]
        last = nil
        merges = merges.filter { known[$0.key] == $0.value.app }
        for (id, app) in known where merges[id] == nil {
            merges[id] = Merge(app: app, seal: seal, tokenlessMilliseconds: tokenlessMilliseconds)
            gone[id] = nil
        }
    }

    /// Returns the merge of an app, or nil if the catalog does not have the app even after a wait.
    /// - Parameter age: The age of the report in milliseconds.
    func merge(for app: String, age: Int64) -> Merge? {
        if let last, last.app.id == app { return last }
        // This uses the steady clock. By a wall clock that is behind, the report would stay young for as
        // long.
        let wait = Int(min(max(0, Self.catalogMilliseconds - age), Self.catalogMilliseconds))
        let until = Instant.now().advanced(byMilliseconds: wait)
        while true {
            if let merge = merges[app] {
                last = merge
                return merge
            }
            if strangers.contains(app) { return nil }
            if Instant.now() >= until {
                if strangers.count >= Self.strangersMax { strangers.removeAll() }
                strangers.insert(app)
                return nil
            }
            usleep(20_000)
            refresh()
        }
    }

    func known(_ app: String) -> Merge? { merges[app] }

    /// Returns whether the catalog has been without the app for the grace time, as far as this process has
    /// seen. If an app was deleted by mistake and is added again within that time, it loses nothing.
    func isGone(_ app: String, forMilliseconds grace: Int, now: Instant = .now()) -> Bool {
        guard isReady, merges[app] == nil else { return false }
        if let since = gone[app] { return now.milliseconds(since: since) >= grace }
        if gone.count < Self.strangersMax { gone[app] = now }
        return false
    }
}
