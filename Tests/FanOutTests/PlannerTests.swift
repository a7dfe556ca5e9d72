import CatalogRecords
import ContentSchemas
import Identifiers
import JSON
import Payloads
import RecordFormat
import Schedules
import Sends
import Testing

@testable import FanOut

@Test func `a start opens a generation, and an update and an END follow it in every lane`() throws {
    var rows = Rows()
    let start = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    #expect(start.verdicts == [.planned])
    #expect(start.expansions.map(\.lanes) == [.every])
    #expect(start.expansions[0].expansion.generation == dawn)
    #expect(start.expansions[0].expansion.version == dawn)
    #expect(start.expansions[0].expansion.targets == .everyone)
    let update = try planner.plan(makeSend(.update, state: 1), at: 10, in: &rows)
    #expect(update.expansions[0].expansion.generation == dawn)
    #expect(update.versions == [dawn + 10])
    #expect(
        update.note
            == SupersededVersions(app: "shop", group: "match", updateVersion: dawn + 10, endVersion: 0))
    let end = try planner.plan(makeSend(.end, state: 2), at: 20, in: &rows)
    #expect(
        end.note
            == SupersededVersions(
                app: "shop", group: "match", updateVersion: dawn + 10, endVersion: dawn + 20))
    #expect(try planner.plan(makeSend(.update, state: 3), at: 30, in: &rows).verdicts == [.ended])
    #expect(try planner.plan(makeSend(.end), at: 31, in: &rows).verdicts == [.ended])
    let next = try planner.plan(makeSend(.start, to: .tags(["vip"])), at: 40, in: &rows)
    #expect(next.expansions[0].expansion.generation == dawn + 40)
}

@Test func `a later start joins the generation and carries the newest state`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .tags(["a"])), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, state: 7), at: 5, in: &rows)
    let joined = try planner.plan(makeSend(.start, to: .tags(["b"]), state: 0), at: 9, in: &rows)
    let expansion = joined.expansions[0].expansion
    #expect(expansion.generation == dawn)
    #expect(expansion.version == dawn + 5)
    #expect(expansion.content.contentState == raw(#"{"goals":7}"#))
    #expect(expansion.content.alert != nil)
    #expect(joined.note == nil)
}

@Test func `an update for an unknown group goes to every lane`() throws {
    var rows = Rows()
    let plan = try planner.plan(makeSend(.update), at: 0, in: &rows)
    #expect(plan.verdicts == [.planned])
    #expect(plan.expansions[0].expansion.generation == 0)
    #expect(try planner.plan(makeSend(.end), at: 1, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(makeSend(.update), at: 2, in: &rows).verdicts == [.ended])
}

@Test func `versions run at most five seconds ahead, and beyond that only the newest update waits`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for ahead in 1...5 {
        #expect(
            try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows).versions == [
                dawn + Int64(ahead)
            ])
    }
    let held = try planner.plan(makeSend(.update, id: "first", state: 6), at: 0, in: &rows)
    let key = ScopeKey(app: "shop", group: "match")
    #expect(held.verdicts == [.held])
    #expect(held.expansions.isEmpty)
    #expect(held.heldSend == Plan.HeldSend(key: key, at: dawn + 1))
    let newer = try planner.plan(makeSend(.update, id: "second", state: 7), at: 0, in: &rows)
    #expect(newer.verdicts == [.superseded, .held])
    #expect(newer.progress.map(\.send) == ["first", "second"])
    let early = try planner.release(key, now: dawn, in: &rows)
    #expect(early.verdicts == [.held])
    let released = try planner.release(key, now: dawn + 1, in: &rows)
    #expect(released.verdicts == [.planned])
    #expect(released.versions == [dawn + 6])
    #expect(released.expansions[0].expansion.content.contentState == raw(#"{"goals":7}"#))
    #expect(try planner.release(key, now: dawn + 2, in: &rows) == Plan())
}

@Test func `after the cluster's clock was an hour ahead, no send waits for it`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 3600, in: &rows)
    for number in 1...9 {
        let plan = try planner.plan(makeSend(.update, state: number), at: 0, in: &rows)
        #expect(plan.versions == [dawn + 3600 + Int64(number)])
    }
    #expect(
        try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows).versions == [dawn + 3610])
}

@Test func `an END never waits and supersedes a held update`() throws {
    var rows = Rows()
    for ahead in 0...5 { _ = try planner.plan(makeSend(.update, state: ahead), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, id: "held"), at: 0, in: &rows)
    let end = try planner.plan(makeSend(.end), at: 0, in: &rows)
    #expect(end.verdicts == [.superseded, .planned])
    #expect(end.versions == [dawn + 6])
    let key = ScopeKey(app: "shop", group: "match")
    #expect(try planner.release(key, now: dawn + 9, in: &rows) == Plan())
    let start = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    #expect(start.expansions[0].expansion.generation == dawn + 7)
}

