import Lifecycle
import Testing

@testable import APNs

private func at(_ milliseconds: Int) -> Instant {
    Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
}

/// A pool with one open connection, and its budget.
private struct Stand {
    var pool: PoolStateMachine
    var budget = ConnectBudget()

    init(_ change: (inout PoolSettings) -> Void = { _ in }) {
        var settings = PoolSettings()
        change(&settings)
        pool = PoolStateMachine(settings: settings, seed: 1)
    }

    mutating func tick(_ milliseconds: Int) -> [PoolAction] {
        pool.tick(at: at(milliseconds)) { budget.take(for: 1, request: $0, at: at(milliseconds)) }
        return pool.takeActions()
    }

    mutating func submit(_ count: Int = 1, _ milliseconds: Int, deadline: Int = 5_000) {
        for _ in 0..<count {
            _ = try? pool.submit(sendBy: at(milliseconds + deadline), at: at(milliseconds))
        }
    }

    /// Returns the reason why one more request is refused, or nil.
    mutating func refusal(_ milliseconds: Int) -> PushRefusal? {
        do throws(PushRefusal) {
            _ = try pool.submit(sendBy: at(milliseconds + 5_000), at: at(milliseconds))
            return nil
        } catch {
            return error
        }
    }

    mutating func sends(_ milliseconds: Int) -> [(ticket: PoolTicket, connection: UInt32)] {
        var sends: [(ticket: PoolTicket, connection: UInt32)] = []
        while let next = pool.nextSend(at: at(milliseconds)) { sends.append(next) }
        return sends
    }

    /// Opens connection 1 and answers its first request.
    mutating func open(streams: Int = 100) {
        submit(1, 0)
        _ = tick(0)
        pool.handleOpen(of: 1, at: at(10))
        pool.applySettings(of: 1, streamsMax: streams)
        for send in sends(10) { _ = pool.end(send.ticket, with: .answered(.authorizes), at: at(20)) }
    }
}

@Test func `the first request opens one connection, which carries one request until it is answered`() {
    var stand = Stand()
    stand.submit(10, 0)
    #expect(stand.tick(0) == [.connect(1)])
    #expect(stand.tick(2_000).isEmpty, "one connection is being opened")
    stand.pool.handleOpen(of: 1, at: at(2_000))
    stand.pool.applySettings(of: 1, streamsMax: 500)
    let first = stand.sends(2_000)
    #expect(first.count == 1)
    _ = stand.pool.end(first[0].ticket, with: .answered(.nothing), at: at(2_010))
    let second = stand.sends(2_010)
    #expect(second.count == 1, "this answer does not prove the token")
    _ = stand.pool.end(second[0].ticket, with: .answered(.authorizes), at: at(2_020))
    #expect(stand.sends(2_020).count == 8)
}

@Test func `a limit of no streams parks requests, and each new limit is obeyed`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    stand.pool.applySettings(of: 1, streamsMax: 0)
    stand.submit(10, 100)
    #expect(stand.sends(100).isEmpty)
    stand.pool.applySettings(of: 1, streamsMax: 3)
    let three = stand.sends(100)
    #expect(three.count == 3)
    stand.pool.applySettings(of: 1, streamsMax: 1)
    _ = stand.pool.end(three[0].ticket, with: .answered(.authorizes), at: at(110))
    _ = stand.pool.end(three[1].ticket, with: .answered(.authorizes), at: at(110))
    #expect(stand.sends(110).isEmpty, "one is still open")
    _ = stand.pool.end(three[2].ticket, with: .answered(.authorizes), at: at(110))
    #expect(stand.sends(110).count == 1)
    #expect(stand.tick(200).isEmpty, "only one connection is allowed")
}

