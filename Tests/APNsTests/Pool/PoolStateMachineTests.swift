import Lifecycle
import Testing

@testable import APNs

/// Returns the instant this many milliseconds after the start.
private func instant(_ milliseconds: Int) -> Instant {
    Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
}

/// A pool, and the budget from which it takes its connects. Times are milliseconds since the start. The test plays the
/// connections: `tick` returns the pool's actions, such as `.connect`, and the test reports events to `pool`.
private struct PoolFixture {
    var pool: PoolStateMachine
    var budget = ConnectBudget()

    init(_ change: (inout PoolSettings) -> Void = { _ in }) {
        var settings = PoolSettings()
        change(&settings)
        pool = PoolStateMachine(settings: settings, seed: 1)
    }

    /// Lets the pool notice the time, and returns its actions.
    mutating func tick(at milliseconds: Int) -> [PoolAction] {
        pool.tick(at: instant(milliseconds)) { budget.take(for: 1, request: $0, at: instant(milliseconds)) }
        return pool.takeActions()
    }

    /// Submits requests whose `sendBy` is `sendWithin` milliseconds later.
    mutating func submit(_ count: Int, at milliseconds: Int, sendWithin: Int = 5_000) {
        for _ in 0..<count {
            _ = try? pool.submit(sendBy: instant(milliseconds + sendWithin), at: instant(milliseconds))
        }
    }

    /// Returns the reason why one more request is refused, or nil.
    mutating func refusal(at milliseconds: Int) -> PushRefusal? {
        do throws(PushRefusal) {
            _ = try pool.submit(sendBy: instant(milliseconds + 5_000), at: instant(milliseconds))
            return nil
        } catch {
            return error
        }
    }

    /// Returns the requests that the pool sends now, with their connections.
    mutating func takeSends(at milliseconds: Int) -> [(ticket: PoolTicket, connection: UInt32)] {
        var sends: [(ticket: PoolTicket, connection: UInt32)] = []
        while let next = pool.nextSend(at: instant(milliseconds)) { sends.append(next) }
        return sends
    }

    /// Opens connection 1 at 10 ms, and answers its first request at 20 ms. The connection is then authorized, so that
    /// it may have more than one stream.
    mutating func open(streams: Int = 100) {
        submit(1, at: 0)
        _ = tick(at: 0)
        pool.handleOpen(of: 1, at: instant(10))
        pool.applySettings(of: 1, streamsMax: streams)
        for send in takeSends(at: 10) {
            _ = pool.end(send.ticket, with: .answered(.authorizes), at: instant(20))
        }
    }
}

@Test func `the first request opens one connection, which carries one request until an answer authorizes it`()
{
    var fixture = PoolFixture()
    fixture.submit(10, at: 0)
    #expect(fixture.tick(at: 0) == [.connect(1)])
    #expect(fixture.tick(at: 2_000).isEmpty, "one connection is being opened")
    fixture.pool.handleOpen(of: 1, at: instant(2_000))
    fixture.pool.applySettings(of: 1, streamsMax: 500)
    let first = fixture.takeSends(at: 2_000)
    #expect(first.count == 1)
    _ = fixture.pool.end(first[0].ticket, with: .answered(.nothing), at: instant(2_010))
    let second = fixture.takeSends(at: 2_010)
    #expect(second.count == 1, "this answer does not show that the token is accepted")
    _ = fixture.pool.end(second[0].ticket, with: .answered(.authorizes), at: instant(2_020))
    #expect(fixture.takeSends(at: 2_020).count == 8, "the other requests")
}

@Test func `with a limit of no streams requests wait, and each new limit is obeyed`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open()
    fixture.pool.applySettings(of: 1, streamsMax: 0)
    fixture.submit(10, at: 100)
    #expect(fixture.takeSends(at: 100).isEmpty)
    fixture.pool.applySettings(of: 1, streamsMax: 3)
    let three = fixture.takeSends(at: 100)
    #expect(three.count == 3)
    fixture.pool.applySettings(of: 1, streamsMax: 1)
    _ = fixture.pool.end(three[0].ticket, with: .answered(.authorizes), at: instant(110))
    _ = fixture.pool.end(three[1].ticket, with: .answered(.authorizes), at: instant(110))
    #expect(fixture.takeSends(at: 110).isEmpty, "one is still open")
    _ = fixture.pool.end(three[2].ticket, with: .answered(.authorizes), at: instant(110))
    #expect(fixture.takeSends(at: 110).count == 1)
    #expect(fixture.tick(at: 200).isEmpty, "only one connection is allowed")
}