@Test
func
    `users have separate versions above the group's version, and the next group version exceeds all of them`()
    throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let ben = try planner.plan(makeSend(.update, to: .users(["ben"]), state: 1), at: 0, in: &rows)
    #expect(ben.versions == [dawn + 1])
    #expect(ben.expansions[0].isUrgent)
    #expect(ben.expansions[0].lanes == .only(LaneSet(["u:ben".utf8.count % 3])))
    #expect(ben.note == nil)
    // Another user's versions begin at the group's version, not at Ben's.
    let two = try planner.plan(makeSend(.update, to: .users(["ada", "ben"]), state: 2), at: 0, in: &rows)
    #expect(two.expansions.allSatisfy { !$0.isUrgent })
    #expect(two.versions == [dawn + 1, dawn + 2])
    let whole = try planner.plan(makeSend(.update, state: 3), at: 0, in: &rows)
    #expect(whole.versions == [dawn + 3])
    #expect(try planner.plan(makeSend(.update, to: .users(["ada"])), at: 0, in: &rows).versions == [dawn + 4])
}

@Test func `an END for one user ends only that user, and a start brings back only that user`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.end, to: .users(["ben"])), at: 10, in: &rows)
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 11, in: &rows).verdicts == [.ended])
    let both = try planner.plan(makeSend(.update, to: .users(["ben", "ada"])), at: 12, in: &rows)
    guard case .planner(let part) = both.progress[0].part else { throw Missing() }
    #expect(part.endedRecipients == 1)
    #expect(both.versions.count == 1)
    let again = try planner.plan(makeSend(.start, to: .users(["ben", "ada"])), at: 20, in: &rows)
    let expected: [Expansion.ScopedRecipient] = [
        .init(.user("ada"), scope: .group, generation: dawn, version: dawn),
        .init(.user("ben"), scope: .recipient, generation: dawn + 20, version: dawn + 20),
    ]
    #expect(again.recipients.sorted { $0.recipient.text < $1.recipient.text } == expected)
    #expect(
        try planner.plan(makeSend(.update, to: .users(["ben"])), at: 21, in: &rows).verdicts == [.planned])
}

@Test func `a private group is a separate scope in its owner's lane`() throws {
    var rows = Rows()
    func order(_ event: PushEvent, of user: String) -> Send {
        var send = makeSend(event, to: .users([user]), group: "order")
        send.owner = .user(user)
        return send
    }
    let start = try planner.plan(order(.start, of: "ben"), at: 0, in: &rows)
    #expect(start.expansions.count == 1)
    #expect(start.expansions[0].isUrgent)
    #expect(start.expansions[0].lanes == .only(LaneSet(["u:ben".utf8.count % 3])))
    _ = try planner.plan(order(.end, of: "ben"), at: 1, in: &rows)
    #expect(try planner.plan(order(.update, of: "ben"), at: 2, in: &rows).verdicts == [.ended])
    #expect(try planner.plan(order(.update, of: "ada"), at: 2, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(order(.update, of: "ada"), at: 2, in: &rows).note == nil)
}

@Test func `users that an END by activity id may have ended can be started again`() throws {
    var rows = Rows()
    let start = makeSend(.start, to: .users(["ada", "ben"]))
    let first = try planner.plan(start, at: 0, in: &rows)
    #expect(first.expansions.allSatisfy { $0.expansion.reopenedGeneration == nil })
    _ = try planner.plan(makeSend(.update, to: .activities(["a1"]), id: "u"), at: 1, in: &rows)
    #expect(
        try planner.plan(start, at: 1, in: &rows).expansions.allSatisfy {
            $0.expansion.reopenedGeneration == nil
        })
    let end = try planner.plan(makeSend(.end, to: .activities(["a1"]), id: "e"), at: 1, in: &rows)
    let again = try planner.plan(start, at: 1, in: &rows)
    let reopens = again.expansions.compactMap(\.expansion.reopenedGeneration)
    #expect(reopens.count == again.expansions.count && Set(reopens).count == 1)
    #expect(reopens[0] > end.expansions[0].expansion.version)
    _ = try planner.plan(makeSend(.update, to: .users(["ada"]), id: "own"), at: 1, in: &rows)
    let single = try planner.plan(makeSend(.start, to: .users(["ada"]), id: "s2"), at: 1, in: &rows)
    #expect(single.expansions.allSatisfy { !$0.isUrgent }, "the start does not overtake the END")
    // Later sends have newer versions, for every audience.
    let one = try planner.plan(makeSend(.update, to: .users(["ada"]), id: "one"), at: 1, in: &rows)
    #expect(one.versions.allSatisfy { $0 > reopens[0] })
    let all = try planner.plan(makeSend(.update, id: "all"), at: 2, in: &rows)
    #expect(all.versions.allSatisfy { $0 > reopens[0] })
    #expect(all.expansions.allSatisfy { $0.expansion.generation == first.expansions[0].expansion.generation })
}

