import CatalogRecords
import Foundation
import HTTPServer
import Identifiers
import InstallationRecords
import JSON
import Jobs
import Members
import RecordFormat
import Testing

@testable import Insight

/// Queries to processes and their results: encoding, merging, parameters, and the fields of an export. A process asks
/// the owners of the lanes with a `LaneQuery`, and merges their `QueryResult`s.
struct QueryTests {
    @Test func `a query reads back`() {
        var query = LaneQuery(.events, app: "shop")
        (query.names, query.group, query.user, query.caller) = (["a", "b"], "match", "ünal", "shop/key-1")
        (query.from, query.to, query.times) = (5, 9, [1, 2])
        query.after = ListPosition(at: 7, tieBreaker: [0, 255, 3])
        #expect(LaneQuery.decodeIfValid(query.encoded(), with: JSONReader()) == query)
    }

    @Test func `the result of a query reads back`() throws {
        var result = QueryResult()
        (result.lanes, result.asOf) = ([1, 4], 77)
        result.running = ["match": 3]
        (result.cutHour, result.limit) = (9, .time)
        result.cuts = [ListPosition(at: 5, tieBreaker: [2])]
        result.erasures = ["u:ann": 12]
        result.taps = [1, 0, 4]
        result.eventCounts = [
            .init(key: .init(hour: 5, code: "tap", type: nil, group: "match", user: "ann"), count: 6)
        ]
        result.users = [
            ListEntry(
                position: ListPosition(at: 0, tieBreaker: [117]),
                value: .init(user: "ann", installations: 2, hasProfile: true, lastReportAt: 5))
        ]
        result.listedInstallations = [
            ListEntry(
                position: ListPosition(at: 0, tieBreaker: [105]),
                value: Installation(app: "shop", subject: .installation("i")))
        ]
        result.events = [
            ListEntry(
                position: ListPosition(at: 3, tieBreaker: [1]),
                value: Event(.tap, app: "shop", installation: "i", eventTime: 3, receivedAt: 4))
        ]
        result.audit = [
            ListEntry(
                position: ListPosition(at: 3, tieBreaker: []),
                value: AuditEntry(at: 3, author: "key", action: "send.start", app: "shop"))
        ]
        let receipt = RandomDay(seed: 1).receipt
        let part = Receipt.Part(.rejected, lines: LineSet(all: 1), status: 410, reason: "Unregistered")
        result.pushes = [
            TimelinePush(
                receipt: receipt, part: part,
                to: .init(installation: "i", entry: "update:a", recipient: "u:ann"))
        ]
        #expect(QueryResult.decodeIfValid(result.encoded(), with: JSONReader()) == result)
    }

    @Test func `a process returns the first list entries of all its lanes`() {
        func event(_ at: Int64) -> ListEntry<Event> {
            ListEntry(
                position: ListPosition(at: at, tieBreaker: [1]),
                value: Event(.tap, app: "shop", installation: "i", eventTime: at, receivedAt: at))
        }
        var result = QueryResult()
        result.events = [3, 9, 1, 7].map(event)
        var oldest = result
        result.keepFirst(2, isOldestFirst: false)
        oldest.keepFirst(2, isOldestFirst: true)
        #expect(result.events.map(\.position.at) == [9, 7] && oldest.events.map(\.position.at) == [1, 3])
    }

    @Test func `a user with phones in several lanes is one entry, also at the end of a page`() {
        func entry(_ user: String, phones: Int, lastReportAt: Int64) -> ListEntry<QueryResult.UserSummary> {
            ListEntry(
                position: ListPosition(at: 0, tieBreaker: Array("u:\(user)".utf8)),
                value: .init(user: user, installations: phones, lastReportAt: lastReportAt))
        }
        let bob = entry("bob", phones: 1, lastReportAt: 10)
        let cyd = entry("cyd", phones: 4, lastReportAt: 40)
        var (first, second) = (QueryResult(), QueryResult())
        (first.lanes, first.users) = ([1], [entry("ann", phones: 1, lastReportAt: 10), bob])
        (second.lanes, second.users) = ([2], [entry("ann", phones: 2, lastReportAt: 20), cyd])
        first.merge(second)
        first.keepFirst(3, isOldestFirst: false)
        #expect(first.users == [entry("ann", phones: 3, lastReportAt: 20), bob, cyd])
    }

