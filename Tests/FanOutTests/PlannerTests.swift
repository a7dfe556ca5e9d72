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

// The rules of the planner, one by one: generations, versions, timestamps, recipients, verdicts and deadlines.

@Test func `a start opens a generation, and an update and an END follow it in every lane`() throws {
    var rows = Rows()
    let start = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    #expect(start.verdicts == [.planned])
    #expect(start.expansions.map(\.lanes) == [.every])
    #expect(start.expansions[0].expansion.generation == version(at: 0))
    #expect(start.versions == [version(at: 0)] && start.timestamps == [dawn])
    #expect(start.expansions[0].expansion.targets == .everyone)
    let update = try planner.plan(makeSend(.update, state: 1), at: 10, in: &rows)
    #expect(update.expansions[0].expansion.generation == version(at: 0))
    #expect(update.timestamps == [dawn + 10])
    #expect(
        update.note
            == SupersededVersions(app: "shop", group: "match", updateVersion: version(at: 10), endVersion: 0))
    let end = try planner.plan(makeSend(.end, state: 2), at: 20, in: &rows)
    #expect(
        end.note
            == SupersededVersions(
                app: "shop", group: "match", updateVersion: version(at: 10), endVersion: version(at: 20)))
    #expect(try planner.plan(makeSend(.update, state: 3), at: 30, in: &rows).verdicts == [.ended])
    #expect(try planner.plan(makeSend(.end), at: 31, in: &rows).verdicts == [.ended])
    let next = try planner.plan(makeSend(.start, to: .tags(["vip"])), at: 40, in: &rows)
    #expect(next.expansions[0].expansion.generation == version(at: 40))
}

@Test func `a later start joins the generation and carries the newest state`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .tags(["a"])), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, state: 7), at: 5, in: &rows)
    let joined = try planner.plan(makeSend(.start, to: .tags(["b"]), state: 0), at: 9, in: &rows)
    let expansion = joined.expansions[0].expansion
    #expect(expansion.generation == version(at: 0))
    #expect(expansion.version == version(at: 5) && expansion.timestamp == dawn + 5)
    #expect(expansion.content.contentState == goals(7))
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

@Test
func
    `users have separate timestamps above the group's, and the next timestamp of the group exceeds all of them`()
    throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let ben = try planner.plan(makeSend(.update, to: .users(["ben"]), state: 1), at: 0, in: &rows)
    #expect(ben.timestamps == [dawn + 1])
    #expect(ben.expansions[0].lanes == .only(LaneSet(["u:ben".utf8.count % 3])))
    #expect(ben.note == nil)
    // Another user's timestamps begin at the group's, not at Ben's.
    let two = try planner.plan(makeSend(.update, to: .users(["ada", "ben"]), state: 2), at: 0, in: &rows)
    #expect(two.timestamps == [dawn + 1, dawn + 2])
    let whole = try planner.plan(makeSend(.update, state: 3), at: 0, in: &rows)
    #expect(whole.timestamps == [dawn + 3])
    #expect(
        try planner.plan(makeSend(.update, to: .users(["ada"])), at: 0, in: &rows).timestamps == [dawn + 4])
}

@Test func `an END for one user ends only that user, and a start brings back only that user`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.end, to: .users(["ben"])), at: 10, in: &rows)
    #expect(try planner.plan(makeSend(.update, to: .users(["ben"])), at: 11, in: &rows).verdicts == [.ended])
    let both = try planner.plan(makeSend(.update, to: .users(["ben", "ada"])), at: 12, in: &rows)
    guard case .planner(let part) = both.progress[0].part else { throw Missing() }
    #expect(part.endedRecipients == 1)
    #expect(both.timestamps.count == 1)
    let again = try planner.plan(makeSend(.start, to: .users(["ben", "ada"])), at: 20, in: &rows)
    let expected: [Expansion.ScopedRecipient] = [
        .init(
            .user("ada"), scope: .group, generation: version(at: 0), version: version(at: 0), timestamp: dawn),
        .init(
            .user("ben"), scope: .recipient, generation: version(at: 20), version: version(at: 20),
            timestamp: dawn + 20),
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
    #expect(start.expansions[0].lanes == .only(LaneSet(["u:ben".utf8.count % 3])))
    _ = try planner.plan(order(.end, of: "ben"), at: 1, in: &rows)
    #expect(try planner.plan(order(.update, of: "ben"), at: 2, in: &rows).verdicts == [.ended])
    #expect(try planner.plan(order(.update, of: "ada"), at: 2, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(order(.update, of: "ada"), at: 2, in: &rows).note == nil)
}