@Test func `a start names the END of one activity that it must not overtake, for a day`() throws {
    var rows = Rows()
    let start = makeSend(.start, to: .users(["ada", "ben"]))
    _ = try planner.plan(start, at: 0, in: &rows)
    let end = try planner.plan(makeSend(.end, to: .activities(["a1"]), id: "e1"), at: 1, in: &rows)
    _ = try planner.plan(makeSend(.end, to: .activities(["a2", "a3"]), id: "e2"), at: 2, in: &rows)
    let again = try planner.plan(start, at: 3, in: &rows)
    #expect(
        again.expansions.allSatisfy { $0.expansion.awaitedEndVersion == end.expansions[0].expansion.version })
    let later = try planner.plan(start, at: 86_500, in: &rows)
    #expect(
        later.expansions.allSatisfy {
            $0.expansion.reopenedGeneration != nil && $0.expansion.awaitedEndVersion == nil
        })
}

@Test func `named activities get a version above all versions of the group, in every lane`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows)
    let plan = try planner.plan(makeSend(.update, to: .activities(["a1", "a2"])), at: 0, in: &rows)
    #expect(plan.versions == [dawn + 2])
    #expect(plan.expansions.map(\.lanes) == [.every])
    #expect(plan.expansions[0].expansion.targets == .activities(["a1", "a2"]))
    // Ben may own one of them, so his next update is newer.
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows).versions == [dawn + 3])
    let alone = try planner.plan(makeSend(.update, to: .activities(["a9"]), group: nil), at: 0, in: &rows)
    #expect(alone.versions == [dawn])
    #expect(alone.expansions[0].isUrgent)
}

@Test func `a repeated id with the same body is planned once, and with another body it is a conflict`() throws
{
    var rows = Rows()
    var send = makeSend(.start, to: .everyone)
    send.fingerprint = "f1"
    #expect(try planner.plan(send, at: 0, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(send, at: 1, in: &rows) == Plan())
    send.fingerprint = "f2"
    #expect(try planner.plan(send, at: 2, in: &rows).verdicts == [.conflict])
    #expect(rows.rows.count == 1)
    // One day later it counts as another request, even if its row still exists.
    #expect(try planner.plan(send, at: 86_399, in: &rows).verdicts == [.conflict])
    #expect(try planner.plan(send, at: 86_400, in: &rows).verdicts == [.planned])
}

@Test func `a dry run takes the same path and leaves no trace`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let before = rows
    for send in [
        makeSend(.update), makeSend(.end), makeSend(.update, to: .users(["ben"])),
        makeSend(.update, to: .activities(["a"])), makeSend(.start, to: .users(["ben"])),
    ] {
        var dry = send
        dry.isDryRun = true
        let plan = try planner.plan(dry, at: 5, in: &rows)
        #expect(plan.verdicts == [.planned])
        #expect(plan.expansions.allSatisfy { $0.expansion.isDryRun })
        #expect(plan.progress.allSatisfy { $0.isDryRun })
        #expect(plan.note == nil && plan.autoEnd == nil && plan.heldSend == nil)
        #expect(rows == before)
    }
}

@Test func `a dry run is never held, does not change a held send, and does not use up an idempotency key`()
    throws
{
    var rows = Rows()
    for ahead in 0...6 { _ = try planner.plan(makeSend(.update, id: "u\(ahead)"), at: 0, in: &rows) }
    let before = rows
    var dry = makeSend(.update, id: "dry")
    dry.isDryRun = true
    dry.fingerprint = "f"
    for audience: Audience in [.group, .users(["ada", "ben"]), .users(["ben"])] {
        dry.audience = audience
        let plan = try planner.plan(dry, at: 0, in: &rows)
        #expect(plan.verdicts == [.planned])
        #expect(plan.expansions.allSatisfy { $0.expansion.send == "dry" })
        #expect(rows == before)
    }
    var start = makeSend(.start, to: .everyone)
    start.endDate = dawn + 9
    start.isDryRun = true
    #expect(try planner.plan(start, at: 0, in: &rows).autoEnd == nil)
}

@Test func `a send that comes too late gets the matching verdict`() throws {
    var rows = Rows()
    #expect(try planner.plan(makeSend(.update), at: 0, in: &rows, app: nil).verdicts == [.unknownApp])
    var late = makeSend(.update)
    late.deadline = dawn
    #expect(try planner.plan(late, at: 0, in: &rows).verdicts == [.expired])
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 1, in: &rows)
    let first = rows.rows[ScopeKey(app: "shop", group: "match")]?.generation
    _ = try planner.plan(makeSend(.end), at: 10, in: &rows)
    // The send was scheduled before the END. A later start opens the group again, but the send is still
    // outdated.
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 20, in: &rows)
    var timed = makeSend(.update)
    timed.scheduledAt = (dawn + 5) * 1000
    #expect(try planner.plan(timed, at: 30, in: &rows).verdicts == [.outdated])
    timed.scheduledAt = (dawn + 25) * 1000
    #expect(try planner.plan(timed, at: 31, in: &rows).verdicts == [.planned])
    // The automatic END of the first generation must not end the second.
    var end = makeSend(.end)
    end.generation = first
    #expect(try planner.plan(end, at: 40, in: &rows).verdicts == [.outdated])
    end.generation = dawn + 20
    #expect(try planner.plan(end, at: 41, in: &rows).verdicts == [.planned])
}

