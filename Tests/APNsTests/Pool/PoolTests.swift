import Lifecycle
import Testing

@testable import APNs

private func at(_ milliseconds: Int) -> Instant {
    Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
}

/// A pool with one open connection, and what it asks for.
private struct Stand {
    var pool: Pool
    var budget = ConnectBudget()

    init(_ change: (inout PoolSettings) -> Void = { _ in }) {
        var settings = PoolSettings()
        change(&settings)
        pool = Pool(settings, seed: 1)
    }

    mutating func tick(_ milliseconds: Int) -> [PoolAction] {
        pool.tick(at: at(milliseconds)) { budget.take(isFirst: $0, at: at(milliseconds)) }
        return pool.takeActions()
    }

    mutating func submit(_ count: Int = 1, _ milliseconds: Int, deadline: Int = 5_000) {
        for _ in 0..<count {
            _ = pool.submit(deadline: at(milliseconds + deadline), at: at(milliseconds))
        }
    }

    mutating func sends(_ milliseconds: Int) -> [(ticket: PoolTicket, connection: UInt32)] {
        var sends: [(ticket: PoolTicket, connection: UInt32)] = []
        while let next = pool.nextSend(at: at(milliseconds)) { sends.append(next) }
        return sends
    }

    /// Opens connection 1, and lets its first request be answered.
    mutating func open(streams: Int = 100) {
        submit(1, 0)
        _ = tick(0)
        pool.connected(1, at: at(10))
        pool.settings(1, streamsMax: streams)
        for send in sends(10) { _ = pool.ended(send.ticket, .answered(.authorises), at: at(20)) }
    }
}

@Test func `the first request opens one connection, and it takes one request until it is answered`() {
    var stand = Stand()
    stand.submit(10, 0)
    #expect(stand.tick(0) == [.connect(1)])
    #expect(stand.tick(2_000).isEmpty, "one is on its way")
    stand.pool.connected(1, at: at(2_000))
    stand.pool.settings(1, streamsMax: 500)
    let first = stand.sends(2_000)
    #expect(first.count == 1)
    _ = stand.pool.ended(first[0].ticket, .answered(.nothing), at: at(2_010))
    let second = stand.sends(2_010)
    #expect(second.count == 1, "an answer that does not speak of the token opens nothing")
    _ = stand.pool.ended(second[0].ticket, .answered(.authorises), at: at(2_020))
    #expect(stand.sends(2_020).count == 8)
}

@Test func `no streams park requests, more let them go, fewer are obeyed`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    stand.pool.settings(1, streamsMax: 0)
    stand.submit(10, 100)
    #expect(stand.sends(100).isEmpty)
    stand.pool.settings(1, streamsMax: 3)
    let three = stand.sends(100)
    #expect(three.count == 3)
    stand.pool.settings(1, streamsMax: 1)
    _ = stand.pool.ended(three[0].ticket, .answered(.authorises), at: at(110))
    _ = stand.pool.ended(three[1].ticket, .answered(.authorises), at: at(110))
    #expect(stand.sends(110).isEmpty, "one is still open")
    _ = stand.pool.ended(three[2].ticket, .answered(.authorises), at: at(110))
    #expect(stand.sends(110).count == 1)
    #expect(stand.tick(200).isEmpty, "the one connection is all there may be")
}

@Test func `what waits in vain ends at its deadline as surely not processed`() {
    var stand = Stand()
    stand.submit(2, 0, deadline: 1_000)
    _ = stand.tick(0)
    #expect(stand.tick(999).isEmpty)
    let ends = stand.tick(1_000).filter {
        if case .end(_, .notProcessed(.noConnection)) = $0 { true } else { false }
    }
    #expect(ends.count == 2)
    #expect(stand.pool.isQuiet)
}

@Test func `a host that is down for a minute sees few connections`() {
    var stand = Stand()
    var connects = 0
    for time in stride(from: 0, to: 60_000, by: 50) {
        stand.submit(1, time)
        for action in stand.tick(time) {
            if case .connect(let number) = action {
                connects += 1
                stand.pool.closed(number, at: at(time))
            }
        }
    }
    #expect((3...20).contains(connects))
}

@Test func `silence with open streams brings a PING after ten seconds, and five later the end`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    stand.submit(1, 100, deadline: 100_000)
    #expect(stand.sends(100).count == 1)
    #expect(stand.tick(10_000).isEmpty)
    #expect(stand.tick(10_100) == [.ping(1)])
    #expect(stand.tick(15_000).isEmpty)
    #expect(stand.tick(15_100) == [.close(1), .connect(2)])
}

