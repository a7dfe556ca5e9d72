internal import Sends
internal import Telemetry

extension QueryHandler {
    private static let freshnessIntervalMilliseconds = 60_000
    /// The time from the start of the process to the first sample, in which lanes open.
    private static let firstSampleMilliseconds = 5_000
    /// The limit of live groups in one sample, those with the newest sends.
    private static let sampledGroupsMax = 100
    /// A group is behind if a smaller share of its phones has the newest state.
    private static let behindShare = 0.95

    /// Samples the freshness of all apps once a minute, until the task is cancelled.
    func sampleFreshness(of appIDs: @escaping @Sendable () -> [String]) -> Task<Void, Never> {
        Task {
            var pause = Self.firstSampleMilliseconds
            // A cancelled task's sleep throws.
            while (try? await Task.sleep(for: .milliseconds(pause))) != nil {
                pause = Self.freshnessIntervalMilliseconds
                let apps = appIDs().prefix(FreshnessHistory.appsMax)
                freshness.keep(onlyApps: Set(apps))
                for app in apps where !Task.isCancelled { await addFreshnessSample(of: app) }
            }
        }
    }

    /// Returns the samples of all processes that answer. A process that was away has a gap, which another one may fill.
    func freshnessOfAllProcesses(of app: String, in times: Range<Int64>) async -> QueryResult.Freshness {
        var query = LaneQuery(.freshness, app: app)
        (query.from, query.to) = (max(0, times.lowerBound), times.upperBound)
        return await fanOut.run(query).freshness
    }

    /// Adds a sample, unless lanes do not answer. A part of the phones would look like a loss of freshness.
    func addFreshnessSample(of app: String, now: Int64 = WallTime.now().milliseconds) async {
        // The samples count as a separate caller, so they do not use up the share of an API key.
        var handler = self
        handler.fanOut.caller = "freshness of \(app)"
        var query = LaneQuery(.groupList, app: app)
        (query.code, query.limit) = ("live", Self.sampledGroupsMax)
        do {
            let listed = try await handler.ask(query)
            let (page, _) = ListOrder().firstPage(
                of: listed.scopes, cuts: listed.cuts, limit: Self.sampledGroupsMax)
            let (reports, results) = try await handler.reports(of: page.map(\.value), app: app)
            guard handler.missingLanes(in: [listed] + results).isEmpty else { return }
            let live = reports.filter { $0.running > 0 }
            let sample = FreshnessHistory.Sample(
                at: now, running: live.reduce(0) { $0 + $1.running },
                onNewest: live.reduce(0) { $0 + min($1.onNewest, $1.running) })
            let behind = live.filter { Double($0.onNewest) < Self.behindShare * Double($0.running) }
            freshness.add(sample, of: app, groupsBehind: Set(behind.compactMap(\.scope.key.group)))
        } catch {
            // The next sample comes in a minute, and the chart shows the gap.
        }
    }
}
