import Identifiers
import JSON
import Payloads
import RecordFormat
import RecordTesting
import Schedules
import Sends
import Testing

// The records of schedules, their commands and their replies.

private var reader: JSONReader { JSONReader() }

private func makeSend(_ audience: Audience = .users(["ben"]), group: String? = "m") -> Send {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return Send(
        id: "s1", app: "shop", group: group, audience: audience, content: content, priority: .immediate,
        acceptedAt: 1
    )
}

@Test func `a command of every kind reads back`() throws {
    var full = Schedule(
        id: "s/1", name: "Chest", activity: "chest_0", dueTime: .offset(60_000), send: makeSend())
    full.latenessMillisecondsMax = 0
    full.idempotency = Idempotency(key: "k", fingerprint: "f")
    let actions: [ScheduleCommand.Action] = [
        .schedule(full), .schedule(Schedule(id: "s2", dueTime: .at(7), send: makeSend())),
        .cancel(.activity("chest_0")),
        .cancel(.id("s/1")), .cancel(.send("s1")), .erase, .list(100),
        .list(1, after: TimerPosition(dueAt: 5, id: "s:1")),
    ]
    for action in actions {
        var command = ScheduleCommand(action, app: "shop", owner: .recipient(.user("ben")), acceptedAt: 5)
        #expect(try ScheduleCommand.decode(command.encoded(), with: reader) == command)
        command.replyTo = ReplyAddress(partition: 3, request: "r1")
        command.owner = .group("m")
        #expect(try ScheduleCommand.decode(command.encoded(), with: reader) == command)
        #expect(String(decoding: command.key, as: UTF8.self) == "shop/g:m")
    }
}

@Test func `an invalid command is refused`() {
    let command = ScheduleCommand(
        .schedule(Schedule(id: "s1", dueTime: .at(7), send: makeSend())), app: "shop", owner: .group("m"),
        acceptedAt: 5)
    let text = String(decoding: command.encoded(), as: UTF8.self)
    for (good, bad) in [
        (#""owner":"g:m""#, #""owner":"x:m""#), (#""owner":"g:m""#, #""owner":"g:""#),
        (#""app":"shop","owner""#, #""app":"other","owner""#), (#""at":7,"#, ""),
        (#""audience":{"users":["ben"]}"#, #""audience":"everyone""#), (#""id":"s1","at""#, #""id":"","at""#),
    ] {
        let changed = text.replacing(good, with: bad)
        #expect(changed != text)
        #expect(throws: RecordDecodingError.self, "\(bad)") {
            try ScheduleCommand.decode(Array(changed.utf8), with: reader)
        }
    }
}

@Test func `a timed send belongs to its one user, else to its group, else to its activity`() {
    #expect(ScheduleOwner(of: makeSend()) == .recipient(.user("ben")))
    #expect(ScheduleOwner(of: makeSend(.users(["ben", "ada"]))) == .group("m"))
    #expect(ScheduleOwner(of: makeSend(.group)) == .group("m"))
    #expect(ScheduleOwner(of: makeSend(.activities(["a"]), group: nil)) == .activity("a"))
    #expect(ScheduleOwner(of: makeSend(.group, group: nil)) == nil)
    var own = makeSend(.group)
    own.owner = .installation("i1")
    #expect(ScheduleOwner(of: own) == .recipient(.installation("i1")))
    for owner: ScheduleOwner in [
        .recipient(.user("g:x")), .recipient(.installation("i")), .group("u:x"), .activity("a"),
    ] {
        #expect(ScheduleOwner(text: owner.text) == owner)
    }
    for bad in ["", "g", "g:", "x:y", "ben"] { #expect(ScheduleOwner(text: bad) == nil) }
}

@Test func `an offset counts from the cluster's timestamp, and a time is absolute`() {
    #expect(
        Schedule(id: "s", dueTime: .offset(60_000), send: makeSend()).dueAt(recordTimestamp: 1000) == 61_000)
    #expect(Schedule(id: "s", dueTime: .at(60_000), send: makeSend()).dueAt(recordTimestamp: 1000) == 60_000)
}

@Test func `a row of timers reads back and has a unique key`() throws {
    var send = makeSend()
    send.scheduledAt = 4
    let row = TimerRow(
        app: "shop", owner: .recipient(.user("b/n")), id: "s/1", name: "Chest", activity: "chest_0", dueAt: 5,
        latenessMillisecondsMax: 6, send: send, commandOffset: 7)
    // The timer of an automatic END has no id. Its key has the group instead.
    var end = row
    (end.id, end.name, end.activity) = (nil, nil, nil)
    for row in [row, end] { #expect(try TimerRow.decode(row.encoded(), with: reader) == row) }
    let idempotencyRow = ScheduleIdempotencyRow(
        fingerprint: "f", scheduledTimer: .init(id: "s/1", dueAt: 5, send: "s1", isReplacement: true),
        writtenAt: 9)
    #expect(try ScheduleIdempotencyRow.decode(idempotencyRow.encoded(), with: reader) == idempotencyRow)
    let idempotencyKey = ScheduleIdempotencyRow.key(app: "shop", owner: row.owner, idempotencyKey: "k")
    let keys = [row.key, end.key, idempotencyKey].map { String(decoding: $0, as: UTF8.self) }
    #expect(keys == ["shop/u:b%2fn/s%2f1", "shop/u:b%2fn//m", "/shop/u:b%2fn/k"])
    let prefix = TimerRow.keyPrefix(app: "shop", owner: row.owner)
    #expect(
        row.key.starts(with: prefix) && end.key.starts(with: prefix) && !idempotencyKey.starts(with: prefix))
    let areIdempotencyKeys = [row.key, idempotencyKey].map { key in
        key.withUnsafeBytes { ScheduleIdempotencyRow.isKey($0) }
    }
    #expect(areIdempotencyKeys == [false, true])
}

@Test func `a reply of every kind reads back`() throws {
    let listed = GatewayReply.ListedTimer(
        id: "s1", name: nil, activity: "chest_0", dueAt: 5, send: "r-1", event: .end)
    // A conflict has no send in a reply of an earlier program.
    let outcomes: [GatewayReply.Outcome] = [
        .scheduled(.init(id: "s1", dueAt: 5, send: "r-1", isReplacement: false)), .cancelled(2, tooLate: 1),
        .listed([listed], isComplete: false), .listed([], isComplete: true), .conflict(send: "r-1"),
        .conflict(send: ""), .refused("why"), .verdict(.init(.newerState, version: 0)),
        .verdict(.init(.planned, version: 7)),
    ]
    for outcome in outcomes {
        let reply = GatewayReply(request: "q1", outcome: outcome)
        #expect(try GatewayReply.decode(reply.encoded(), with: reader) == reply)
    }
}

@Test func `an automatic END lies under the owner of its timer and reads back`() throws {
    for owner in [nil, Recipient.user("ben")] {
        let end = AutomaticEnd(app: "shop", group: "m", owner: owner, generation: 7, endsAt: 8)
        #expect(try AutomaticEnd.decode(end.encoded(), with: reader) == end)
        #expect(String(decoding: end.key, as: UTF8.self) == (owner == nil ? "shop/g:m" : "shop/u:ben"))
    }
}