/// The gateway has added the group's attribute to them.
@Test func `the attributes of the start count once in the size of an update`() throws {
    var rows = Rows()
    var start = makeSend(.start, to: .everyone)
    let attributes = #"{"home":"\#(String(repeating: "A", count: 500))","netmeraGroupId":"match"}"#
    start.content.attributes = raw(attributes)
    _ = try planner.plan(start, at: 0, in: &rows)
    func update(bytes: Int) -> Send {
        var update = makeSend(.update)
        let frame = #"{"text":""}"#.utf8.count
        update.content.contentState = raw(
            #"{"text":"\#(String(repeating: "x", count: bytes - frame))"}"#)
        return update
    }
    let room = PayloadRules.dataBytesMax - attributes.utf8.count
    #expect(try planner.plan(update(bytes: room + 1), at: 1, in: &rows).verdicts == [.refused])
    #expect(try planner.plan(update(bytes: room), at: 2, in: &rows).verdicts == [.planned])
}

@Test func `an update is checked by the type of its group's start`() throws {
    var rows = Rows()
    var app = shop
    var type = ActivityType(name: "Match")
    type.contentStateSchema = try JSONReader().read(Array(#"{"goals":"int"}"#.utf8)) {
        ContentSchema(from: $0)
    }
    app.activityTypes = [type, ActivityType(name: "Other")]
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows, app: app)
    var wrong = makeSend(.update)
    wrong.content.contentState = raw(#"{"goals":"one"}"#)
    let plan = try planner.plan(wrong, at: 1, in: &rows, app: app)
    #expect(plan.verdicts == [.refused])
    guard case .planner(let part) = plan.progress[0].part else { throw Missing() }
    #expect(part.findings.count == 1)
    #expect(part.findings[0].contains("goals"))
    #expect(plan.expansions.isEmpty)
}

@Test func `a start with an end date schedules the END of its generation`() throws {
    var rows = Rows()
    var start = makeSend(.start, to: .everyone)
    start.endDate = dawn + 3600
    let plan = try planner.plan(start, at: 0, in: &rows)
    #expect(
        plan.autoEnd
            == AutomaticEnd(app: "shop", group: "match", owner: nil, generation: dawn, endsAt: dawn + 3600))
    // A send without a deadline is valid until the group's end date.
    #expect(plan.expansions[0].expansion.deadline == dawn + 3600)
    #expect(
        try planner.plan(makeSend(.update), at: 1, in: &rows).expansions[0].expansion.deadline == dawn + 3600)
    var far = makeSend(.update)
    far.deadline = dawn + 100 * 3600
    far.expiration = 0
    let expansion = try planner.plan(far, at: 2, in: &rows).expansions[0].expansion
    #expect(expansion.deadline == dawn + 2 + 20 * 3600)
    #expect(expansion.expiration == 0)
}

@Test func `a wrong clock of a gateway changes only the reported times`() throws {
    for skew: Int64 in [-172_800, -3600, 3600, 172_800] {
        var (right, wrong) = (Rows(), Rows())
        for (seconds, event) in [(0, PushEvent.start), (3, .update), (9, .end)] {
            var send = makeSend(event, to: event == .start ? .everyone : .group)
            let expected = try planner.plan(send, at: Int64(seconds), in: &right)
            send.acceptedAt += skew * 1000
            let plan = try planner.plan(send, at: Int64(seconds), in: &wrong)
            #expect(plan.versions == expected.versions)
            #expect(
                plan.expansions.map(\.expansion.deadline) == expected.expansions.map(\.expansion.deadline))
        }
    }
}