    @Test func `a lane that two processes answer for counts once`() {
        var (first, second) = (QueryResult(), QueryResult())
        (first.lanes, first.running, first.taps) = ([1], ["g": 2], [1])
        (second.lanes, second.running, second.taps) = ([2], ["g": 3], [4])
        var merged = first
        merged.merge(second)
        merged.merge(first)
        #expect(merged.running["g"] == 5 && merged.taps == [5] && merged.lanes == [1, 2])
    }

    @Test func `jobs that were pushed again are reported beside their send`() {
        let receipt = RandomDay(seed: 1).receipt
        var tally = SendTally(receipt: receipt)
        var systems = SystemCounts()
        systems.add(2, on: 18)
        tally.countJobs(SendTally.JobOutcome(outcome: .accepted), systems: systems, at: receipt.writtenAt)
        var result = QueryResult()
        // A resend of s1 is named `s1.` and its call, here c1. An undo, and a resend of an undo, have another content,
        // and s11 is another send. So only s1.c1 is a resend of s1.
        result.tallies = ["s1", "s1.c1", "s1.undo", "s1.undo.c2", "s1.c1.undo", "s11.c1"].map {
            QueryResult.EnvironmentTally(send: $0, environment: .production, tally: tally)
        }
        let summary = SendSummary(id: "s1", results: result)
        #expect(summary.report.total?.count(of: .accepted) == 2)
        #expect(summary.resends.mapValues { $0.total?.count(of: .accepted) } == ["s1.c1": 2])
    }

    @Test(arguments: ["", "x", "-1.", "1.!", "99999999999999999999."])
    func `a malformed cursor is rejected`(text: String) {
        #expect(ListPosition(cursor: text) == nil)
    }

    @Test func `parameters are read once and strictly`() throws {
        func problem(_ parameters: [(String, String)]) -> String? {
            do {
                var callParameters = try CallParameters(
                    of: InsightQuery(
                        .events, app: "shop", parameters: parameters.map { .init(name: $0.0, value: $0.1) }))
                _ = try callParameters.text("user")
                _ = try callParameters.range(daysMax: 31, defaultMilliseconds: 1, now: 5)
                _ = try callParameters.limit()
                _ = try callParameters.cursor()
                try callParameters.checkAllRead()
                return nil
            } catch { return String(decoding: error.response.body, as: UTF8.self) }
        }
        #expect(problem([("user", "ann"), ("from", "1"), ("to", "9"), ("limit", "500")]) == nil)
        #expect(problem([("usr", "ann")])?.contains("unknown_field") == true)
        #expect(problem([("user", "a"), ("user", "b")])?.contains("once") == true)
        #expect(problem([("from", "0"), ("to", "99999999999")])?.contains("range_too_long") == true)
        #expect(problem([("limit", "501")])?.contains(#""field":"limit""#) == true)
        #expect(problem([("from", "9"), ("to", "1")])?.contains(#""field":"from""#) == true)
        let all = try #require(problem([("limit", "0"), ("cursor", "x"), ("usr", "a"), ("user", "")]))
        for field in ["user", "limit", "cursor", "usr"] {
            #expect(all.contains(#""field":"\#(field)""#), "\(all)")
        }
        func problemCount(in answer: String) -> Int { answer.ranges(of: #""code":"#).count }
        // The answer has the first problem also by itself, in front of the list.
        #expect(problemCount(in: all) == 1 + 4, "\(all)")
        let many = try #require(problem((0..<50).map { ("p\($0)", "x") }))
        #expect(problemCount(in: many) == 1 + 20, "at most 20 problems")
    }

    @Test func `a field of an export is text to a spreadsheet, whatever it contains`() {
        #expect(EventExport.quoted("a") == "a")
        #expect(EventExport.quoted("a,\"b\"\n") == "\"a,\"\"b\"\"\n\"")
        #expect(EventExport.quoted("=1+1") == "'=1+1")
    }
}
