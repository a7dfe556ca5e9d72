/// The share of phones with the newest state of their groups, once a minute, for the apps of a process. An insight
/// process keeps it in memory from its start on.
struct FreshnessHistory {
    /// The apps with a history. Further ones have none.
    static let appsMax = 100
    /// The samples of an app. The oldest ones are dropped.
    static let samplesMax = 1500

    /// The phones of an app's live groups at one time.
    struct Sample: Sendable, Hashable {
        /// Milliseconds since 1970.
        var at: Int64
        /// The running activities.
        var running: Int
        /// The running activities whose last accepted push is the newest state.
        var onNewest: Int
    }

    private struct AppHistory {
        var samples: [Sample] = []
        /// The time since which a group has phones without its newest state, by group.
        var behindSince: [String: Int64] = [:]
    }

    private var apps: [String: AppHistory] = [:]

    /// Adds a sample.
    ///
    /// - Parameter groupsBehind: The groups of which many phones do not have the newest state.
    mutating func add(_ sample: Sample, of app: String, groupsBehind: Set<String>) {
        guard apps[app] != nil || apps.count < Self.appsMax else { return }
        var history = apps[app] ?? AppHistory()
        history.samples.append(sample)
        if history.samples.count > Self.samplesMax { history.samples.removeFirst() }
        let since = history.behindSince
        history.behindSince = [:]
        for group in groupsBehind { history.behindSince[group] = since[group] ?? sample.at }
        apps[app] = history
    }

    /// Forgets the apps that no longer exist.
    mutating func keep(onlyApps ids: Set<String>) { apps = apps.filter { ids.contains($0.key) } }

    /// Returns the samples of a time, joined by the beginning of their period.
    func samples(
        of app: String, in times: Range<Int64>, periodMilliseconds: Int64
    ) -> [Int64: Sample] {
        var periods: [Int64: Sample] = [:]
        for sample in apps[app]?.samples ?? [] where times.contains(sample.at) {
            let at = sample.at / periodMilliseconds * periodMilliseconds
            var period = periods[at] ?? Sample(at: at, running: 0, onNewest: 0)
            period.running += sample.running
            period.onNewest += sample.onNewest
            periods[at] = period
        }
        return periods
    }

    func behindSince(of app: String) -> [String: Int64] { apps[app]?.behindSince ?? [:] }
}