@Test func `a cancelled send stops everywhere, and the state that it superseded returns`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "right", state: 1), at: 10, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "wrong", state: 9), at: 20, in: &rows)
    let key = ScopeKey(app: "shop", group: "match")
    func cancel(_ id: String, at seconds: Int64) throws -> Plan {
        let cancel = Cancellation(send: id, app: "shop", key: key, acceptedAt: dawn * 1000)
        return try planner.plan(.cancellation(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
    }
    let plan = try cancel("wrong", at: 21)
    #expect(plan.verdicts == [.stopping, .planned])
    #expect(
        plan.stop
            == Plan.LaneStop(instruction: StopInstruction(send: "wrong", key: key), lanes: .every))
    #expect(plan.versions == [dawn + 21])
    #expect(plan.expansions[0].expansion.content.contentState == raw(#"{"goals":1}"#))
    #expect(plan.note?.cancelledSends == ["wrong"])
    #expect(plan.note?.updateVersion == dawn + 21)
    for ahead in 0...6 { _ = try planner.plan(makeSend(.update, id: "u\(ahead)"), at: 22, in: &rows) }
    #expect(rows.rows[key]?.heldSend?.id == "u6")
    let held = try cancel("u6", at: 23)
    #expect(held.verdicts == [.cancelled])
    #expect(held.stop == nil)
    #expect(rows.rows[key]?.heldSend == nil)
}

@Test func `a held update of one user is superseded by a newer update of the whole group`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    let held = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    let key = ScopeKey(app: "shop", group: "match", recipient: .user("ben"))
    #expect(held.heldSend == Plan.HeldSend(key: key, at: dawn + 1))
    var other = rows
    let released = try planner.release(key, now: dawn + 1, in: &other)
    #expect(released.verdicts == [.planned])
    #expect(released.versions == [dawn + 6])
    _ = try planner.plan(makeSend(.update), at: 1, in: &rows)
    #expect(try planner.release(key, now: dawn + 1, in: &rows).verdicts == [.superseded])
}

@Test func `an update of one user that came after a held group update follows it`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update), at: 0, in: &rows) }
    #expect(try planner.plan(makeSend(.update, id: "all"), at: 0, in: &rows).verdicts == [.held])
    let ben = ScopeKey(app: "shop", group: "match", recipient: .user("ben"))
    let held = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "ben"), at: 0, in: &rows)
    #expect(held.verdicts == [.held])
    #expect(held.progress[0].key == ben.wholeGroup)
    // The user's update does not go first.
    let early = try planner.release(ben, now: dawn + 1, in: &rows)
    #expect(early.heldSend == Plan.HeldSend(key: ben, at: dawn + 2))
    #expect(early.progress.isEmpty)
    #expect(try planner.release(ben.wholeGroup, now: dawn + 1, in: &rows).versions == [dawn + 6])
    let own = try planner.release(ben, now: dawn + 2, in: &rows)
    #expect(own.verdicts == [.planned])
    #expect(own.versions == [dawn + 7])
}

@Test
func `an update of one user waits behind the group's held update, even with a version that is not ahead`()
    throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for _ in 1...5 { _ = try planner.plan(makeSend(.update, to: .users(["ada"])), at: 0, in: &rows) }
    #expect(try planner.plan(makeSend(.update, id: "all"), at: 0, in: &rows).verdicts == [.held])
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows).verdicts == [.held])
}

@Test func `a send that cannot wait releases the held send before it`() throws {
    for audience: Audience in [.users(["ada", "ben"]), .activities(["a1"])] {
        var rows = Rows()
        for _ in 0...5 { _ = try planner.plan(makeSend(.update), at: 0, in: &rows) }
        _ = try planner.plan(makeSend(.update, id: "waits"), at: 0, in: &rows)
        let plan = try planner.plan(makeSend(.update, to: audience, id: "later"), at: 0, in: &rows)
        #expect(plan.progress.map(\.send) == ["waits", "later"])
        #expect(plan.verdicts == [.planned, .planned])
        #expect(plan.versions.first == dawn + 6)
        #expect(plan.versions.dropFirst().allSatisfy { $0 == dawn + 7 })
    }
}

@Test(arguments: [Audience.group, .users(["ben"])])
func `an update without conflation does not wait`(_ audience: Audience) throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update, to: audience), at: 0, in: &rows) }
    for number: Int64 in 6...9 {
        var send = makeSend(.update, to: audience, id: "u\(number)")
        send.isConflatable = false
        let plan = try planner.plan(send, at: 0, in: &rows)
        #expect(plan.verdicts == [.planned] && plan.versions == [dawn + number])
    }
    // Updates with conflation still wait and supersede one another.
    #expect(try planner.plan(makeSend(.update, to: audience, id: "a"), at: 0, in: &rows).verdicts == [.held])
    #expect(
        try planner.plan(makeSend(.update, to: audience, id: "b"), at: 0, in: &rows).verdicts
            == [.superseded, .held])
    var last = makeSend(.update, to: audience, id: "last")
    last.isConflatable = false
    let plan = try planner.plan(last, at: 0, in: &rows)
    #expect(plan.progress.map(\.send) == ["b", "last"] && plan.verdicts == [.superseded, .planned])
}

@Test func `an update of one user without conflation releases the group's held update first`() throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, id: "all"), at: 0, in: &rows)
    var own = makeSend(.update, to: .users(["ben"]), id: "own")
    own.isConflatable = false
    let plan = try planner.plan(own, at: 0, in: &rows)
    #expect(plan.progress.map(\.send) == ["all", "own"] && plan.verdicts == [.planned, .planned])
    #expect(plan.versions == [dawn + 6, dawn + 7])
}

