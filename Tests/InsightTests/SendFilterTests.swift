import Identifiers
import JSON
import Jobs
import Members
import Payloads
import Sends
import Testing

@testable import Insight

/// The filters of the list of sends.
struct SendFilterTests {
    private func filter(_ parameters: [(String, String)]) throws -> SendFilter {
        var read = try CallParameters(
            of: InsightQuery(
                .sends, app: "shop", parameters: parameters.map { .init(name: $0.0, value: $0.1) }))
        let filter = try SendFilter(reading: &read)
        try read.checkAllRead()
        return filter
    }

    /// Returns a send to two users, with these numbers of jobs.
    private func summary(
        outcomes: [(ReceiptOutcome, Int)] = [], expanded: Int, isComplete: Bool = true
    ) throws -> SendSummary {
        var content = PushContent(.update)
        content.contentState = try RawJSON(
            checking: Array(#"{"phase":"Half time"}"#.utf8), with: JSONReader())
        var send = Send(
            id: "r-1", app: "shop", group: "cup-final", audience: .users(["ann", "bob"]), content: content,
            priority: .immediate, acceptedAt: 5)
        (send.author, send.requestID) = ("key-1", "request-1")
        var result = QueryResult()
        var part = ProgressRecord.PlannerPart(.planned, version: 1, laneCount: 1)
        part.outline = SendOutline(of: send)
        let key = try #require(send.scopeKey)
        func record(_ part: ProgressRecord.Part) -> ProgressRecord {
            var record = ProgressRecord(
                send: "r-1", key: key, isDryRun: false, acceptedAt: 5, writtenAt: 6, part: part)
            record.requestID = send.requestID
            return record
        }
        result.progress = [record(.planner(part))]
        if isComplete {
            var tally = LaneTally()
            tally.expanded = expanded
            result.progress.append(record(.lanes([0], tally)))
        }
        var receipt = RandomDay(seed: 1).receipt
        receipt.send = "r-1"
        var tally = SendTally(receipt: receipt)
        for (outcome, count) in outcomes {
            var systems = SystemCounts()
            systems.add(count, on: 18)
            tally.countJobs(SendTally.JobOutcome(outcome: outcome), systems: systems, at: 6)
        }
        result.tallies = [.init(send: "r-1", environment: .production, tally: tally)]
        return SendSummary(id: "r-1", results: result)
    }

    @Test(
        arguments: [
            ("event", "update", true), ("event", "start", false), ("event", "any", true),
            ("author", "key-1", true), ("author", "key", false), ("requestId", "request-1", true),
            ("requestId", "request-2", false), ("text", "CUP-f", true), ("text", "half time", true),
            ("text", "bob", true), ("text", "r-1", true), ("text", "carl", false),
        ])
    func `a condition selects its sends`(name: String, value: String, isMatch: Bool) throws {
        #expect(try filter([(name, value)]).matches(summary(expanded: 1)) == isMatch)
    }

    @Test func `all conditions must match, and no condition selects every send`() throws {
        let summary = try summary(expanded: 1)
        #expect(try !filter([("text", "cup"), ("event", "start")]).matches(summary))
        #expect(try filter([]).isEmpty && !filter([("text", "cup")]).isEmpty)
        #expect(throws: CallProblem.self) { try filter([("result", "good")]) }
    }

    @Test func `the result of a send is one of four`() throws {
        let sends: [(String, SendSummary)] = try [
            ("done", summary(outcomes: [(.accepted, 2), (.superseded, 1)], expanded: 3)),
            ("failed", summary(outcomes: [(.accepted, 2), (.expired, 1)], expanded: 3)),
            ("open", summary(outcomes: [(.accepted, 2)], expanded: 3)),
            ("open", summary(expanded: 0, isComplete: false)), ("nobody", summary(expanded: 0)),
            // A receipt shows that there was a push, even if the lanes have counted no job.
            ("done", summary(outcomes: [(.accepted, 2)], expanded: 0)),
        ]
        for (expected, summary) in sends {
            let matching = try SendFilter.Result.allCases.map(\.rawValue).filter {
                try filter([("result", $0)]).matches(summary)
            }
            #expect(matching == [expected])
        }
    }
}
