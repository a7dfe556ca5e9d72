import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import Lifecycle
import Members
import RecordFormat
import Sends
import Testing

@testable import Webhooks

/// The events that records make, source by source, and their return after a restart.
struct PartitionEventsTests {
    private let reader = JSONReader()
    /// The time at which records are read, unless a test says otherwise.
    private let start = Instant(nanoseconds: 1_000_000_000)
    /// The stamp of most records, in milliseconds since 1970.
    private static let stamp: Int64 = 1_763_600_000_000

    private func endpoint(_ types: [WebhookEventType] = WebhookEventType.allCases) -> WebhookEndpoint {
        WebhookEndpoint(
            app: "shop", name: "billing", url: "https://example.com", types: types, secrets: [], createdAt: 0)
    }

    private func makeEvents(
        _ source: WebhookSource, types: [WebhookEventType] = WebhookEventType.allCases, from offset: Int64 = 0
    ) -> PartitionEvents {
        PartitionEvents(
            source, partition: 3, of: endpoint(types), cursor: PartitionCursor(firstNew: offset))
    }

    /// Returns the events of the next owner of the partition, which begins at the committed cursor.
    private func restarted(_ events: PartitionEvents) -> PartitionEvents {
        let committed = CommittedCursor(events.cursor, replay: 0)
        let cursor = CommittedCursor(next: committed.next, metadata: committed.metadata).cursor
        return PartitionEvents(events.source, partition: 3, of: endpoint(), cursor: cursor)
    }

    private func body(_ event: WebhookEvent?) -> String {
        String(decoding: event?.body ?? [], as: UTF8.self)
    }

    private func record(
        _ offset: Int64, key: [UInt8], value: [UInt8]?, stamp: Int64 = stamp
    ) -> SourceRecord {
        SourceRecord(offset: offset, stamp: stamp, key: key, value: value)
    }