@Test func `an update of one activity does not supersede another user's held update`() throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .activities(["ada's"])), at: 0, in: &rows)
    let key = ScopeKey(app: "shop", group: "match", recipient: .user("ben"))
    #expect(try planner.release(key, now: dawn + 9, in: &rows).verdicts == [.planned])
}

@Test func `an update of a list of users reports the sends that it supersedes`() throws {
    var rows = Rows()
    for _ in 0...5 { _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows) }
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "held"), at: 0, in: &rows)
    let plan = try planner.plan(makeSend(.update, to: .users(["ben", "ada"]), id: "new"), at: 0, in: &rows)
    #expect(plan.progress.map(\.send) == ["held", "new"])
    #expect(plan.verdicts == [.superseded, .planned])
    // There is one row per user of the list, without a copy of its state.
    let rowsOfUsers = rows.rows.filter { $0.key.recipient != nil }
    #expect(rowsOfUsers.count == 2)
    #expect(rowsOfUsers.allSatisfy { $0.value.newestState == nil && $0.value.replacedStates.isEmpty })
}

@Test func `an END shortly before the group's end date has the full deadline`() throws {
    var rows = Rows()
    var start = makeSend(.start, to: .everyone)
    start.endDate = dawn + 100
    _ = try planner.plan(start, at: 0, in: &rows)
    func deadline(of send: Send, at seconds: Int64) throws -> Int64? {
        try planner.plan(send, at: seconds, in: &rows).expansions.first?.expansion.deadline
    }
    #expect(try deadline(of: makeSend(.update), at: 97) == dawn + 100)
    #expect(try deadline(of: makeSend(.update, to: .users(["ben"])), at: 97) == dawn + 100)
    #expect(try deadline(of: makeSend(.end, to: .users(["ben"])), at: 98) == dawn + 98 + 8 * 3600)
    let end = try #require(try planner.plan(makeSend(.end), at: 99, in: &rows).expansions.first).expansion
    #expect(end.deadline == dawn + 99 + 8 * 3600 && end.expiration == end.deadline)
    let key = ScopeKey(app: "shop", group: "match")
    #expect(rows.rows[key]?.newestState?.deadline == end.deadline)
}

@Test(arguments: [PushEvent.update, .end, .start])
func `a lane that has all users of a list can read its expansion`(_ event: PushEvent) throws {
    var rows = Rows()
    let oneLane = Planner(lanes: 1) { _, _ in 0 }
    let users = (0..<Audience.namesMax).map { "user-\($0)" }
    _ = try oneLane.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let plan = try oneLane.plan(makeSend(event, to: .users(users)), at: 10, in: &rows)
    let part = try #require(plan.expansions.first)
    #expect(plan.expansions.count == 1 && plan.recipients.count == Audience.namesMax)
    let read = try ExpansionRequest.decode(
        part.expansion.encoded(), with: JSONReader(limits: Expansion.limits))
    #expect(read == .expansion(part.expansion))
}

@Test func `a cancel for one user restores the state of only that user`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, state: 1), at: 0, in: &rows)
    let wrong = try planner.plan(
        makeSend(.update, to: .users(["ben"]), id: "wrong", state: 9), at: 10, in: &rows)
    guard case .planner(let part) = wrong.progress[0].part else { throw Missing() }
    #expect(part.recipient == .user("ben"))
    let key = ScopeKey(app: "shop", group: "match")
    func cancel(_ id: String, at seconds: Int64) throws -> Plan {
        let cancel = Cancellation(
            send: id, app: "shop", key: key, recipient: .user("ben"), acceptedAt: dawn * 1000)
        return try planner.plan(.cancellation(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
    }
    let plan = try cancel("wrong", at: 11)
    #expect(plan.verdicts == [.stopping, .planned])
    #expect(plan.recipients.map(\.recipient) == [.user("ben")])
    #expect(plan.versions == [dawn + 11])
    #expect(plan.expansions[0].expansion.content.contentState == raw(#"{"goals":1}"#))
    #expect(plan.expansions[0].isUrgent)
    #expect(try cancel("wrong", at: 12).expansions.isEmpty)
    // A held send is dropped before it reaches a phone.
    for ahead in 0...6 {
        _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "u\(ahead)"), at: 12, in: &rows)
    }
    let held = try cancel("u6", at: 12)
    #expect(held.verdicts == [.cancelled])
    #expect(held.stop == nil)
    #expect(try planner.release(key.narrowed(to: .user("ben")), now: dawn + 99, in: &rows) == Plan())
    // The whole group has a newer state since, which stays.
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "late"), at: 30, in: &rows)
    _ = try planner.plan(makeSend(.update), at: 31, in: &rows)
    #expect(try cancel("late", at: 32).expansions.isEmpty)
}

