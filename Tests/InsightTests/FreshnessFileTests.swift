import JSON
import Lifecycle
import ProcessTesting
import RecordFormat
import Store
import Telemetry
import Testing

@testable import Insight

/// The history of freshness in a file: restarts, the ring of its rows, and answers of several processes.
struct FreshnessFileTests {
    private typealias Sample = FreshnessHistory.Sample

    private let directory: TemporaryDirectory
    private let minute: Int64 = 60_000

    init() throws { directory = try TemporaryDirectory() }

    /// Returns a log that continues the file of the test.
    private func openedLog(cluster: String = "cluster-1") throws -> FreshnessLog {
        let (path, boot) = (directory.path + "/freshness", try BootID.current())
        let log = FreshnessLog()
        log.open { () throws(StoreError) in
            try FreshnessFile(directory: path, cluster: cluster, boot: boot)
        }
        return log
    }

    /// Returns the sample of a minute. Its number of phones on the newest state tells it from its neighbors.
    private func sample(_ number: Int64) -> Sample {
        Sample(at: number * minute, running: 944, onNewest: Int(number % 945))
    }

    private var everyTime: Range<Int64> { 0..<Int64.max }

    @Test func `a restart keeps the samples and the time since which a group is behind`() throws {
        var log = try openedLog()
        for number in 1...3 {
            log.add(sample(Int64(number)), of: "shop", groupsBehind: ["final"])
        }
        log.add(sample(4), of: "bank", groupsBehind: [])
        log.close()
        log = try openedLog()
        #expect(log.current.samples(of: "shop", in: everyTime) == (1...3).map(sample))
        #expect(log.current.samples(of: "bank", in: everyTime) == [sample(4)])
        #expect(log.current.behindSince(of: "shop") == ["final": minute])
        // The next samples continue both.
        log.add(sample(5), of: "shop", groupsBehind: ["derby"])
        log.close()
        log = try openedLog()
        #expect(log.current.samples(of: "shop", in: everyTime).map(\.at) == [1, 2, 3, 5].map { $0 * minute })
        #expect(log.current.behindSince(of: "shop") == ["derby": 5 * minute])
        log.close()
    }

    @Test func `a forgotten app does not come back, also if its name begins another one`() throws {
        var log = try openedLog()
        log.add(sample(1), of: "shop", groupsBehind: ["final"])
        log.add(sample(2), of: "shop-2", groupsBehind: ["final"])
        log.keep(onlyApps: ["shop-2"])
        log.close()
        log = try openedLog()
        #expect(log.current.samples(of: "shop", in: everyTime).isEmpty)
        #expect(log.current.behindSince(of: "shop").isEmpty)
        #expect(log.current.samples(of: "shop-2", in: everyTime) == [sample(2)])
        #expect(log.current.behindSince(of: "shop-2") == ["final": 2 * minute])
        log.close()
    }

    @Test func `a file keeps the newest samples only`() throws {
        var log = try openedLog()
        let count = Int64(FreshnessHistory.samplesMax) + 7
        for number in 0..<count { log.add(sample(number), of: "shop", groupsBehind: []) }
        log.close()
        log = try openedLog()
        #expect(log.current.samples(of: "shop", in: everyTime) == (7..<count).map(sample))
        log.close()
    }

    @Test func `phones of another cluster are not in the chart`() throws {
        var log = try openedLog()
        log.add(sample(1), of: "shop", groupsBehind: [])
        log.close()
        log = try openedLog(cluster: "cluster-2")
        #expect(log.current.samples(of: "shop", in: everyTime).isEmpty)
        log.close()
    }

    @Test func `without a file the history goes on in memory`() {
        let log = FreshnessLog()
        log.open { () throws(StoreError) in
            throw .system(action: "open", path: "freshness", reason: "no permission")
        }
        log.add(sample(1), of: "shop", groupsBehind: [])
        #expect(log.current.samples(of: "shop", in: everyTime) == [sample(1)])
        log.close()
        log.add(sample(2), of: "shop", groupsBehind: [])
        #expect(log.current.samples(of: "shop", in: everyTime).count == 2)
    }

    @Test func `the answers of two processes fill each other's gaps, and do not count phones twice`() throws {
        var (first, second) = (QueryResult(), QueryResult())
        (first.lanes, second.lanes) = ([0], [1])
        first.freshness.samples = [Sample(at: 0, running: 900, onNewest: 450)]
        second.freshness.samples = [
            Sample(at: 20_000, running: 900, onNewest: 450),
            Sample(at: minute, running: 900, onNewest: 900),
        ]
        (first.freshness.behindSince, second.freshness.behindSince) = (["a": 5, "b": 9], ["a": 7])
        #expect(QueryResult.decodeIfValid(second.encoded(), with: JSONReader()) == second)
        first.merge(second)
        #expect(first.freshness.behindSince == ["a": 5, "b": 9])
        let periods = first.freshness.samples.joined(periodMilliseconds: minute)
        #expect(periods.mapValues { Double($0.onNewest) / Double($0.running) } == [0: 0.5, minute: 1])
    }

    @Test func `a process answers with its samples of the asked time and app`() throws {
        let lane = try FilledLane()
        for number in 1...5 { lane.freshness.add(sample(Int64(number)), of: "shop", groupsBehind: ["final"]) }
        var query = LaneQuery(.freshness, app: "shop")
        (query.from, query.to) = (2 * minute, 4 * minute)
        let found = lane.reader.answer(query).freshness
        #expect(found.samples == [sample(2), sample(3)] && found.behindSince == ["final": minute])
        query.app = "bank"
        #expect(lane.reader.answer(query).freshness == QueryResult.Freshness())
        let sent = LaneQuery.decodeIfValid(query.encoded(), with: JSONReader())
        #expect(sent == query)
    }
}