    @Test func `a dismissed activity becomes one event with this body`() throws {
        let dismissed = Event(
            .closed, app: "shop", environment: .production, installation: "p-1", user: "ann",
            attributesType: "Match", activity: "a-1", group: "g-1", cause: .dismissed, eventTime: 5,
            receivedAt: 1_763_600_000_000)
        var events = makeEvents(.events)
        let made = events.read(
            record(7, key: dismissed.key, value: dismissed.encoded()), with: reader, at: start)
        #expect(made.map(\.id) == ["events-3-7"])
        #expect(
            body(made.first)
                == #"{"type":"activity.dismissed","timestamp":"2025-11-20T00:53:20.000Z","data":{"app":"shop","environment":"production","installationId":"p-1","userId":"ann","attributesType":"Match","activityId":"a-1","groupId":"g-1","cause":"dismissed","eventTime":5}}"#
        )
        #expect(events.cursor.openOffsets.map(\.offset) == [7])
        if let event = made.first { events.finish(event) }
        #expect(events.cursor.openOffsets.isEmpty && events.cursor.committedNext == 8)
    }

    @Test func `events of other types and apps are finished at once`() {
        var events = makeEvents(.events, types: [.tokenReported])
        let tap = Event(.tap, app: "shop", installation: "p", eventTime: 1, receivedAt: 1)
        #expect(events.read(record(0, key: tap.key, value: tap.encoded()), with: reader, at: start).isEmpty)
        #expect(events.cursor.openOffsets.isEmpty && events.cursor.committedNext == 1)
        let (foreignKey, ownKey) = (Array("shopping/u:ann".utf8), Array("shop/u:ann".utf8))
        let concernsForeign = events.concerns(key: foreignKey.span)
        let concernsOwn = events.concerns(key: ownKey.span)
        #expect(concernsOwn && !concernsForeign)
    }

    @Test func `a dead token becomes an event, and other reports do not`() {
        var events = makeEvents(.reports)
        var dead = Report(app: "shop", environment: .production, installation: "p-1", kind: .deadToken)
        dead.refusal = Report.TokenRefusal(
            tokenHash: "ab", entry: "start:Match", reason: "Unregistered", invalidatedAt: nil, dispatchedAt: 1
        )
        let alive = Report(app: "shop", environment: .production, installation: "p-1", kind: .heartbeat)
        #expect(
            events.read(record(0, key: alive.key, value: alive.encoded()), with: reader, at: start).isEmpty)
        let made = events.read(record(1, key: dead.key, value: dead.encoded()), with: reader, at: start)
        #expect(made.map(\.type) == [.tokenDead])
        #expect(body(made.first).contains(#""reason":"Unregistered""#))
    }

    // MARK: Sends

    private func progress(_ part: ProgressRecord.Part, send: String = "s-1") -> ProgressRecord {
        ProgressRecord(
            send: send, key: ScopeKey(app: "shop", group: "g-1"), isDryRun: false, acceptedAt: 1,
            writtenAt: 2,
            part: part)
    }

    private func planned(_ lanes: Int, send: String = "s-1") -> ProgressRecord {
        progress(.planner(.init(.planned, version: 1, generation: 1, laneCount: lanes)), send: send)
    }

    /// Returns a record of a lane, with three recipients and two jobs.
    private func tally(_ lane: Int, send: String = "s-1") -> ProgressRecord {
        var tally = LaneTally()
        (tally.targeted, tally.expanded) = (3, 2)
        return progress(.lanes([lane], tally), send: send)
    }

    private func read(
        _ records: [ProgressRecord], from offset: Int64 = 0, into events: inout PartitionEvents
    ) -> [WebhookEvent] {
        records.enumerated().flatMap { index, progress in
            events.read(
                record(offset + Int64(index), key: progress.recordKey, value: progress.encoded()),
                with: reader, at: start)
        }
    }

    @Test func `a send becomes one event with the counts of all lanes`() {
        var events = makeEvents(.progress)
        // A lane may write its record twice. It counts once.
        let made = read([planned(2), tally(0), tally(0), tally(1), tally(1)], into: &events)
        #expect(made.map(\.type) == [.sendCompleted] && made.map(\.id) == ["progress-3-0"])
        #expect(body(made.first).contains(#""complete":true"#))
        #expect(body(made.first).contains(#""targeted":6,"jobs":4"#))
    }

    @Test func `a send that was not complete at a restart is counted again`() {
        var events = makeEvents(.progress)
        let complete = read(
            [planned(1, send: "s-0"), tally(0, send: "s-0"), planned(2), tally(0)], into: &events)
        for event in complete { events.finish(event) }
        #expect(events.cursor.openOffsets.map(\.offset) == [2])
        var second = restarted(events)
        #expect(second.cursor.start == 2)
        let made = read([planned(2), tally(0), tally(1)], from: 2, into: &second)
        #expect(body(made.first).contains(#""targeted":6"#) && made.count == 1)
    }

    @Test func `a refused send fails, and a cancelled one too`() {
        var events = makeEvents(.progress)
        let made = read([progress(.planner(.init(.refused)))], into: &events)
        #expect(made.map(\.type) == [.sendFailed] && body(made.first).contains(#""state":"refused""#))
        let cancelled = read(
            [planned(1), progress(.planner(.init(.stopping))), tally(0)], from: 10, into: &events)
        #expect(cancelled.map(\.type) == [.sendFailed] && cancelled.map(\.id) == ["progress-3-10"])
    }

    @Test func `a send whose lanes do not answer is reported as incomplete`() {
        var events = makeEvents(.progress)
        #expect(read([planned(2), tally(0)], into: &events).isEmpty)
        let wait = Int(SendCollector.waitMilliseconds)
        #expect(events.collectDue(at: start.advanced(byMilliseconds: wait - 1)).isEmpty)
        let made = events.collectDue(at: start.advanced(byMilliseconds: wait))
        #expect(made.count == 1 && body(made.first).contains(#""complete":false"#))
    }

    @Test func `sends of another app are left out, although progress is keyed by the id of the send`() {
        var events = makeEvents(.progress)
        var foreign = planned(1)
        foreign.key = ScopeKey(app: "bank", group: "g-1")
        let concernsOwn = events.concerns(key: planned(1).recordKey.span)
        #expect(concernsOwn)
        #expect(read([foreign, tally(0)], into: &events).isEmpty)
        #expect(events.cursor.openOffsets.isEmpty && events.cursor.committedNext == 2)
    }

    @Test func `a pause of reading makes no send overdue`() {
        var events = makeEvents(.progress)
        #expect(read([planned(1)], into: &events).isEmpty)
        let resumedAt = start.advanced(byMilliseconds: 10 * Int(SendCollector.waitMilliseconds))
        events.didResume(at: resumedAt)
        #expect(events.collectDue(at: resumedAt).isEmpty)
        let made = read([tally(0)], from: 1, into: &events)
        #expect(body(made.first).contains(#""complete":true"#))
    }

    @Test func `the records of other apps tell the time`() {
        var events = makeEvents(.progress)
        #expect(read([planned(1)], into: &events).isEmpty)
        var foreign = planned(1)
        foreign.key = ScopeKey(app: "bank", group: "g-1")
        let late = record(
            1, key: foreign.recordKey, value: foreign.encoded(),
            stamp: Self.stamp + SendCollector.waitMilliseconds)
        #expect(events.read(late, with: reader, at: start).isEmpty)
        #expect(events.collectDue(at: start).count == 1)
    }

    // MARK: Breakers and dead letters

    private func facts(_ process: String, open environments: [String]) -> ProcessFacts {
        var facts = ProcessFacts(process: process, version: "1", stages: [], settings: [], startedAt: 0)
        facts.openBreakers =
            environments.map { .init(app: "shop", environment: $0) } + [
                .init(app: "bank", environment: "sandbox")
            ]
        return facts
    }

    @Test func `a breaker opens with the first process and closes with the last one`() {
        var events = makeEvents(.members)
        func types(_ facts: ProcessFacts, at offset: Int64) -> [String] {
            events.read(record(offset, key: facts.key, value: facts.encoded()), with: reader, at: start).map {
                "\($0.type.rawValue) \($0.id)"
            }
        }
        #expect(types(facts("a", open: []), at: 0).isEmpty)
        #expect(types(facts("a", open: ["production"]), at: 1) == ["breaker.opened members-3-1"])
        #expect(types(facts("b", open: ["production"]), at: 2).isEmpty)
        #expect(types(facts("a", open: []), at: 3).isEmpty)
        #expect(
            types(facts("b", open: ["sandbox"]), at: 4)
                == ["breaker.opened members-3-4", "breaker.closed members-3-4-1"])
        #expect(events.cursor.openOffsets.map(\.offset) == [1, 4])
    }

    @Test func `breakers from before the cursor are known and not reported`() {
        var events = makeEvents(.members, from: 5)
        let open = facts("a", open: ["production"])
        #expect(events.read(record(1, key: open.key, value: open.encoded()), with: reader, at: start).isEmpty)
        let closed = facts("a", open: [])
        let made = events.read(record(6, key: closed.key, value: closed.encoded()), with: reader, at: start)
        #expect(made.map(\.type) == [.breakerClosed])
    }

    private func letter(_ offset: Int64, code: String, stamp: Int64) -> SourceRecord {
        var letter = record(offset, key: Array("shop/u:ann".utf8), value: nil, stamp: stamp)
        letter.rejection = .init(stage: "ingest", code: code)
        return letter
    }

    @Test func `dead letters of one code and one minute become one event, also over a restart`() {
        var events = makeEvents(.deadLetters)
        let minuteStart: Int64 = 60_000 * 1000
        // The letter 3 has the code b, and all others have the code a.
        let letters = (Int64(0)..<6).map { offset in
            letter(offset, code: offset == 3 ? "b" : "a", stamp: minuteStart + offset)
        }
        for deadLetter in letters.prefix(5) {
            #expect(events.read(deadLetter, with: reader, at: start).isEmpty)
        }
        var second = restarted(events)
        #expect(second.cursor.openOffsets.map(\.offset) == [0, 3])
        for deadLetter in letters { _ = second.read(deadLetter, with: reader, at: start) }
        // The last record was stamped 5 ms after the minute's beginning.
        let end = start.advanced(byMilliseconds: 60_000 - 5)
        #expect(second.collectDue(at: end).isEmpty)
        let made = second.collectDue(
            at: end.advanced(byMilliseconds: Int(DeadLetterCollector.graceMilliseconds)))
        #expect(made.map(\.id) == ["dead-letters-3-0", "dead-letters-3-3"])
        #expect(body(made.first).contains(#""code":"a","stage":"ingest","count":5"#))
    }
}
