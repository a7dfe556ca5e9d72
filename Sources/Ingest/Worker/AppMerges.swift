internal import Glibc
internal import JSON
internal import Lifecycle
internal import LiveActivity

/// The deciding part as the loop calls it: one `Merge` for each app, made again when the catalogue has
/// changed the app. Owned by one thread.
final class AppMerges {
    /// A report can be a moment ahead of the catalogue that this process reads: so young a report of an
    /// app that is not known waits before it counts as nobody's.
    static let catalogMilliseconds: Int64 = 1000
    /// Apps of which it is remembered that nobody knew them, so that only the first report waits.
    static let strangersMax = 1000

    let seal: TokenSeal
    let reader = JSONReader()
    private let apps: @Sendable () -> [String: App]?
    private var merges: [String: Merge] = [:]
    private var strangers: Set<String> = []
    /// Apps that have installations and are not in the catalogue, and since when this process knows.
    private var gone: [String: Instant] = [:]
    private let tokenlessMilliseconds: Int64
    /// The last one that was asked for: most reports in a row are of one app.
    private var last: Merge?

    init(_ keys: SealingKeys?, tokenlessMilliseconds: Int64, apps: @escaping @Sendable () -> [String: App]?) {
        seal = TokenSeal(keys)
        self.tokenlessMilliseconds = tokenlessMilliseconds
        self.apps = apps
    }

    /// The catalogue has been read.
    var isReady: Bool { apps() != nil }

    /// Looks at the catalogue again; once per batch.
    func refresh() {
        let known = apps() ?? [:]
        last = nil
        merges = merges.filter { known[$0.key] == $0.value.app }
        for (id, app) in known where merges[id] == nil {
            merges[id] = Merge(app: app, seal: seal, tokenlessMilliseconds: tokenlessMilliseconds)
            gone[id] = nil
        }
    }

    /// Nil for an app that the catalogue does not have, not even after a while.
    /// - Parameter age: of the report, in milliseconds.
    func merge(for app: String, age: Int64) -> Merge? {
        if let last, last.app.id == app { return last }
        // On the steady clock: by a wall clock that is behind, the report would be young for as long.
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

    /// Whether the catalogue has been without the app for so long, as far as this process has seen. One that
    /// was deleted by mistake is whole again when it is made again within that time.
    func isGone(_ app: String, forMilliseconds grace: Int, now: Instant = .now()) -> Bool {
        guard isReady, merges[app] == nil else { return false }
        if let since = gone[app] { return now.milliseconds(since: since) >= grace }
        if gone.count < Self.strangersMax { gone[app] = now }
        return false
    }
}