@Test(
    arguments: [
        (.users(["ben"]), true), (.users(["ada", "ben"]), false), (.activities(["a1"]), true),
        (.activities(["a1", "a2"]), false), (.group, false),
    ] as [(Audience, Bool)])
func `a send to one user or activity is marked, so that its jobs go first`(
    audience: Audience, isForOne: Bool
) throws {
    var rows = Rows()
    let plan = try planner.plan(makeSend(.update, to: audience), at: 0, in: &rows)
    #expect(plan.expansions.allSatisfy { $0.expansion.isForOneRecipient == isForOne })
    var own = makeSend(.update, to: .users(["ben"]), group: "order")
    own.owner = .user("ben")
    #expect(try planner.plan(own, at: 0, in: &rows).expansions[0].expansion.isForOneRecipient)
}

@Test func `each start has a place in the order, also if it joins a generation`() throws {
    var rows = Rows()
    let first = try planner.plan(makeSend(.start, to: .everyone), at: 1, in: &rows).expansions[0].expansion
    #expect(first.sequence == first.version && first.sequence == first.generation)
    var newest = first.sequence
    for audience in [Audience.users(["ada", "ben"]), .users(["ada"]), .tags(["a"])] {
        // The END takes the next place, and the start the one after it.
        _ = try planner.plan(makeSend(.end, to: .activities(["a1"])), at: 1, in: &rows)
        let starts = try planner.plan(makeSend(.start, to: audience), at: 1, in: &rows).expansions
        #expect(Set(starts.map(\.expansion.sequence)).count == 1)
        #expect(
            starts.allSatisfy { $0.expansion.sequence > newest + 1 && $0.expansion.version == first.version })
        newest = starts[0].expansion.sequence
    }
    let update = try planner.plan(makeSend(.update), at: 1, in: &rows).expansions[0].expansion
    #expect(update.sequence == update.version && update.sequence > newest)
}

@Test func `named activities get a version and a timestamp above those of the group, in every lane`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    _ = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows)
    let plan = try planner.plan(makeSend(.update, to: .activities(["a1", "a2"])), at: 0, in: &rows)
    #expect(plan.timestamps == [dawn + 2])
    #expect(plan.expansions.map(\.lanes) == [.every])
    #expect(plan.expansions[0].expansion.targets == .activities(["a1", "a2"]))
    // Ben may own one of them. Only his lane knows that, and raises the timestamp then.
    let own = try planner.plan(makeSend(.update, to: .users(["ben"])), at: 0, in: &rows)
    #expect(own.timestamps == [dawn + 2] && own.versions[0] > plan.versions[0])
    let alone = try planner.plan(makeSend(.update, to: .activities(["a9"]), group: nil), at: 0, in: &rows)
    #expect(alone.timestamps == [dawn])
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

@Test func `an app that is not known yet does not use up the idempotency key`() throws {
    var rows = Rows()
    var send = makeSend(.start, to: .everyone)
    send.fingerprint = "f1"
    #expect(try planner.plan(send, at: 0, in: &rows, app: nil).verdicts == [.unknownApp])
    #expect(rows == Rows())
    #expect(try planner.plan(send, at: 1, in: &rows).verdicts == [.planned])
    #expect(try planner.plan(send, at: 2, in: &rows) == Plan())
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

@Test func `a send at its deadline has expired`() throws {
    var rows = Rows()
    var late = makeSend(.update)
    late.deadline = dawn
    #expect(try planner.plan(late, at: 0, in: &rows).verdicts == [.expired])
}

@Test func `a send from before the group's END, or for an earlier generation, is outdated`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 1, in: &rows)
    let first = rows.rows[match]?.generation
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
    end.generation = version(at: 20)
    #expect(try planner.plan(end, at: 41, in: &rows).verdicts == [.planned])
}

