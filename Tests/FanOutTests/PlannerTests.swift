import JSON
import LiveActivity
import Testing

@testable import FanOut

@Test func `a start opens a life, an update and an end follow it in every lane`() throws {
    var rows = Rows()
    let start = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    #expect(start.verdicts == [.planned])
    #expect(start.parts.map(\.lane) == [nil])
    #expect(start.parts[0].expansion.generation == dawn)
    #expect(start.parts[0].expansion.version == dawn)
    #expect(start.parts[0].expansion.targets == .everyone)
    let update = try planner.plan(makeSend(.update, state: 1), at: 10, in: &rows)
    #expect(update.parts[0].expansion.generation == dawn)
    #expect(update.versions == [dawn + 10])
    #expect(update.note == SupersededNote(app: "shop", group: "match", update: dawn + 10, end: 0))
    let end = try planner.plan(makeSend(.end, state: 2), at: 20, in: &rows)
    #expect(end.note == SupersededNote(app: "shop", group: "match", update: 0, end: dawn + 20))
    #expect(try planner.plan(makeSend(.update, state: 3), at: 30, in: &rows).verdicts == [.ended])
    #expect(try planner.plan(makeSend(.end), at: 31, in: &rows).verdicts == [.ended])
    let next = try planner.plan(makeSend(.start, to: .tags(["vip"])), at: 40, in: &rows)
    #expect(next.parts[0].expansion.generation == dawn + 40)
}

@Test func `who is started later joins the life, and gets the newest state`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .tags(["a"])), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, state: 7), at: 5, in: &rows)
    let joined = try planner.plan(makeSend(.start, to: .tags(["b"]), state: 0), at: 9, in: &rows)
    let expansion = joined.parts[0].expansion
    #expect(expansion.generation == dawn)
    #expect(expansion.version == dawn + 5)
    #expect(expansion.content.contentState == raw(#"{"goals":7}"#))
    #expect(expansion.content.alert != nil)
    #expect(joined.note == nil)
}

@Test func `an update for a group that nobody has heard of goes to every lane`() throws {
    var rows = Rows()
    let plan = try planner.plan(makeSend(.update), at: 0, in: &rows)
    #expect(plan.verdicts == [.planned])
    #expect(plan.parts[0].expansion.generation == 0)
    #expect(try planner.plan(makeSend(.end), at: 1, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(makeSend(.update), at: 2, in: &rows).verdicts == [.ended])
}

@Test func `versions run at most five seconds ahead, and then only the newest update waits`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for ahead in 1...5 {
        #expect(
            try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows).versions == [
                dawn + Int64(ahead)
            ])
    }
    let held = try planner.plan(makeSend(.update, id: "first", state: 6), at: 0, in: &rows)
    let key = GroupKey(app: "shop", group: "match")
    #expect(held.verdicts == [.held])
    #expect(held.parts.isEmpty)
    #expect(held.held == Plan.Held(key: key, at: dawn + 1))
    let newer = try planner.plan(makeSend(.update, id: "second", state: 7), at: 0, in: &rows)
    #expect(newer.verdicts == [.superseded, .held])
    #expect(newer.progress.map(\.send) == ["first", "second"])
    let early = try planner.release(key, now: dawn, in: &rows)
    #expect(early.verdicts == [.held])
    let released = try planner.release(key, now: dawn + 1, in: &rows)
    #expect(released.verdicts == [.planned])
    #expect(released.versions == [dawn + 6])
    #expect(released.parts[0].expansion.content.contentState == raw(#"{"goals":7}"#))
    #expect(try planner.release(key, now: dawn + 2, in: &rows) == Plan())
}

@Test func `an end never waits, and takes the place of an update that does`() throws {
    var rows = Rows()
    for ahead in 0...5 { _ = try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, id: "held"), at: 0, in: &rows)
    let end = try planner.plan(makeSend(.end), at: 0, in: &rows)
    #expect(end.verdicts == [.superseded, .planned])
    #expect(end.versions == [dawn + 6])
    let key = GroupKey(app: "shop", group: "match")
    #expect(try planner.release(key, now: dawn + 9, in: &rows) == Plan())
    let start = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    #expect(start.parts[0].expansion.generation == dawn + 7)
}

@Test func `users get versions of their own, above the whole group's, which exceeds all`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let ben = try planner.plan(makeSend(.update, to: .users(["ben"]), state: 1), at: 0, in: &rows)
    #expect(ben.versions == [dawn + 1])
    #expect(ben.parts[0].isUrgent)
    #expect(ben.parts[0].lane == "u:ben".utf8.count % 3)
    #expect(ben.note == nil)
    // Another user's count begins at the group's, not at ben's.
    let two = try planner.plan(makeSend(.update, to: .users(["ada", "ben"]), state: 2), at: 0, in: &rows)
    #expect(two.parts.allSatisfy { !$0.isUrgent })
    #expect(two.versions == [dawn + 1, dawn + 2])
    let whole = try planner.plan(makeSend(.update, state: 3), at: 0, in: &rows)
    #expect(whole.versions == [dawn + 3])
    #expect(try planner.plan(makeSend(.update, to: .users(["ada"])), at: 0, in: &rows).versions == [dawn + 4])
}

