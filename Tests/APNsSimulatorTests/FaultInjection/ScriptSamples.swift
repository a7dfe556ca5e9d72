import APNs
import HTTP2
import Identifiers
import Payloads
import Simulation

@testable import APNsSimulator

/// Random requests and scripts, for properties that hold for all of them.
struct ScriptSamples {
    var random: SeededGenerator

    init(_ seed: Int) { random = SeededGenerator(seed: seed) }

    /// Returns the token with that number. Its 32 bytes are the lowest four bytes of the number, eight times.
    static func token(_ number: Int) -> PushToken {
        PushToken(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })!
    }

    /// Returns random facts of the request with that number.
    mutating func facts(_ number: Int) -> RequestFacts {
        RequestFacts(
            kind: pick(RequestFacts.RequestKind.allCases), environment: pick(Environment.allCases),
            connection: 1 + random.number(below: 3), requestOfConnection: 1 + random.number(below: 20),
            request: number,
            stream: Int32(2 * number + 1), receivedAt: Int64(1_000 * number),
            target: isOneIn(8) ? nil : .token(Self.token(random.number(below: 5))),
            bundleID: isOneIn(8) ? nil : pick(["com.example.app", "com.example.other"]),
            event: isOneIn(8) ? nil : pick(PushEvent.allCases))
    }

    /// Returns a random script that the simulator accepts: its numbers are within the limits, and their ranges are in
    /// order.
    mutating func script() -> FaultScript {
        var script = FaultScript()
        script.seed = random.next()
        script.rules = (0...random.number(below: 6)).map { _ in rule() }
        if isOneIn(2) {
            script.timetable = FaultTimetable(
                steps: (0...random.number(below: 3)).map {
                    FaultTimetable.Step(atMilliseconds: $0 * 100, fault: connectionFault())
                }, everyMilliseconds: isOneIn(2) ? 400 : nil)
        }
        return script
    }

    mutating func rule() -> FaultRule {
        var rule = FaultRule(name: isOneIn(2) ? "a name" : nil, match: match())
        if rule.match.isAtConnect {
            rule.effect.connectionFault = connectionFault()
            return rule
        }
        if isOneIn(2) { rule.effect.requestFault = requestFault() }
        if isOneIn(2) { rule.effect.delay = delay() }
        if rule.effect.isEmpty || isOneIn(3) { rule.effect.connectionFault = connectionFault() }
        return rule
    }

    private mutating func match() -> RuleMatch {
        var match = RuleMatch()
        if isOneIn(3) { match.connection = 1 + random.number(below: 3) }
        if isOneIn(4) { match.fromMilliseconds = random.number(below: 500) }
        if isOneIn(4) { match.untilMilliseconds = 500 + random.number(below: 500) }
        if isOneIn(6) {
            match.nth = 1 + random.number(below: 9)
        } else if isOneIn(4) {
            match.every = 1 + random.number(below: 5)
        }
        if isOneIn(3) { match.share = Double(random.number(below: 101)) / 100 }
        if isOneIn(4) { match.times = 1 + random.number(below: 4) }
        if isOneIn(6) {
            // A new connection has no request to match.
            match.isAtConnect = true
            return match
        }
        if isOneIn(3) { match.kinds = [pick(RequestFacts.RequestKind.allCases), .push] }
        if isOneIn(4) { match.bundleID = "com.example.app" }
        if isOneIn(4) { match.environment = pick(Environment.allCases) }
        if isOneIn(4) { match.events = [pick(PushEvent.allCases)] }
        if isOneIn(4) { _ = match.tokens.insert(Self.token(random.number(below: 5)).description) }
        if isOneIn(6) { match.channel = "c2hhbm5lbA==" }
        if isOneIn(6) { match.requestOfConnection = 1 + random.number(below: 20) }
        return match
    }

    private mutating func requestFault() -> RuleEffect.RequestFault {
        switch random.number(below: 4) {
        case 0: .reset(HTTP2ErrorCode(rawValue: UInt32(random.number(below: 20))), processed: isOneIn(2))
        case 1: .silence(processed: isOneIn(2))
        case 2:
            .answer(ScriptedAnswer(status: 200 + random.number(below: 400), content: .body(Array("{}".utf8))))
        default:
            .answer(
                ScriptedAnswer(
                    status: 410, content: .reason(pick(APNsReason.allCases).rawValue), timestamp: timestamp(),
                    retryAfterSeconds: isOneIn(2) ? random.number(below: 60) : nil))
        }
    }

    private mutating func timestamp() -> ScriptedTimestamp? {
        switch random.number(below: 3) {
        case 0: nil
        case 1: .at(Int64(random.number(below: 1 << 40)))
        default: .fromNow(milliseconds: random.number(below: 2_000) - 1_000)
        }
    }

    private mutating func delay() -> DelayDistribution {
        switch random.number(below: 4) {
        case 0: .fixed(milliseconds: random.number(below: 1_000))
        case 1: .uniform(fromMilliseconds: 10, toMilliseconds: 10 + random.number(below: 100))
        case 2: .exponential(meanMilliseconds: random.number(below: 100))
        default:
            .lognormal(
                p50Milliseconds: 1 + random.number(below: 50),
                p99Milliseconds: 60 + random.number(below: 1_000))
        }
    }

    mutating func connectionFault() -> InjectedFault.ConnectionFault {
        switch random.number(below: 6) {
        case 0:
            .goaway(
                HTTP2ErrorCode(rawValue: UInt32(random.number(below: 20))),
                streamsBack: random.number(below: 9),
                reason: isOneIn(2) ? "Shutdown" : nil, thenClose: isOneIn(2))
        case 1: .settings(streamsMax: random.number(below: 1_001))
        case 2: .stall(milliseconds: random.number(below: 5_000))
        case 3: .starveWindows
        case 4: .resetAfter(bytes: random.number(below: 10_000))
        default: .close
        }
    }

    /// Returns true once in `count` calls on average.
    private mutating func isOneIn(_ count: Int) -> Bool { random.number(below: count) == 0 }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[random.number(below: elements.count)]
    }
}