@Test func `a start with an end date schedules the END of its generation`() throws {
    var rows = Rows()
    var start = makeSend(.start, to: .everyone)
    start.endDate = dawn + 3600
    let plan = try planner.plan(start, at: 0, in: &rows)
    #expect(
        plan.autoEnd
            == AutomaticEnd(
                app: "shop", group: "match", owner: nil, generation: version(at: 0), endsAt: dawn + 3600))
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
            #expect(plan.timestamps == expected.timestamps)
            #expect(
                plan.expansions.map(\.expansion.deadline) == expected.expansions.map(\.expansion.deadline))
        }
    }
}

/// Until the stage knows which clock is wrong, it takes the lower time for decisions.
@Test func `a clock of the stage that is two days behind makes no deadline too early`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    for (seconds, event) in [(3, PushEvent.update), (9, .end)] {
        let plan = try planner.plan(
            .send(makeSend(event)), stamp: (dawn + Int64(seconds) - 172_800) * 1000,
            unboundedStamp: (dawn + Int64(seconds)) * 1000, app: shop, in: &rows)
        let expansion = try #require(plan.expansions.first).expansion
        #expect(expansion.deadline == dawn + Int64(seconds) + 8 * 3600)
        #expect(expansion.expiration == expansion.deadline)
        #expect(rows.rows[match]?.newestState?.deadline == expansion.deadline)
    }
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
    #expect(rows.rows[match]?.newestState?.deadline == end.deadline)
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
    #expect(plan.timestamps == [dawn + 10])
    #expect(plan.expansions[0].expansion.content.contentState == goals(5))
}

@Test func `a row beyond its retention counts as missing, even before it is deleted`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone, state: 1), at: 0, in: &rows)
    let days = GroupRow.retentionMilliseconds / 1000
    var almost = rows
    #expect(
        try planner.plan(makeSend(.start, to: .everyone), at: days - 1, in: &almost).expansions[0].expansion
            .generation
            == version(at: 0))
    let plan = try planner.plan(makeSend(.start, to: .everyone, state: 2), at: days, in: &rows)
    #expect(plan.expansions[0].expansion.generation == version(at: days))
    #expect(plan.expansions[0].expansion.content.contentState == goals(2))
}

@Test func `sends to named activities do not move the timestamps of others, and do not hold their updates`()
    throws
{
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    var last: Int64 = 0
    for number in 1...50 {
        let plan = try planner.plan(
            makeSend(.update, to: .activities(["a1"]), id: "u\(number)"), at: 1, in: &rows)
        #expect(plan.timestamps == [dawn + 1] && plan.versions[0] > last)
        last = plan.versions[0]
    }
    let own = try planner.plan(makeSend(.update, to: .users(["ben"]), id: "own"), at: 1, in: &rows)
    #expect(own.verdicts == [.planned] && own.timestamps == [dawn + 1] && own.versions[0] > last)
    let whole = try planner.plan(makeSend(.update, id: "all"), at: 1, in: &rows)
    #expect(whole.verdicts == [.planned] && whole.timestamps == [dawn + 2])
    #expect(whole.versions[0] > own.versions[0])
}

@Test func `the version follows the clock, also after a burst`() throws {
    var rows = Rows()
    let first = try planner.plan(makeSend(.update), at: 0, in: &rows)
    let second = try planner.plan(makeSend(.update), at: 0, in: &rows)
    let third = try planner.plan(makeSend(.update), at: 1, in: &rows)
    let versions = first.versions + second.versions + third.versions
    #expect(versions == [version(at: 0), version(at: 0) + 1, version(at: 1)])
}
