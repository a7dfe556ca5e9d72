import InstallationRecords
import Lifecycle
import ProcessTesting
import Testing

@testable import Insight

/// The limits of queries: what a query may read, and how a list goes on behind a limit.
struct QueryLimitTests {
    private static func event(_ number: Int, groups: Int) -> Event {
        Event(
            Event.Code.allCases[number % Event.Code.allCases.count], app: "shop",
            installation: "phone-\(number)", attributesType: "Match", group: "match-\(number % groups)",
            eventTime: 0, receivedAt: 0)
    }

    @Test(arguments: [false, true])
    func `a list that a limit ends goes on at its cursor, without gaps and duplicates`(
        isOldestFirst: Bool
    ) throws {
        let lane = try FilledLane()
        try lane.fill(events: 3000) { Self.event($0, groups: 3) }
        let reader = lane.reader
        var query = LaneQuery(.events, app: "shop")
        let limit = 50
        (query.limit, query.isOldestFirst) = (limit + 1, isOldestFirst)
        query.group = "match-1"
        var found: [Int64] = []
        var pages = 0
        while true {
            // The budget ends each page before the page reaches its own limit.
            let result = reader.answer(query, budget: QueryBudget(milliseconds: 60_000, rows: 37))
            try #require(result.limit == nil)
            let (page, next) = ListOrder(isOldestFirst: isOldestFirst).firstPage(
                of: result.events, cuts: result.cuts, limit: limit)
            found += page.map(\.value.eventTime)
            pages += 1
            guard let next else { break }
            try #require(next != query.after, "each page goes on")
            query.after = next
        }
        let expected = (0..<3000).filter { $0 % 3 == 1 }.map { FilledLane.start + Int64($0) * 1000 }
        #expect(found == (isOldestFirst ? expected : expected.reversed()))
        #expect(pages > 20)
    }

    @Test func `counts that a limit ends go on at the next hour`() throws {
        let lane = try FilledLane()
        // Three events an hour, over 200 hours.
        try lane.fill(events: 600, spacing: 1_200_000) { Self.event($0, groups: 600) }
        let reader = lane.reader
        var query = LaneQuery(.counts, app: "shop")
        query.names = ["code", "group"]
        (query.from, query.to) = (0, FilledLane.start * 2)
        var counts: [QueryResult.EventCount] = []
        var pages = 0
        while true {
            let result = reader.answer(query, budget: QueryBudget(milliseconds: 60_000, rows: 50))
            try #require(result.limit == nil)
            counts += result.eventCounts
            pages += 1
            guard let hour = result.cutHour else { break }
            try #require(hour * EventCounts.hourMilliseconds > query.from, "each page goes on")
            query.from = hour * EventCounts.hourMilliseconds
        }
        #expect(counts.count == 600 && Set(counts.compactMap(\.key.group)).count == 600 && pages > 10)
    }

    @Test func `hourly totals do not read the groups`() throws {
        let lane = try FilledLane()
        try lane.fill(events: 2000, spacing: 100) { Self.event($0, groups: 2000) }
        var query = LaneQuery(.counts, app: "shop")
        query.names = ["code"]
        query.to = FilledLane.start * 2
        // The events are in one or two hours, so there are few totals.
        let budget = QueryBudget(milliseconds: 60_000, rows: 2 * Event.Code.allCases.count + 1)
        let result = lane.reader.answer(query, budget: budget)
        #expect(result.limit == nil && result.cutHour == nil)
        #expect(result.eventCounts.map(\.count).reduce(0, +) == 2000)
    }

    @Test func `one hour with more rows than a query may read is refused`() throws {
        let lane = try FilledLane()
        try lane.fill(events: 500, spacing: 1) { Self.event($0, groups: 500) }
        var query = LaneQuery(.counts, app: "shop")
        query.names = ["code", "group"]
        query.to = FilledLane.start * 2
        let result = lane.reader.answer(query, budget: QueryBudget(milliseconds: 60_000, rows: 100))
        #expect(result.limit == .time && result.eventCounts.isEmpty)
    }

    @Test func `a query without time is ended and says so`() throws {
        let lane = try FilledLane()
        try lane.fill(events: 20_000) { Self.event($0, groups: 1) }
        var query = LaneQuery(.taps, app: "shop")
        (query.group, query.times) = ("match-0", [0, FilledLane.start * 2])
        let result = lane.reader.answer(query, budget: QueryBudget(milliseconds: 0))
        #expect(result.limit == .time)
    }

    @Test func `the slow queries of one key do not delay the queries of another`() async throws {
        let lane = try FilledLane()
        try lane.fill(events: 60_000, spacing: 40_000) { Self.event($0, groups: 30_000) }
        let readers = try LaneReaders(openLanes: lane.openLanes, laneCount: 1, freshness: lane.freshness)
        // The two slow queries read all events, and all counts.
        var (slowList, slowCounts) = (LaneQuery(.events, app: "shop"), LaneQuery(.counts, app: "shop"))
        (slowList.type, slowList.to, slowList.caller) = ("none", FilledLane.start * 2, "shop/busy")
        slowCounts.names = ["code", "type", "group"]
        (slowCounts.to, slowCounts.caller) = (FilledLane.start * 2, "shop/busy")
        let busyAnswers = TracedLock(0)
        let busyQueries = 60
        for number in 0..<busyQueries {
            readers.read(number % 2 == 0 ? slowList : slowCounts) { _ in busyAnswers.withLock { $0 += 1 } }
        }
        // It finds one event.
        var quick = LaneQuery(.events, app: "shop")
        (quick.installation, quick.caller) = ("phone-17", "shop/calm")
        let (calmEvents, busyAnswersBeforeLast) = (TracedLock(0), TracedLock(0))
        let calmQueries = 10
        for _ in 0..<calmQueries {
            readers.read(quick) { result in
                busyAnswersBeforeLast.withLock { $0 = busyAnswers.withLock(\.self) }
                calmEvents.withLock { $0 += result.events.count }
            }
        }
        try await eventually("the calm key has its answers") { calmEvents.withLock(\.self) == calmQueries }
        // If the busy key had all threads, the last answer would come behind all slow queries.
        #expect(busyAnswersBeforeLast.withLock(\.self) < busyQueries / 2)
        await Task.detached { readers.stop() }.value
    }
}