@Test func `a request that got no connection ends at its deadline as not processed`() {
    var stand = Stand()
    stand.submit(2, 0, deadline: 1_000)
    _ = stand.tick(0)
    #expect(stand.tick(999).isEmpty)
    let ends = stand.tick(1_000).filter {
        if case .end(_, .notProcessed(.noConnection)) = $0 { true } else { false }
    }
    #expect(ends.count == 2)
    #expect(stand.pool.isIdle)
}

@Test func `a host that is down for a minute sees few connections`() {
    var stand = Stand()
    var connects = 0
    for time in stride(from: 0, to: 60_000, by: 50) {
        stand.submit(1, time)
        for action in stand.tick(time) {
            if case .connect(let number) = action {
                connects += 1
                stand.pool.handleClose(of: number, at: at(time))
            }
        }
    }
    #expect((3...20).contains(connects))
}

@Test func `silence with open streams brings a PING after ten seconds and a close five seconds later`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    stand.submit(1, 100, deadline: 100_000)
    #expect(stand.sends(100).count == 1)
    #expect(stand.tick(10_000).isEmpty)
    #expect(stand.tick(10_100) == [.ping(1)])
    #expect(stand.tick(15_000).isEmpty)
    #expect(stand.tick(15_100) == [.close(1), .connect(2)])
}

@Test func `an idle connection gets a PING every minute, and a PONG keeps it`() {
    var stand = Stand { $0.idleConnectionMilliseconds = 1_000_000 }
    stand.open()
    #expect(stand.tick(59_000).isEmpty)
    #expect(stand.tick(60_020) == [.ping(1)])
    stand.pool.recordRead(on: 1, at: at(60_030))
    stand.pool.recordPong(on: 1)
    #expect(stand.tick(70_000).isEmpty)
}

@Test func `an old connection is used until its replacement works`() {
    var stand = Stand { $0.recycleMilliseconds = 1_000...1_000 }
    stand.open()
    #expect(stand.tick(900).isEmpty)
    #expect(stand.tick(1_100) == [.connect(2)])
    stand.submit(1, 1_200)
    #expect(stand.sends(1_200).map(\.connection) == [1], "the only open connection")
    stand.pool.handleOpen(of: 2, at: at(1_300))
    stand.pool.applySettings(of: 2, streamsMax: 100)
    stand.submit(1, 1_300)
    let sent = stand.sends(1_300)
    #expect(sent.map(\.connection) == [2], "the less loaded connection")
    #expect(stand.tick(1_350).isEmpty, "the new connection is not proven yet")
    _ = stand.pool.end(sent[0].ticket, with: .answered(.authorizes), at: at(1_400))
    #expect(stand.tick(1_400).isEmpty, "the old connection has an open request")
    stand.submit(1, 1_450)
    #expect(stand.sends(1_450).map(\.connection) == [2])
}

@Test func `a stalled connection gets no requests while another works`() {
    var stand = Stand { $0.connectionsMax = 2 }
    stand.open(streams: 4)
    stand.submit(5, 100)
    #expect(stand.sends(100).count == 4)
    #expect(stand.tick(1_200) == [.connect(2)])
    stand.pool.handleOpen(of: 2, at: at(1_250))
    stand.pool.applySettings(of: 2, streamsMax: 100)
    let sent = stand.sends(1_250)
    #expect(sent.map(\.connection) == [2])
    _ = stand.pool.end(sent[0].ticket, with: .answered(.authorizes), at: at(1_260))
    stand.submit(50, 1_300)
    #expect(stand.sends(1_300).allSatisfy { $0.connection == 2 })
}

@Test func `a refused request pauses and is sent again, and ends after twenty refusals`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    stand.submit(1, 100, deadline: 100_000)
    var time = 100
    for _ in 0..<20 {
        let sent = stand.sends(time)
        #expect(sent.count == 1)
        guard sent.count == 1 else { return }
        #expect(stand.pool.end(sent[0].ticket, with: .refused, at: at(time)) == .retry)
        _ = stand.tick(time + 9)
        #expect(stand.sends(time + 9).isEmpty, "the pause is at least ten milliseconds")
        time += 101
        _ = stand.tick(time)
    }
    let last = stand.sends(time)
    #expect(stand.pool.end(last[0].ticket, with: .refused, at: at(time)) == .ended(.notProcessed(.refused)))
    #expect(stand.pool.isIdle)
}

