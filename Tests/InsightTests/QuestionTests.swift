import CatalogRecords
import HTTPServer
import InstallationRecords
import JSON
import Jobs
import Members
import RecordFormat
import Testing

@testable import Insight

struct QuestionTests {
    @Test func `a question and its findings are unchanged by the wire`() throws {
        var question = LaneQuery(.events, app: "shop")
        (question.names, question.group, question.user) = (["a", "b"], "match", "ünal")
        (question.from, question.to, question.times) = (5, 9, [1, 2])
        question.after = ListPosition(at: 7, tieBreaker: [0, 255, 3])
        #expect(LaneQuery.decodeIfValid(question.encoded(), with: JSONReader()) == question)

        var found = QueryResult()
        (found.lanes, found.asOf) = ([1, 4], 77)
        found.running = ["match": 3]
        found.erasures = ["u:ann": 12]
        found.taps = [1, 0, 4]
        found.eventCounts = [.init(hour: 5, code: "tap", type: nil, group: "match", count: 6)]
        found.events = [
            ListEntry(
                position: ListPosition(at: 3, tieBreaker: [1]),
                value: Event(.tap, app: "shop", installation: "i", eventTime: 3, receivedAt: 4))
        ]
        found.audit = [
            ListEntry(
                position: ListPosition(at: 3, tieBreaker: []),
                value: AuditEntry(at: 3, author: "key", action: "send.start", app: "shop"))
        ]
        let receipt = RandomDay(seed: 1).receipt
        let part = Receipt.Part(.rejected, lines: LineSet(all: 1), status: 410, reason: "Unregistered")
        found.pushes = [
            TimelinePush(
                receipt: receipt, part: part,
                to: .init(installation: "i", entry: "update:a", recipient: "u:ann"))
        ]
        #expect(QueryResult.decodeIfValid(found.encoded(), with: JSONReader()) == found)
    }

    @Test func `a process returns the first list entries of all its lanes`() {
        func event(_ at: Int64) -> ListEntry<Event> {
            ListEntry(
                position: ListPosition(at: at, tieBreaker: [1]),
                value: Event(.tap, app: "shop", installation: "i", eventTime: at, receivedAt: at))
        }
        var found = QueryResult()
        found.events = [3, 9, 1, 7].map(event)
        var oldest = found
        found.keepFirst(2, isOldestFirst: false)
        oldest.keepFirst(2, isOldestFirst: true)
        #expect(found.events.map(\.position.at) == [9, 7] && oldest.events.map(\.position.at) == [1, 3])
    }

    @Test func `a lane that two processes answer for counts once`() {
        var (one, other) = (QueryResult(), QueryResult())
        (one.lanes, one.running, one.taps) = ([1], ["g": 2], [1])
        (other.lanes, other.running, other.taps) = ([2], ["g": 3], [4])
        var all = one
        all.merge(other)
        all.merge(one)
        #expect(all.running["g"] == 5 && all.taps == [5] && all.lanes == [1, 2])
    }

    @Test(arguments: ["", "x", "-1.", "1.!", "99999999999999999999."])
    func `a malformed cursor is rejected`(text: String) {
        #expect(ListPosition(cursor: text) == nil)
    }

    @Test func `parameters are read once and strictly`() throws {
        func problem(_ parameters: [(String, String)]) -> String? {
            do {
                var read = try CallParameters(
                    of: InsightQuery(
                        .events, app: "shop", parameters: parameters.map { .init(name: $0.0, value: $0.1) }))
                _ = try read.text("user")
                _ = try read.range(daysMax: 31, defaultMilliseconds: 1, now: 5)
                _ = try read.limit()
                _ = try read.cursor()
                try read.checkAllRead()
                return nil
            } catch { return String(decoding: error.response.body, as: UTF8.self) }
        }
        #expect(problem([("user", "ann"), ("from", "1"), ("to", "9"), ("limit", "500")]) == nil)
        #expect(problem([("usr", "ann")])?.contains("unknown_field") == true)
        #expect(problem([("user", "a"), ("user", "b")])?.contains("once") == true)
        #expect(problem([("from", "0"), ("to", "99999999999")])?.contains("range_too_long") == true)
        #expect(problem([("limit", "501")])?.contains(#""field":"limit""#) == true)
        #expect(problem([("from", "9"), ("to", "1")])?.contains(#""field":"from""#) == true)
    }

    @Test func `a field of an export is text to a spreadsheet, whatever it contains`() {
        #expect(EventExport.quoted("a") == "a")
        #expect(EventExport.quoted("a,\"b\"\n") == "\"a,\"\"b\"\"\n\"")
        #expect(EventExport.quoted("=1+1") == "'=1+1")
    }
}
