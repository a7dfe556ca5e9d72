import Testing

@testable import Insight

/// The samples of freshness: joined periods, the limits, and the time since which a group is behind.
struct FreshnessHistoryTests {
    private typealias Sample = FreshnessHistory.Sample

    @Test func `samples of a period are joined by their phones`() {
        var history = FreshnessHistory()
        for (at, running, onNewest) in [(0, 10, 10), (60_000, 30, 0), (600_000, 4, 2), (1_200_000, 0, 0)] {
            history.add(
                Sample(at: Int64(at), running: running, onNewest: onNewest), of: "shop", groupsBehind: [])
        }
        let periods = history.samples(of: "shop", in: 0..<1_200_000).joined(periodMilliseconds: 600_000)
        #expect(periods[0] == Sample(at: 0, running: 40, onNewest: 10))
        #expect(periods[600_000] == Sample(at: 600_000, running: 4, onNewest: 2) && periods.count == 2)
        #expect(history.samples(of: "bank", in: 0..<1_200_000).isEmpty)
    }

    @Test func `a group is behind since the first sample that shows it`() {
        var history = FreshnessHistory()
        func add(_ at: Int64, _ groups: Set<String>) {
            history.add(Sample(at: at, running: 1, onNewest: 0), of: "shop", groupsBehind: groups)
        }
        add(1, ["a"])
        add(2, ["a", "b"])
        #expect(history.behindSince(of: "shop") == ["a": 1, "b": 2])
        add(3, ["b"])
        add(4, ["a", "b"])
        #expect(history.behindSince(of: "shop") == ["a": 4, "b": 2])
    }

    @Test func `the history is bounded, and forgets apps that no longer exist`() {
        var history = FreshnessHistory()
        for at in 0..<FreshnessHistory.samplesMax + 5 {
            history.add(Sample(at: Int64(at), running: 1, onNewest: 1), of: "shop", groupsBehind: [])
        }
        func samples(of app: String) -> Int {
            history.samples(of: app, in: 0..<1_000_000).count
        }
        #expect(samples(of: "shop") == FreshnessHistory.samplesMax)
        // The app shop has one of the places.
        for number in 0..<FreshnessHistory.appsMax {
            history.add(
                Sample(at: 1, running: 1, onNewest: 1), of: "app-\(number)", groupsBehind: [])
        }
        #expect(samples(of: "app-\(FreshnessHistory.appsMax - 2)") == 1)
        #expect(samples(of: "app-\(FreshnessHistory.appsMax - 1)") == 0, "there is no room for it")
        history.keep(onlyApps: ["app-3"])
        #expect(samples(of: "shop") == 0 && samples(of: "app-3") == 1)
    }
}