@Test func `lanes keep the replaced state if the planner does not`() throws {
    var rows = Rows()
    func areKept(_ users: [String], at seconds: Int64) throws -> Set<Bool> {
        let plan = try planner.plan(makeSend(.update, to: .users(users)), at: seconds, in: &rows)
        return Set(
            try plan.expansions.map {
                try Expansion.decode($0.expansion.encoded(), with: JSONReader()).keepsReplacedState
            })
    }
    #expect(try areKept(["ben"], at: 0) == [false])
    #expect(try areKept(["ann", "ben"], at: 1) == [true])
    #expect(try areKept(["ben"], at: 2) == [true])
    #expect(try areKept(["ben"], at: 3) == [false])
}

@Test func `every note of a group names the sends that were cancelled within a day`() throws {
    var rows = Rows()
    let key = ScopeKey(app: "shop", group: "match")
    func cancel(_ id: String, at seconds: Int64) throws -> Plan {
        let cancel = Cancellation(send: id, app: "shop", key: key, acceptedAt: dawn * 1000)
        return try planner.plan(.cancellation(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
    }
    #expect(try cancel("a", at: 0).note?.cancelledSends == ["a"])
    #expect(try cancel("b", at: 50_000).note?.cancelledSends == ["a", "b"])
    #expect(try planner.plan(makeSend(.update), at: 60_000, in: &rows).note?.cancelledSends == ["a", "b"])
    #expect(try planner.plan(makeSend(.update), at: 90_000, in: &rows).note?.cancelledSends == ["b"])
    for number in 0..<150 { _ = try cancel("c\(number)", at: 90_001) }
    let note = try #require(try planner.plan(makeSend(.update), at: 90_002, in: &rows).note)
    #expect(note.cancelledSends.count == SupersededVersions.cancelledSendsMax)
    #expect(note.cancelledSends.last == "c149")
}

@Test func `a timed send does not reach a user who got an END since it was scheduled`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.end, to: .users(["ben"])), at: 10, in: &rows)
    _ = try planner.plan(makeSend(.start, to: .users(["ben"])), at: 20, in: &rows)
    var timed = makeSend(.update, to: .users(["ben", "ada"]))
    timed.scheduledAt = (dawn + 5) * 1000
    let plan = try planner.plan(timed, at: 30, in: &rows)
    #expect(plan.recipients.map(\.recipient) == [.user("ada")])
}

@Test func `a start of one user carries that user's newest state`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, state: 1), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), state: 5), at: 10, in: &rows)
    let plan = try planner.plan(makeSend(.start, to: .users(["ben"]), state: 0), at: 20, in: &rows)
    #expect(plan.versions == [dawn + 10])
    #expect(plan.expansions[0].expansion.content.contentState == raw(#"{"goals":5}"#))
    #expect(plan.expansions[0].isUrgent)
}

@Test func `a start of one user does not overtake a state that only the lanes know`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, state: 1), at: 0, in: &rows)
    func isStartUrgent(_ seconds: Int64) throws -> Bool {
        let plan = try planner.plan(makeSend(.start, to: .users(["ben"]), state: 0), at: seconds, in: &rows)
        return plan.expansions[0].isUrgent
    }
    #expect(try isStartUrgent(10))
    _ = try planner.plan(makeSend(.update, to: .users(["ann", "ben"]), state: 2), at: 20, in: &rows)
    #expect(try !isStartUrgent(30))
    _ = try planner.plan(makeSend(.update, to: .users(["ben"]), state: 3), at: 40, in: &rows)
    #expect(try isStartUrgent(50))
    _ = try planner.plan(makeSend(.update, to: .activities(["a"]), state: 4), at: 60, in: &rows)
    #expect(try !isStartUrgent(70))
    _ = try planner.plan(makeSend(.update, state: 5), at: 80, in: &rows)
    #expect(try isStartUrgent(90))
}

@Test func `a row beyond its retention counts as missing, even before it is deleted`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, state: 1), at: 0, in: &rows)
    let days = GroupRow.retentionMilliseconds / 1000
    var almost = rows
    #expect(
        try planner.plan(makeSend(.start, to: .everyone), at: days - 1, in: &almost).expansions[0].expansion
            .generation
            == dawn)
    let plan = try planner.plan(makeSend(.start, to: .everyone, state: 2), at: days, in: &rows)
    #expect(plan.expansions[0].expansion.generation == dawn + days)
    #expect(plan.expansions[0].expansion.content.contentState == raw(#"{"goals":2}"#))
}