@Test func `ENHANCE_YOUR_CALM halves the window, which then grows again`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open(streams: 40)
    stand.submit(60, 100, deadline: 10_000_000)
    let sent = stand.sends(100)
    #expect(sent.count == 40)
    let reset = stand.pool.end(sent[0].ticket, with: .reset(isCalm: true, hasLeft: true), at: at(110))
    #expect(reset == .ended(.unknown(.reset)))
    for send in sent[1...] { _ = stand.pool.end(send.ticket, with: .answered(.authorizes), at: at(120)) }
    #expect(stand.sends(120).count == 20)
    stand.pool.recordRead(on: 1, at: at(60_000))
    _ = stand.tick(60_000)
    #expect(stand.pool.connections[0].windowMax == 20)
    _ = stand.tick(60_200)
    #expect(stand.pool.connections[0].windowMax == 70, "the window grows by a twentieth of its full width")
}

// MARK: Regressions

@Test func `a pool that stops ends waiting and resting requests, takes no more, and lets open ones end`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open(streams: 2)
    stand.submit(5, 100)
    let sent = stand.sends(100)
    #expect(stand.pool.end(sent[0].ticket, with: .refused, at: at(110)) == .retry)
    stand.pool.stop(at: at(120))
    let ended = stand.pool.takeActions().count {
        if case .end(_, .notProcessed(.stopped)) = $0 { true } else { false }
    }
    #expect(ended == 4, "three waited, one rested")
    #expect(stand.refusal(130) == .stopped)
    #expect(stand.tick(200).isEmpty, "one is still open")
    #expect(stand.pool.end(sent[1].ticket, with: .refused, at: at(210)) == .ended(.notProcessed(.stopped)))
    #expect(stand.tick(250) == [.finish(1)])
}

@Test func `a connection that answers PING but no requests is retired, and late answers still count`() {
    var stand = Stand {
        $0.connectionsMax = 1
        $0.consecutiveOverduesMax = 3
    }
    stand.open()
    stand.submit(3, 100)
    let sent = stand.sends(100)
    for send in sent.prefix(2) {
        _ = stand.pool.end(send.ticket, with: .overdue(hasLeft: true), at: at(5_100))
    }
    stand.submit(1, 5_200)
    #expect(stand.sends(5_200).count == 1, "two overdue requests do not make it deaf")
    #expect(
        stand.pool.end(sent[2].ticket, with: .overdue(hasLeft: true), at: at(5_300))
            == .ended(.unknown(.overdue))
    )
    stand.pool.recordPong(on: 1)
    stand.pool.recordRead(on: 1, at: at(5_350))
    stand.submit(1, 5_400)
    #expect(stand.sends(5_400).isEmpty)
    #expect(stand.tick(5_450) == [.connect(2)], "another connection takes its place")
    #expect(stand.pool.end(sent[0].ticket, with: .answered(.authorizes), at: at(5_500)) == .lateAnswer)
    #expect(stand.pool.handleFreedStream(of: sent[1].ticket, on: 1) == .noLateAnswer)
}

