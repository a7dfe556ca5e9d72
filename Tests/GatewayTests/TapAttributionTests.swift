import CatalogRecords
import InstallationRecords
import JSON
import Lifecycle
import ProcessTesting
import RecordFormat
import Testing

@testable import Gateway

/// The wait of a body for the sends behind its taps. The test answers instead of the insight stage.
struct TapAttributionTests {
    /// The queries that wait for an answer, by the tapped activity.
    private final class OpenQueries: Sendable {
        private let answers = TracedLock<[String: @Sendable (TapOrigin?) -> Void]>([:])

        var activities: Set<String> { answers.withLock { Set($0.keys) } }

        /// Takes over a query, unless it is about the activity `refused`.
        func add(_ tap: ValidatedReports.Tap, then: @escaping @Sendable (TapOrigin?) -> Void) -> Bool {
            guard let activity = tap.activity, activity != "refused" else { return false }
            answers.withLock { $0[activity] = then }
            return true
        }

        func answer(_ activity: String, with origin: TapOrigin?) {
            answers.withLock { $0.removeValue(forKey: activity) }?(origin)
        }
    }

    private let queries = OpenQueries()
    private let attribution: LoopOwned<TapAttribution>
    /// The attributed bodies, as "activity send schedule" for each tap.
    private let finished = TracedLock<[[String]]>([])

    init() throws {
        let queries = queries
        attribution = try LoopOwned(thread: "taps") { owner in
            TapAttribution(on: owner.loop, findOrigin: { queries.add($1, then: $2) }) {
                [weak owner] body, index, origin in
                owner?.execute { $0.receive(origin, forTapAt: index, ofBody: body) }
            }
        }
    }

    private func attribute(_ activities: [String], otherFields: String = "") throws {
        let taps = activities.map {
            #"{"environment":"production","installationId":"i","kind":"tap","activityId":"\#($0)"\#(otherFields)}"#
        }
        let body = "[\(([heartbeat()] + taps).joined(separator: ","))]"
        let reports = try ReportValidator(sealingKeys: nil).validate(
            Array(body.utf8), for: shop, role: .report)
        let finished = finished
        attribution.execute {
            $0.attribute(reports, of: "shop") { reports in
                let records = (0..<reports.acceptedCount).compactMap { index in
                    try? Report.decode(reports.copyRecord(at: index).value, with: JSONReader())
                }
                let texts = records.filter { $0.kind == .tap }.map {
                    "\($0.activity ?? "-") \($0.sendID ?? "-") \($0.scheduleID ?? "-")"
                }
                finished.withLock { $0.append(texts) }
            }
        }
    }

    @Test func `a body goes on when every tap has its answer, and its records name the sends`() async throws {
        try attribute(["a", "b"])
        try await eventually("two queries") { queries.activities == ["a", "b"] }
        queries.answer("b", with: TapOrigin(sendID: "s-2"))
        #expect(finished.withLock { $0.isEmpty })
        queries.answer("a", with: TapOrigin(sendID: "s-1", scheduleID: "daily"))
        try await eventually("the body") { finished.withLock { $0 } == [["a s-1 daily", "b s-2 -"]] }
        attribution.stop()
    }

    @Test func `a body waits for a limited time, and a late answer changes nothing`() async throws {
        try attribute(["a", "b"])
        try await eventually("two queries") { queries.activities == ["a", "b"] }
        queries.answer("a", with: TapOrigin(sendID: "s-1"))
        try await eventually("the body") { finished.withLock { $0 } == [["a s-1 -", "b - -"]] }
        queries.answer("b", with: TapOrigin(sendID: "s-2"))
        try attribute([])
        try await eventually("the next body") { finished.withLock { $0.count } == 2 }
        #expect(finished.withLock { $0 } == [["a s-1 -", "b - -"], []])
        attribution.stop()
    }

    @Test func `a body without answers goes on at once, and a schedule that the phone names stays`()
        async throws
    {
        try attribute(["refused"])
        try await eventually("the body") { finished.withLock { $0 } == [["refused - -"]] }
        try attribute(["a"], otherFields: #","scheduleId":"mine""#)
        try await eventually("the query") { queries.activities == ["a"] }
        queries.answer("a", with: TapOrigin(sendID: "s-1", scheduleID: "daily"))
        try await eventually("the next body") { finished.withLock { $0.last } == ["a s-1 mine"] }
        attribution.stop()
    }
}
