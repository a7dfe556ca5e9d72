import Foundation
import HTTPServer
import Identifiers
import JSON
import Jobs
import Testing

@testable import Insight

/// The list of failed pushes of a send: their order, the reasons, and pages that a limit ends.
struct FailureListTests {
    private static let receiptCount = 900

    /// Returns receipts of two sends in turn. In each receipt line 0 is accepted, line 1 was rejected, and line 2 has
    /// expired.
    private static var receipts: [Receipt] {
        (0..<receiptCount).map { number in
            var receipt = RandomDay(seed: 2).receipt
            receipt.position = JobPosition(topic: "jobs", partition: 0, offset: Int64(number))
            receipt.send = number % 2 == 0 ? "wanted" : "other"
            // Receipts are not exactly in time order.
            receipt.writtenAt = receipt.acceptedAt + Int64(number) * 100 + (number % 5 == 0 ? 3000 : 0)
            receipt.parts = [
                Receipt.Part(.accepted, lines: LineSet(all: 1)),
                Receipt.Part(
                    .rejected, lines: lines([1]), status: 400,
                    reason: number % 4 == 0 ? "BadTopic" : "BadDeviceToken"),
                Receipt.Part(.expired, lines: lines([2])),
            ]
            return receipt
        }
    }

    private static func lines(_ numbers: [Int]) -> LineSet {
        var set = LineSet()
        for number in numbers { set.append(number) }
        return set
    }

    private static func filledLane() throws -> FilledLane {
        let lane = try FilledLane()
        try lane.fill(receipts: receipts) { receipt, line in
            .init(installation: "p\(receipt).\(line)", entry: "start:M", recipient: "u:ann\(receipt)")
        }
        return lane
    }

    private static var query: LaneQuery {
        var query = LaneQuery(.failures, app: receipts[0].app)
        (query.names, query.isOldestFirst) = (["wanted"], true)
        return query
    }

    /// A query that has read as many rows as it may ends its page. The largest limit is never reached.
    @Test(arguments: [23, 200, 100_000])
    func `pages contain each failure of the send once`(rows: Int) throws {
        let lane = try Self.filledLane()
        var query = Self.query
        let limit = 50
        query.limit = limit + 1
        var found: [String] = []
        while true {
            let result = lane.reader.answer(query, budget: QueryBudget(milliseconds: 60_000, rows: rows))
            try #require(result.limit == nil)
            let (page, next) = ListOrder(isOldestFirst: true).firstPage(
                of: result.failures, cuts: result.cuts, limit: limit)
            found += page.map(\.value.addressee.installation)
            guard let next else { break }
            try #require(next != query.after, "each page goes on")
            query.after = next
        }
        let expected = (0..<Self.receiptCount).filter { $0 % 2 == 0 }.flatMap { ["p\($0).1", "p\($0).2"] }
        #expect(found == expected)
    }

    @Test func `a reason selects its failures, and each names its user`() throws {
        let lane = try Self.filledLane()
        var query = Self.query
        (query.code, query.limit) = ("BadTopic", 5000)
        let failures = lane.reader.answer(query).failures.map(\.value)
        #expect(failures.count == Self.receiptCount / 4)
        #expect(failures.allSatisfy { $0.reason == "BadTopic" && $0.outcome == .rejected })
        #expect(failures[0].userName == "ann0")
        query.names = ["unknown"]
        #expect(lane.reader.answer(query).failures.isEmpty)
    }

    @Test func `a file has the columns of a failure, and no formula`() throws {
        let push = TimelinePush(
            receipt: Self.receipts[0], part: Self.receipts[0].parts[1],
            to: .init(installation: "=1+1", entry: "start:M", recipient: "u:ann"))
        let body = FailureExport(pushes: [push], next: nil).response.body
        let lines = String(decoding: body, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(
            lines[0] == "\nat,sendId,groupId,userId,installationId,entry,environment,outcome,status,reason")
        #expect(lines[1].hasSuffix("rejected,400,BadTopic") && lines[1].contains(",ann,'=1+1,start:M,"))
    }
}