@Test func `an unproven connection of the suspects is retired after one overdue push`() {
    var settings = PoolSettings().forSuspects
    settings.backoffMilliseconds = 0...0
    var pool = PoolStateMachine(settings: settings, seed: 1)
    var budget = ConnectBudget()
    let first = try? pool.submit(sendBy: at(1_000), at: at(0))
    pool.tick(at: at(0)) { budget.take(for: 1, request: $0, at: at(0)) }
    #expect(pool.takeActions() == [.connect(1)])
    pool.handleOpen(of: 1, at: at(10))
    pool.applySettings(of: 1, streamsMax: 100)
    #expect(pool.nextSend(at: at(10))?.ticket == first)
    _ = first.map { pool.end($0, with: .overdue(hasLeft: true), at: at(1_000)) }
    _ = try? pool.submit(sendBy: at(5_000), at: at(1_100))
    #expect(pool.nextSend(at: at(1_100)) == nil)
    pool.tick(at: at(1_150)) { budget.take(for: 1, request: $0, at: at(1_150)) }
    #expect(pool.takeActions() == [.connect(2)])
}

@Test func `a push that had to leave before is not sent, even without a tick in between`() throws {
    var stand = Stand()
    stand.open()
    _ = stand.tick(30)
    let late = try stand.pool.submit(sendBy: at(150), at: at(100))
    let good = try stand.pool.submit(sendBy: at(151), at: at(100))
    #expect(stand.sends(150).map(\.ticket) == [good])
    #expect(stand.pool.takeActions() == [.end(late, .notProcessed(.noConnection))])
}

@Test func `the stream of a push that was given up counts until its reset is sent`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open(streams: 2)
    stand.submit(4, 100)
    let sent = stand.sends(100)
    #expect(sent.count == 2)
    _ = stand.pool.end(sent[0].ticket, with: .overdue(hasLeft: false), at: at(110))
    _ = stand.pool.end(sent[1].ticket, with: .withdrawn, at: at(110))
    #expect(stand.sends(120).isEmpty)
    #expect(stand.pool.handleFreedStream(of: sent[0].ticket, on: 1) == .stale)
    #expect(stand.sends(130).count == 1)
    #expect(stand.pool.handleFreedStream(of: sent[1].ticket, on: 1) == .stale)
    #expect(stand.sends(140).count == 1)
}

@Test func `a push whose time to leave has passed is not sent when a stream becomes free`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open(streams: 1)
    stand.submit(2, 100, deadline: 1_000)
    let sent = stand.sends(100)
    _ = stand.pool.end(sent[0].ticket, with: .answered(.authorizes), at: at(1_100))
    #expect(stand.sends(1_100).isEmpty)
    let ends = stand.pool.takeActions()
    #expect(ends.count == 1)
    if case .end(_, .notProcessed(.noConnection)) = ends.first {} else { Issue.record("\(ends)") }
}

@Test(arguments: [ResponseEffect.connectionUnusable, .tokenExpired(isRemade: true), .tooManyTokens])
func `an answer that asks for another try ends a push whose time to leave has passed`(effect: ResponseEffect)
{
    var stand = Stand { $0.connectionsMax = 2 }
    stand.open()
    stand.submit(2, 100, deadline: 1_000)
    let sent = stand.sends(100)
    #expect(stand.pool.end(sent[0].ticket, with: .answered(effect), at: at(1_099)) == .retry)
    #expect(stand.pool.end(sent[1].ticket, with: .answered(effect), at: at(1_100)) == .ended(.answered))
}

@Test func `only attempts that APNs answered count against a push's limit`()
    throws
{
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    let ticket = try stand.pool.submit(sendBy: at(9_000), attempts: 2, at: at(100))
    #expect(stand.sends(100).count == 1)
    #expect(stand.pool.end(ticket, with: .notProcessed, at: at(110)) == .retry)
    #expect(stand.sends(110).count == 1)
    #expect(stand.pool.end(ticket, with: .answered(.tokenExpired(isRemade: true)), at: at(120)) == .retry)
    #expect(stand.sends(120).count == 1)
    #expect(stand.pool.end(ticket, with: .answered(.connectionUnusable), at: at(130)) == .ended(.answered))
}

