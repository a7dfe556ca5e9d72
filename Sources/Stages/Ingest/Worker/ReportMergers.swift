internal import CatalogRecords
internal import Glibc
internal import JSON
internal import Lifecycle
internal import TokenSealing

/// The `ReportMerger` of each app in the catalog. It is made again when the app has changed. Pinned to the loop's
/// thread.
final class ReportMergers {
    /// The maximum wait for an app in the catalog. A report can be slightly ahead of the catalog that this
    /// process has read. So a young report of an unknown app waits before it is rejected.
    static let catalogWaitMilliseconds: Int64 = 1000
    /// The pause between two reads of the catalog during that wait.
    private static let catalogPauseMicroseconds: UInt32 = 20_000
    /// The maximum number of unknown apps that are remembered. Only the first report of an unknown app waits.
    static let unknownAppsMax = 1000

    let tokenSeal: TokenSeal
    let reader = JSONReader()
    private let apps: @Sendable () -> [String: App]?
    private var mergers: [String: ReportMerger] = [:]
    private var unknownApps: Set<String> = []
    /// Apps that are missing in the catalog and have installations, with the time at which this process noticed it.
    private var missingSince: [String: Instant] = [:]
    private let tokenlessMilliseconds: Int64
    /// The merger of the last report. Most consecutive reports are of the same app.
    private var lastMerger: ReportMerger?

    init(
        sealingKeys keys: SealingKeys?, tokenlessMilliseconds: Int64,
        apps: @escaping @Sendable () -> [String: App]?
    ) {
        tokenSeal = TokenSeal(keys: keys)
        self.tokenlessMilliseconds = tokenlessMilliseconds
        self.apps = apps
    }

    /// Whether the catalog has been read.
    var isReady: Bool { apps() != nil }

    /// Reads the catalog again. Called once per batch and per page of the sweep.
    func refresh() {
        let known = apps() ?? [:]
        lastMerger = nil
        mergers = mergers.filter { known[$0.key] == $0.value.app }
        for (id, app) in known where mergers[id] == nil {
            mergers[id] = ReportMerger(
                app: app, seal: tokenSeal, tokenlessMilliseconds: tokenlessMilliseconds)
            missingSince[id] = nil
        }
    }

    /// Returns the merger of an app, or nil if the catalog does not have the app even after a wait. Blocks the loop for
    /// at most `catalogWaitMilliseconds`, less the age of the report.
    ///
    /// - Parameter age: the age of the report in milliseconds.
    func merger(for app: String, age: Int64) -> ReportMerger? {
        if let lastMerger, lastMerger.app.id == app { return lastMerger }
        // The wait uses the steady clock. By a wall clock that is behind, the report would stay young, and the wait
        // would be longer.
        // The age is negative if the record's stamp is ahead.
        let wait = max(0, Self.catalogWaitMilliseconds - max(0, age))
        let waitEnd = Instant.now().advanced(byMilliseconds: Int(wait))
        while true {
            if let merger = mergers[app] {
                lastMerger = merger
                return merger
            }
            if unknownApps.contains(app) { return nil }
            if Instant.now() >= waitEnd {
                // At the limit all are forgotten. Then the next report of each of them waits again.
                if unknownApps.count >= Self.unknownAppsMax { unknownApps.removeAll() }
                unknownApps.insert(app)
                return nil
            }
            usleep(Self.catalogPauseMicroseconds)
            refresh()
        }
    }

    /// Returns the merger of an app without a wait, or nil if the catalog does not have the app.
    func knownMerger(for app: String) -> ReportMerger? { mergers[app] }

    /// Returns whether the app has been missing in the catalog for the grace time. The first call about a missing app
    /// notes the time. If an app was deleted by mistake and is added again within the grace time, it loses nothing.
    func isMissing(app: String, forMilliseconds grace: Int, now: Instant = .now()) -> Bool {
        guard isReady, mergers[app] == nil else { return false }
        if let since = missingSince[app] { return now.milliseconds(since: since) >= grace }
        if missingSince.count < Self.unknownAppsMax { missingSince[app] = now }
        return false
    }
}
