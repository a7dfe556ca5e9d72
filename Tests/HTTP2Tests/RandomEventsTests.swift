import Lifecycle
import Simulation
import Testing

@testable import HTTP2

/// Random sequences of all events on a connection, compared with a model of each request's possible outcomes. The seed
/// alone repeats a failing sequence.
@Suite struct RandomEventsTests {
    private static let seedCount = trialCount(base: 1_000)

    @Test func `each request ends exactly once, and no processed request is reported as unprocessed`() {
        for seed in 0..<RandomEventsTests.seedCount {
            var run = RandomRun(seed: seed)
            for _ in 0..<40 { run.takeRandomStep() }
            run.close()
            let faults = run.faults
            #expect(faults.isEmpty, "seed \(seed): \(faults)")
        }
    }
}

/// One connection under random events, and the requests that the server saw.
private struct RandomRun {
    let wire: Wire
    var random: SeededGenerator
    // The requests by their tags.
    var submitted: [UInt64: RequestID] = [:]
    var ends: [UInt64: RequestOutcome] = [:]
    /// Requests that had a late outcome after they had ended.
    var lateRequests: Set<UInt64> = []
    var answeredByServer: Set<UInt64> = []
    /// Requests that the server has received and not answered.
    var unanswered: [IncomingRequest] = []
    /// The tag of the request on each stream.
    var tags: [Int32: UInt64] = [:]
    var nowNanoseconds: Int64 = 0
    /// The broken rules, in words.
    var faults: [String] = []
    let template = Push.template()

    init(seed: Int) {
        random = SeededGenerator(seed: seed)
        var limits = ClientLimits()
        limits.lateResponseMilliseconds = random.number(below: 2) * 2
        limits.streamsMax = 1 + random.number(below: 40)
        var server = ServerLimits()
        server.streamsMax = 1 + random.number(below: 40)
        server.streamWindowBytes = [10, 1_000, 65_535][random.number(below: 3)]
        server.connectionWindowBytes = 65_535
        wire = Wire(client: limits, server: server, fragment: [1, 13, 400, 16_384][random.number(below: 4)])
    }

    mutating func takeRandomStep() {
        switch random.number(below: 16) {
        case 0...3: submit()
        case 4, 5: moveToServer()
        case 6, 7: moveToClient()
        case 8, 9: answerSome()
        case 10:
            let limit = UInt32([0, 1, 5, 100][random.number(below: 4)])
            wire.server.changeSettings(SettingsChange(concurrentStreamsMax: limit))
        case 11:
            let window = UInt32([0, 10, 65_535][random.number(below: 3)])
            wire.server.changeSettings(SettingsChange(streamWindowBytes: window))
        case 12:
            nowNanoseconds += 1_000_000
            wire.client.endExpiredRequests(at: Instant(nanoseconds: nowNanoseconds))
            collect()
        case 13: cancelOne()
        case 14:
            if let request = takeUnanswered() {
                wire.server.reset(request.stream, code: [.refusedStream, .cancel][random.number(below: 2)])
            }
        default: takeRareStep()
        }
    }

    private mutating func takeRareStep() {
        switch random.number(below: 5) {
        case 0: wire.server.sendGoaway(lastStream: wire.server.lastStream, code: .noError)
        case 1: wire.server.holdWindows()
        case 2: wire.server.releaseWindows()
        case 3: _ = wire.client.sendPing(payload: 1)
        default: if random.number(below: 4) == 0 { wire.client.finish() }
        }
    }

    private mutating func submit() {
        for _ in 0..<(1 + random.number(below: 10)) {
            let tag = UInt64(submitted.count)
            let deadline = randomDeadline()
            let sendDeadline = randomDeadline()
            let availableCount = wire.client.availableRequests
            let id = wire.client.push(
                "/\(tag)", id: "", body: [UInt8](repeating: 7, count: random.number(below: 900)), tag: tag,
                template: template, sendDeadline: sendDeadline, deadline: deadline)
            if (id != nil) != (availableCount > 0) {
                faults.append("\(availableCount) requests were available, and submit returned \(id != nil)")
            }
            if let id { submitted[tag] = id }
        }
    }

    /// Returns no deadline, or one within 6 ms.
    private mutating func randomDeadline() -> Instant {
        let isUnlimited = random.number(below: 2) == 0
        return Instant(
            nanoseconds: isUnlimited ? .max : nowNanoseconds + Int64(random.number(below: 6_000_000)))
    }

    private mutating func moveToServer() {
        wire.toServer(wire.clientSends(at: Instant(nanoseconds: nowNanoseconds)))
        let batch = wire.server.requests
        for request in batch.requests {
            unanswered.append(request)
            tags[request.stream.number] = UInt64(text(batch.path(of: request).dropFirst()) ?? "")
        }
        wire.server.clearRequests()
        collect()
    }

    private mutating func moveToClient() {
        wire.toClient(wire.serverSends())
        collect()
    }

    private mutating func takeUnanswered() -> IncomingRequest? {
        unanswered.isEmpty ? nil : unanswered.remove(at: random.number(below: unanswered.count))
    }

    private mutating func answerSome() {
        for _ in 0..<random.number(below: 12) {
            guard let request = takeUnanswered() else { return }
            let body = [UInt8](repeating: 8, count: random.number(below: 3) * 300)
            let shared = body.isEmpty ? nil : SharedBody(copying: body.span)
            let isTaken = wire.server.respond(
                to: request.stream, template: Push.answer(200, varying: nil), body: shared)
            if isTaken, let tag = tags[request.stream.number] { answeredByServer.insert(tag) }
        }
    }

    private mutating func cancelOne() {
        guard !submitted.isEmpty else { return }
        let tag = UInt64(random.number(below: submitted.count))
        guard let id = submitted[tag] else { return }
        let wasOpen = ends[tag] == nil
        if wire.client.cancel(id) != wasOpen { faults.append("cancel of \(tag) returned \(!wasOpen)") }
        collect()
    }

    /// Takes the outcomes. Each request may have one, and a late one after it.
    private mutating func collect() {
        for outcome in wire.client.takeOutcomes() {
            if outcome.isLate {
                if ends[outcome.tag] == nil { faults.append("\(outcome.tag) was late before it ended") }
                if !lateRequests.insert(outcome.tag).inserted {
                    faults.append("\(outcome.tag) was late twice")
                }
            } else if ends.updateValue(outcome, forKey: outcome.tag) != nil {
                faults.append("\(outcome.tag) ended twice")
            }
        }
    }

    /// Ends the connection and checks the result.
    mutating func close() {
        if random.number(below: 2) == 0 {
            moveToServer()
            moveToClient()
        }
        wire.client.end()
        wire.server.end()
        collect()
        if wire.client.openRequestCount != 0 || wire.server.openStreamCount != 0 {
            faults.append("a slot leaked")
        }
        if wire.client.events.failure != nil || wire.server.events.failure != nil {
            faults.append("a session failed: \(wire.client.events) \(wire.server.events)")
        }
        for tag in submitted.keys where ends[tag] == nil { faults.append("\(tag) never ended") }
        for (tag, end) in ends {
            let isGivenUp = end.endReason == .overdue || end.endReason == .cancelled
            if isGivenUp != lateRequests.contains(tag) { faults.append("\(tag): wrong number of late ends") }
            if end.endReason == .answered, !answeredByServer.contains(tag) {
                faults.append("\(tag) has no answer")
            }
            if !end.mayHaveBeenProcessed, answeredByServer.contains(tag) {
                faults.append("\(tag) was answered but called unprocessed (\(end.endReason))")
            }
        }
    }
}