@Test func `a refused push goes over another connection, even if that one is busier`() throws {
    var stand = Stand { $0.connectionsMax = 2 }
    stand.open(streams: 40)
    stand.submit(45, 100, deadline: 100_000)
    let all = stand.sends(100)
    stand.pool.recordRead(on: 1, at: at(1_000))
    #expect(all.count == 40 && stand.tick(1_050) == [.connect(2)])
    stand.pool.handleOpen(of: 2, at: at(1_060))
    stand.pool.applySettings(of: 2, streamsMax: 100)
    let second = stand.sends(1_060)
    #expect(second.map(\.connection) == [2])
    for send in second { _ = stand.pool.end(send.ticket, with: .answered(.authorizes), at: at(1_070)) }
    let rest = stand.sends(1_070)
    #expect(rest.count == 4 && rest.allSatisfy { $0.connection == 2 })
    // The first connection has 30 streams. The second has 3 and refuses the fourth.
    for send in all.prefix(10) {
        _ = stand.pool.end(send.ticket, with: .answered(.authorizes), at: at(1_080))
    }
    let refused = try #require(rest.first)
    #expect(stand.pool.end(refused.ticket, with: .refused, at: at(1_090)) == .retry)
    stand.pool.recordRead(on: 1, at: at(1_150))
    stand.pool.recordRead(on: 2, at: at(1_150))
    _ = stand.tick(1_195)
    #expect(stand.sends(1_195).map(\.connection) == [1])
}

@Test func `answers of 5xx halve the window once for each burst, and it grows in steps`() {
    var stand = Stand {
        $0.connectionsMax = 1
        $0.streamsPerConnectionMax = 40
        $0.waitingMax = 200
        $0.requestsMax = 400
    }
    stand.open(streams: 100)
    stand.submit(150, 100, deadline: 10_000_000)
    let sent = stand.sends(100)
    #expect(sent.count == 40)
    for send in sent { _ = stand.pool.end(send.ticket, with: .answered(.serverTrouble), at: at(200)) }
    let half = stand.sends(200)
    #expect(half.count == 20)
    for send in half { _ = stand.pool.end(send.ticket, with: .answered(.serverTrouble), at: at(500)) }
    let quarter = stand.sends(500)
    #expect(quarter.count == 10)
    for send in quarter { _ = stand.pool.end(send.ticket, with: .answered(.authorizes), at: at(600)) }
    stand.pool.recordRead(on: 1, at: at(1_500))
    _ = stand.tick(1_499)
    #expect(stand.pool.connections[0].windowMax == 10)
    _ = stand.tick(1_500)
    #expect(stand.pool.connections[0].windowMax == 12)
    for second in 2...20 { _ = stand.tick(1_500 + 1_000 * second) }
    #expect(stand.pool.connections[0].windowMax == 40)
}

@Test func `the pool takes the free streams and a few more, but never more than its limit`() {
    var stand = Stand {
        $0.waitingMax = 5
        $0.requestsMax = 12
        $0.connectionsMax = 1
    }
    #expect(stand.pool.capacity == 5, "no connection yet")
    stand.open(streams: 4)
    #expect(stand.pool.capacity == 9)
    stand.submit(20, 100)
    #expect(stand.pool.capacity == 0 && stand.pool.openRequests == 9)
    #expect(stand.sends(100).count == 4)
    stand.pool.applySettings(of: 1, streamsMax: 100)
    #expect(stand.pool.capacity == 3, "the limit is twelve")
    #expect(stand.refusal(110) == nil)
    stand.submit(20, 110)
    #expect(stand.pool.openRequests == 12 && stand.refusal(110) == .full)
}

@Test func `connections that are not needed are closed`() {
    var stand = Stand { $0.idleConnectionMilliseconds = 10_000 }
    stand.open()
    #expect(stand.tick(9_900).isEmpty)
    #expect(stand.tick(10_000) == [.finish(1)])
    stand.pool.handleClose(of: 1, at: at(10_001))
    #expect(stand.tick(11_000).isEmpty && stand.pool.connectionCount == 0)
}