@Test func `an end for one user is that user's alone, and a start brings back only that user`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.end, to: .users(["ben"])), at: 10, in: &rows)
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 11, in: &rows).verdicts == [.ended])
    let both = try planner.plan(makeSend(.update, to: .users(["ben", "ada"])), at: 12, in: &rows)
    guard case .verdict(let part) = both.progress[0].part else { throw Missing() }
    #expect(part.ended == 1)
    #expect(both.versions.count == 1)
    let again = try planner.plan(makeSend(.start, to: .users(["ben", "ada"])), at: 20, in: &rows)
    let expected: [Expansion.ScopedRecipient] = [
        .init(.user("ada"), scope: .group, generation: dawn, version: dawn + 12),
        .init(.user("ben"), scope: .recipient, generation: dawn + 20, version: dawn + 20),
    ]
    #expect(again.recipients.sorted { $0.recipient.text < $1.recipient.text } == expected)
    #expect(
        try planner.plan(makeSend(.update, to: .users(["ben"])), at: 21, in: &rows).verdicts == [.planned])
}

@Test func `a private group is a scope of its own, in its owner's lane`() throws {
    var rows = Rows()
    func order(_ event: PushEvent, of user: String) -> Send {
        var send = makeSend(event, to: .users([user]), group: "order")
        send.owner = .user(user)
        return send
    }
    let start = try planner.plan(order(.start, of: "ben"), at: 0, in: &rows)
    #expect(start.parts.count == 1)
    #expect(start.parts[0].isUrgent)
    #expect(start.parts[0].lane == "u:ben".utf8.count % 3)
    _ = try planner.plan(order(.end, of: "ben"), at: 1, in: &rows)
    #expect(try planner.plan(order(.update, of: "ben"), at: 2, in: &rows).verdicts == [.ended])
    #expect(try planner.plan(order(.update, of: "ada"), at: 2, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(order(.update, of: "ada"), at: 2, in: &rows).note == nil)
}

@Test func `named activities get a version above all of the group's, in every lane`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows)
    let plan = try planner.plan(makeSend(.update, to: .activities(["a1", "a2"])), at: 0, in: &rows)
    #expect(plan.versions == [dawn + 2])
    #expect(plan.parts.map(\.lane) == [nil])
    #expect(plan.parts[0].expansion.targets == .activities(["a1", "a2"]))
    // Ben may own one of them, so what he gets next is newer.
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows).versions == [dawn + 3])
    let alone = try planner.plan(makeSend(.update, to: .activities(["a9"]), group: nil), at: 0, in: &rows)
    #expect(alone.versions == [dawn])
    #expect(alone.parts[0].isUrgent)
}

@Test func `the same id with the same body is planned once, with another it is a conflict`() throws {
    var rows = Rows()
    var send = makeSend(.start, to: .everyone)
    send.fingerprint = "f1"
    #expect(try planner.plan(send, at: 0, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(send, at: 1, in: &rows) == Plan())
    send.fingerprint = "f2"
    #expect(try planner.plan(send, at: 2, in: &rows).verdicts == [.conflict])
    #expect(rows.rows.count == 1)
}

@Test func `a dry run goes the same way and leaves no trace`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let before = rows
    for send in [
        makeSend(.update), makeSend(.end), makeSend(.update, to: .users(["ben"])),
        makeSend(.update, to: .activities(["a"])), makeSend(.start, to: .users(["ben"])),
    ] {
        var dry = send
        dry.dryRun = true
        let plan = try planner.plan(dry, at: 5, in: &rows)
        #expect(plan.verdicts == [.planned])
        #expect(plan.parts.allSatisfy { $0.expansion.dryRun })
        #expect(plan.progress.allSatisfy { $0.dryRun })
        #expect(rows == before)
    }
}

@Test func `what comes too late says so`() throws {
    var rows = Rows()
    #expect(try planner.plan(makeSend(.update), at: 0, in: &rows, app: nil).verdicts == [.unknownApp])
    var late = makeSend(.update)
    late.deadline = dawn
    #expect(try planner.plan(late, at: 0, in: &rows).verdicts == [.expired])
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 1, in: &rows)
    let first = rows.rows[GroupKey(app: "shop", group: "match")]?.generation
    _ = try planner.plan(makeSend(.end), at: 10, in: &rows)
    // Scheduled before the end; a start of later opens the group again, and it is still out of date.
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 20, in: &rows)
    #expect(try planner.plan(makeSend(.update), at: 30, in: &rows, isTimed: true).verdicts == [.outdated])
    var timed = makeSend(.update)
    timed.acceptedAt = (dawn + 25) * 1000
    #expect(try planner.plan(timed, at: 31, in: &rows, isTimed: true).verdicts == [.planned])
    // The automatic end of the first life must not end the second.
    var end = makeSend(.end)
    end.acceptedAt = (dawn + 25) * 1000
    end.generation = first
    #expect(try planner.plan(end, at: 40, in: &rows, isTimed: true).verdicts == [.outdated])
    end.generation = dawn + 20
    #expect(try planner.plan(end, at: 41, in: &rows, isTimed: true).verdicts == [.planned])
}