@Test func `a request that got no connection in time ends as not processed`() {
    var fixture = PoolFixture()
    fixture.submit(2, at: 0, sendWithin: 1_000)
    _ = fixture.tick(at: 0)
    #expect(fixture.tick(at: 999).isEmpty)
    let ends = fixture.tick(at: 1_000).filter {
        if case .end(_, .notProcessed(.noConnection)) = $0 { true } else { false }
    }
    #expect(ends.count == 2)
    #expect(fixture.pool.isIdle)
}

@Test func `a host that is down for a minute sees few connections`() {
    var fixture = PoolFixture()
    var connectCount = 0
    for time in stride(from: 0, to: 60_000, by: 50) {
        fixture.submit(1, at: time)
        for action in fixture.tick(at: time) {
            if case .connect(let number) = action {
                connectCount += 1
                fixture.pool.handleClose(of: number, at: instant(time))
            }
        }
    }
    #expect((3...20).contains(connectCount))
}

@Test func `silence with open streams brings a PING after ten seconds and a close five seconds later`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open()
    fixture.submit(1, at: 100, sendWithin: 100_000)
    #expect(fixture.takeSends(at: 100).count == 1)
    #expect(fixture.tick(at: 10_000).isEmpty)
    #expect(fixture.tick(at: 10_100) == [.ping(1)])
    #expect(fixture.tick(at: 15_000).isEmpty)
    #expect(fixture.tick(at: 15_100) == [.close(1), .connect(2)])
}

@Test func `an idle connection gets a PING every minute, and a PONG keeps it`() {
    var fixture = PoolFixture { $0.idleConnectionMilliseconds = 1_000_000 }
    fixture.open()
    #expect(fixture.tick(at: 59_000).isEmpty)
    #expect(fixture.tick(at: 60_020) == [.ping(1)])
    fixture.pool.recordRead(on: 1, at: instant(60_030))
    fixture.pool.recordPong(on: 1)
    #expect(fixture.tick(at: 70_000).isEmpty)
}

@Test func `an old connection is used until its replacement works`() {
    var fixture = PoolFixture { $0.recycleMilliseconds = 1_000...1_000 }
    fixture.open()
    #expect(fixture.tick(at: 900).isEmpty)
    #expect(fixture.tick(at: 1_100) == [.connect(2)])
    fixture.submit(1, at: 1_200)
    #expect(fixture.takeSends(at: 1_200).map(\.connection) == [1], "the only open connection")
    fixture.pool.handleOpen(of: 2, at: instant(1_300))
    fixture.pool.applySettings(of: 2, streamsMax: 100)
    fixture.submit(1, at: 1_300)
    let sent = fixture.takeSends(at: 1_300)
    #expect(sent.map(\.connection) == [2], "the less loaded connection")
    #expect(fixture.tick(at: 1_350).isEmpty, "the new connection is not authorized yet")
    _ = fixture.pool.end(sent[0].ticket, with: .answered(.authorizes), at: instant(1_400))
    #expect(fixture.tick(at: 1_400).isEmpty, "the old connection has an open request")
    fixture.submit(1, at: 1_450)
    #expect(fixture.takeSends(at: 1_450).map(\.connection) == [2])
}

@Test func `a stalled connection gets no requests while another works`() {
    var fixture = PoolFixture { $0.connectionsMax = 2 }
    fixture.open(streams: 4)
    fixture.submit(5, at: 100)
    #expect(fixture.takeSends(at: 100).count == 4)
    #expect(fixture.tick(at: 1_200) == [.connect(2)])
    fixture.pool.handleOpen(of: 2, at: instant(1_250))
    fixture.pool.applySettings(of: 2, streamsMax: 100)
    let sent = fixture.takeSends(at: 1_250)
    #expect(sent.map(\.connection) == [2])
    _ = fixture.pool.end(sent[0].ticket, with: .answered(.authorizes), at: instant(1_260))
    fixture.submit(50, at: 1_300)
    #expect(fixture.takeSends(at: 1_300).allSatisfy { $0.connection == 2 })
}

