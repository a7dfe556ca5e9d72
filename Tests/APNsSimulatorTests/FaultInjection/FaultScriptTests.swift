import HTTP2
import Identifiers
import JSON
import Payloads
import Simulation
import Testing

@testable import APNsSimulator

/// The faults that a script chooses, without a server.
struct FaultScriptTests {
    private let seeds = 0..<trialCount(base: 300)

    /// Returns the facts of an update. All requests are on one connection, at the same time.
    private func facts(ofRequest number: Int, token: Int = 0) -> RequestFacts {
        RequestFacts(
            kind: .push, environment: .production, connection: 1, requestOfConnection: number,
            request: number, stream: Int32(2 * number - 1), receivedAt: 1_000_000,
            target: .token(ScriptSamples.token(token)), bundleID: "com.example.app", event: .update)
    }

    private func script(_ rules: FaultRule...) -> RunningScript {
        RunningScript(FaultScript(seed: 7, rules: rules))
    }

    private func resetRule(_ match: RuleMatch) -> FaultRule {
        FaultRule(match: match, effect: RuleEffect(requestFault: .reset(.cancel, processed: false)))
    }

    /// Returns the numbers of the requests, out of `count`, that a rule with this match acted on.
    private func requestsHit(by match: RuleMatch, of count: Int) -> [Int] {
        var running = script(resetRule(match))
        return (1...count).filter { number in
            running.fault(for: facts(ofRequest: number), milliseconds: number) != .none
        }
    }

    @Test func `the same script gives the same faults for the same requests, and no script gives none`() {
        for seed in seeds {
            var samples = ScriptSamples(seed)
            let script = samples.script()
            let requests = (1...60).map { samples.facts($0) }
            var first = RunningScript(script)
            var second = RunningScript(script)
            var none = RunningScript(.none)
            for (index, request) in requests.enumerated() {
                let fault = first.fault(for: request, milliseconds: index * 15)
                let repeated = second.fault(for: request, milliseconds: index * 15)
                #expect(fault == repeated, "seed \(seed)")
                let faultWithoutScript = none.fault(for: request, milliseconds: 0)
                #expect(faultWithoutScript == .none)
            }
            #expect(first.hits == second.hits, "seed \(seed)")
        }
    }

