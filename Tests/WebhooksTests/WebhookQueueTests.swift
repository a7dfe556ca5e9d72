import CatalogRecords
import JSON
import Lifecycle
import Simulation
import Testing

@testable import Webhooks

/// The events of an endpoint that are sent, held back and given up.
struct WebhookQueueTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let failure = CallOutcome.failed(reason: "busy", retryAfterSeconds: nil)
    /// The random number that leaves a pause unchanged.
    private static let noJitter = 0.5
    /// The pause after the first failed attempt.
    private static let firstPauseMilliseconds = 5000
    /// The longest pause of an event that an earlier owner has tried.
    private static let pauseAfterRestartMilliseconds = 60_000

    /// Returns an event of a recipient. Two events with the same offset and recipient are equal.
    private func makeEvent(_ offset: Int64, of recipient: String = "u:ann") -> WebhookEvent {
        WebhookEvent(
            .activityTapped, at: .init(source: .events, partition: 0, offset: offset),
            orderKey: Array(recipient.utf8), time: offset
        ) { $0.field("number", offset) }
    }

    @Test func `a failed event holds back its recipient and no other`() {
        var queue = WebhookQueue(eventsMax: 100, callsMax: 10)
        for offset in 0..<3 { queue.add(makeEvent(Int64(offset), of: "u:ann"), at: start) }
        queue.add(makeEvent(3, of: "u:ben"), at: start)
        #expect(queue.takeDue(at: start).map(\.anchor.offset) == [0, 3])
        #expect(
            queue.finish(makeEvent(0), with: failure, at: start, chance: Self.noJitter) == .retry(attempts: 1)
        )
        #expect(
            queue.finish(makeEvent(3, of: "u:ben"), with: .delivered, at: start, chance: Self.noJitter)
                == .delivered)
        #expect(queue.takeDue(at: start.advanced(byMilliseconds: Self.firstPauseMilliseconds - 1)).isEmpty)
        let due = start.advanced(byMilliseconds: Self.firstPauseMilliseconds)
        #expect(queue.nextAttempt == due)
        #expect(queue.takeDue(at: due).map(\.anchor.offset) == [0])
        #expect(queue.finish(makeEvent(0), with: .delivered, at: due, chance: Self.noJitter) == .delivered)
        #expect(queue.takeDue(at: due).map(\.anchor.offset) == [1])
    }

    @Test func `an event is given up after its last attempt, and the next one follows`() {
        var queue = WebhookQueue(eventsMax: 100, callsMax: 10)
        queue.add(makeEvent(0), at: start)
        queue.add(makeEvent(1), at: start)
        var now = start
        for attempt in 1..<RetryDelays.attemptsMax {
            #expect(queue.takeDue(at: now).map(\.anchor.offset) == [0])
            #expect(
                queue.finish(makeEvent(0), with: failure, at: now, chance: Self.noJitter)
                    == .retry(attempts: attempt))
            now = queue.nextAttempt ?? now
        }
        #expect(queue.takeDue(at: now).map(\.anchor.offset) == [0])
        #expect(queue.finish(makeEvent(0), with: failure, at: now, chance: Self.noJitter) == .givenUp)
        #expect(queue.takeDue(at: now).map(\.anchor.offset) == [1])
    }

    @Test func `an endpoint that is gone keeps its event`() {
        var queue = WebhookQueue(eventsMax: 100, callsMax: 10)
        queue.add(makeEvent(0), at: start)
        _ = queue.takeDue(at: start)
        #expect(queue.finish(makeEvent(0), with: .gone, at: start, chance: Self.noJitter) == .disable)
        #expect(queue.eventCount == 1 && queue.callCount == 0)
    }

    @Test func `the attempts of an earlier owner count, and the next one comes within a minute`() {
        var queue = WebhookQueue(eventsMax: 100, callsMax: 10)
        queue.add(makeEvent(0), attempts: RetryDelays.attemptsMax - 1, at: start)
        #expect(queue.takeDue(at: start).isEmpty)
        let due = start.advanced(byMilliseconds: Self.pauseAfterRestartMilliseconds)
        #expect(queue.takeDue(at: due).count == 1)
        #expect(queue.finish(makeEvent(0), with: failure, at: due, chance: Self.noJitter) == .givenUp)
    }

    /// Each seed gives other events and outcomes. The test checks the invariants after each step.
    @Test func `in every history all events are finished, and those of a recipient in order`() {
        for trial in 0..<trialCount(base: 100) {
            let seed = UInt64(trial)
            var random = SeededGenerator(seed: seed)
            let (eventsMax, callsMax) = (16 + random.number(below: 50), 1 + random.number(below: 8))
            var queue = WebhookQueue(eventsMax: eventsMax, callsMax: callsMax)
            var now = start
            var inFlight: [WebhookEvent] = []
            var finished: [[UInt8]: [Int64]] = [:]
            var added = 0
            let total = 300
            var steps = 0
            while finished.values.reduce(0, { $0 + $1.count }) < total {
                steps += 1
                if steps > 100_000 {
                    Issue.record("seed \(seed): the events do not finish")
                    break
                }
                if added < total, queue.hasRoom, random.number(below: 2) == 0 {
                    queue.add(
                        makeEvent(Int64(added), of: "u:\(random.number(below: 12))"), at: now)
                    added += 1
                }
                inFlight += queue.takeDue(at: now)
                #expect(inFlight.count == queue.callCount && queue.callCount <= callsMax, "seed \(seed)")
                #expect(queue.eventCount <= eventsMax, "seed \(seed)")
                #expect(
                    Set(inFlight.map(\.orderKey)).count == inFlight.count,
                    "seed \(seed): two events of a recipient are in flight")
                if !inFlight.isEmpty, random.number(below: 3) > 0 {
                    let event = inFlight.remove(at: random.number(below: inFlight.count))
                    let outcome: CallOutcome = random.number(below: 4) == 0 ? failure : .delivered
                    let chance = Double(random.number(below: 1000)) / 1000
                    switch queue.finish(event, with: outcome, at: now, chance: chance) {
                    case .delivered, .givenUp:
                        finished[event.orderKey, default: []].append(event.anchor.offset)
                    case .retry, .disable: break
                    }
                }
                // Time passes only while nothing is in flight, so that recipients really wait for their next attempts.
                if inFlight.isEmpty, let next = queue.nextAttempt, random.number(below: 4) == 0 {
                    now = max(now, next)
                }
            }
            for offsets in finished.values { #expect(offsets == offsets.sorted(), "seed \(seed)") }
        }
    }
}