@Test func `a refused request pauses and is sent again, and ends after twenty refusals`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open()
    fixture.submit(1, at: 100, sendWithin: 100_000)
    var time = 100
    for _ in 0..<20 {
        let sent = fixture.takeSends(at: time)
        #expect(sent.count == 1)
        guard sent.count == 1 else { return }
        #expect(fixture.pool.end(sent[0].ticket, with: .refused, at: instant(time)) == .retry)
        _ = fixture.tick(at: time + 9)
        #expect(fixture.takeSends(at: time + 9).isEmpty, "the pause is at least ten milliseconds")
        time += 101
        _ = fixture.tick(at: time)
    }
    let last = fixture.takeSends(at: time)
    #expect(
        fixture.pool.end(last[0].ticket, with: .refused, at: instant(time)) == .ended(.notProcessed(.refused))
    )
    #expect(fixture.pool.isIdle)
}

@Test func `ENHANCE_YOUR_CALM halves the window, which then grows again`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open(streams: 40)
    fixture.submit(60, at: 100, sendWithin: 10_000_000)
    let sent = fixture.takeSends(at: 100)
    #expect(sent.count == 40)
    let reset = fixture.pool.end(
        sent[0].ticket, with: .reset(isEnhanceYourCalm: true, mayHaveBeenSent: true), at: instant(110))
    #expect(reset == .ended(.unknown(.reset)))
    for send in sent[1...] {
        _ = fixture.pool.end(send.ticket, with: .answered(.authorizes), at: instant(120))
    }
    #expect(fixture.takeSends(at: 120).count == 20)
    fixture.pool.recordRead(on: 1, at: instant(60_000))
    _ = fixture.tick(at: 60_000)
    #expect(fixture.pool.connections[0].windowMax == 20)
    _ = fixture.tick(at: 60_200)
    #expect(fixture.pool.connections[0].windowMax == 70, "the window grows by a twentieth of its full width")
}

@Test func `a pool that stops ends requests that wait or back off, takes no more, and lets open ones end`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open(streams: 2)
    fixture.submit(5, at: 100)
    let sent = fixture.takeSends(at: 100)
    #expect(fixture.pool.end(sent[0].ticket, with: .refused, at: instant(110)) == .retry)
    fixture.pool.stop(at: instant(120))
    let ended = fixture.pool.takeActions().count {
        if case .end(_, .notProcessed(.stopped)) = $0 { true } else { false }
    }
    #expect(ended == 4, "three waited, one was backing off")
    #expect(fixture.refusal(at: 130) == .stopped)
    #expect(fixture.tick(at: 200).isEmpty, "one is still open")
    #expect(
        fixture.pool.end(sent[1].ticket, with: .refused, at: instant(210)) == .ended(.notProcessed(.stopped)))
    #expect(fixture.tick(at: 250) == [.finish(1)])
}

@Test func `a connection that answers PING but no requests is retired, and late answers still count`() {
    var fixture = PoolFixture {
        $0.connectionsMax = 1
        $0.consecutiveOverduesMax = 3
    }
    fixture.open()
    fixture.submit(3, at: 100)
    let sent = fixture.takeSends(at: 100)
    for send in sent.prefix(2) {
        _ = fixture.pool.end(send.ticket, with: .overdue(mayHaveBeenSent: true), at: instant(5_100))
    }
    fixture.submit(1, at: 5_200)
    #expect(fixture.takeSends(at: 5_200).count == 1, "two overdue requests do not make it unresponsive")
    #expect(
        fixture.pool.end(sent[2].ticket, with: .overdue(mayHaveBeenSent: true), at: instant(5_300))
            == .ended(.unknown(.overdue))
    )
    fixture.pool.recordPong(on: 1)
    fixture.pool.recordRead(on: 1, at: instant(5_350))
    fixture.submit(1, at: 5_400)
    #expect(fixture.takeSends(at: 5_400).isEmpty)
    #expect(fixture.tick(at: 5_450) == [.connect(2)], "another connection takes its place")
    #expect(fixture.pool.end(sent[0].ticket, with: .answered(.authorizes), at: instant(5_500)) == .lateAnswer)
    #expect(fixture.pool.handleFreedStream(of: sent[1].ticket, on: 1) == .noLateAnswer)
}