    @Test func `a rule after the others does not change their faults`() {
        for seed in seeds {
            var samples = ScriptSamples(seed)
            let script = samples.script()
            var alone = RunningScript(script)
            var joined = RunningScript(script)
            let addedEffect = RuleEffect(requestFault: .silence(processed: true))
            let isAdded = joined.add(FaultRule(match: RuleMatch(share: 0.5), effect: addedEffect))
            #expect(isAdded)
            for number in 1...60 {
                let request = samples.facts(number)
                let before = alone.fault(for: request, milliseconds: 0)
                let after = joined.fault(for: request, milliseconds: 0)
                #expect(
                    before.requestFault == nil || before.requestFault == after.requestFault, "seed \(seed)")
                #expect(before.delayMilliseconds == after.delayMilliseconds, "seed \(seed)")
                #expect(before.connectionFault == after.connectionFault, "seed \(seed)")
            }
        }
    }

    @Test func `a share is that share of the requests, within five deviations`() {
        for share in [0.001, 0.01, 0.1, 0.5, 0.9, 1.0] {
            let count = 20_000
            var running = script(resetRule(RuleMatch(share: share)))
            for number in 1...count {
                _ = running.fault(for: facts(ofRequest: number), milliseconds: 0)
            }
            let expected = Double(count) * share
            let deviation = (expected * (1 - share)).squareRoot()
            #expect(abs(Double(running.hits[0].actionCount) - expected) <= 5 * deviation, "share \(share)")
            #expect(running.hits[0].matchCount == count)
        }
        #expect(requestsHit(by: RuleMatch(share: 0), of: 1_000).isEmpty)
    }

    @Test func `nth is one request, every is each n-th, times is a limit, and a window has an end`() {
        #expect(requestsHit(by: RuleMatch(nth: 3), of: 10) == [3])
        #expect(requestsHit(by: RuleMatch(every: 4), of: 10) == [4, 8])
        #expect(requestsHit(by: RuleMatch(times: 2), of: 10) == [1, 2])
        #expect(requestsHit(by: RuleMatch(every: 2, times: 2), of: 10) == [2, 4])
        #expect(requestsHit(by: RuleMatch(fromMilliseconds: 3, untilMilliseconds: 6), of: 10) == [3, 4, 5])
        #expect(requestsHit(by: RuleMatch(requestOfConnection: 5), of: 10) == [5])
    }

    @Test func `conditions on the request select the matching requests`() throws {
        var tokens = TokenSet()
        let isToken = tokens.insert(ScriptSamples.token(4).description)
        #expect(isToken)
        let matches = [
            RuleMatch(tokens: tokens), RuleMatch(bundleID: "com.example.other"),
            RuleMatch(kinds: [.broadcast]),
            RuleMatch(environment: .sandbox), RuleMatch(events: [.end]), RuleMatch(connection: 2),
            RuleMatch(channel: "c2hhbm5lbA=="), RuleMatch(isAtConnect: true),
        ]
        for match in matches { #expect(requestsHit(by: match, of: 5).isEmpty, "\(match)") }
        var running = script(resetRule(RuleMatch(tokens: tokens)))
        let faultOfMatchingToken = running.fault(for: facts(ofRequest: 1, token: 4), milliseconds: 0)
        #expect(faultOfMatchingToken != .none)
        let matchOfAll = RuleMatch(
            kinds: [.push], bundleID: "com.example.app", environment: .production, events: [.update],
            connection: 1)
        #expect(requestsHit(by: matchOfAll, of: 3) == [1, 2, 3])
        var broadcast = facts(ofRequest: 1)
        broadcast.target = .channel("c2hhbm5lbA==")
        running = script(resetRule(RuleMatch(channel: "c2hhbm5lbA==")))
        let faultOfBroadcast = running.fault(for: broadcast, milliseconds: 0)
        #expect(faultOfBroadcast != .none)
    }

    @Test
    func
        `the faults of the request and its connection, and the delay, each come from the first rule that has one`()
    {
        var running = script(
            FaultRule(effect: RuleEffect(delay: .fixed(milliseconds: 5))),
            FaultRule(
                effect: RuleEffect(requestFault: .silence(processed: true), delay: .fixed(milliseconds: 9))),
            FaultRule(
                effect: RuleEffect(requestFault: .reset(.cancel, processed: false), connectionFault: .close)),
            FaultRule(effect: RuleEffect(connectionFault: .starveWindows)))
        let fault = running.fault(for: facts(ofRequest: 1), milliseconds: 0)
        #expect(
            fault
                == InjectedFault(
                    requestFault: .silence(processed: true), delayMilliseconds: 5, connectionFault: .close))
        #expect(running.hits.map(\.actionCount) == [1, 1, 1, 0])
    }

    @Test func `a timestamp is absolute or relative, as the script says`() {
        func timestamp(scriptedAs timestamp: ScriptedTimestamp?) -> Int64? {
            var running = script(
                FaultRule(
                    effect: RuleEffect(
                        requestFault: .answer(
                            ScriptedAnswer(
                                status: 410, content: .reason("Unregistered"), timestamp: timestamp)))))
            let fault = running.fault(for: facts(ofRequest: 1), milliseconds: 0)
            guard case .answer(410, "Unregistered", let time, nil) = fault.requestFault else { return nil }
            return time
        }
        #expect(timestamp(scriptedAs: .at(5)) == 5)
        #expect(timestamp(scriptedAs: .fromNow(milliseconds: -1)) == 999_999)
        #expect(timestamp(scriptedAs: nil) == 1_000_000)
    }

    @Test func `rules at connect apply to connections and not to requests`() {
        var running = script(
            FaultRule(
                match: RuleMatch(isAtConnect: true, every: 2), effect: RuleEffect(connectionFault: .close)))
        let fault = running.fault(for: facts(ofRequest: 1), milliseconds: 0)
        #expect(fault == .none)
        let closed = (1...6).filter { !running.faults(forOpenedConnection: $0, milliseconds: 0).isEmpty }
        #expect(closed == [2, 4, 6])
    }

    @Test func `a full script takes no further rule and continues`() {
        var running = RunningScript(.none)
        let rule = FaultRule(effect: RuleEffect(connectionFault: .close))
        let isAdded = (0...FaultScript.rulesMax).map { _ in running.add(rule) }
        #expect(isAdded.dropLast().allSatisfy(\.self) && isAdded.last == false)
        #expect(running.script.rules.count == FaultScript.rulesMax)
    }

    @Test func `a timetable repeats, and missed steps are skipped`() {
        let steps = [1_000, 1, 0, 500].enumerated().map {
            FaultTimetable.Step(atMilliseconds: $0 * 1_000, fault: .settings(streamsMax: $1))
        }
        var running = RunningScript(
            FaultScript(timetable: FaultTimetable(steps: steps, everyMilliseconds: 4_000)))
        var dueFaults: [InjectedFault.ConnectionFault] = []
        for milliseconds in stride(from: 0, through: 8_500, by: 500) {
            // The call before, 500 ms earlier, has taken all steps that were due then.
            #expect(running.nextStepMilliseconds.map { $0 > milliseconds - 500 } == true)
            dueFaults += running.takeDueFaults(milliseconds: milliseconds)
        }
        #expect(dueFaults == (steps + steps + steps[..<1]).map(\.fault))
        // After a million missed rounds, only the last complete one and the current one are caught up.
        let faultsAfterLongPause = running.takeDueFaults(milliseconds: 4_000_000_500)
        #expect(faultsAfterLongPause.count <= 2 * steps.count && faultsAfterLongPause.last == steps[0].fault)
        var once = RunningScript(FaultScript(timetable: FaultTimetable(steps: steps)))
        let faultsOfOneRound = once.takeDueFaults(milliseconds: 60_000)
        #expect(faultsOfOneRound.count == 4)
        #expect(once.nextStepMilliseconds == nil)
    }
}
