/// The share of phones with the newest state of their groups, once a minute, for the apps of a process. `FreshnessLog`
/// keeps it in memory and in a file.
struct FreshnessHistory {
    /// The apps with a history. Further ones have none.
    static let appsMax = 100
    /// The samples of an app. The oldest ones are dropped.
    static let samplesMax = 1500
    /// The time that the samples of an app cover.
    static let ageMaxMilliseconds = Int64(samplesMax) * 60_000

    /// The phones of an app's live groups at one time.
    struct Sample: Sendable, Hashable {
        /// Milliseconds since 1970.
        var at: Int64
        /// The running activities.
        var running: Int
        /// The running activities whose last accepted push is the newest state.
        var onNewest: Int
    }

    /// The change that a sample makes to the groups that are behind.
    struct BehindChange: Sendable, Hashable {
        /// The groups that are behind from now on, each with the time of the sample.
        var begun: [String: Int64] = [:]
        /// The groups that are no longer behind.
        var ended: Set<String> = []
    }

    private struct AppHistory {
        var samples: [Sample] = []
        /// The time since which a group has phones without its newest state, by group.
        var behindSince: [String: Int64] = [:]
    }

    private var apps: [String: AppHistory] = [:]

    init() {}

    /// Makes a history of stored rows, in any order.
    init(samples: [String: [Sample]], behindSince: [String: [String: Int64]]) {
        for (app, stored) in samples.sorted(by: { $0.key < $1.key }).prefix(Self.appsMax) {
            apps[app] = AppHistory(
                samples: Array(stored.sorted { $0.at < $1.at }.suffix(Self.samplesMax)),
                behindSince: behindSince[app] ?? [:])
        }
    }

    /// Adds a sample. Returns the change of the groups that are behind, or nil if there is no room for the app.
    ///
    /// - Parameter groupsBehind: The groups that are behind: too many of their phones do not have the newest state
    ///   (`QueryHandler.behindShare`).
    @discardableResult mutating func add(
        _ sample: Sample, of app: String, groupsBehind: Set<String>
    ) -> BehindChange? {
        guard apps[app] != nil || apps.count < Self.appsMax else { return nil }
        var history = apps[app] ?? AppHistory()
        history.samples.append(sample)
        if history.samples.count > Self.samplesMax { history.samples.removeFirst() }
        var change = BehindChange()
        change.ended = Set(history.behindSince.keys).subtracting(groupsBehind)
        for group in groupsBehind where history.behindSince[group] == nil { change.begun[group] = sample.at }
        for group in change.ended { history.behindSince[group] = nil }
        history.behindSince.merge(change.begun) { known, _ in known }
        apps[app] = history
        return change
    }

    /// Forgets all apps except these. Returns the forgotten ones.
    @discardableResult mutating func keep(onlyApps ids: Set<String>) -> [String] {
        let forgotten = apps.keys.filter { !ids.contains($0) }
        for app in forgotten { apps[app] = nil }
        return forgotten
    }

    /// Returns the samples of a range of times, the oldest first.
    func samples(of app: String, in times: Range<Int64>) -> [Sample] {
        (apps[app]?.samples ?? []).filter { times.contains($0.at) }
    }

    /// Returns the time since which a group of the app is behind, by group.
    func behindSince(of app: String) -> [String: Int64] { apps[app]?.behindSince ?? [:] }
}

extension [FreshnessHistory.Sample] {
    /// Returns the sums of the samples, by the beginning of their period. If two processes sample the same phones, both
    /// numbers of a sum are twice as high, and their share is the same.
    func joined(periodMilliseconds: Int64) -> [Int64: FreshnessHistory.Sample] {
        var periods: [Int64: FreshnessHistory.Sample] = [:]
        for sample in self {
            let at = sample.at / periodMilliseconds * periodMilliseconds
            periods[at, default: FreshnessHistory.Sample(at: at, running: 0, onNewest: 0)].running +=
                sample.running
            periods[at]?.onNewest += sample.onNewest
        }
        return periods
    }
}