@Test func `an unauthorized connection of the suspects is retired after one overdue push`() {
    var settings = PoolSettings().settings(for: .suspect)
    settings.backoffMilliseconds = 0...0
    var pool = PoolStateMachine(settings: settings, seed: 1)
    var budget = ConnectBudget()
    let first = try? pool.submit(sendBy: instant(1_000), at: instant(0))
    pool.tick(at: instant(0)) { budget.take(for: 1, request: $0, at: instant(0)) }
    #expect(pool.takeActions() == [.connect(1)])
    pool.handleOpen(of: 1, at: instant(10))
    pool.applySettings(of: 1, streamsMax: 100)
    #expect(pool.nextSend(at: instant(10))?.ticket == first)
    _ = first.map { pool.end($0, with: .overdue(mayHaveBeenSent: true), at: instant(1_000)) }
    _ = try? pool.submit(sendBy: instant(5_000), at: instant(1_100))
    #expect(pool.nextSend(at: instant(1_100)) == nil)
    pool.tick(at: instant(1_150)) { budget.take(for: 1, request: $0, at: instant(1_150)) }
    #expect(pool.takeActions() == [.connect(2)])
}

@Test func `a push whose sendBy has passed is not sent, even without a tick in between`() throws {
    var fixture = PoolFixture()
    fixture.open()
    _ = fixture.tick(at: 30)
    let late = try fixture.pool.submit(sendBy: instant(150), at: instant(100))
    let good = try fixture.pool.submit(sendBy: instant(151), at: instant(100))
    #expect(fixture.takeSends(at: 150).map(\.ticket) == [good])
    #expect(fixture.pool.takeActions() == [.end(late, .notProcessed(.noConnection))])
}

@Test func `the stream of a push that was given up counts until its reset is sent`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open(streams: 2)
    fixture.submit(4, at: 100)
    let sent = fixture.takeSends(at: 100)
    #expect(sent.count == 2)
    _ = fixture.pool.end(sent[0].ticket, with: .overdue(mayHaveBeenSent: false), at: instant(110))
    _ = fixture.pool.end(sent[1].ticket, with: .withdrawn, at: instant(110))
    #expect(fixture.takeSends(at: 120).isEmpty)
    #expect(fixture.pool.handleFreedStream(of: sent[0].ticket, on: 1) == .stale)
    #expect(fixture.takeSends(at: 130).count == 1)
    #expect(fixture.pool.handleFreedStream(of: sent[1].ticket, on: 1) == .stale)
    #expect(fixture.takeSends(at: 140).count == 1)
}

@Test func `a push whose sendBy has passed is not sent when a stream becomes free`() {
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open(streams: 1)
    fixture.submit(2, at: 100, sendWithin: 1_000)
    let sent = fixture.takeSends(at: 100)
    _ = fixture.pool.end(sent[0].ticket, with: .answered(.authorizes), at: instant(1_100))
    #expect(fixture.takeSends(at: 1_100).isEmpty)
    let ends = fixture.pool.takeActions()
    #expect(ends.count == 1)
    if case .end(_, .notProcessed(.noConnection)) = ends.first {} else { Issue.record("\(ends)") }
}

@Test(arguments: [ResponseEffect.connectionUnusable, .tokenExpired(isRemade: true), .tooManyTokens])
func `an answer that asks for another try ends a push whose sendBy has passed`(effect: ResponseEffect) {
    var fixture = PoolFixture { $0.connectionsMax = 2 }
    fixture.open()
    fixture.submit(2, at: 100, sendWithin: 1_000)
    let sent = fixture.takeSends(at: 100)
    #expect(fixture.pool.end(sent[0].ticket, with: .answered(effect), at: instant(1_099)) == .retry)
    #expect(
        fixture.pool.end(sent[1].ticket, with: .answered(effect), at: instant(1_100)) == .ended(.answered))
}

@Test func `only attempts that APNs answered count against a push's limit`()
    throws
{
    var fixture = PoolFixture { $0.connectionsMax = 1 }
    fixture.open()
    let ticket = try fixture.pool.submit(sendBy: instant(9_000), attempts: 2, at: instant(100))
    #expect(fixture.takeSends(at: 100).count == 1)
    #expect(fixture.pool.end(ticket, with: .notProcessed, at: instant(110)) == .retry)
    #expect(fixture.takeSends(at: 110).count == 1)
    #expect(
        fixture.pool.end(ticket, with: .answered(.tokenExpired(isRemade: true)), at: instant(120)) == .retry)
    #expect(fixture.takeSends(at: 120).count == 1)
    #expect(
        fixture.pool.end(ticket, with: .answered(.connectionUnusable), at: instant(130)) == .ended(.answered))
}