@Test func `an idle connection is asked every minute, and an answer keeps it`() {
    var stand = Stand { $0.keptMilliseconds = 1_000_000 }
    stand.open()
    #expect(stand.tick(59_000).isEmpty)
    #expect(stand.tick(60_020) == [.ping(1)])
    stand.pool.read(1, at: at(60_030))
    stand.pool.pong(1)
    #expect(stand.tick(70_000).isEmpty)
}

@Test func `an old connection is used until its replacement works`() {
    var stand = Stand { $0.recycleMilliseconds = 1_000...1_000 }
    stand.open()
    #expect(stand.tick(900).isEmpty)
    #expect(stand.tick(1_100) == [.connect(2)])
    stand.submit(1, 1_200)
    #expect(stand.sends(1_200).map(\.connection) == [1], "the only one that is there")
    stand.pool.connected(2, at: at(1_300))
    stand.pool.settings(2, streamsMax: 100)
    stand.submit(1, 1_300)
    let sent = stand.sends(1_300)
    #expect(sent.map(\.connection) == [2], "the less loaded")
    #expect(stand.tick(1_350).isEmpty, "not proven yet")
    _ = stand.pool.ended(sent[0].ticket, .answered(.authorises), at: at(1_400))
    #expect(stand.tick(1_400).isEmpty, "it has an open request")
    stand.submit(1, 1_450)
    #expect(stand.sends(1_450).map(\.connection) == [2])
}

@Test func `a stalled connection gets nothing while another works`() {
    var stand = Stand { $0.connectionsMax = 2 }
    stand.open(streams: 4)
    stand.submit(5, 100)
    #expect(stand.sends(100).count == 4)
    #expect(stand.tick(1_200) == [.connect(2)])
    stand.pool.connected(2, at: at(1_250))
    stand.pool.settings(2, streamsMax: 100)
    let sent = stand.sends(1_250)
    #expect(sent.map(\.connection) == [2])
    _ = stand.pool.ended(sent[0].ticket, .answered(.authorises), at: at(1_260))
    stand.submit(50, 1_300)
    #expect(stand.sends(1_300).allSatisfy { $0.connection == 2 })
}

@Test func `a refused request rests and goes over another connection, and gives up after twenty`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open()
    stand.submit(1, 100, deadline: 100_000)
    var time = 100
    for _ in 0..<20 {
        let sent = stand.sends(time)
        #expect(sent.count == 1)
        guard sent.count == 1 else { return }
        #expect(stand.pool.ended(sent[0].ticket, .refused, at: at(time)) == .again)
        _ = stand.tick(time + 9)
        #expect(stand.sends(time + 9).isEmpty, "the pause has ten milliseconds at least")
        time += 101
        _ = stand.tick(time)
    }
    let last = stand.sends(time)
    #expect(stand.pool.ended(last[0].ticket, .refused, at: at(time)) == .ended(.notProcessed(.refused)))
    #expect(stand.pool.isQuiet)
}

@Test func `ENHANCE_YOUR_CALM halves the window, and it comes back`() {
    var stand = Stand { $0.connectionsMax = 1 }
    stand.open(streams: 40)
    stand.submit(60, 100, deadline: 1_000_000)
    let sent = stand.sends(100)
    #expect(sent.count == 40)
    #expect(stand.pool.ended(sent[0].ticket, .reset(isCalm: true), at: at(110)) == .ended(.unknown(.reset)))
    for send in sent[1...] { _ = stand.pool.ended(send.ticket, .answered(.authorises), at: at(120)) }
    #expect(stand.sends(120).count == 20)
    stand.pool.read(1, at: at(60_000))
    _ = stand.tick(60_200)
    #expect(stand.pool.connections[0].windowMax == 40)
}

@Test func `who has no connection goes before who wants one more`() {
    var budget = ConnectBudget()
    let taken = [
        budget.take(isFirst: false, at: at(0)), budget.take(isFirst: true, at: at(500)),
        budget.take(isFirst: false, at: at(1_000)), budget.take(isFirst: true, at: at(1_050)),
        budget.take(isFirst: false, at: at(2_049)), budget.take(isFirst: false, at: at(2_050)),
    ]
    #expect(taken == [true, false, false, true, false, true])
}