@Test func `an update is checked by the type that its group was started with`() throws {
    var rows = Rows()
    var app = shop
    var type = ActivityType(name: "Match")
    type.contentStateSchema = try JSONReader().read(Array(#"{"goals":"int"}"#.utf8)) {
        ContentSchema(from: $0)
    }
    app.types = [type, ActivityType(name: "Other")]
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows, app: app)
    var wrong = makeSend(.update)
    wrong.content.contentState = raw(#"{"goals":"one"}"#)
    let plan = try planner.plan(wrong, at: 1, in: &rows, app: app)
    #expect(plan.verdicts == [.refused])
    guard case .verdict(let part) = plan.progress[0].part else { throw Missing() }
    #expect(part.findings.count == 1)
    #expect(part.findings[0].contains("goals"))
    #expect(plan.parts.isEmpty)
}

@Test func `a start with an end date schedules the end of its life`() throws {
    var rows = Rows()
    var start = makeSend(.start, to: .everyone)
    start.endDate = dawn + 3600
    let plan = try planner.plan(start, at: 0, in: &rows)
    let key = GroupKey(app: "shop", group: "match")
    #expect(plan.autoEnd == Plan.AutoEnd(key: key, generation: dawn, at: dawn + 3600))
    // What says nothing of a deadline is wanted until the group's end.
    #expect(plan.parts[0].expansion.deadline == dawn + 3600)
    #expect(try planner.plan(makeSend(.update), at: 1, in: &rows).parts[0].expansion.deadline == dawn + 3600)
    var far = makeSend(.update)
    far.deadline = dawn + 100 * 3600
    far.expiration = 0
    let expansion = try planner.plan(far, at: 2, in: &rows).parts[0].expansion
    #expect(expansion.deadline == dawn + 2 + 20 * 3600)
    #expect(expansion.expiration == 0)
}

@Test func `a wrong clock at the gateway changes nothing but what it says`() throws {
    for skew: Int64 in [-172_800, -3600, 3600, 172_800] {
        var (right, wrong) = (Rows(), Rows())
        for (seconds, event) in [(0, PushEvent.start), (3, .update), (9, .end)] {
            var send = makeSend(event, to: event == .start ? .everyone : .group)
            let expected = try planner.plan(send, at: Int64(seconds), in: &right)
            send.acceptedAt += skew * 1000
            let plan = try planner.plan(send, at: Int64(seconds), in: &wrong)
            #expect(plan.versions == expected.versions)
            #expect(plan.parts.map(\.expansion.deadline) == expected.parts.map(\.expansion.deadline))
        }
    }
}

@Test func `what is cancelled is stopped everywhere, and what it had superseded comes back`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "right", state: 1), at: 10, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "wrong", state: 9), at: 20, in: &rows)
    let key = GroupKey(app: "shop", group: "match")
    func cancel(_ id: String, at seconds: Int64) throws -> Plan {
        let cancel = Cancel(send: id, app: "shop", key: key, acceptedAt: dawn * 1000)
        return try planner.plan(.cancel(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
    }
    let plan = try cancel("wrong", at: 21)
    #expect(plan.verdicts == [.stopping, .planned])
    #expect(plan.stop == Plan.Stop(send: "wrong", key: key))
    #expect(plan.versions == [dawn + 21])
    #expect(plan.parts[0].expansion.content.contentState == raw(#"{"goals":1}"#))
    #expect(plan.note?.cancelled == ["wrong"])
    #expect(plan.note?.update == dawn + 21)
    // What is not the newest any more is only stopped.
    #expect(try cancel("right", at: 22).parts.isEmpty)
    for ahead in 0...6 { _ = try planner.plan(makeSend(.update, id: "u\(ahead)"), at: 22, in: &rows) }
    #expect(rows.rows[key]?.held?.id == "u6")
    let held = try cancel("u6", at: 23)
    #expect(held.verdicts == [.cancelled])
    #expect(held.stop == nil)
    #expect(rows.rows[key]?.held == nil)
}

@Test func `an update to one user that waits gives way to a newer one to the whole group`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    let held = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    let key = GroupKey(app: "shop", group: "match", recipient: .user("ben"))
    #expect(held.held == Plan.Held(key: key, at: dawn + 1))
    var other = rows
    let released = try planner.release(key, now: dawn + 1, in: &other)
    #expect(released.verdicts == [.planned])
    #expect(released.versions == [dawn + 6])
    _ = try planner.plan(makeSend(.update), at: 1, in: &rows)
    #expect(try planner.release(key, now: dawn + 1, in: &rows).verdicts == [.superseded])
}

struct Missing: Error {}