@Test func `a refused push goes over another connection, even if that one is busier`() throws {
    var fixture = PoolFixture { $0.connectionsMax = 2 }
    fixture.open(streams: 40)
    fixture.submit(45, at: 100, sendWithin: 100_000)
    let all = fixture.takeSends(at: 100)
    fixture.pool.recordRead(on: 1, at: instant(1_000))
    #expect(all.count == 40 && fixture.tick(at: 1_050) == [.connect(2)])
    fixture.pool.handleOpen(of: 2, at: instant(1_060))
    fixture.pool.applySettings(of: 2, streamsMax: 100)
    let second = fixture.takeSends(at: 1_060)
    #expect(second.map(\.connection) == [2])
    for send in second { _ = fixture.pool.end(send.ticket, with: .answered(.authorizes), at: instant(1_070)) }
    let rest = fixture.takeSends(at: 1_070)
    #expect(rest.count == 4 && rest.allSatisfy { $0.connection == 2 })
    // Then the first connection has 30 streams. The second has 3, and refuses the fourth.
    for send in all.prefix(10) {
        _ = fixture.pool.end(send.ticket, with: .answered(.authorizes), at: instant(1_080))
    }
    let refused = try #require(rest.first)
    #expect(fixture.pool.end(refused.ticket, with: .refused, at: instant(1_090)) == .retry)
    fixture.pool.recordRead(on: 1, at: instant(1_150))
    fixture.pool.recordRead(on: 2, at: instant(1_150))
    _ = fixture.tick(at: 1_195)
    #expect(fixture.takeSends(at: 1_195).map(\.connection) == [1])
}

@Test func `answers of 5xx halve the window once for each burst, and it grows in steps`() {
    var fixture = PoolFixture {
        $0.connectionsMax = 1
        $0.streamsPerConnectionMax = 40
        $0.waitingMax = 200
        $0.requestsMax = 400
    }
    fixture.open(streams: 100)
    fixture.submit(150, at: 100, sendWithin: 10_000_000)
    let sent = fixture.takeSends(at: 100)
    #expect(sent.count == 40)
    for send in sent { _ = fixture.pool.end(send.ticket, with: .answered(.serverTrouble), at: instant(200)) }
    let half = fixture.takeSends(at: 200)
    #expect(half.count == 20)
    for send in half { _ = fixture.pool.end(send.ticket, with: .answered(.serverTrouble), at: instant(500)) }
    let quarter = fixture.takeSends(at: 500)
    #expect(quarter.count == 10)
    for send in quarter { _ = fixture.pool.end(send.ticket, with: .answered(.authorizes), at: instant(600)) }
    fixture.pool.recordRead(on: 1, at: instant(1_500))
    _ = fixture.tick(at: 1_499)
    #expect(fixture.pool.connections[0].windowMax == 10)
    _ = fixture.tick(at: 1_500)
    #expect(fixture.pool.connections[0].windowMax == 12, "a step is a twentieth of 40")
    for second in 2...20 { _ = fixture.tick(at: 1_500 + 1_000 * second) }
    #expect(fixture.pool.connections[0].windowMax == 40)
}

@Test func `the pool takes the free streams and a few more, but never more than its limit`() {
    var fixture = PoolFixture {
        $0.waitingMax = 5
        $0.requestsMax = 12
        $0.connectionsMax = 1
    }
    #expect(fixture.pool.capacity == 5, "no connection yet")
    fixture.open(streams: 4)
    #expect(fixture.pool.capacity == 9)
    fixture.submit(20, at: 100)
    #expect(fixture.pool.capacity == 0 && fixture.pool.unendedRequests == 9)
    #expect(fixture.takeSends(at: 100).count == 4)
    fixture.pool.applySettings(of: 1, streamsMax: 100)
    #expect(fixture.pool.capacity == 3, "the limit is twelve")
    #expect(fixture.refusal(at: 110) == nil)
    fixture.submit(20, at: 110)
    #expect(fixture.pool.unendedRequests == 12 && fixture.refusal(at: 110) == .full)
}

@Test func `connections that are not needed are closed`() {
    var fixture = PoolFixture { $0.idleConnectionMilliseconds = 10_000 }
    fixture.open()
    #expect(fixture.tick(at: 9_900).isEmpty)
    #expect(fixture.tick(at: 10_000) == [.finish(1)])
    fixture.pool.handleClose(of: 1, at: instant(10_001))
    #expect(fixture.tick(at: 11_000).isEmpty && fixture.pool.connectionCount == 0)
}