@Test func `names that make a key too long are refused`() throws {
    var rows = Rows()
    let slashes = String(repeating: "/", count: 200)
    let long = makeSend(.update, to: .users(["ben", slashes]), group: slashes)
    #expect(try planner.plan(long, at: 0, in: &rows).verdicts == [.refused])
    #expect(rows.rows.isEmpty)
    let plain = makeSend(.update, to: .users([slashes]), group: "match")
    #expect(try planner.plan(plain, at: 0, in: &rows).verdicts == [.refused])
    let usual = String(repeating: "a", count: 200)
    #expect(
        try planner.plan(makeSend(.update, to: .users([usual]), group: usual), at: 0, in: &rows).verdicts
            == [.planned])
}

struct Missing: Error {}

// MARK: Subscriptions

private func subscribe(_ lane: Int = 1, at seconds: Int64, in rows: inout Rows) throws -> Plan {
    let subscription = Subscription(lane: lane, app: "shop", group: "match")
    return try planner.plan(
        .subscription(subscription), stamp: (dawn + seconds) * 1000, app: nil, in: &rows)
}

@Test func `only the lane that subscribes gets the newest state of its group`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let started = try #require(try subscribe(at: 1, in: &rows).expansions.first).expansion
    #expect(started.content.event == .update && started.content.alert == nil && started.version == dawn)
    let update = try planner.plan(makeSend(.update, id: "u", state: 4), at: 5, in: &rows)
    let before = rows
    let plan = try subscribe(at: 9, in: &rows)
    #expect(rows == before, "the lane was a subscriber already")
    #expect(plan.progress.isEmpty && plan.note == nil && plan.subscriptionAnswer == nil)
    let part = try #require(plan.expansions.first)
    #expect(plan.expansions.count == 1 && part.lanes == .only(LaneSet([1])) && !part.isUrgent)
    var same = try #require(update.expansions.first).expansion
    same.answersSubscription = true
    #expect(part.expansion == same)
    _ = try planner.plan(makeSend(.end, state: 5), at: 10, in: &rows)
    #expect(try subscribe(at: 11, in: &rows).expansions.first?.expansion.content.event == .end)
}

@Test func `a subscription without a state to send gets an answer without one`() throws {
    var rows = Rows()
    let key = ScopeKey(app: "shop", group: "match")
    func answer(endVersion: Int64 = 0) -> Plan.LaneAnswer {
        Plan.LaneAnswer(
            answer: SubscriptionAnswer(key: key, generation: 0, endVersion: endVersion), lane: 1)
    }
    #expect(try subscribe(at: 0, in: &rows).subscriptionAnswer == answer(), "the group is unknown")
    _ = try planner.plan(makeSend(.update, id: "u", state: 4), at: 5, in: &rows)
    #expect(try subscribe(3, at: 6, in: &rows) == Plan(), "the lane does not exist")
    let late = try subscribe(at: 6 + 8 * 3600, in: &rows)
    #expect(late.subscriptionAnswer == answer(), "the deadline of the update has passed")
    let cancel = Cancellation(send: "u", app: "shop", key: key, acceptedAt: dawn * 1000)
    _ = try planner.plan(.cancellation(cancel), stamp: (dawn + 7) * 1000, app: shop, in: &rows)
    #expect(try subscribe(at: 8, in: &rows).subscriptionAnswer == answer(), "the update was cancelled")
}

@Test func `sends to a group go to the lanes that have members, and to no others`() throws {
    var rows = Rows()
    let first = try planner.plan(makeSend(.update, state: 1), at: 0, in: &rows)
    #expect(first.expansions.map(\.lanes) == [.none], "nobody has subscribed")
    #expect(try subscribe(2, at: 1, in: &rows).expansions.map(\.lanes) == [.only(LaneSet([2]))])
    let second = try planner.plan(makeSend(.update, state: 2), at: 10, in: &rows)
    #expect(second.expansions.map(\.lanes) == [.only(LaneSet([2]))])
    // The planner of these tests puts a recipient into the lane of its name's length.
    _ = try planner.plan(makeSend(.start, to: .users(["a"])), at: 20, in: &rows)
    let end = try planner.plan(makeSend(.end), at: 30, in: &rows)
    #expect(end.expansions.map(\.lanes) == [.only(LaneSet([0, 2]))])
    _ = try planner.plan(makeSend(.start, to: .tags(["vip"])), at: 40, in: &rows)
    let last = try planner.plan(makeSend(.update, state: 3), at: 50, in: &rows)
    #expect(last.expansions.map(\.lanes) == [.every])
}

@Test func `a group is remembered for as long as its members may live`() throws {
    var rows = Rows()
    _ = try subscribe(at: 0, in: &rows)
    let row = try #require(rows.rows[ScopeKey(app: "shop", group: "match")])
    let lifetime = GroupRow.membershipMilliseconds
    #expect(row.isKept(at: dawn * 1000 + lifetime))
    #expect(!row.isKept(at: dawn * 1000 + lifetime + 3_600_000))
    _ = try subscribe(at: 7200, in: &rows)
    #expect(rows.rows[ScopeKey(app: "shop", group: "match")]?.membersUntil ?? 0 > row.membersUntil)
}
