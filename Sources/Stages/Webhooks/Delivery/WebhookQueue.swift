internal import Lifecycle

/// The unfinished events of an endpoint. The queue decides which of them are sent, and when. Events with an equal order
/// key are sent one after the other, so each recipient's events arrive in order. A recipient whose event waits for its
/// next attempt holds back no other.
///
/// The queue does no I/O. It takes events and outcomes, and returns the events to send.
struct WebhookQueue: Sendable {
    /// The effect of an outcome.
    enum Effect: Sendable, Equatable {
        /// The event is finished.
        case delivered
        /// The event is finished, because its last attempt has failed.
        case givenUp
        /// The event is sent again later. The number counts the failed attempts.
        case retry(attempts: Int)
        /// The endpoint is not called any more.
        case disable
    }

    /// The events with one order key.
    fileprivate struct Line: Sendable {
        enum State: Sendable {
            case ready
            case inFlight
            case waiting(until: Instant)
        }

        var state: State
        /// The failed attempts of the first event.
        var attempts: Int
        /// The number of the line's turn. Lines are served in the order in which they became ready.
        var turn: Int
        /// The events, each with the attempts that failed under an earlier owner.
        var events: [(event: WebhookEvent, attempts: Int)]
    }

    /// The most events that wait or are in flight. At the limit the endpoint's topics are not read.
    let eventsMax: Int
    /// The most calls at one time.
    let callsMax: Int
    private var lines: [[UInt8]: Line] = [:]
    private var lastTurn = 0
    private(set) var eventCount = 0
    private(set) var callCount = 0

    init(eventsMax: Int, callsMax: Int) {
        self.eventsMax = eventsMax
        self.callsMax = callsMax
    }

    /// Whether further events may be added. The events of a batch that was read before may exceed the limit.
    var hasRoom: Bool { eventCount < eventsMax }

    /// Whether so much room is free that reading is worth it.
    var hasMuchRoom: Bool { eventCount <= eventsMax / 2 }

    /// Adds an event.
    ///
    /// - Parameter attempts: The failed attempts of an earlier owner.
    mutating func add(_ event: WebhookEvent, attempts: Int = 0, at now: Instant) {
        eventCount += 1
        if lines[event.orderKey] != nil {
            lines[event.orderKey]?.events.append((event, attempts))
            return
        }
        lines[event.orderKey] = Line(
            state: Self.firstState(attempts: attempts, at: now), attempts: attempts, turn: nextTurn(),
            events: [(event, attempts)])
    }

    /// Returns the state of a line with a new first event. If an earlier owner has tried this event, it waits first.
    private static func firstState(attempts: Int, at now: Instant) -> Line.State {
        attempts == 0
            ? .ready
            : .waiting(
                until: now.advanced(byMilliseconds: RetryDelays.pauseAfterRestart(attempts: attempts)))
    }

    private mutating func nextTurn() -> Int {
        lastTurn += 1
        return lastTurn
    }

    /// Returns the events to send now, and counts them as in flight.
    mutating func takeDue(at now: Instant) -> [WebhookEvent] {
        guard callCount < callsMax else { return [] }
        let due = lines.filter { $0.value.isDue(at: now) }.sorted { $0.value.turn < $1.value.turn }
            .prefix(callsMax - callCount)
        for (key, _) in due { lines[key]?.state = .inFlight }
        callCount += due.count
        return due.map { $0.value.events[0].event }
    }

    /// The time of the next attempt that waits, or nil if none waits.
    var nextAttempt: Instant? {
        lines.values.compactMap { line -> Instant? in
            if case .waiting(let until) = line.state { until } else { nil }
        }.min()
    }

    /// The failed attempts of an event that is in flight.
    func attempts(of event: WebhookEvent) -> Int { lines[event.orderKey]?.attempts ?? 0 }

    /// The time of the next attempt of an event, or nil if it does not wait for one.
    func nextAttempt(of event: WebhookEvent) -> Instant? {
        guard let line = lines[event.orderKey], line.events[0].event == event,
            case .waiting(let until) = line.state
        else { return nil }
        return until
    }

    /// The time of the oldest unfinished event in milliseconds since 1970, or nil without events.
    var oldestTime: Int64? { lines.values.compactMap { $0.events.first?.event.time }.min() }

    /// Notes the outcome of a call.
    ///
    /// - Parameter chance: A random number from 0 to 1.
    mutating func finish(
        _ event: WebhookEvent, with outcome: CallOutcome, at now: Instant, chance: Double
    ) -> Effect {
        guard var line = lines[event.orderKey], case .inFlight = line.state, line.events[0].event == event
        else {
            preconditionFailure("event \(event.id) is not in flight")
        }
        callCount -= 1
        switch outcome {
        case .delivered:
            advance(event.orderKey, of: line, at: now)
            return .delivered
        case .gone:
            line.state = .ready
            lines[event.orderKey] = line
            return .disable
        case .failed(_, let seconds):
            line.attempts += 1
            guard
                let pause = RetryDelays.pause(
                    afterAttempts: line.attempts, retryAfterSeconds: seconds, chance: chance)
            else {
                advance(event.orderKey, of: line, at: now)
                return .givenUp
            }
            line.state = .waiting(until: now.advanced(byMilliseconds: pause))
            line.turn = nextTurn()
            lines[event.orderKey] = line
            return .retry(attempts: line.attempts)
        }
    }

    /// Removes the first event of a line, and lets the next one be sent.
    private mutating func advance(_ key: [UInt8], of line: Line, at now: Instant) {
        var line = line
        line.events.removeFirst()
        eventCount -= 1
        guard let next = line.events.first else {
            lines[key] = nil
            return
        }
        line.attempts = next.attempts
        line.state = Self.firstState(attempts: next.attempts, at: now)
        line.turn = nextTurn()
        lines[key] = line
    }
}

extension WebhookQueue.Line {
    fileprivate func isDue(at now: Instant) -> Bool {
        switch state {
        case .ready: true
        case .inFlight: false
        case .waiting(let until): until <= now
        }
    }
}
